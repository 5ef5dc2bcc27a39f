//! The figures of a summary as Prometheus text.
//!
//! Source: "Exposition formats" of Prometheus' documentation (text format 0.0.4). All are gauges. Our choice: a metric is `schedlab_` and
//! the figure's key in `summary.json`, `*` left out and `.` as `_`; the name that `*` stands for is the label `name`.

use super::{Export, Make};
use crate::report::{Figure, Summary, figures, resolve, value};

pub(super) const EXPORT: Export = Export {
    name: "prometheus",
    file: "metrics.prom",
    about: "the figures of all runs as Prometheus text, labelled by scenario, policy and seed",
    make: Make::OfAll(text),
};

fn text(summary: &Summary) -> String {
    let mut text = String::new();
    for info in figures() {
        let metric = name(info.key);
        let mut samples = String::new();
        for figure in resolve(info.key, summary).unwrap_or_default() {
            for run in &summary.runs {
                if let Some(value) = value(run, &figure).filter(|value| value.is_finite()) {
                    let labels = labels(summary, &run.policy, run.seed, &figure);
                    samples.push_str(&format!("{metric}{{{labels}}} {value}\n"));
                }
            }
        }
        if !samples.is_empty() {
            let help = info.about.replace('\\', "\\\\").replace('\n', " ");
            text.push_str(&format!("# HELP {metric} {help}\n# TYPE {metric} gauge\n{samples}"));
        }
    }
    text
}

/// The metric of a key.
pub(super) fn name(key: &str) -> String {
    let parts: Vec<&str> = key.split('.').filter(|part| *part != "*").collect();
    format!("schedlab_{}", parts.join("_").replace(|c: char| !c.is_ascii_alphanumeric(), "_"))
}

fn labels(summary: &Summary, policy: &str, seed: u64, figure: &Figure) -> String {
    let mut labels = format!("scenario=\"{}\",policy=\"{}\",seed=\"{seed}\"", escaped(&summary.scenario), escaped(policy));
    if !figure.name().is_empty() {
        labels.push_str(&format!(",name=\"{}\"", escaped(figure.name())));
    }
    labels
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}
