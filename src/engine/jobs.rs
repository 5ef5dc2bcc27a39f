//! Every job of a run and where it stands. Attempts progress by segments of constant rate.

use super::case::{Contract, Protection};
use crate::accounts::AccountTree;
use crate::cluster::{Shape, Slot};
use crate::facts::{Amendment, QueueReason};
use crate::ids::{Epoch, JobId};
use crate::units::{MilliGpu, SimSpan, SimTime};
use crate::workload::{Extra, Job, Mixing};

/// Where a job stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Not yet eligible: its not-before lies ahead or a dependency is not over.
    Held,
    /// In the queue.
    Queued,
    /// Its start is agreed; its GPUs are being vacated.
    Granting,
    /// An attempt runs.
    Running,
    /// It was told to go, and still holds its GPUs.
    Leaving,
    /// Over, or rejected.
    Over,
}

impl Status {
    /// Whether it holds GPUs.
    pub fn holds(self) -> bool {
        matches!(self, Status::Running | Status::Leaving)
    }
}

/// One job and where it stands.
#[derive(Clone, Debug)]
pub(super) struct JobRow {
    pub(super) job: Job,
    pub(super) status: Status,
    pub(super) epoch: Epoch,
    /// Attempts begun so far.
    pub(super) attempt: u32,
    pub(super) failures: u32,
    /// Dependencies that are not over yet.
    pub(super) waits_for: u32,
    /// Handle of its claims while it holds or is granted any.
    pub(super) claims: u32,
    /// When it last entered the queue.
    pub(super) queued_at: SimTime,
    pub(super) queue_reason: QueueReason,
    /// When the attempt was granted its GPUs.
    pub(super) started_at: SimTime,
    /// The min runtime it declared by then.
    pub(super) declared: Option<SimSpan>,
    /// When it last paused for a change of what it holds.
    pub(super) paused_at: SimTime,
    /// From when the current segment's work counts (the end of its overhead or pause).
    pub(super) segment_at: SimTime,
    /// Work, in ms at rate 1, durable before this attempt.
    pub(super) durable: f64,
    /// Work done in this attempt before the current segment.
    pub(super) progress: f64,
    /// Work per ms in the current segment.
    pub(super) rate: f64,
    /// Time held in earlier attempts.
    pub(super) held_before: SimSpan,
    /// When the attempt should end by its estimate.
    pub(super) estimated_end: SimTime,
    /// Whether it is over with its work done.
    pub(super) completed: bool,
}

impl JobRow {
    pub(super) const NO_CLAIMS: u32 = u32::MAX;

