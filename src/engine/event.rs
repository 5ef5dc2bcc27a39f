//! The event queue: only what is in flight. Submissions come from a sorted source and are never in the heap.

use crate::ids::{Epoch, GpuId, JobId, NodeId, ReservationId};
use crate::units::SimTime;
use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// What happens at one instant. Variant order is the order within it: capacity returns before new work asks for it, a reclaim
/// precedes a loan, arrivals (which are not here) come after all but a wake-up, which sees the settled state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Event {
    /// An attempt ends: its work is done, or its time limit reached. Stale unless `epoch` is the job's own.
    Finish { job: JobId, epoch: Epoch },
    /// A victim's latency is over. Stale unless `attempt` is the job's own.
    Evicted { job: JobId, attempt: u32 },
    /// The n-th scheduled change of health comes.
    Health { row: u32 },
    /// A GPU's hazard budget is used up, unless its load fell since. Stale unless it is the earliest of its GPU.
    GpuFails { gpu: GpuId },
    /// A drained node is repaired. Stale unless `repair` is the node's own.
    Repaired { node: NodeId, repair: u32 },
    /// A GPU that failed by itself is mended. Stale unless `failure` is its last.
    GpuMended { gpu: GpuId, failure: u32 },
    /// A window ends.
    WindowEnds { window: ReservationId },
    /// A policy's reservation ends. Stale unless `made` is its own.
    ReservationEnds { job: JobId, made: u32 },
    /// The n-th change of a share comes.
    Share { row: u32 },
    /// The n-th sample of demand comes.
    Demand { row: u32 },
    /// A window begins.
    WindowBegins { window: ReservationId },
    /// An attempt's overhead is over. Stale unless `epoch` is the job's own.
    Ready { job: JobId, epoch: Epoch },
    /// A job may enter the queue from now on.
    Eligible { job: JobId },
    /// A job that has not started by now has missed its start deadline. Stale if it has.
    Deadline { job: JobId },
    /// The policy asked to be asked.
    Wake,
}

impl Event {
    fn rank(&self) -> u64 {
        match self {
            Event::Finish { .. } => 0,
            Event::Evicted { .. } => 1,
            Event::Health { .. } => 2,
            Event::GpuFails { .. } => 3,
            Event::Repaired { .. } => 4,
            Event::GpuMended { .. } => 5,
            Event::WindowEnds { .. } => 6,
            Event::ReservationEnds { .. } => 7,
            Event::Share { .. } => 8,
            Event::Demand { .. } => 9,
            Event::WindowBegins { .. } => 10,
            Event::Ready { .. } => 11,
            Event::Eligible { .. } => 12,
            Event::Deadline { .. } => 13,
            Event::Wake => 14,
        }
    }
}

struct Entry {
    at: SimTime,
    /// Rank of the variant, then order of insertion.
    order: u64,
    event: Event,
}

impl PartialEq for Entry {
    fn eq(&self, other: &Entry) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}
impl Eq for Entry {}
impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Entry) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Entry {
    /// The heap's greatest is the earliest.
    fn cmp(&self, other: &Entry) -> Ordering {
        (other.at, other.order).cmp(&(self.at, self.order))
    }
}

/// Events in flight, by time, then variant, then insertion.
#[derive(Default)]
pub struct Events {
    heap: BinaryHeap<Entry>,
    inserted: u64,
}

impl Events {
    /// Adds an event; none is added for [`SimTime::NEVER`].
    pub fn push(&mut self, at: SimTime, event: Event) {
        if at != SimTime::NEVER {
            self.inserted += 1;
            self.heap.push(Entry { at, order: event.rank() << 56 | self.inserted, event });
        }
    }
    /// The next event.
    pub fn first(&self) -> Option<Event> {
        self.heap.peek().map(|entry| entry.event)
    }
    /// When the next event comes.
    pub fn peek(&self) -> Option<SimTime> {
        self.heap.peek().map(|entry| entry.at)
    }
    /// Takes the next event.
    pub fn pop(&mut self) -> Option<Event> {
        self.heap.pop().map(|entry| entry.event)
    }
    /// Takes the next event if it comes at `at`.
    pub fn pop_at(&mut self, at: SimTime) -> Option<Event> {
        self.heap.peek().filter(|entry| entry.at == at)?;
        self.pop()
    }
    /// How many are in flight.
    pub fn len(&self) -> usize {
        self.heap.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ties_break_on_variant_then_insertion() {
        let mut events = Events::default();
        let at = SimTime::from_secs(5);
        let finish = |job| Event::Finish { job: JobId(job), epoch: Epoch(0) };
        for event in [Event::Wake, finish(9), Event::Health { row: 0 }, finish(1)] {
            events.push(at, event);
        }
        events.push(SimTime::from_secs(4), Event::Wake);
        events.push(SimTime::NEVER, Event::Wake);
        assert_eq!(events.pop_at(at), None);
        assert_eq!(events.pop_at(SimTime::from_secs(4)), Some(Event::Wake));
        let order: Vec<Event> = std::iter::from_fn(|| events.pop_at(at)).collect();
        assert_eq!(order, [finish(9), finish(1), Event::Health { row: 0 }, Event::Wake]);
    }

    #[test]
    fn the_rank_follows_the_order_of_variants() {
        let gpu = GpuId { node: NodeId(0), index: 0 };
        let all = [
            Event::Finish { job: JobId(0), epoch: Epoch(0) },
            Event::Evicted { job: JobId(0), attempt: 0 },
            Event::Health { row: 0 },
            Event::GpuFails { gpu },
            Event::Repaired { node: NodeId(0), repair: 0 },
            Event::GpuMended { gpu, failure: 0 },
            Event::WindowEnds { window: ReservationId(0) },
            Event::ReservationEnds { job: JobId(0), made: 0 },
            Event::Share { row: 0 },
            Event::Demand { row: 0 },
            Event::WindowBegins { window: ReservationId(0) },
            Event::Ready { job: JobId(0), epoch: Epoch(0) },
            Event::Eligible { job: JobId(0) },
            Event::Deadline { job: JobId(0) },
            Event::Wake,
        ];
        assert!(all.windows(2).all(|pair| pair[0] < pair[1] && pair[0].rank() < pair[1].rank()));
    }
}
