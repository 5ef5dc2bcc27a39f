//! `[failures]` and `[power]`: how GPUs fail by themselves, and how their energy is reckoned.

use crate::cluster::power::{GpuLoad, PowerCurve, PowerSpec};
use crate::engine::{FailureSpec, HazardForm};
use crate::form::{Fault, Faults, Filled, Form};
use crate::registry::{Kind, Knob, Knobs, SPAN_MAX};
use crate::units::SimSpan;

const SPAN_POSITIVE: Kind = Kind::Span { min: SimSpan::from_millis(1), max: SPAN_MAX };
const LOADS: Kind = Kind::Choice(&["claim", "use"]);

/// `[failures]`.
pub const FAILURES: Form = Form::of(
    "GPUs fail by themselves, the more so the more they are used; absent: none does. All jobs on one that fails are lost back to their last \
     checkpoint, and it is down until it is mended. Each GPU uses up budgets of hazard that are drawn from the seed, the same under every \
     policy. The defaults are our choice",
    &[
        Knob::new("rate", "failures per hour of an idle GPU of a model of factor 1", Kind::Float { min: 0.0, max: 1e3 }, "2e-5"),
        Knob::new(
            "accel",
            "factor on all rates, where real ones are too rare to be studied; every report says so if it is not 1",
            Kind::Float { min: 0.0, max: 1e9 },
            "1",
        ),
        Knob::new("stress", "how much load matters; 0: not at all", Kind::Float { min: 0.0, max: 50.0 }, "1"),
        Knob::new(
            "form",
            "a load x, 0 to 1, multiplies the rate by exp(stress x), or by 1 + stress x",
            Kind::Choice(&["exp", "linear"]),
            "exp",
        ),
        Knob::new(
            "load",
            "what counts as load: what is claimed of a GPU, for memory and compute alike, or that times what the devices of each job did, \
             where the trace says so",
            LOADS,
            "claim",
        ),
        Knob::new("repair_median", "half of the repairs take longer (lognormal)", SPAN_POSITIVE, "1h"),
        Knob::new("repair_p95", "one repair in twenty takes longer", SPAN_POSITIVE, "12h"),
        Knob::new(
            "mismatch",
            "what if models do not fail as is believed? n: by the n-th random permutation of their factors, the same for all seeds, of which \
             policies know nothing; 0: as believed",
            Kind::COUNT,
            "0",
        ),
    ],
);

/// `[power]`.
pub const POWER: Form = Form::of(
    "how the energy of GPUs is reckoned, where the watts of their models are known",
    &[
        Knob::new(
            "curve",
            "watts by use: idle or full (published), in proportion to use (published), or a part for being in use at all and the rest in \
             proportion (ours)",
            Kind::Choice(&["activation", "linear", "step"]),
            "activation",
        ),
        Knob::new(
            "activation_watts",
            "with curve = activation: that part (our choice; 26 to 50 W are measured of data-centre GPUs)",
            Kind::Float { min: 0.0, max: 1e4 },
            "40",
        )
        .unit("W"),
        Knob::new("load", "what counts as use, as in `[failures]`", LOADS, "claim"),
    ],
);

fn load(knobs: &Knobs) -> GpuLoad {
    if knobs.text("load") == "use" { GpuLoad::Use } else { GpuLoad::Claim }
}

/// Reads `[failures]`; `None` if the file has no such table.
pub fn failures(table: Option<&Filled>, faults: &mut Faults) -> Option<FailureSpec> {
    let table = table?;
    let knobs = &table.knobs;
    let (repair_median, repair_p95) = (knobs.span("repair_median"), knobs.span("repair_p95"));
    if repair_p95 < repair_median {
        let at = if table.says("repair_p95") { "repair_p95" } else { "repair_median" };
        let fault = Fault::new("the median of repairs lies beyond their 95th percentile");
        let fault =
            fault.at(table.place(at), format!("expected a median ({repair_median}) up to the 95th percentile ({repair_p95})"));
        faults.push(fault.help("equal ones make all repairs take that long"));
    }
    Some(FailureSpec {
        rate: knobs.float("rate"),
        accel: knobs.float("accel"),
        stress: knobs.float("stress"),
        form: if knobs.text("form") == "linear" { HazardForm::Linear } else { HazardForm::Exp },
        load: load(knobs),
        repair_median,
        repair_p95,
        mismatch: knobs.int("mismatch") as u64,
    })
}

/// A warning where GPUs fail more or less often than they would, for those who read no report of the run.
pub fn accelerated(failures: Option<FailureSpec>) -> Option<String> {
    let accel = failures?.accel;
    (accel != 1.0).then(|| format!("warning: GPUs fail at {accel} times their rate (`failures.accel`): not as in a real cluster"))
}

/// Reads `[power]`.
pub fn power(table: Option<&Filled>) -> PowerSpec {
    let Some(knobs) = table.map(|table| &table.knobs) else { return PowerSpec::default() };
    let curve = match knobs.text("curve") {
        "step" => PowerCurve::Step,
        "linear" => PowerCurve::Linear,
        _ => PowerCurve::Activation { watts: knobs.float("activation_watts") },
    };
    PowerSpec { curve, load: load(knobs) }
}
