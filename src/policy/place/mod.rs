//! Which node, which GPU? One implementation a file; each keeps its own index of the draft.

mod best;
mod fall;
mod fit;
mod ratings;
mod score;
mod watts;
mod weigh;

use super::Choice;
use super::context::Turn;
use crate::cluster::{Class, Cluster, Slot, TaskGroup, TaskRequest, lowest};
use crate::engine::{Case, View};
use crate::facts::Fact;
use crate::ids::{JobId, NodeId};
use crate::registry::{Entry, Kind, Knob, Knobs};
use crate::seed::{self, Purpose};
use crate::units::SimTime;
use std::collections::BTreeMap;

/// Makes a placement from its knobs for one case.
pub type Build = fn(&Knobs, &Case) -> Box<dyn Place>;

/// Makes a scorer from its knobs for one case.
type BuildScore = fn(&Knobs, &Case) -> Box<dyn score::Score>;

/// One line makes a placement known; one of `scored`, which also has `pub(super) fn score`, can be blended, too.
macro_rules! places {
    (plain: $($plain:ident)*, scored: $($scored:ident)*) => {
        $(mod $plain;)*
        $(mod $scored;)*

        /// All placements.
        pub const ENTRIES: &[&Entry<Build>] = &[$(&$plain::ENTRY,)* $(&$scored::ENTRY),*];
        /// Those that go by points.
        const SCORERS: &[(&Entry<Build>, BuildScore)] = &[$((&$scored::ENTRY, $scored::score)),*];
        /// Knobs of `blend`: a weight for each of those.
        const BLEND_KNOBS: &[Knob] = &[
            Knob::new("mode", "points by index, or anew for every node (slow; the oracle of tests)", Kind::Choice(&["index", "scan"]), "index"),
            $(Knob::new($scored::ENTRY.name, $scored::ENTRY.about, WEIGHT, "0").unit("weight").tunable()),*
        ];
    };
}

const WEIGHT: Kind = Kind::Float { min: 0.0, max: 1e6 };

places! {
    plain: first_fit best_fit worst_fit random blend fa gfgd gfgd_x bfd naive,
    scored: kube_best_fit dot_product gpu_packing gpu_clustering fgd pwr
}

/// Why the knobs of a placement do not go together.
pub(super) fn conflict(choice: &Choice) -> Option<String> {
    match choice.entry {
        "blend" => blend::conflict(&choice.knobs),
        "fgd" => fgd::conflict(&choice.knobs),
        "gfgd" | "gfgd-x" => weigh::conflict(&choice.knobs),
        _ => None,
    }
}

/// One question: where may the next task of a job go?
pub struct Ask<'a> {
    /// The state of the world.
    pub view: &'a View<'a>,
    /// The job.
    pub job: JobId,
    /// Which of its tasks.
    pub task: u32,
    /// Whether it is for the base of the job, or a worker that it can do without.
    pub class: Class,
    /// What the task asks for.
    pub request: &'a TaskRequest,
    /// The cluster as it would be.
    pub cluster: &'a Cluster,
    /// Where it must fit, too: what stays free beside a reservation.
    pub shadow: Option<&'a Cluster>,
    /// GPUs by node that are free only because whoever holds them can spare them; `None`: none are.
    pub lent: Option<&'a BTreeMap<NodeId, u64>>,
    /// When it should end, if windows lie ahead; else never.
    pub ends: SimTime,
}

impl Ask<'_> {
    /// The `n`-th draw of this task's attempt, below `of`: by the seed, the job and the task alone, so that another policy's choices do not
    /// move it.
    fn draw(&self, seed: u64, n: u64, of: usize) -> usize {
        let ordinal = (u64::from(self.view.job(self.job).attempts()) << 40) + (u64::from(self.task) << 8) + n;
        seed::index(seed, Purpose::Policy, u64::from(self.job.0), ordinal, of)
    }
    /// All nodes that the task may go to.
    fn accepted(&self) -> impl Iterator<Item = NodeId> + '_ {
        (0..self.cluster.len()).map(NodeId::from_index).filter(|&node| self.accepts(node))
    }
    /// Whether the task may go to a node, by everything that counts.
    pub fn accepts(&self, node: NodeId) -> bool {
        self.cluster.fits(node, self.request)
            && self.shadow.is_none_or(|shadow| shadow.fits(node, self.request) && self.usable(node) != 0)
            && (self.view.windows().is_empty() || self.ends <= self.view.closes_at(node, self.job))
    }
    /// The GPUs of a node that the task may use, as bits; for a CPU task any non-zero value.
    pub fn usable(&self, node: NodeId) -> u64 {
        let both =
            self.shadow.map_or(u64::MAX, |shadow| shadow.usable(node, self.request)) & self.cluster.usable(node, self.request);
        if both.count_ones() < u32::from(self.request.gpus) { 0 } else { both }
    }
    /// The lowest usable GPUs of a node, as many as are asked for; those that someone would have to spare come last.
    pub fn lowest_gpus(&self, node: NodeId) -> u64 {
        let usable = self.usable(node);
        let own = usable & !self.lent_on(node);
        let few = u32::from(self.request.gpus).saturating_sub(own.count_ones());
        if few == 0 { lowest(own, self.request.gpus) } else { own | lowest(usable & !own, few as u8) }
    }
    /// GPUs of a node that are free only because whoever holds them can spare them.
    pub fn lent_on(&self, node: NodeId) -> u64 {
        self.lent.and_then(|lent| lent.get(&node)).copied().unwrap_or(0)
    }
}

/// Where tasks go.
pub trait Place: Send {
    /// A node and GPUs for one task, or `None`. What it offers is free (and allowed) by [`Ask::accepts`].
    fn find(&mut self, ask: &Ask<'_>) -> Option<(NodeId, u64)>;
    /// Whether the tasks of a group may all fit; `false` only if they surely do not.
    fn has_room(&mut self, _cluster: &Cluster, _group: &TaskGroup) -> bool {
        true
    }
    /// Whether a gang that must lie on one model tries the slowest first, not the fastest.
    fn prefers_slow(&self, _view: &View<'_>, _job: JobId) -> bool {
        false
    }
    /// Hears that a job started, stopped, or holds something else, in fact or by a proposal of this pass; and what it then holds.
    fn turned(&mut self, _view: &View<'_>, _turn: Turn, _slots: &[Slot]) {}
    /// Whether it wants to hear facts.
    fn listens(&self) -> bool {
        false
    }
    /// Hears one fact.
    fn observe(&mut self, _at: SimTime, _fact: &Fact) {}
    /// Nodes looked at since this was last asked.
    fn take_visits(&mut self) -> u64;
}