    fn new(job: Job) -> JobRow {
        JobRow {
            job,
            status: Status::Held,
            epoch: Epoch(0),
            attempt: 0,
            failures: 0,
            waits_for: 0,
            claims: JobRow::NO_CLAIMS,
            queued_at: job.submit,
            queue_reason: QueueReason::Submitted,
            started_at: SimTime::NEVER,
            declared: job.min_runtime,
            paused_at: SimTime::NEVER,
            segment_at: SimTime::NEVER,
            durable: 0.0,
            progress: 0.0,
            rate: 1.0,
            held_before: SimSpan::ZERO,
            estimated_end: SimTime::NEVER,
            completed: false,
        }
    }
    /// Whether it has never started, and still might.
    pub(super) fn misses_deadline(&self) -> bool {
        self.attempt == 0 && self.status != Status::Over
    }
    /// Work done in this attempt up to `now`.
    pub(super) fn progress_at(&self, now: SimTime) -> f64 {
        self.progress + now.since(self.segment_at).as_millis() as f64 * self.rate
    }
    /// When the work is done at the current rate.
    pub(super) fn done_at(&self) -> SimTime {
        let rest = self.job.work.as_millis() as f64 - self.durable - self.progress;
        self.segment_at.after(SimSpan::from_millis(libm::ceil((rest / self.rate).max(0.0)) as u64))
    }
    /// When the time limit kills it.
    pub(super) fn killed_at(&self) -> SimTime {
        match self.job.limit {
            SimSpan::FOREVER => SimTime::NEVER,
            limit => self.started_at.after(limit.beyond(self.held_before)),
        }
    }
    /// Closes the current segment at `now` and opens one that counts from `from`, at `rate`.
    pub(super) fn turn(&mut self, now: SimTime, from: SimTime, rate: f64) {
        self.progress = self.progress_at(now);
        self.segment_at = from;
        self.rate = rate;
        self.epoch = Epoch(self.epoch.0 + 1);
    }
    /// Ends the attempt at `now`, keeping what is durable. Returns the work lost.
    pub(super) fn stop(&mut self, now: SimTime, keep: Keep) -> SimSpan {
        let total = self.durable + self.progress_at(now);
        let kept = self.kept(total, keep);
        self.durable = kept;
        self.progress = 0.0;
        self.held_before = self.held_before.plus(now.since(self.started_at));
        self.segment_at = SimTime::NEVER;
        self.epoch = Epoch(self.epoch.0 + 1);
        SimSpan::from_millis(libm::round(total - kept) as u64)
    }
    /// What of `total` work is durable.
    fn kept(&self, total: f64, keep: Keep) -> f64 {
        match (keep, self.job.checkpoint.as_millis()) {
            (Keep::Nothing, _) => 0.0,
            (Keep::Checkpoints, 0) => total,
            (Keep::Checkpoints, every) => (libm::floor(total / every as f64) * every as f64).max(self.durable),
        }
    }
    /// What the estimate leaves of the run time, at rate 1, when an attempt begins.
    pub(super) fn estimate_left(&self) -> SimSpan {
        match self.job.estimate {
            SimSpan::FOREVER => SimSpan::FOREVER,
            estimate => estimate.beyond(SimSpan::from_millis(self.durable as u64)),
        }
    }
}

/// A span of work at `rate`, in time.
pub(super) fn scaled(work: SimSpan, rate: f64) -> SimSpan {
    if rate == 1.0 { work } else { SimSpan::from_millis(libm::ceil(work.as_millis() as f64 / rate) as u64) }
}

/// What an attempt that stops leaves behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Keep {
    /// Work up to the last checkpoint.
    Checkpoints,
    /// Nothing.
    Nothing,
}

/// All jobs, in `JobId` order, and the claims of those that hold any.
#[derive(Debug, Default)]
pub(super) struct Jobs {
    rows: Vec<JobRow>,
    extras: Vec<Extra>,
    claims: Vec<Vec<Slot>>,
    /// Whose each entry of `claims` is, if anyone's.
    owners: Vec<Option<JobId>>,
    spare: Vec<u32>,
}

