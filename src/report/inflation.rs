//! What a report says of runs whose jobs arrive and never leave, and of fragmentation.

use super::content::{Part, Read, Say};
use super::figures::Unit;
use super::fragments::InflationSummary;
use super::humane::number;
use super::summary::RunSummary;

/// A point of a curve, as a share.
fn at(curve: impl FnOnce(&InflationSummary) -> &[Option<f64>], run: &RunSummary, x: usize) -> Option<f64> {
    curve(run.inflation.as_ref()?).get(x).copied()?.map(|percent| percent / 100.0)
}
fn alloc(run: &RunSummary, x: usize) -> Option<f64> {
    at(|it| &it.alloc, run, x)
}
fn ratio(run: &RunSummary, x: usize) -> Option<f64> {
    at(|it| &it.frag_ratio, run, x)
}
fn amount(run: &RunSummary, x: usize) -> Option<f64> {
    at(|it| &it.frag_amount, run, x)
}
/// The last percent that the arrivals reach.
fn last(run: &RunSummary) -> Option<usize> {
    run.inflation.as_ref()?.alloc.iter().rposition(Option::is_some)
}

impl Say<'_> {
    /// Whether no job of any run ever leaves: waits then tell nothing.
    pub(super) fn is_inflation(&self) -> bool {
        !self.summary.runs.is_empty() && self.summary.runs.iter().all(|run| run.inflation.is_some())
    }

    /// What arrives, where jobs never leave.
    pub(super) fn arrivals(&self) -> String {
        let asked = self.summary.runs.iter().filter_map(|run| run.inflation.as_ref()?.asked).fold(0.0, f64::max);
        format!("They ask for {}% of the GPUs in all, one after another, and none has an end of its own.", number(asked, 0))
    }

    /// Allocation and fragmentation against what was asked for, instead of waits.
    pub(super) fn inflation(&self) -> Vec<Part> {
        let ends: Vec<usize> = self.summary.runs.iter().filter_map(last).collect();
        let most = ends.iter().max().copied().unwrap_or(0);
        let end = if ends.iter().all(|end| *end == most) { format!("at {most}%") } else { "at the end".into() };
        let hundred: (&str, Unit, Read) = ("at 100%", Unit::Hundredths, |run| alloc(run, 100));
        let mut columns: Vec<(&str, Unit, Read)> = Vec::new();
        if most != 100 {
            columns.push(hundred);
        }
        columns.extend([
            (end.as_str(), Unit::Hundredths, (|run| alloc(run, last(run)?)) as Read),
            ("unallocated", Unit::Hundredths, |run| Some(1.0 - alloc(run, 100.min(last(run)?))?)),
            ("failed", Unit::Count, |run| Some(run.inflation.as_ref()?.failed as f64)),
            ("failed GPUs", Unit::Count, |run| Some(run.inflation.as_ref()?.failed_gpu_milli as f64 / 1000.0)),
        ]);
        let fragments: [(&str, Unit, Read); 6] = [
            ("of free at 50%", Unit::Percent, |run| ratio(run, 50)),
            ("at 80%", Unit::Percent, |run| ratio(run, 80)),
            ("at 100%", Unit::Percent, |run| ratio(run, 100)),
            ("of all at 50%", Unit::Hundredths, |run| amount(run, 50)),
            ("at 80%", Unit::Hundredths, |run| amount(run, 80)),
            ("at 100%", Unit::Hundredths, |run| amount(run, 100)),
        ];
        let allocated = "GPUs allocated, when so much of all GPUs had been asked for; unallocated is of the first column.";
        let fragmented = "Free GPUs that typical tasks cannot use as they lie, of the free ones and of all.";
        vec![
            Part::Text(allocated.into()),
            self.table(false, &columns),
            Part::Text(fragmented.into()),
            self.table(false, &fragments),
        ]
    }

    /// What free GPUs were to typical tasks, over time: for a file only.
    pub(super) fn fragments(&self) -> Vec<Part> {
        let any = self.summary.runs.iter().any(|run| run.fragmentation.classes.is_some());
        if self.reader.is_brief() || !any {
            return Vec::new();
        }
        let columns: [(&str, Unit, Read); 9] = [
            ("of free", Unit::Percent, |run| run.fragmentation.ratio),
            ("of all", Unit::Percent, |run| run.fragmentation.amount),
            ("usable (Q3)", Unit::Percent, |run| run.fragmentation.classes.as_ref()?.q3),
            ("no CPU, no GPUs (Q1)", Unit::Percent, |run| run.fragmentation.classes.as_ref()?.q1),
            ("no GPUs (Q2)", Unit::Percent, |run| run.fragmentation.classes.as_ref()?.q2),
            ("no CPU (Q4)", Unit::Percent, |run| run.fragmentation.classes.as_ref()?.q4),
            ("CPU task (XL)", Unit::Percent, |run| run.fragmentation.classes.as_ref()?.xl),
            ("CPU task, no CPU (XR)", Unit::Percent, |run| run.fragmentation.classes.as_ref()?.xr),
            ("no access (NA)", Unit::Percent, |run| run.fragmentation.classes.as_ref()?.na),
        ];
        let about = "Free GPUs that typical tasks cannot use as they lie, of the free ones and of all, mean over time; then shares of the \
                     free ones by what stands in the way.";
        vec![Part::Heading("Fragmentation".into()), Part::Text(about.into()), self.table(false, &columns)]
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Run, Summary, summary_md, terminal};
    use crate::engine::Counters;
    use crate::metrics::{InflationFigures, InflationPoint, Measured};
    use crate::units::MilliGpu;

    /// A run in which so much percent of the GPUs are asked for, and all but `lost` of them are held.
    fn run(policy: &str, seed: u64, asked: u32, lost: f64) -> Run {
        let reached = |x: u32| {
            let held = f64::from(x.min(100));
            InflationPoint { alloc: Some(held - lost), frag_ratio: Some(held), frag_amount: Some(lost) }
        };
        let point = |x| if x <= asked { reached(x) } else { InflationPoint::default() };
        let figures = InflationFigures {
            points: (0..=130).map(point).collect(),
            arrivals: 200,
            arrived_gpu: MilliGpu::from_gpus(u64::from(asked)),
            capacity: MilliGpu::from_gpus(100),
            failed: 30,
            failed_gpu: MilliGpu::from_milli(31_500),
            ..InflationFigures::default()
        };
        let mut measured = Measured { inflation: Some(figures), ..Measured::default() };
        measured.jobs.submitted = 200;
        (measured.jobs.running, measured.jobs.queued) = (170, 30);
        Run { policy: policy.into(), seed, ledger_hash: String::new(), measured, counters: Counters::default(), waits: None }
    }

    #[test]
    fn tables_of_allocation_take_the_place_of_waits() {
        let runs = [run("a", 1, 130, 5.0), run("a", 2, 130, 5.5), run("b", 1, 130, 7.5), run("b", 2, 130, 7.5)];
        insta::assert_snapshot!(terminal(&Summary::new("pack", "blake3:00", &runs)), @"
        pack

        200 arrivals. They ask for 130% of the GPUs in all, one after another, and none has an end of its
        own. 2 seeds: mean ± half of the 95 % interval.

        GPUs allocated, when so much of all GPUs had been asked for; unallocated is of the first column.

        ──────────────────────────────────────────────────────────────────────────────
         policy         at 100%         at 130%    unallocated   failed   failed GPUs
        ──────────────────────────────────────────────────────────────────────────────
         a        94.75 ± 3.18%   94.75 ± 3.18%   5.25 ± 3.18%       30          31.5
         b               92.50%          92.50%          7.50%       30          31.5
        ──────────────────────────────────────────────────────────────────────────────

        Free GPUs that typical tasks cannot use as they lie, of the free ones and of all.

        ──────────────────────────────────────────────────────────────────────────────────────────
         policy   of free at 50%   at 80%   at 100%   of all at 50%         at 80%        at 100%
        ──────────────────────────────────────────────────────────────────────────────────────────
         a                 50.0%    80.0%    100.0%    5.25 ± 3.18%   5.25 ± 3.18%   5.25 ± 3.18%
         b                 50.0%    80.0%    100.0%           7.50%          7.50%          7.50%
        ──────────────────────────────────────────────────────────────────────────────────────────
        ");
    }

    #[test]
    fn what_was_not_reached_has_no_column() {
        let text = summary_md(&Summary::new("pack", "blake3:00", &[run("a", 1, 90, 5.0)]));
        let tables: Vec<&str> = text.lines().filter(|line| line.starts_with('|')).collect();
        let expected = [
            "| policy | at 90% | unallocated | failed | failed GPUs |",
            "|---|---:|---:|---:|---:|",
            "| a | 85.00% | 15.00% | 30 | 31.5 |",
            "| policy | of free at 50% | at 80% | of all at 50% | at 80% |",
            "|---|---:|---:|---:|---:|",
            "| a | 50.0% | 80.0% | 5.00% | 5.00% |",
        ];
        assert_eq!(tables, expected);
    }
}
