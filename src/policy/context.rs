//! What the stages of a policy share: the cluster as it would be after this pass's proposals, the queue, who runs until when.

use super::gang::{Bounds, Loan};
use super::order::Head;
use super::queue::{Key, Kind, Queue, Queued, Tier};
use super::sorted::{Item, Sorted};
use crate::cluster::{Class, Cluster, Missing, Slot};
use crate::engine::{JobView, Release, Status, View};
use crate::facts::Weighing;
use crate::ids::{JobId, NodeId};
use crate::units::{SimSpan, SimTime};
use std::collections::BTreeMap;
use std::ops::Range;

/// A running job and when its GPUs should be free again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Running {
    /// By its estimate; may lie in the past; [`SimTime::NEVER`] if nothing is known.
    pub ends: SimTime,
    /// The job.
    pub job: JobId,
}

impl Item for Running {
    fn weight(&self) -> u64 {
        0
    }
}

/// Where a job stands, as far as stages care.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// Not submitted, held back, or over.
    #[default]
    Elsewhere,
    /// In the queue.
    Queued,
    /// Its start is agreed, or proposed; its GPUs are being vacated.
    Granted,
    /// It runs, or its start is proposed.
    Running,
    /// It was told to go, or that is proposed, and still holds its GPUs.
    Leaving,
}

impl Phase {
    /// Whether it holds GPUs, so that its account is charged.
    pub fn holds(self) -> bool {
        matches!(self, Phase::Running | Phase::Leaving)
    }
    /// Whether it runs or is about to, and is not told to go.
    pub fn stays(self) -> bool {
        matches!(self, Phase::Granted | Phase::Running)
    }
}

/// How a job turned since the last pass, in fact or by a proposal of this pass. From running to running: what it holds changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Turn {
    /// The job.
    pub job: JobId,
    /// When.
    pub at: SimTime,
    /// Where it stood.
    pub from: Phase,
    /// Where it stands.
    pub to: Phase,
}

impl Turn {
    /// Whether it takes up GPUs, or is to, from here on.
    pub fn starts(&self) -> bool {
        self.to.stays() && !self.from.stays()
    }
    /// Whether it gives up its GPUs, or is to, from here on.
    pub fn stops(&self) -> bool {
        self.from.stays() && !self.to.stays()
    }
}

/// What the context knows of a job: its phase and, if it is in the list of running jobs, under which end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Known {
    phase: Phase,
    ends: Option<SimTime>,
}

impl Known {
    fn of(view: &View<'_>, it: JobView<'_>) -> Known {
        let (phase, ends) = match it.status() {
            Status::Queued => (Phase::Queued, None),
            Status::Running => (Phase::Running, Some(it.estimated_end())),
            // What it holds goes to whoever it leaves for: it is promised to nobody, and cannot be made to leave again.
            Status::Leaving => (Phase::Leaving, None),
            Status::Granting => (Phase::Granted, Some(view.now().after(view.eviction_latency()).after(ends_after(view, it)))),
            Status::Held | Status::Over => (Phase::Elsewhere, None),
        };
        Known { phase, ends }
    }
}

/// A start proposed in this pass.
#[derive(Clone, Debug)]
struct Proposed {
    job: JobId,
    slots: Range<u32>,
    /// Whether its GPUs are still to be vacated.
    granted: bool,
}

