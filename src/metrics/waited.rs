//! The wait of each measured job, so that one history under two policies can be compared job by job.

use super::{Scene, replay};
use crate::engine::{Case, Outcome};
use crate::ids::JobId;
use crate::units::{SimSpan, SimTime};

/// How long one job waited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waited {
    /// Which.
    pub job: JobId,
    /// When it was submitted.
    pub submit: SimTime,
    /// All stays in the queue; so far, if it still waits.
    pub wait: SimSpan,
}

/// The waits of those jobs that [`super::Measured::wait`] is of, in `JobId` order.
pub fn waited(case: &Case, outcome: &Outcome) -> Vec<Waited> {
    let mut scene = Scene::new(case, outcome);
    replay(outcome, &mut scene, &mut []);
    let now = scene.at();
    let jobs = scene.lives.iter().zip(&scene.workload.jobs).enumerate().filter(|(_, (life, _))| life.counts());
    jobs.map(|(row, (life, job))| Waited { job: JobId::from_index(row), submit: job.submit, wait: life.wait(now) }).collect()
}
