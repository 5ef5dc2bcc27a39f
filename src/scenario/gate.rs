//! `[gate]`: what a change of policy may do to the figures, before it is compared with a baseline. It judges nothing.

use crate::engine::Case;
use crate::form::{Fault, Faults, Filled, Place};
use crate::registry::{Kind, Knob};
use crate::report::{FigureInfo, figure};

const NOT_NEGATIVE: Kind = Kind::Float { min: 0.0, max: f64::MAX };

/// Keys of one limit.
pub const LIMIT_KNOBS: &[Knob] = &[
    Knob::optional(
        "metric",
        "key of a figure that can be compared (docs/outputs.md), such as `by_class.debug.wait_s.p90`; `*` stands for each name",
        Kind::Text,
    ),
    Knob::optional("max", "the mean over seeds is at most this, in the unit of the figure", NOT_NEGATIVE),
    Knob::optional("min", "the mean over seeds is at least this, in the unit of the figure", NOT_NEGATIVE),
    Knob::optional("worse_by", "it is worse than the baseline by at most this share of it, in the mean", NOT_NEGATIVE),
    Knob::optional(
        "margin",
        "non-inferiority: it is worse than the baseline by at most this, at the one-sided 95 % bound, in the unit of the figure",
        NOT_NEGATIVE,
    ),
    Knob::optional("margin_relative", "the same margin as a share of the baseline's mean", NOT_NEGATIVE),
    Knob::optional("policy", "the policy it is for; unset: each", Kind::Text),
];

/// What a figure may become. The first three are of means, the others of a one-sided 95 % bound.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Bound {
    /// At most this, in the unit of the figure.
    Max(f64),
    /// At least this.
    Min(f64),
    /// Worse than the baseline by at most this share of it.
    WorseBy(f64),
    /// Worse than the baseline by at most this, in the unit of the figure.
    Margin(f64),
    /// Worse than the baseline by at most this share of its mean.
    MarginRelative(f64),
    /// Worse than the baseline by at most the smallest difference worth a verdict of that figure.
    Floor,
}

/// One limit.
#[derive(Clone, Debug)]
pub struct Limit {
    /// Key of the figure, or of several by `*`.
    pub metric: String,
    /// What it may become.
    pub bound: Bound,
    /// The policy it is for; `None`: each.
    pub policy: Option<String>,
    /// Where the limit stands; for a default the beginning of the scenario.
    pub at: Place,
    metric_at: Place,
    policy_at: Place,
}

impl Limit {
    /// The fault that no policy has the name that it is for.
    pub fn no_such_policy<'a>(&self, name: &str, known: impl IntoIterator<Item = &'a str>) -> Fault {
        let fault = Fault::new(format!("no policy called `{name}` is run"));
        fault.at(&self.policy_at, "expected the name of a policy of this scenario").nearest(name, known)
    }
}

/// All limits of a scenario.
#[derive(Clone, Debug)]
pub struct Gate {
    /// In the order of the file.
    pub limits: Vec<Limit>,
    /// Whether the file has none, and those that stand in for them are meant.
    pub is_default: bool,
}

/// Figures of the gate of a scenario that has none: nobody waits longer, nobody gets less of what they are owed, no more work is thrown
/// away, and no less is done. Our choice.
const DEFAULTS: [&str; 4] = ["wait_s.p90", "delivered_of_owed", "preemption.lost_gpu_h", "jobs.completed"];

/// Reads `[gate]`, or says what stands in for it.
pub fn read(file: &Filled, faults: &mut Faults) -> Gate {
    let Some(table) = file.part("gate") else {
        let limit = |metric: &str| Limit {
            metric: metric.to_owned(),
            bound: Bound::Floor,
            policy: None,
            at: file.at.clone(),
            metric_at: file.at.clone(),
            policy_at: file.at.clone(),
        };
        return Gate { limits: DEFAULTS.into_iter().map(limit).collect(), is_default: true };
    };
    if table.parts("limit").is_empty() {
        let fault = Fault::new("a gate without limits lets everything pass").at(&table.at, "expected `[[gate.limit]]` tables");
        faults.push(fault.help("without `[gate]` there are limits by default"));
    }
    Gate { limits: table.parts("limit").iter().filter_map(|it| limit(it, faults)).collect(), is_default: false }
}

fn limit(table: &Filled, faults: &mut Faults) -> Option<Limit> {
    type Make = fn(f64) -> Bound;
    let kinds: [(&'static str, Make); 5] = [
        ("max", Bound::Max),
        ("min", Bound::Min),
        ("worse_by", Bound::WorseBy),
        ("margin", Bound::Margin),
        ("margin_relative", Bound::MarginRelative),
    ];
    let said: Vec<&(&str, Make)> = kinds.iter().filter(|(key, _)| table.says(key)).collect();
    let bound = match said[..] {
        [(key, make)] => table.knobs.opt_float(key).map(make),
        [] => {
            let fault = Fault::new("this limit does not say what the figure may become");
            faults.push(fault.at(&table.at, "expected one of `max`, `min`, `worse_by`, `margin`, `margin_relative`"));
            None
        }
        [(first, _), (second, _), ..] => {
            let fault = Fault::new("this limit says twice what the figure may become");
            let fault = fault.at(table.key_place(first), "here").at(table.key_place(second), "and here");
            faults.push(fault.help("expected one of them; write two limits for two"));
            None
        }
    };
    let metric = table.knobs.opt_text("metric")?.to_owned();
    if let Err(near) = figure(&metric) {
        let fault = Fault::new(format!("there is no figure `{metric}` that can be compared"));
        let fault = fault.at(table.place("metric"), "expected the key of a figure");
        faults.push(match near {
            Some(near) => fault.help(format!("did you mean `{near}`?")),
            None => fault.help("docs/outputs.md lists the figures that can be compared"),
        });
        return None;
    }
    Some(Limit {
        metric,
        bound: bound?,
        policy: table.knobs.opt_text("policy").map(str::to_owned),
        at: table.at.clone(),
        metric_at: table.place("metric").clone(),
        policy_at: table.place("policy").clone(),
    })
}

impl Gate {
    /// Limits on a class, account or size that a case does not know: known before anything runs.
    pub fn unknown_names(&self, case: &Case) -> Faults {
        const SIZES: [&str; 3] = ["small", "medium", "large"];
        let mut faults = Faults::new();
        for limit in &self.limits {
            let Ok(figure) = figure(&limit.metric) else { continue };
            let words = |names: &'_ [String]| names.iter().map(|name| name.to_owned()).collect::<Vec<String>>();
            let (noun, known) = match group(figure.info) {
                "by_class" => ("class", words(case.catalog.classes.rows())),
                "by_account" => ("account", words(case.catalog.accounts.rows())),
                "by_size" => ("size", SIZES.map(str::to_owned).into()),
                _ => continue,
            };
            if figure.name() != "*" && !known.iter().any(|name| name == figure.name()) {
                let fault = Fault::new(format!("there is no {noun} `{}` in this scenario", figure.name()));
                let fault = fault.at(&limit.metric_at, format!("expected the name of a {noun} in this key"));
                faults.push(fault.nearest(figure.name(), known.iter().map(String::as_str)));
            }
        }
        faults
    }
}

/// What comes before the name in a key.
fn group(info: &FigureInfo) -> &'static str {
    info.key.split_once(".*").map_or("", |(group, _)| group)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_is_of_figures_that_there_are() {
        assert!(DEFAULTS.iter().all(|key| figure(key).is_ok_and(|it| it.key() == *key)));
    }
}
