//! `mckp`: flexible workers as a multiple-choice knapsack: an item for each number of workers of each job, worth the time by which it would end
//! sooner (Aryl / Lyra, second phase; the value as in public re-implementations).
//!
//! Churn control is ours: a new division is adopted only if it is worth more than the pauses of those it changes.

use super::Build;
use super::grow::{Grow, Rule};
use super::grown::Grown;
use super::knapsack::{Choice, Item, solve};
use crate::registry::{Entry, Kind, Knob};
use crate::units::SimSpan;

/// The rule.
pub const ENTRY: Entry<Build> = Entry {
    name: "mckp",
    about: "the division of free GPUs that saves most estimated time, as a multiple-choice knapsack",
    source: "Li et al., \"Lyra: Elastic Scheduling for Deep Learning Clusters\", EuroSys 2023 (as Aryl: arXiv 2202.07896), by its abstract and public \
             re-implementations",
    knobs: &[
        Knob::new("churn", "change workers only if that saves more than the pauses it costs (ours)", Kind::Bool, "true"),
        Knob::new(
            "one_pool",
            "GPUs of all models are one capacity, each worth its speed, instead of one model after the other, the slowest first (ours)",
            Kind::Bool,
            "false",
        ),
    ],
    needs: &[],
    provides: &[],
    timed: false,
    build: |knobs, _case| Grow::boxed(Mckp { churn: knobs.flag("churn"), one_pool: knobs.flag("one_pool") }),
};

struct Mckp {
    churn: bool,
    one_pool: bool,
}

/// What each number of workers beyond the base saves, in milliseconds.
fn items(job: &Grown) -> Vec<Item> {
    let Some(base) = job.left_with(0) else { return Vec::new() };
    let most = job.most().min(u32::from(u16::MAX));
    let saved = |flexible| job.left_with(flexible).map_or(0, |left| base.saturating_sub(left));
    (1..=most).map(|flexible| Item { weight: flexible * job.gpus, value: saved(flexible) }).collect()
}

impl Rule for Mckp {
    fn takes_all_as_one(&self) -> bool {
        self.one_pool
    }
    fn wants(&self, job: &Grown, pause: SimSpan) -> bool {
        let saved = job.left_with(0).zip(job.left_with(job.most())).map_or(0, |(now, then)| now.saturating_sub(then));
        0 < saved && (!self.churn || pause.as_millis() < saved)
    }
    fn divide(&mut self, jobs: &[Grown], capacity: u32, _waits: bool, pause: SimSpan) -> Vec<u32> {
        let groups: Vec<Vec<Item>> = jobs.iter().map(items).collect();
        let Choice { picks, value, .. } = solve(&groups, capacity);
        let held: u32 = jobs.iter().map(|job| job.flexible * job.gpus).sum();
        if self.churn && held <= capacity {
            let of = |(job, group): (&Grown, &Vec<Item>)| {
                group.get((job.flexible as usize).wrapping_sub(1)).map_or(0, |item| item.value)
            };
            let old: u64 = jobs.iter().zip(&groups).map(of).sum();
            let changed = jobs.iter().zip(&picks).filter(|(job, pick)| job.flexible != **pick).count() as u64;
            if value.saturating_sub(old) <= changed * pause.as_millis() {
                return jobs.iter().map(|job| job.flexible).collect();
            }
        }
        picks
    }
}
