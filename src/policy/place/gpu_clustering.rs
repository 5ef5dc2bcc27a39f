//! `gpu-clustering`: tasks of one kind together: shares with shares, and whole GPUs with those that ask for as many.
//!
//! Differs where the source has no gangs and no moves: the tasks of a gang do not see each other while they are placed, nor do running jobs
//! that are being moved.

use super::best::{Best, MODE};
use super::score::{Score, Candidate};
use super::Build;
use crate::cluster::{Slot, TaskRequest};
use crate::engine::{Case, View};
use crate::ids::{JobId, NodeId};
use crate::policy::context::{Phase, Turn};
use crate::registry::{Entry, Knobs};
use std::collections::BTreeMap;

/// The placement.
pub const ENTRY: Entry<Build> = Entry {
    name: "gpu-clustering",
    about: "beside tasks of its kind: shares with shares, whole GPUs with those that ask for as many; full nodes first",
    source: "GPU clustering of the FGD artifact (Weng et al., ATC 2023)",
    knobs: &[MODE],
    needs: &[],
    provides: &[],
    timed: false,
    build: |knobs, case| Best::boxed(score(knobs, case), knobs, case),
};

/// Its scorer.
pub(super) fn score(_knobs: &Knobs, case: &Case) -> Box<dyn Score> {
    Box::new(GpuClustering { hosts: vec![Vec::new(); case.cluster.nodes.len()], held: BTreeMap::new() })
}

/// What tasks are clustered by: 0 for a share, else how many whole GPUs.
type Kind = u8;

fn kind(request: &TaskRequest) -> Kind {
    if request.is_share() { 0 } else { request.gpus }
}

struct GpuClustering {
    /// For each node the kinds of task that it hosts, with how many of each.
    hosts: Vec<Vec<(Kind, u32)>>,
    /// Where each job's tasks are.
    held: BTreeMap<JobId, Vec<(NodeId, Kind)>>,
}

impl Score for GpuClustering {
    fn points(&mut self, candidate: &Candidate<'_>) -> f64 {
        if candidate.request.gpus == 0 {
            return 0.0;
        }
        // Published for nodes of at most eight GPUs, of which smaller ones look fuller.
        let base = 25 * (8000 - candidate.gpu_milli() as i64) / 8000;
        let kind = kind(candidate.request);
        let hosts = &self.hosts[candidate.node.index()];
        let more = match (hosts.len(), hosts.iter().any(|(it, _)| *it == kind)) {
            (1, true) => 75,
            (_, true) => 50,
            (0, _) => 25,
            (_, false) => 0,
        };
        (base + more) as f64
    }
    fn tells_empty_apart(&self) -> bool {
        true
    }
    fn turned(&mut self, view: &View<'_>, turn: Turn, slots: &[Slot], touched: &mut Vec<NodeId>) {
        let holds = matches!(turn.to, Phase::Granted | Phase::Running | Phase::Leaving);
        if holds && slots.is_empty() && self.held.contains_key(&turn.job) {
            return;
        }
        for (node, kind) in self.held.remove(&turn.job).unwrap_or_default() {
            let hosts = &mut self.hosts[node.index()];
            let at = hosts.iter().position(|(it, _)| *it == kind).expect("what a job holds was counted");
            hosts[at].1 -= 1;
            if hosts[at].1 == 0 {
                hosts.swap_remove(at);
                touched.push(node);
            }
        }
        if !holds {
            return;
        }
        let held: Vec<(NodeId, Kind)> = slots
            .iter()
            .map(|slot| (slot.node, view.request(turn.job, slot)))
            .filter(|(_, request)| 0 < request.gpus)
            .map(|(node, request)| (node, kind(request)))
            .collect();
        for &(node, kind) in &held {
            let hosts = &mut self.hosts[node.index()];
            match hosts.iter_mut().find(|(it, _)| *it == kind) {
                Some((_, count)) => *count += 1,
                None => {
                    hosts.push((kind, 1));
                    touched.push(node);
                }
            }
        }
        self.held.insert(turn.job, held);
    }
}
