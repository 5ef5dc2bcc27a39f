//! Follows every eviction made for a job: that job must start, in the same instant or when its grant is complete, on GPUs that the
//! victim left, unless a failure, a cancellation or a called-off start came between.

use super::lives::{Lives, Stage};
use super::machines::Machines;
use super::{AuditReport, Faults};
use crate::cluster::{NodeState, Slot};
use crate::facts::{Fact, PreemptReason};
use crate::ids::{JobId, NodeId};
use std::collections::BTreeMap;

struct Victim {
    job: JobId,
    /// What it left and no third job has taken.
    left: Vec<Slot>,
    /// The newcomer took some of it, or something failed there.
    settled: bool,
}

/// Victims by the job they left for.
#[derive(Default)]
pub(super) struct Evictions {
    open: BTreeMap<JobId, Vec<Victim>>,
    followed: u64,
}

impl Evictions {
    pub(super) fn hear(&mut self, fact: &Fact, machines: &Machines, faults: &mut Faults) {
        match *fact {
            Fact::Preempted { job, by, reason, .. } => {
                // One told to go for a job that has since started or given up leaves for nobody.
                if by.is_some() && reason != PreemptReason::ForJob {
                    faults.say(format!("{} is preempted for {reason:?}, by {by:?}", faults.job(job)));
                }
                self.open.remove(&job); // whoever left for it did so in vain: it is a victim itself now
                if let Some(by) = by {
                    let left = machines.slots(job).collect();
                    self.open.entry(by).or_default().push(Victim { job, left, settled: false });
                    self.followed += 1;
                }
            }
            Fact::Claimed { job, slot } => self.claimed(job, slot, faults),
            Fact::CalledOff { job } | Fact::Ended { job, .. } | Fact::Broken { job, .. } => {
                self.open.remove(&job);
            }
            Fact::NodeChanged { node, state } if state != NodeState::Up => self.struck(node),
            Fact::GpuChanged { gpu, healthy: false } => self.struck(gpu.node),
            _ => {}
        }
    }

    fn claimed(&mut self, job: JobId, slot: Slot, faults: &Faults) {
        // Room may have been made in CPU or memory: then any task on the node that asks for some takes it.
        let shape = &faults.case.catalog.shapes.rows()[faults.jobs[job.index()].shape.index()];
        let more = |it: &crate::cluster::TaskGroup| 0 < it.request.cpu_milli || 0 < it.request.memory_mib;
        let asks_more = shape.groups.get(usize::from(slot.group)).is_some_and(more);
        for (&newcomer, victims) in &mut self.open {
            for victim in victims.iter_mut().filter(|victim| !victim.settled) {
                if newcomer == job {
                    let meets = |left: &Slot| left.node == slot.node && (left.gpus == slot.gpus || left.gpus & slot.gpus != 0);
                    let room = |left: &Slot| left.node == slot.node && (left.gpus == 0 || asks_more);
                    victim.settled = victim.left.iter().any(|left| meets(left) || room(left));
                } else {
                    for left in victim.left.iter_mut().filter(|left| left.node == slot.node && left.milli == 1000) {
                        if left.gpus & slot.gpus != 0 {
                            left.gpus &= !slot.gpus;
                            // Zero would mean a task without GPUs.
                            left.node = if left.gpus == 0 { NodeId(u32::MAX) } else { left.node };
                        }
                    }
                }
            }
        }
    }

    fn struck(&mut self, node: NodeId) {
        for victim in self.open.values_mut().flatten() {
            victim.settled |= victim.left.iter().any(|left| left.node == node);
        }
    }

    /// Newcomers whose grant is complete have started on what their victims left.
    pub(super) fn settle(&mut self, lives: &Lives, faults: &mut Faults) {
        self.open.retain(|&newcomer, victims| {
            if newcomer.index() < faults.jobs.len() && lives.stage(newcomer) == Stage::Granting {
                return true;
            }
            for victim in victims.iter().filter(|victim| !victim.settled) {
                faults.say(format!(
                    "{} left for {}, which did not start on what it left",
                    faults.job(victim.job),
                    faults.job(newcomer)
                ));
            }
            false
        });
    }

    pub(super) fn close(self, cut: bool, report: &mut AuditReport, faults: &mut Faults) {
        report.evictions = self.followed;
        if !cut {
            for newcomer in self.open.keys() {
                faults.say(format!("{} never started, though others left for it", faults.job(*newcomer)));
            }
        }
    }
}
