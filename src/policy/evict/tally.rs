//! How much room leaving makes, by counting: which of many candidates are needed, without placing anything.

use crate::cluster::{Cluster, Shape, Slot};
use crate::engine::View;
use crate::ids::{JobId, NodeId};
use crate::policy::plan::Free;

/// Room for the gang of a job, node by node, as candidates leave. For gangs of one group of whole GPUs it is exact.
#[derive(Debug, Default)]
pub(super) struct Tally {
    /// What is free on each node that was looked at, in `NodeId` order; `None`: closed.
    nodes: Vec<Option<Free>>,
    /// The same beside a reservation, if there is one.
    beside: Vec<Option<Free>>,
    /// Tasks of each group that fit.
    room: Vec<i64>,
    wanted: Vec<i64>,
}

impl Tally {
    /// Starts from what is free in `draft`; no more than what is free in `shadow`, if given, will count. `whole`: nobody asks for a
    /// share of a GPU.
    pub(super) fn begin(&mut self, draft: &Cluster, shadow: Option<&Cluster>, shape: &Shape, whole: bool) {
        let free = |cluster: &Cluster, node: usize| {
            let node = NodeId::from_index(node);
            if whole { Free::whole_of(cluster, node) } else { Free::of(cluster, node) }
        };
        self.nodes.clear();
        self.nodes.extend((0..draft.len()).map(|node| free(draft, node)));
        self.beside.clear();
        if let Some(shadow) = shadow {
            self.beside.extend((0..draft.len()).map(|node| free(shadow, node)));
        }
        self.wanted.clear();
        self.wanted.extend(shape.groups.iter().map(|group| i64::from(group.count)));
        self.room.clear();
        self.room.resize(shape.groups.len(), 0);
        for node in 0..self.nodes.len() {
            self.count(draft, shape, NodeId::from_index(node), 1);
        }
    }
    /// Adds (or takes off) the room of one node.
    fn count(&mut self, draft: &Cluster, shape: &Shape, node: NodeId, sign: i64) {
        let Some(mut free) = self.nodes[node.index()] else { return };
        match self.beside.get(node.index()) {
            Some(Some(beside)) => free = free.least(*beside),
            Some(None) => return,
            None => {}
        }
        let row = draft.node(node);
        for (group, room) in shape.groups.iter().zip(&mut self.room) {
            if group.request.allows(row.model, row.pool) {
                *room += sign * free.room(&group.request).min(i64::from(group.count));
            }
        }
    }
    /// Lets a job go (`sign` 1), or keeps it after all (-1).
    pub(super) fn change(&mut self, view: &View<'_>, draft: &Cluster, shape: &Shape, job: JobId, slots: &[Slot], sign: i64) {
        for slot in slots {
            self.count(draft, shape, slot.node, -1);
            if let Some(free) = &mut self.nodes[slot.node.index()] {
                free.add(view.request(job, slot), sign);
            }
            self.count(draft, shape, slot.node, 1);
        }
    }
    /// Whether each group has room for all its tasks.
    pub(super) fn is_enough(&self) -> bool {
        self.room.iter().zip(&self.wanted).all(|(room, wanted)| wanted <= room)
    }
}