/// The shared state.
#[derive(Debug)]
pub struct Context {
    /// The cluster as it would be after this pass's proposals.
    pub draft: Cluster,
    seen: u64,
    touched: Vec<NodeId>,
    /// The queue.
    pub queue: Queue,
    /// Running jobs by estimated end.
    pub running: Sorted<Running>,
    known: Vec<Known>,
    /// Starts proposed in this pass, and their slots.
    proposed: Vec<Proposed>,
    proposed_slots: Vec<Slot>,
    /// What running jobs would hold after proposals of this pass that take workers from them.
    pub(super) reshaped: BTreeMap<JobId, Vec<Slot>>,
    /// Flexible workers that are off the draft, by job, and their GPUs, by node.
    spared: BTreeMap<JobId, Vec<Slot>>,
    pub(super) lent: BTreeMap<NodeId, u64>,
    /// Jobs that facts spoke of since the last pass, each with when.
    pub(super) heard: Vec<(SimTime, JobId)>,
    /// Those of them that hold something else than before.
    pub(super) scaled: Vec<JobId>,
    /// Jobs queued since the last pass.
    pub fresh: Vec<JobId>,
    /// Turns heard of but not yet told, kept as a buffer.
    pub(super) turns: Vec<Turn>,
    /// Changes whenever capacity may have become free.
    pub freed: u64,
    /// Changes whenever the set of running jobs does.
    pub turned: u64,
    /// Changes whenever a job started or stopped other than by a proposal of ours.
    pub stirred: u64,
    /// Where nodes on loan are, and who is kept from them, if any are lent.
    pub loan: Option<Loan>,
    /// The stamp of `freed` under which each kind was found not to fit.
    full: Vec<u64>,
    /// The first jobs of buckets being compared, kept as a buffer.
    pub(super) heads: Vec<Head>,
    /// Slots of the gang being placed.
    pub slots: Vec<Slot>,
    /// What would be released for it.
    pub releases: Vec<Release>,
    /// How those compared with it.
    pub weighings: Vec<Option<Weighing>>,
    /// Whether every request is for whole single GPUs anywhere, so that counts decide what fits.
    pub counted: bool,
    /// Whether work is split into tiers.
    pub tiers: bool,
    /// Whether any stage asks who runs until when.
    pub tracks_running: bool,
}

impl Context {
    /// The context of an empty cluster, with room for a number of jobs.
    pub fn new(cluster: Cluster, jobs: usize, counted: bool, tiers: bool) -> Context {
        Context {
            draft: cluster,
            seen: 0,
            touched: Vec::new(),
            queue: Queue::for_jobs(jobs),
            running: Sorted::default(),
            known: Vec::with_capacity(jobs),
            proposed: Vec::new(),
            proposed_slots: Vec::new(),
            reshaped: BTreeMap::new(),
            spared: BTreeMap::new(),
            lent: BTreeMap::new(),
            heard: Vec::new(),
            scaled: Vec::new(),
            fresh: Vec::new(),
            turns: Vec::new(),
            freed: 1,
            turned: 1,
            stirred: 1,
            loan: None,
            full: Vec::new(),
            heads: Vec::new(),
            slots: Vec::new(),
            releases: Vec::new(),
            weighings: Vec::new(),
            counted,
            tiers,
            tracks_running: true,
        }
    }

    /// Makes the draft equal to the cluster as it is.
    pub fn sync(&mut self, view: &View<'_>) {
        let cluster = view.cluster();
        let mut differs = false;
        match cluster.changes(self.seen) {
            Some(changes) => {
                for &node in changes {
                    differs |= self.draft.copy_node(cluster, node);
                }
                for at in 0..self.touched.len() {
                    differs |= self.draft.copy_node(cluster, self.touched[at]);
                }
            }
            None => {
                self.draft.copy_all(cluster);
                differs = true;
            }
        }
        self.touched.clear();
        self.proposed.clear();
        self.proposed_slots.clear();
        self.reshaped.clear();
        self.spared.clear();
        self.lent.clear();
        self.seen = cluster.version();
        if differs {
            self.freed += 1;
        }
    }
    /// Remembers that the draft of a node may differ from what the engine makes of it.
    pub fn touch(&mut self, node: NodeId) {
        self.touched.push(node);
    }

