//! `gandiva`: while nobody waits, elastic jobs grow by one worker each in turn; as soon as anyone does, they are back at their base.

use super::Build;
use super::grow::{Grow, Rule};
use super::grown::Grown;
use crate::registry::Entry;
use crate::units::SimSpan;

/// The rule.
pub const ENTRY: Entry<Build> = Entry {
    name: "gandiva",
    about: "while nobody waits jobs grow by a worker each in turn; else all hold their base",
    source: "elastic part of Gandiva (Xiao et al., OSDI 2018) as later works describe it; details are our choice",
    knobs: &[],
    needs: &[],
    provides: &[],
    timed: false,
    build: |_knobs, _case| Grow::boxed(Gandiva),
};

struct Gandiva;

impl Rule for Gandiva {
    fn divide(&mut self, jobs: &[Grown], capacity: u32, waits: bool, _pause: SimSpan) -> Vec<u32> {
        let (mut workers, mut left) = (vec![0; jobs.len()], capacity);
        let mut grew = !waits;
        while grew {
            grew = false;
            for (job, workers) in jobs.iter().zip(&mut workers) {
                if *workers < job.most() && job.gpus <= left {
                    *workers += 1;
                    left -= job.gpus;
                    grew = true;
                }
            }
        }
        workers
    }
}
