//! Whether a predictor expects refusals, asked at most once an instant.

use crate::engine::{Case, View};
use crate::facts::Fact;
use crate::predict::{Model, Watch};
use crate::registry::{Knobs, Value};
use crate::units::SimTime;

/// A predictor at work.
pub(super) struct Foresight {
    model: Model,
    watch: Watch,
    /// Probability above which refusals are expected.
    from: f64,
    /// The instant of which the answer is known, and the answer.
    known: Option<(SimTime, bool)>,
}

impl Foresight {
    /// As the knobs say; `None` if they name no predictor.
    pub(super) fn of(knobs: &Knobs, case: &Case) -> Option<Foresight> {
        let model = model(knobs).ok()??;
        Some(Foresight { model, watch: Watch::new(&case.cluster), from: knobs.float("predictor_from"), known: None })
    }
    /// Hears one fact.
    pub(super) fn observe(&mut self, at: SimTime, fact: &Fact) {
        self.watch.observe(at, fact);
    }
    /// Whether refusals are expected within a minute. All of an instant has one answer, by what was so before its first placement: that
    /// is when samples of the training are taken, too.
    pub(super) fn expects_refusals(&mut self, view: &View<'_>) -> bool {
        let now = view.now();
        match self.known {
            Some((at, known)) if at == now => known,
            _ => {
                let features = self.watch.features(now, |job| view.job(job).shape());
                let expects = self.from < self.model.probability(&features);
                self.known = Some((now, expects));
                expects
            }
        }
    }
}

/// Why the knobs of the predictor do not go together with the others.
pub(super) fn conflict(knobs: &Knobs) -> Option<String> {
    match model(knobs) {
        Ok(None) => None,
        Ok(Some(_)) if knobs.flag("regimes") => None,
        Ok(Some(_)) => Some("`place.predictor` chooses a regime, so it goes with `place.regimes = true` only".into()),
        Err(reason) => Some(format!("`place.predictor`: {reason}")),
    }
}

/// The model that the knobs name, if any.
///
/// - Errors: why what they name is none.
fn model(knobs: &Knobs) -> Result<Option<Model>, String> {
    match knobs.get("predictor") {
        Some(Value::File(file)) => Model::read(&file.text).map(Some).map_err(|foreign| foreign.to_string()),
        Some(Value::Text(path)) if !path.is_empty() => Err(format!("the file `{path}` was not read")),
        _ => Ok(None),
    }
}
