//! `optimus`: one worker at a time to the job whose estimated time left drops most, until nobody's does.

use super::Build;
use super::grow::{Grow, Rule};
use super::grown::Grown;
use crate::registry::Entry;
use crate::units::SimSpan;

/// The rule.
pub const ENTRY: Entry<Build> = Entry {
    name: "optimus",
    about: "one worker at a time to the job whose estimated time left drops most",
    source: "Peng et al., \"Optimus: an Efficient Dynamic Resource Scheduler for Deep Learning Clusters\", EuroSys 2018, above the base workers",
    knobs: &[],
    needs: &[],
    provides: &[],
    timed: false,
    build: |_knobs, _case| Grow::boxed(Optimus),
};

struct Optimus;

impl Rule for Optimus {
    fn divide(&mut self, jobs: &[Grown], capacity: u32, _waits: bool, _pause: SimSpan) -> Vec<u32> {
        let (mut workers, mut left) = (vec![0_u32; jobs.len()], capacity);
        loop {
            let mut best: Option<(u64, usize)> = None;
            for (at, job) in jobs.iter().enumerate().filter(|(at, job)| workers[*at] < job.most() && job.gpus <= left) {
                let times = job.left_with(workers[at]).zip(job.left_with(workers[at] + 1));
                let drop = times.map_or(0, |(now, then)| now.saturating_sub(then));
                if best.map_or(0, |(most, _)| most) < drop {
                    best = Some((drop, at));
                }
            }
            let Some((_, at)) = best else { return workers };
            workers[at] += 1;
            left -= jobs[at].gpus;
        }
    }
}