impl Jobs {
    /// How many were submitted.
    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }
    /// Makes room for that many jobs, so that growing never copies.
    pub(super) fn reserve(&mut self, jobs: usize) {
        self.rows.reserve(jobs);
    }
    pub(super) fn add(&mut self, mut job: Job, extra: Option<Extra>) -> JobId {
        let id = JobId::from_index(self.rows.len());
        job.extra = match extra {
            Some(extra) => {
                self.extras.push(extra);
                self.extras.len() as u32 - 1
            }
            None => Job::PLAIN,
        };
        self.rows.push(JobRow::new(job));
        id
    }
    pub(super) fn row(&self, job: JobId) -> &JobRow {
        &self.rows[job.index()]
    }
    pub(super) fn row_mut(&mut self, job: JobId) -> &mut JobRow {
        &mut self.rows[job.index()]
    }
    pub(super) fn get(&self, job: JobId) -> Option<&JobRow> {
        self.rows.get(job.index())
    }
    pub(super) fn extra(&self, job: JobId) -> Option<&Extra> {
        let row = self.row(job).job.extra;
        (row != Job::PLAIN).then(|| &self.extras[row as usize])
    }
    /// What its gang does on several models.
    pub(super) fn mixing(&self, job: JobId) -> Mixing {
        self.extra(job).map_or(Mixing::Slowest, |extra| extra.mixing)
    }
    /// The slots a job holds or is granted.
    pub(super) fn slots(&self, job: JobId) -> &[Slot] {
        match self.row(job).claims {
            JobRow::NO_CLAIMS => &[],
            handle => &self.claims[handle as usize],
        }
    }
    pub(super) fn set_slots(&mut self, job: JobId, slots: &[Slot]) {
        let handle = self.spare.pop().unwrap_or_else(|| {
            self.claims.push(Vec::new());
            self.owners.push(None);
            self.claims.len() as u32 - 1
        });
        self.owners[handle as usize] = Some(job);
        self.claims[handle as usize].extend_from_slice(slots);
        self.row_mut(job).claims = handle;
    }
    pub(super) fn slots_mut(&mut self, job: JobId) -> &mut Vec<Slot> {
        let handle = self.row(job).claims;
        &mut self.claims[handle as usize]
    }
    pub(super) fn clear_slots(&mut self, job: JobId) {
        let handle = std::mem::replace(&mut self.row_mut(job).claims, JobRow::NO_CLAIMS);
        if handle != JobRow::NO_CLAIMS {
            self.claims[handle as usize].clear();
            self.owners[handle as usize] = None;
            self.spare.push(handle);
        }
    }
    /// Jobs that hold GPUs, in no stated order.
    pub(super) fn holders(&self) -> impl Iterator<Item = JobId> + '_ {
        self.owners.iter().flatten().copied()
    }
    pub(super) fn amend(&mut self, job: JobId, change: Amendment) {
        let row = &mut self.row_mut(job).job;
        match change {
            Amendment::Priority(priority) => row.priority = priority,
            Amendment::Limit(limit) => row.limit = limit,
            Amendment::MinRuntime(declared) => row.min_runtime = declared,
        }
    }
}

/// What a scheduler may know of a job.
#[derive(Clone, Copy)]
pub struct JobView<'a> {
    pub(super) jobs: &'a Jobs,
    pub(super) shapes: &'a [Shape],
    pub(super) contract: &'a Contract,
    pub(super) accounts: &'a AccountTree,
    pub(super) id: JobId,
}

