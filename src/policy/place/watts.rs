//! The power model that placements believe in.

use crate::cluster::power::PowerCurve;
use crate::cluster::{ModelSpec, WHOLE};
use crate::registry::{Kind, Knob, Knobs};

/// What a GPU draws, with the curve that holds if none is named.
pub(super) const fn power(default: &'static str) -> Knob {
    Knob::new(
        "power",
        "what a GPU draws: full power once in use (step); in proportion to its use (linear); or a part for being in use, the rest in \
         proportion (activation)",
        Kind::Choice(&["step", "linear", "activation"]),
        default,
    )
}

/// The part for being in use.
pub(super) const ACTIVATION_WATTS: Knob =
    Knob::new("activation_watts", "with power = activation: what being in use draws", Kind::Float { min: 0.0, max: 1e6 }, "40")
        .unit("W");

/// The curve that those knobs name.
pub(super) fn curve(knobs: &Knobs) -> PowerCurve {
    match knobs.text("power") {
        "linear" => PowerCurve::Linear,
        "activation" => PowerCurve::Activation { watts: knobs.float("activation_watts") },
        _ => PowerCurve::Step,
    }
}

/// Power by model and thousandths in use, in whole milliwatts: differences that are equal by the curve are equal.
pub(super) struct Milliwatts(Vec<Vec<i64>>);

impl Milliwatts {
    /// The table of those models.
    pub(super) fn new(curve: PowerCurve, models: &[ModelSpec]) -> Milliwatts {
        let of = |model: &ModelSpec, used| libm::round(1000.0 * curve.watts(model.watts_idle, model.watts_full, used)) as i64;
        Milliwatts(models.iter().map(|model| (0..=WHOLE).map(|used| of(model, used)).collect()).collect())
    }
    /// By how much a GPU's power rises from `used` thousandths with `milli` more.
    pub(super) fn rise(&self, model: usize, used: u16, milli: u16) -> i64 {
        self.0[model][usize::from(used + milli)] - self.0[model][usize::from(used)]
    }
}
