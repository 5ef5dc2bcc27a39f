//! Several results as one.

use super::comparison::compare;
use super::summary::{RunSummary, Summary};

/// How a policy of one of several results is called.
pub type Called = Box<dyn Fn(usize, &str) -> String>;

impl Summary {
    /// Several results side by side, each with its name: one summary, what the policies of each are called in it, and what a reader must know.
    ///
    /// A policy keeps its name where only one result has it. Policies are compared with the first of all, seed by seed, if all results are of the same work.
    pub fn side_by_side(parts: &[(String, &Summary)]) -> (Summary, Called, Vec<String>) {
        let shared = |policy: &str| 1 < parts.iter().filter(|(_, part)| part.policies().contains(&policy)).count();
        let names: Vec<(usize, String, String)> = parts
            .iter()
            .enumerate()
            .flat_map(|(row, (name, part))| {
                part.policies().into_iter().map(move |policy| (row, policy.to_owned(), name.clone())).collect::<Vec<_>>()
            })
            .map(|(row, policy, name)| {
                let called = if shared(&policy) { format!("{name}: {policy}") } else { policy.clone() };
                (row, policy, called)
            })
            .collect();
        let called = move |row: usize, policy: &str| {
            let found = names.iter().find(|(at, name, _)| *at == row && name == policy);
            found.map_or_else(|| policy.to_owned(), |(_, _, called)| called.clone())
        };
        let runs = parts.iter().enumerate().flat_map(|(row, (_, part))| part.runs.iter().map(move |run| (row, run)));
        let runs: Vec<RunSummary> =
            runs.map(|(row, run)| RunSummary { policy: called(row, &run.policy), ..run.clone() }).collect();
        let first = parts.first().map(|(_, part)| *part);
        let same = parts.iter().all(|(_, part)| Some(&part.inputs) == first.map(|it| &it.inputs));
        let titles: Vec<&str> = parts.iter().map(|(name, _)| name.as_str()).collect();
        let mut remarks = Vec::new();
        let mut inputs = first.map_or(String::new(), |it| it.inputs.clone());
        if !same {
            inputs = "differ".into();
            remarks.push(
                "These results are of different work, cluster or seeds, so differences between them are not only the policies', and are not taken seed \
                 by seed."
                    .to_owned(),
            );
        }
        for (name, part) in parts.iter().filter(|(_, part)| !part.settings.is_empty()) {
            remarks.push(format!("{name}: with {}.", part.settings.join(", ")));
        }
        let mut summary = Summary {
            schedlab: env!("CARGO_PKG_VERSION").into(),
            scenario: titles.join(" beside "),
            inputs,
            load: first.and_then(|it| it.load),
            outstanding: first.and_then(|it| it.outstanding),
            runs,
            settings: Vec::new(),
            comparison: Vec::new(),
            fidelity: Vec::new(),
        };
        if same {
            summary.comparison = compare(&summary, &[]);
        }
        (summary, Box::new(called), remarks)
    }
}
