//! The queue as policies keep it: jobs of one tier, lane and shape stand in one bucket, in order. A shape that does not fit is
//! passed over as a whole, so a pass costs what changed and the number of buckets, never the length of the queue.

use super::sorted::{Item, Sorted};
use crate::ids::{JobId, ShapeId};
use std::cmp::Ordering;
use std::collections::BTreeMap;

/// A job's place in its lane: least first, the job's id last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    /// What the order ranks by.
    pub rank: u64,
    /// Then this, usually the submit time.
    pub then: u64,
    /// Then the job.
    pub job: JobId,
}

/// A queued job in its bucket.
#[derive(Clone, Copy, Debug)]
pub struct Queued {
    /// Its place.
    pub key: Key,
    /// Its estimate in ms.
    pub estimate: u64,
}

impl PartialEq for Queued {
    fn eq(&self, other: &Queued) -> bool {
        self.key == other.key
    }
}
impl Eq for Queued {}
impl PartialOrd for Queued {
    fn partial_cmp(&self, other: &Queued) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Queued {
    fn cmp(&self, other: &Queued) -> Ordering {
        self.key.cmp(&other.key)
    }
}
impl Item for Queued {
    fn weight(&self) -> u64 {
        self.estimate
    }
}

/// Whether work is charged to its account, or fills what nobody is owed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Tier {
    /// Charged; served first.
    Allocated,
    /// Charged to nobody; served last.
    Unallocated,
}

/// What decides where a job fits: what its gang asks for, and the bounds set to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Kind {
    /// What the gang asks for.
    pub shape: ShapeId,
    bounds: u8,
}

impl Kind {
    /// Jobs of one shape within the same bounds.
    pub fn new(shape: ShapeId, apart: bool, barred: bool) -> Kind {
        Kind { shape, bounds: u8::from(apart) | u8::from(barred) << 1 }
    }
    /// A number of its own, small if there are few shapes.
    pub fn index(self) -> usize {
        self.shape.index() << 2 | usize::from(self.bounds)
    }
}

/// Jobs of one tier, lane and kind.
#[derive(Clone, Debug)]
pub struct Bucket {
    /// Their tier.
    pub tier: Tier,
    /// Their lane: the jobs that the order ranks as one.
    pub lane: u32,
    /// Their request, and the bounds set to it.
    pub kind: Kind,
    /// The jobs, in order.
    pub jobs: Sorted<Queued>,
    /// Jobs up to here were passed over in the pass numbered `pass`.
    passed: Option<Queued>,
    pass: u64,
    /// Nothing of it can start while this stamp stands.
    blocked: u64,
}

/// All queued jobs.
#[derive(Debug, Default)]
pub struct Queue {
    buckets: Vec<Bucket>,
    index: BTreeMap<(Tier, u32, Kind), u32>,
    /// Buckets with jobs, in no stated order.
    active: Vec<u32>,
    /// Where each job stands, by `JobId`.
    places: Vec<Option<(u32, Queued)>>,
    len: usize,
    pass: u64,
}

impl Queue {
    /// An empty queue with room for a number of jobs.
    pub fn for_jobs(jobs: usize) -> Queue {
        Queue { places: Vec::with_capacity(jobs), ..Queue::default() }
    }
    /// How many jobs wait.
    pub fn len(&self) -> usize {
        self.len
    }
    /// Whether nobody waits.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
    /// One bucket.
    pub fn bucket(&self, at: u32) -> &Bucket {
        &self.buckets[at as usize]
    }
    /// Buckets with jobs, in no stated order.
    pub fn active(&self) -> &[u32] {
        &self.active
    }
    /// Where `job` stands, if it waits: its bucket and its entry there.
    pub fn place(&self, job: JobId) -> Option<(u32, Queued)> {
        self.places.get(job.index()).copied().flatten()
    }
    /// Adds a job that does not wait yet.
    pub fn insert(&mut self, tier: Tier, lane: u32, kind: Kind, queued: Queued) {
        let buckets = &mut self.buckets;
        let at = *self.index.entry((tier, lane, kind)).or_insert_with(|| {
            buckets.push(Bucket { tier, lane, kind, jobs: Sorted::default(), passed: None, pass: 0, blocked: 0 });
            buckets.len() as u32 - 1
        });
        let bucket = &mut self.buckets[at as usize];
        if bucket.jobs.is_empty() {
            self.active.push(at);
        }
        bucket.jobs.insert(queued);
        if bucket.jobs.first() == Some(queued) {
            // Its new first may have others leave for it, who would not for the one before.
            bucket.blocked = 0;
        }
        let row = queued.key.job.index();
        if self.places.len() <= row {
            self.places.resize(row + 1, None);
        }
        self.places[row] = Some((at, queued));
        self.len += 1;
    }
    /// Removes a job, if it waits.
    pub fn remove(&mut self, job: JobId) {
        let Some((at, queued)) = self.places.get_mut(job.index()).and_then(Option::take) else { return };
        let bucket = &mut self.buckets[at as usize];
        let removed = bucket.jobs.remove(&queued);
        assert!(removed, "a waiting job is in its bucket");
        if bucket.jobs.is_empty() {
            self.active.retain(|&it| it != at);
        }
        self.len -= 1;
    }
    /// Forgets what earlier passes passed over.
    pub fn begin_pass(&mut self) {
        self.pass += 1;
    }
    /// Passes over a job: [`Queue::candidate`] offers what comes after it, until the next pass.
    pub fn pass_over(&mut self, at: u32, queued: Queued) {
        let bucket = &mut self.buckets[at as usize];
        bucket.pass = self.pass;
        bucket.passed = Some(queued);
    }
    /// Blocks a bucket while `stamp` stands.
    pub fn block(&mut self, at: u32, stamp: u64) {
        self.buckets[at as usize].blocked = stamp;
    }
    /// Whether a bucket is blocked under `stamp`.
    pub fn is_blocked(&self, at: u32, stamp: u64) -> bool {
        self.buckets[at as usize].blocked == stamp
    }
    /// The first job of a bucket that was not passed over in this pass and whose estimate is at most `most`.
    pub fn candidate(&self, at: u32, most: u64) -> Option<Queued> {
        let bucket = &self.buckets[at as usize];
        let after = if bucket.pass == self.pass { bucket.passed.as_ref() } else { None };
        if after.is_none() && most == u64::MAX {
            return bucket.jobs.first();
        }
        bucket.jobs.first_within(after, most)
    }
}
