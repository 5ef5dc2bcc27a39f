//! `random`: any node that fits, each equally likely; a share goes to any GPU that fits. Draws depend on the seed, the job and the
//! task alone, so another policy's choices do not move them.

use super::{Ask, Build, Place};
use crate::cluster::{Buckets, Cluster, TaskGroup, bits};
use crate::ids::NodeId;
use crate::registry::Entry;
use crate::seed::{Purpose, index};

/// The placement.
pub const ENTRY: Entry<Build> = Entry {
    name: "random",
    about: "any node that fits, each equally likely",
    source: "textbook",
    knobs: &[],
    needs: &[],
    provides: &[],
    timed: false,
    build: |_knobs, case| Box::new(Random { seed: case.seed, index: Buckets::default(), visits: 0 }),
};

/// Nodes tried blindly before all that fit are listed: on a cluster with room the first few hit.
const TRIES: u64 = 16;

struct Random {
    seed: u64,
    index: Buckets,
    visits: u64,
}

impl Random {
    fn pick(&mut self, ask: &Ask<'_>) -> Option<NodeId> {
        let nodes = ask.cluster.len();
        for n in 0..TRIES {
            self.visits += 1;
            let node = NodeId::from_index(ask.draw(self.seed, n, nodes));
            if ask.accepts(node) {
                return Some(node);
            }
        }
        self.visits += nodes as u64;
        let fitting: Vec<NodeId> = ask.accepted().collect();
        (!fitting.is_empty()).then(|| fitting[ask.draw(self.seed, TRIES, fitting.len())])
    }
}

impl Place for Random {
    fn find(&mut self, ask: &Ask<'_>) -> Option<(NodeId, u64)> {
        let node = self.pick(ask)?;
        if !ask.request.is_share() {
            return Some((node, ask.lowest_gpus(node)));
        }
        let usable: Vec<u8> = bits(ask.usable(node)).collect();
        let pick = index(self.seed, Purpose::Policy, u64::from(ask.job.0), 1 << 60 | u64::from(ask.task), usable.len());
        Some((node, 1 << usable[pick]))
    }
    fn has_room(&mut self, cluster: &Cluster, group: &TaskGroup) -> bool {
        self.index.sync(cluster);
        self.index.room_for(group)
    }
    fn take_visits(&mut self) -> u64 {
        std::mem::take(&mut self.visits) + self.index.take_visits()
    }
}
