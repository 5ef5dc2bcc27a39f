//! First, best and worst fit are one search with another preference.

use super::{Ask, Place};
use crate::cluster::{Buckets, Cluster, Preference, TaskGroup, WHOLE};
use crate::ids::NodeId;
use crate::registry::{Kind, Knob, Knobs};

/// How to search: by the index, or by a scan of all nodes, which tests compare with.
pub(super) const MODE: Knob = Knob::new(
    "mode",
    "search by index, or by a scan of all nodes (slow; the oracle of tests)",
    Kind::Choice(&["index", "scan"]),
    "index",
);

/// Fit placement.
pub(super) struct Fit {
    preference: Preference,
    scan: bool,
    index: Buckets,
    visits: u64,
}

impl Fit {
    pub(super) fn new(preference: Preference, knobs: &Knobs) -> Fit {
        Fit { preference, scan: knobs.text("mode") == "scan", index: Buckets::default(), visits: 0 }
    }
    fn gpus(&self, ask: &Ask<'_>, node: NodeId) -> u64 {
        if !ask.request.is_share() {
            return ask.lowest_gpus(node);
        }
        let free = ask.cluster.gpu_free(node);
        let usable = crate::cluster::bits(ask.usable(node));
        let best = match self.preference {
            Preference::First => usable.min(),
            Preference::Tightest => usable.min_by_key(|&gpu| (free[usize::from(gpu)], gpu)),
            Preference::Emptiest => usable.min_by_key(|&gpu| (WHOLE - free[usize::from(gpu)], gpu)),
        };
        best.map_or(0, |gpu| 1 << gpu)
    }
    /// What the search minimises; the same ranks as the index, computed from the node itself.
    fn rank(&self, ask: &Ask<'_>, node: NodeId) -> (u32, NodeId) {
        let row = ask.cluster.node(node);
        let idle = row.idle.count_ones();
        let parts = || {
            let free = ask.cluster.gpu_free(node);
            crate::cluster::bits(row.healthy & !row.idle).map(move |gpu| u32::from(free[usize::from(gpu)]))
        };
        let milli = u32::from(ask.request.milli);
        let rank = match self.preference {
            Preference::First => 0,
            Preference::Tightest if ask.request.is_share() => parts().filter(|&part| milli <= part).min().unwrap_or(1000 + idle),
            Preference::Tightest => 1000 + idle,
            Preference::Emptiest if ask.request.is_share() && idle == 0 => 200_000 - parts().max().unwrap_or(0),
            Preference::Emptiest => 65_535 - idle,
        };
        (rank, node)
    }
}

impl Fit {
    /// As [`Place::find`], among nodes of which `among` holds.
    pub(super) fn find_among(&mut self, ask: &Ask<'_>, among: impl Fn(NodeId) -> bool) -> Option<(NodeId, u64)> {
        let node = if self.scan {
            self.visits += ask.cluster.len() as u64;
            let nodes = (0..ask.cluster.len()).map(NodeId::from_index).filter(|&node| among(node) && ask.accepts(node));
            nodes.min_by_key(|&node| self.rank(ask, node))
        } else {
            self.index.sync(ask.cluster);
            self.index.find(ask.request, self.preference, |node| among(node) && ask.accepts(node))
        }?;
        Some((node, self.gpus(ask, node)))
    }
}

impl Place for Fit {
    fn find(&mut self, ask: &Ask<'_>) -> Option<(NodeId, u64)> {
        self.find_among(ask, |_| true)
    }
    fn has_room(&mut self, cluster: &Cluster, group: &TaskGroup) -> bool {
        let request = &group.request;
        if self.scan && (request.gpus == 0 || request.is_share()) {
            return true;
        }
        if self.scan {
            let fit = cluster.nodes().iter().filter(|node| node.is_open() && request.allows(node.model, node.pool));
            return group.count <= fit.map(|node| node.idle.count_ones() / u32::from(request.gpus)).sum();
        }
        self.index.sync(cluster);
        self.index.room_for(group)
    }
    fn take_visits(&mut self) -> u64 {
        std::mem::take(&mut self.visits) + self.index.take_visits()
    }
}