    /// Takes up what was heard since the last pass: `key` says where a job that entered the queue stands. Turns are appended.
    pub fn reconcile(&mut self, view: &View<'_>, mut key: impl FnMut(JobId, JobView<'_>) -> (u32, Key), turns: &mut Vec<Turn>) {
        self.fresh.clear();
        let heard = std::mem::take(&mut self.heard);
        for &(at, job) in &heard {
            let it = view.job(job);
            let mut status = Known::of(view, it);
            let before = self.known(job);
            if (before.phase, status.phase) == (Phase::Granted, Phase::Granted) {
                // What was expected when it was granted stands until it starts.
                status.ends = before.ends;
            }
            let same = before == status && status.phase != Phase::Queued;
            if same && !self.scaled.contains(&job) {
                continue;
            }
            if before.phase == Phase::Queued {
                self.queue.remove(job);
            }
            if let Some(ends) = before.ends {
                self.stop_running(ends, job);
                self.stir();
            }
            if status.phase == Phase::Queued {
                let tier = if self.tiers && !it.is_allocated() { Tier::Unallocated } else { Tier::Allocated };
                let (lane, key) = key(job, it);
                let queued = Queued { key, estimate: it.estimate().as_millis() };
                let kind = self.kind(it);
                self.queue.insert(tier, lane, kind, queued);
            }
            if let Some(ends) = status.ends {
                self.start_running(ends, job);
                self.stir();
            }
            // Heard of twice in the queue, it is still one arrival.
            let again = (before.phase, status.phase) == (Phase::Queued, Phase::Queued) && self.fresh.contains(&job);
            if !again {
                if status.phase == Phase::Queued {
                    self.fresh.push(job);
                }
                turns.push(Turn { job, at, from: before.phase, to: status.phase });
            }
            self.known[job.index()] = status;
        }
        self.heard = heard;
        self.heard.clear();
        self.scaled.clear();
    }
    fn start_running(&mut self, ends: SimTime, job: JobId) {
        if self.tracks_running {
            self.running.insert(Running { ends, job });
        }
    }
    fn stop_running(&mut self, ends: SimTime, job: JobId) {
        if self.tracks_running {
            let was_there = self.running.remove(&Running { ends, job });
            assert!(was_there, "a job known to run is in the list");
        }
    }
    fn known(&mut self, job: JobId) -> Known {
        if self.known.len() <= job.index() {
            self.known.resize(job.index() + 1, Known::default());
        }
        self.known[job.index()]
    }
    /// Notes that a job started or stopped, or that time changed who may evict whom.
    pub fn stir(&mut self) {
        self.turned += 1;
        self.stirred += 1;
    }
    /// Takes up a start that was just proposed, as if the engine had agreed.
    pub fn propose_start(&mut self, view: &View<'_>, job: JobId) -> Turn {
        let evicts = self.releases.iter().any(|release| matches!(release, Release::Job(_)));
        let granted = evicts && SimSpan::ZERO < view.eviction_latency();
        let latency = if granted { view.eviction_latency() } else { SimSpan::ZERO };
        let ends = view.now().after(latency).after(ends_after(view, view.job(job)));
        let first = self.proposed_slots.len() as u32;
        self.proposed_slots.extend_from_slice(&self.slots);
        self.proposed.push(Proposed { job, slots: first..self.proposed_slots.len() as u32, granted });
        self.queue.remove(job);
        self.start_running(ends, job);
        let phase = if granted { Phase::Granted } else { Phase::Running };
        self.known[job.index()] = Known { phase, ends: Some(ends) };
        self.turned += 1;
        // Refused or agreed, the next pass looks at it again.
        self.heard.push((view.now(), job));
        Turn { job, at: view.now(), from: Phase::Queued, to: phase }
    }
    /// The slots of a start that was proposed in this pass.
    pub fn proposed(&self, job: JobId) -> Option<&[Slot]> {
        let found = self.proposed.iter().find(|it| it.job == job)?;
        Some(&self.proposed_slots[found.slots.start as usize..found.slots.end as usize])
    }
    /// Whether some of the slots of `job` are still held by those who leave for it.
    pub fn is_granted(&self, view: &View<'_>, job: JobId) -> bool {
        view.job(job).status() == Status::Granting || self.proposed.iter().any(|it| it.job == job && it.granted)
    }
    /// With eviction latency, victims hold their GPUs until they have left: puts the draft into the state in which the newcomer of
    /// `slots` holds only what is free now.
    pub fn await_victims(&mut self, view: &View<'_>, job: JobId) {
        let shape = view.job(job).shape();
        crate::cluster::gang::undo(&mut self.draft, shape, &self.slots);
        for at in 0..self.releases.len() {
            let Release::Job(victim) = self.releases[at] else { continue };
            // Flexible workers that were taken off the draft for all who wait go on, too, where nobody has taken their place.
            let holds = |slot: &&Slot| {
                let taken = self.draft.take(slot, view.request(victim, slot));
                assert!(taken || slot.class == Class::Flexible, "what a victim holds is free in the draft only for the newcomer");
                taken
            };
            let held: Vec<Slot> = view.job(victim).slots().iter().filter(holds).copied().collect();
            self.reshaped.insert(victim, held);
        }
        for slot in &self.slots {
            let request = &shape.groups[usize::from(slot.group)].request;
            self.draft.take_part(slot.node, &mut Missing::all(slot, request));
        }
    }
    /// The slots a job holds, is granted, or would be given by this pass.
    pub fn slots_of<'a>(&'a self, view: &View<'a>, job: JobId) -> &'a [Slot] {
        self.proposed(job).or_else(|| self.reshaped.get(&job).map(Vec::as_slice)).unwrap_or_else(|| view.job(job).slots())
    }
    /// Remembers what a running job would hold after a proposal of this pass.
    pub fn reshape(&mut self, job: JobId, slots: Vec<Slot>) {
        self.reshaped.insert(job, slots);
    }
    /// Takes the flexible workers of a job off the draft: they give way to whoever waits, if need be. Once a pass. Returns whether it has any.
    pub fn spare(&mut self, view: &View<'_>, job: JobId) -> bool {
        if self.spared.contains_key(&job) {
            return true;
        }
        let (flexible, base): (Vec<Slot>, Vec<Slot>) =
            self.slots_of(view, job).iter().partition(|slot| slot.class == Class::Flexible);
        if flexible.is_empty() {
            return false;
        }
        for slot in &flexible {
            self.draft.give(slot, view.request(job, slot));
            self.touch(slot.node);
            *self.lent.entry(slot.node).or_default() |= slot.gpus;
        }
        self.reshaped.insert(job, base);
        self.spared.insert(job, flexible);
        true
    }
    /// Puts all flexible workers back onto the draft, if nobody has taken the place of any; else changes nothing. Returns whether it did.
    pub fn unspare(&mut self, view: &View<'_>) -> bool {
        let all = || self.spared.iter().flat_map(|(job, slots)| slots.iter().map(|slot| (*job, *slot)));
        let held: Vec<(JobId, Slot)> = all().collect();
        for (at, (job, slot)) in held.iter().enumerate() {
            if !self.draft.take(slot, view.request(*job, slot)) {
                held[..at].iter().for_each(|(job, slot)| self.draft.give(slot, view.request(*job, slot)));
                return false;
            }
        }
        for (job, flexible) in std::mem::take(&mut self.spared) {
            self.reshaped.entry(job).or_default().extend(flexible);
        }
        self.lent.clear();
        true
    }
    /// The flexible workers of a job that are off the draft.
    pub fn spared(&self, job: JobId) -> &[Slot] {
        self.spared.get(&job).map_or(&[], Vec::as_slice)
    }
    /// GPUs of each node that are free on the draft only because whoever holds them can spare them.
    pub fn lent(&self) -> &BTreeMap<NodeId, u64> {
        &self.lent
    }
    /// Those of a job's spared workers whose GPUs starts of this pass are to have.
    pub fn displaced(&self, job: JobId) -> Vec<Slot> {
        let overlaps = |slot: &&Slot| self.proposed_slots.iter().any(|it| it.node == slot.node && it.gpus & slot.gpus != 0);
        self.spared(job).iter().filter(overlaps).copied().collect()
    }
    /// Where a job stands.
    pub fn phase(&self, job: JobId) -> Phase {
        self.known.get(job.index()).map_or(Phase::Elsewhere, |known| known.phase)
    }
    /// Takes up an eviction that was just proposed. With latency, the victim holds its GPUs for now.
    pub fn propose_stop(&mut self, view: &View<'_>, job: JobId) -> Turn {
        let before = self.known(job);
        if let Some(ends) = before.ends {
            self.stop_running(ends, job);
        }
        let leaves = SimSpan::ZERO < view.eviction_latency();
        let known = Known { phase: if leaves { Phase::Leaving } else { Phase::Elsewhere }, ends: None };
        self.known[job.index()] = known;
        self.turned += 1;
        self.heard.push((view.now(), job));
        Turn { job, at: view.now(), from: before.phase, to: known.phase }
    }
    /// The bounds set to a job: whether its gang may mix models, and whether it is kept from loaned nodes.
    pub fn bounds(&self, it: JobView<'_>) -> Bounds {
        Bounds::of(it, self.loan)
    }
    /// What decides where a job fits.
    pub fn kind(&self, it: JobView<'_>) -> Kind {
        let bounds = self.bounds(it);
        Kind::new(it.shape_id(), bounds.apart, bounds.barred.is_some())
    }
    /// Whether a kind was found not to fit, and nothing became free since.
    pub fn is_full_for(&self, kind: Kind) -> bool {
        self.full.get(kind.index()) == Some(&self.freed)
    }
    /// Remembers that a kind does not fit.
    pub fn set_full_for(&mut self, kind: Kind) {
        if self.full.len() <= kind.index() {
            self.full.resize(kind.index() + 1, 0);
        }
        self.full[kind.index()] = self.freed;
    }
}

/// How long `job` should hold its GPUs if it were granted them now.
pub fn ends_after(view: &View<'_>, job: JobView<'_>) -> SimSpan {
    view.startup().plus(job.estimate())
}