impl<'a> JobView<'a> {
    fn row(&self) -> &'a JobRow {
        self.jobs.row(self.id)
    }
    /// Where it stands.
    pub fn status(&self) -> Status {
        self.row().status
    }
    /// When it was submitted.
    pub fn submit(&self) -> SimTime {
        self.row().job.submit
    }
    /// When it last entered the queue.
    pub fn queued_at(&self) -> SimTime {
        self.row().queued_at
    }
    /// Why it last entered the queue.
    pub fn queue_reason(&self) -> QueueReason {
        self.row().queue_reason
    }
    /// Who is charged.
    pub fn account(&self) -> crate::ids::AccountId {
        self.row().job.account
    }
    /// Who submitted it.
    pub fn user(&self) -> crate::ids::UserId {
        self.row().job.user
    }
    /// Its class label.
    pub fn class(&self) -> crate::ids::ClassId {
        self.row().job.class
    }
    /// Larger is more urgent.
    pub fn priority(&self) -> i32 {
        self.row().job.priority
    }
    /// The row of its request.
    pub fn shape_id(&self) -> crate::ids::ShapeId {
        self.row().job.shape
    }
    /// Its request.
    pub fn shape(&self) -> &'a Shape {
        &self.shapes[self.row().job.shape.index()]
    }
    /// The min runtime it declares; of a running job, what it declared when the attempt started.
    pub fn declared(&self) -> Option<SimSpan> {
        let row = self.row();
        if row.status.holds() { row.declared } else { row.job.min_runtime }
    }
    /// Work that would be thrown away if the running attempt were stopped now: what was done since the last checkpoint, or all if it
    /// cannot be continued.
    pub fn at_stake(&self, now: SimTime) -> SimSpan {
        let row = self.row();
        if !row.status.holds() {
            return SimSpan::ZERO;
        }
        let total = row.durable + row.progress_at(now);
        let kept = row.kept(total, if row.job.resumable { Keep::Checkpoints } else { Keep::Nothing });
        SimSpan::from_millis(libm::round(total - kept) as u64)
    }
    /// Whether its time is charged to its account.
    pub fn is_allocated(&self) -> bool {
        self.contract.is_allocated(self.declared())
    }
    /// How long an attempt of it is protected from its grant on.
    pub fn protection(&self) -> SimSpan {
        match self.contract.protect {
            Protection::Queue => {
                self.contract.protection_with(self.declared(), self.accounts.min_runtime_of(self.row().job.account))
            }
            Protection::Contract | Protection::Global(_) | Protection::Nothing => self.contract.protection(self.declared()),
        }
    }
    /// Until when the running attempt is protected.
    pub fn protected_until(&self) -> SimTime {
        self.row().started_at.after(self.protection())
    }
    /// Whether a preempted attempt can be continued.
    pub fn is_resumable(&self) -> bool {
        self.row().job.resumable
    }
    /// Whether it accepts preemption under priority policies.
    pub fn is_preemptible(&self) -> bool {
        self.row().job.preemptible
    }
    /// What the scheduler is told of the run time still to come if it started now, with its base workers on GPUs of the reference;
    /// [`SimSpan::FOREVER`] if nothing.
    pub fn estimate(&self) -> SimSpan {
        let row = self.row();
        let restart = if 0.0 < row.durable { row.job.restart_cost } else { SimSpan::ZERO };
        let left = match (row.estimate_left(), self.elasticity()) {
            (SimSpan::FOREVER, _) => SimSpan::FOREVER,
            (left, Some(elastic)) => scaled(left, elastic.rate(self.shape().groups[0].count)),
            (left, None) => left,
        };
        let work = left.plus(restart);
        match row.job.limit {
            SimSpan::FOREVER => work,
            limit => work.min(limit.beyond(row.held_before)),
        }
    }
    /// When the running attempt was granted its GPUs.
    pub fn started_at(&self) -> SimTime {
        self.row().started_at
    }
    /// Attempts begun so far.
    pub fn attempts(&self) -> u32 {
        self.row().attempt
    }
    /// When its time limit stops the running attempt; [`SimTime::NEVER`] if it has none.
    pub fn killed_at(&self) -> SimTime {
        self.row().killed_at()
    }
    /// When the running attempt should end by its estimate; [`SimTime::NEVER`] if nothing is known. May lie in the past.
    pub fn estimated_end(&self) -> SimTime {
        self.row().estimated_end
    }
    /// GPU time that its attempts before the running one held, from the capacity of its base gang.
    pub fn attained_before(&self) -> crate::units::GpuTime {
        self.shape().capacity() * self.row().held_before
    }
    /// The slots it holds, or is granted.
    pub fn slots(&self) -> &'a [Slot] {
        self.jobs.slots(self.id)
    }
    /// GPU capacity that it holds; of one that holds none, what its gang asks for.
    pub fn occupies(&self) -> MilliGpu {
        if self.status().holds() { self.slots().iter().map(Slot::capacity).sum() } else { self.shape().capacity() }
    }
    /// How many workers it may hold, if not fixed.
    pub fn elasticity(&self) -> Option<crate::workload::Elasticity> {
        self.jobs.extra(self.id).and_then(|extra| extra.elastic.as_deref().copied())
    }
    /// What its gang does on several models.
    pub fn mixing(&self) -> Mixing {
        self.jobs.mixing(self.id)
    }
    /// Start it by then or it is counted as a missed deadline.
    pub fn start_deadline(&self) -> Option<SimTime> {
        self.jobs.extra(self.id).and_then(|extra| extra.start_deadline)
    }
}
