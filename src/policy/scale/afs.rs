//! `afs`: one worker at a time to the job on top: of two, the one with more GPUs only if a further worker yields it relatively more.

use super::Build;
use super::grow::{Grow, Rule};
use super::grown::Grown;
use crate::registry::Entry;
use crate::units::SimSpan;

/// The rule.
pub const ENTRY: Entry<Build> = Entry {
    name: "afs",
    about: "one worker at a time to the job whose throughput gains relatively most, those with fewer GPUs first",
    source: "AFS-L of Hwang et al., \"Elastic Resource Sharing for Distributed Deep Learning\", NSDI 2021, above the base workers",
    knobs: &[],
    needs: &[],
    provides: &[],
    timed: false,
    build: |_knobs, _case| Grow::boxed(Afs),
};

struct Afs;

impl Rule for Afs {
    fn divide(&mut self, jobs: &[Grown], capacity: u32, _waits: bool, _pause: SimSpan) -> Vec<u32> {
        let (mut workers, mut left) = (vec![0_u32; jobs.len()], capacity);
        loop {
            let mut top: Option<usize> = None;
            for at in 0..jobs.len() {
                if workers[at] < jobs[at].most() && jobs[at].gpus <= left {
                    top = Some(top.map_or(at, |best| above(jobs, &workers, best, at)));
                }
            }
            let Some(top) = top else { return workers };
            workers[top] += 1;
            left -= jobs[top].gpus;
        }
    }
}

/// Which of two jobs the next worker goes to.
fn above(jobs: &[Grown], workers: &[u32], first: usize, second: usize) -> usize {
    let held = |at: usize| jobs[at].gpus_sure() + workers[at] * jobs[at].gpus;
    let (few, many) = if held(second) < held(first) { (second, first) } else { (first, second) };
    let rate = |at: usize, more: u32| jobs[at].rate(workers[at] + more);
    let gain = |at: usize| rate(at, 1) - rate(at, 0);
    if gain(few) / rate(few, 0) < gain(many) / rate(many, 1) { many } else { few }
}
