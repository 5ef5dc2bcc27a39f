//! The profile of what will be free, by counts or by nodes.

use super::nodes::NodeProfile;
use super::spot::Spot;
use super::steps::Steps;
use crate::engine::View;
use crate::ids::JobId;
use crate::policy::context::{Context, ends_after};
use crate::units::{SimSpan, SimTime};

/// What will be free when, by the estimates and the plans made so far.
pub enum Profile {
    /// Any free GPUs do.
    Counts(Steps),
    /// The nodes matter.
    Nodes(NodeProfile),
}

impl Profile {
    /// The profile of what runs now.
    pub fn of_running(view: &View<'_>, context: &Context, idle: u64) -> Profile {
        if !context.counted {
            return Profile::Nodes(NodeProfile::of_running(view, context));
        }
        let mut steps = Steps::new(view.now(), idle as i64);
        for running in context.running.iter().take_while(|running| running.ends != SimTime::NEVER) {
            steps.add(running.ends.max(view.now()), SimTime::NEVER, i64::from(view.job(running.job).shape().gpus()));
        }
        Profile::Counts(steps)
    }
    /// The earliest spot for a job, from `view.now()` on; only one at `view.now()` if `now_only`.
    pub fn earliest(&self, view: &View<'_>, job: JobId, now_only: bool) -> Option<Spot> {
        // Even a job of no length holds its GPUs for an instant.
        let span = ends_after(view, view.job(job)).max(SimSpan::from_millis(1));
        match self {
            Profile::Counts(steps) => {
                let need = i64::from(view.job(job).shape().gpus());
                let at = steps.earliest(need, span, view.now()).filter(|at| !now_only || *at <= view.now())?;
                Some(Spot { at, span, uses: Vec::new() })
            }
            Profile::Nodes(nodes) => nodes.earliest(view, job, span, now_only),
        }
    }
    /// Takes a spot. Returns whether it was free throughout; if not, nothing is taken.
    pub fn take(&mut self, view: &View<'_>, job: JobId, spot: &Spot) -> bool {
        match self {
            Profile::Counts(steps) => {
                let need = i64::from(view.job(job).shape().gpus());
                let until = spot.at.after(spot.span);
                steps.least(spot.at, until) >= need && {
                    steps.add(spot.at, until, -need);
                    true
                }
            }
            Profile::Nodes(nodes) => nodes.take(view, job, spot),
        }
    }
    /// Gives a taken spot back.
    pub fn give(&mut self, view: &View<'_>, job: JobId, spot: &Spot) {
        match self {
            Profile::Counts(steps) => {
                steps.add(spot.at, spot.at.after(spot.span), i64::from(view.job(job).shape().gpus()));
            }
            Profile::Nodes(nodes) => nodes.give(view, job, spot),
        }
    }
    /// How long from now a number of GPUs stays free, by counts; `None` where nodes decide.
    pub fn free_for(&self, gpus: u32) -> Option<SimSpan> {
        match self {
            Profile::Counts(steps) => Some(steps.free_for(i64::from(gpus))),
            Profile::Nodes(_) => None,
        }
    }
}
