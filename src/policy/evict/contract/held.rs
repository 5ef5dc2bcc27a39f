//! Who runs, as eviction by contract sees it: without a promise, still protected, or past protection and open to those owed more.

use crate::cluster::{Cluster, Shape, Slot, WHOLE};
use crate::engine::{Case, Protection, Status, View};
use crate::ids::{JobId, NodeId};
use crate::policy::context::{Phase, Running, Turn};
use crate::policy::order::Order;
use crate::policy::sorted::{Item, Sorted};
use crate::units::{SimSpan, SimTime};
use std::collections::BTreeMap;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// Charged to nobody.
    Unallocated,
    /// Protected until then.
    Shielded(SimTime),
    /// Past its protection.
    Open,
}

#[derive(Clone, Debug)]
struct Held {
    row: u32,
    milli: u64,
    place: Place,
    /// Whole GPUs by node.
    nodes: Vec<(NodeId, u32)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Opening {
    at: SimTime,
    job: JobId,
}

impl Item for Opening {
    fn weight(&self) -> u64 {
        0
    }
}

/// Running jobs by what protects them.
#[derive(Debug)]
pub(super) struct Holders {
    min_turn: SimSpan,
    /// Whether protection depends on who asks, so that it is looked up for each pair.
    by_pair: bool,
    held: BTreeMap<JobId, Held>,
    unallocated: Vec<JobId>,
    unallocated_milli: u64,
    shielded: Sorted<Opening>,
    /// By row of the share tree.
    open: Vec<Vec<JobId>>,
    open_by_row: Vec<u64>,
    open_milli: u64,
    /// Whole GPUs of each node held by unallocated work, and by work past its protection.
    by_node: Vec<[u32; 2]>,
    /// Starts whose GPUs are being vacated, and when they should be past their protection.
    granted: BTreeMap<JobId, SimTime>,
}

impl Holders {
    pub(super) fn new(min_turn: SimSpan, case: &Case) -> Holders {
        Holders {
            min_turn,
            by_pair: case.contract.protect == Protection::Queue,
            held: BTreeMap::new(),
            unallocated: Vec::new(),
            unallocated_milli: 0,
            shielded: Sorted::default(),
            open: Vec::new(),
            open_by_row: Vec::new(),
            open_milli: 0,
            by_node: vec![[0; 2]; case.cluster.nodes.len()],
            granted: BTreeMap::new(),
        }
    }
    /// How long an attempt of `job` cannot be evicted for allocated work at all: never in the instant of its start, so that within an
    /// instant nobody leaves who took another's place, and no chain of evictions comes back to its beginning.
    fn shield(&self, view: &View<'_>, job: JobId) -> SimSpan {
        let least = self.min_turn.max(SimSpan::from_millis(1));
        if self.by_pair { least } else { view.job(job).protection().max(least) }
    }
    /// Takes up how a job turned; `slots` is what it holds or would.
    pub(super) fn turned(&mut self, view: &View<'_>, turn: Turn, order: &dyn Order, slots: &[Slot]) {
        let job = turn.job;
        if let Some(held) = self.held.remove(&job) {
            match held.place {
                Place::Unallocated => {
                    self.unallocated.retain(|it| *it != job);
                    self.unallocated_milli -= held.milli;
                    held.nodes.iter().for_each(|(node, gpus)| self.by_node[node.index()][0] -= gpus);
                }
                Place::Shielded(at) => {
                    self.shielded.remove(&Opening { at, job });
                }
                Place::Open => self.close(job, &held),
            }
        }
        self.granted.remove(&job);
        let it = view.job(job);
        if turn.to == Phase::Granted {
            let left = view.eviction_latency().plus(self.shield(view, job));
            let until = if it.is_allocated() { turn.at.after(left) } else { turn.at };
            self.granted.insert(job, until);
        }
        if turn.to != Phase::Running {
            return;
        }
        let row = order.standing().and_then(|standing| standing.row_of_running(job)).unwrap_or(0);
        let milli = it.shape().capacity().as_milli();
        let started = if it.status().holds() { it.started_at() } else { turn.at };
        let until = started.after(self.shield(view, job));
        let place = if !it.is_allocated() {
            Place::Unallocated
        } else if until <= turn.at {
            Place::Open
        } else {
            Place::Shielded(until)
        };
        let whole = slots.iter().filter(|slot| slot.milli == WHOLE);
        let nodes: Vec<(NodeId, u32)> = whole.map(|slot| (slot.node, slot.gpus.count_ones())).collect();
        let held = Held { row, milli, place, nodes };
        match place {
            Place::Unallocated => {
                self.unallocated.push(job);
                self.unallocated_milli += milli;
                held.nodes.iter().for_each(|(node, gpus)| self.by_node[node.index()][0] += gpus);
            }
            Place::Shielded(at) => self.shielded.insert(Opening { at, job }),
            Place::Open => self.put_open(job, &held),
        }
        self.held.insert(job, held);
    }
    fn put_open(&mut self, job: JobId, held: &Held) {
        let (row, milli) = (held.row, held.milli);
        held.nodes.iter().for_each(|(node, gpus)| self.by_node[node.index()][1] += gpus);
        if self.open.len() <= row as usize {
            self.open.resize(row as usize + 1, Vec::new());
            self.open_by_row.resize(row as usize + 1, 0);
        }
        self.open[row as usize].push(job);
        self.open_by_row[row as usize] += milli;
        self.open_milli += milli;
    }
    fn close(&mut self, job: JobId, held: &Held) {
        self.open[held.row as usize].retain(|it| *it != job);
        self.open_by_row[held.row as usize] -= held.milli;
        self.open_milli -= held.milli;
        held.nodes.iter().for_each(|(node, gpus)| self.by_node[node.index()][1] -= gpus);
    }
    /// Whether a gang may fit if unallocated work left, and (`open`) all past its protection; `false` only if it surely does not. By
    /// whole GPUs alone. `shadow`: where it must fit, too.
    pub(super) fn may_fit(&self, draft: &Cluster, shadow: Option<&Cluster>, shape: &Shape, open: bool) -> bool {
        let [group] = &*shape.groups else { return true };
        let each = u32::from(group.request.gpus);
        if each == 0 {
            return true;
        }
        let mut tasks = 0;
        for (row, (node, [unallocated, past])) in draft.nodes().iter().zip(&self.by_node).enumerate() {
            let gpus = node.idle.count_ones() + unallocated + if open { *past } else { 0 };
            let gpus = shadow.map_or(gpus, |shadow| gpus.min(shadow.nodes()[row].idle.count_ones()));
            if each <= gpus && node.is_open() && group.request.allows(node.model, node.pool) {
                tasks += gpus / each;
                if group.count <= tasks {
                    return true;
                }
            }
        }
        false
    }
    /// Moves those whose protection is over. Returns whether there were any.
    pub(super) fn open_up(&mut self, now: SimTime) -> bool {
        let mut any = false;
        while let Some(opening) = self.shielded.first().filter(|it| it.at <= now) {
            self.shielded.remove(&opening);
            if let Some(mut held) = self.held.remove(&opening.job) {
                held.place = Place::Open;
                self.put_open(opening.job, &held);
                self.held.insert(opening.job, held);
            }
            any = true;
        }
        any
    }
    pub(super) fn next_opening(&self) -> Option<SimTime> {
        self.shielded.first().map(|it| it.at)
    }
    pub(super) fn has_open(&self) -> bool {
        0 < self.open_milli
    }
    pub(super) fn unallocated(&self) -> &[JobId] {
        &self.unallocated
    }
    pub(super) fn unallocated_milli(&self) -> u64 {
        self.unallocated_milli
    }
    pub(super) fn open_milli(&self) -> u64 {
        self.open_milli
    }
    /// Rows with jobs past their protection, each with those jobs, in order of row.
    pub(super) fn open(&self) -> impl Iterator<Item = (u32, &[JobId])> {
        let rows = self.open.iter().enumerate().filter(|(_, jobs)| !jobs.is_empty());
        rows.map(|(row, jobs)| (row as u32, jobs.as_slice()))
    }
    pub(super) fn open_of(&self, row: u32) -> u64 {
        self.open_by_row.get(row as usize).copied().unwrap_or(0)
    }
    /// The row to which a running allocated job is charged.
    pub(super) fn row_of(&self, job: JobId) -> Option<u32> {
        self.held.get(&job).filter(|held| held.place != Place::Unallocated).map(|held| held.row)
    }
    /// Everyone who runs, by when it may have to leave.
    pub(super) fn releases(&self, view: &View<'_>, out: &mut Vec<Running>) {
        let now = view.now();
        let first = out.len();
        // Where protection depends on who asks, what holds against most is counted on.
        let protected = |job: JobId| view.job(job).started_at().after(view.job(job).protection());
        let least = |job: JobId| if self.by_pair { protected(job).max(now) } else { now };
        out.extend(self.unallocated.iter().map(|&job| Running { ends: now, job }));
        out.extend(self.open.iter().flatten().map(|&job| Running { ends: least(job), job }));
        out.extend(self.shielded.iter().map(|it| Running { ends: it.at.max(least(it.job)), job: it.job }));
        out.extend(self.granted.iter().map(|(&job, &ends)| Running { ends, job }));
        out[first..].sort_unstable();
    }
    /// Jobs on draining nodes that are to leave now: those without a promise, and those past theirs.
    pub(super) fn drain(&self, view: &View<'_>, nodes: &[NodeId], leave: &mut Vec<JobId>) -> Option<SimTime> {
        let mut next: Option<SimTime> = None;
        for (&job, held) in &self.held {
            let it = view.job(job);
            if it.status() != Status::Running || !it.slots().iter().any(|slot| nodes.contains(&slot.node)) {
                continue;
            }
            let until = match held.place {
                Place::Unallocated => view.now(),
                Place::Shielded(_) | Place::Open => it.started_at().after(it.protection()),
            };
            if until <= view.now() {
                leave.push(job);
            } else {
                next = Some(next.map_or(until, |at| at.min(until)));
            }
        }
        next
    }
}
