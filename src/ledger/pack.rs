//! One fact to bytes and back: a tag, then what differs from the fact before, in variable-length integers.
//!
//! The tag's low five bits are the variant; one bit says "same instant", one "same job as the last job named".

use crate::cluster::{Class, NodeState, Slot};
use crate::facts::{
    Amendment, DecisionKind, EndReason, Fact, Miss, Note, PreemptReason, QueueReason, Ratio, Refusal, RejectReason, Weighing,
};
use crate::ids::{AccountId, GpuId, JobId, NodeId, PoolId, ReservationId};
use crate::units::{MilliGpu, SimSpan, SimTime};

/// More bytes than any fact takes.
pub(super) const FACT_MAX: usize = 64;

const SAME_INSTANT: u8 = 1 << 5;
const SAME_JOB: u8 = 1 << 6;
const VARIANT: u8 = SAME_INSTANT - 1;

/// What the next fact is written relative to.
#[derive(Clone, Debug, Default)]
pub(super) struct Codec {
    at: u64,
    job: u32,
}

/// A closed list of words, each one byte.
trait Word: Copy + 'static {
    const ALL: &'static [Self];
    fn code(self) -> u8;
}

macro_rules! words {
    ($($word:ident { $($variant:ident),* $(,)? })*) => {$(
        impl Word for $word {
            const ALL: &'static [$word] = &[$($word::$variant),*];
            fn code(self) -> u8 {
                // Matched without `_`, so that a new variant cannot be forgotten here.
                match self { $($word::$variant => $word::$variant as u8),* }
            }
        }
    )*};
}

words! {
    RejectReason { NeverFits, Dependency }
    QueueReason { Submitted, Requeued, Resubmitted, AfterFailure, CalledOff }
    PreemptReason { ForJob, Drain, Reclaim, Window, Rebalance }
    EndReason { Completed, TimedOut, Cancelled, Failed, Abandoned }
    Refusal {
        WrongState, WrongShape, NoSuchPlace, NodeClosed, NotAllowed, NotFree, NotHeld, OutOfRange, NotEmpty, InThePast,
    }
    DecisionKind { Start, Scale, Preempt, Move, Reserve, Migrate, Cordon, WakeAt, Note }
    Miss { NotItsTurn, Protected }
    NodeState { Up, Draining, Down }
    Class { Base, Flexible }
}

impl Codec {
    /// Appends one fact to `out`.
    pub(super) fn encode(&mut self, out: &mut Vec<u8>, at: SimTime, fact: &Fact) {
        let at_ms = at.as_millis();
        assert!(self.at <= at_ms, "a fact at {at:?} after one at {:?}", SimTime::from_millis(self.at));
        let (variant, job) = head(fact);
        let same_instant = if at_ms == self.at { SAME_INSTANT } else { 0 };
        let same_job = if job.is_some_and(|job| job.0 == self.job) { SAME_JOB } else { 0 };
        out.push(variant | same_instant | same_job);
        if same_instant == 0 {
            put(out, at_ms - self.at);
            self.at = at_ms;
        }
        if let Some(job) = job
            && same_job == 0
        {
            put(out, zigzag(i64::from(job.0) - i64::from(self.job)));
            self.job = job.0;
        }
        self.tail(out, fact);
    }

    /// What follows the tag, the instant and the job.
    fn tail(&self, out: &mut Vec<u8>, fact: &Fact) {
        match *fact {
            Fact::Submitted { .. }
            | Fact::Ready { .. }
            | Fact::CalledOff { .. }
            | Fact::Unreserved { .. }
            | Fact::PassLimit
            | Fact::Cut => {}
            Fact::Rejected { reason, .. } => word(out, reason),
            Fact::Queued { reason, .. } => word(out, reason),
            Fact::Amended { change, .. } => match change {
                Amendment::Priority(priority) => {
                    out.push(0);
                    put(out, zigzag(i64::from(priority)));
                }
                Amendment::Limit(limit) => {
                    out.push(1);
                    span(out, limit);
                }
                Amendment::MinRuntime(None) => out.push(2),
                Amendment::MinRuntime(Some(declared)) => {
                    out.push(3);
                    span(out, declared);
                }
            },
            Fact::Claimed { slot: held, .. } | Fact::Released { slot: held, .. } => slot(out, &held),
            Fact::Started { attempt, overhead, .. } => {
                put(out, u64::from(attempt));
                span(out, overhead);
            }
            Fact::Scaled { workers, pause, .. } => {
                put(out, u64::from(workers));
                span(out, pause);
            }
            Fact::Migrated { pause, .. } => span(out, pause),
            Fact::Granting { victims, .. } => put(out, u64::from(victims)),
            Fact::Evicting { by, reason, until, .. } => {
                other(out, by);
                word(out, reason);
                self.instant(out, until);
            }
            Fact::Weighed { by, weighing, .. } => {
                put(out, u64::from(by.0));
                out.push(weighing.level);
                for ratio in weighing.before.into_iter().chain(weighing.after) {
                    put(out, u64::from(ratio.as_millionths().wrapping_add(1)));
                }
            }
            Fact::Noted { note, .. } => match note {
                Note::Promised(at) => {
                    out.push(0);
                    self.instant(out, at);
                }
                Note::Missed(miss) => {
                    out.push(1);
                    word(out, miss);
                }
            },
            Fact::Preempted { by, reason, lost, .. } => {
                other(out, by);
                word(out, reason);
                span(out, lost);
            }
            Fact::Broken { node, lost, .. } => {
                put(out, u64::from(node.0));
                span(out, lost);
            }
            Fact::Ended { reason, lost, .. } => {
                word(out, reason);
                span(out, lost);
            }
            Fact::NodeChanged { node, state } => {
                put(out, u64::from(node.0));
                word(out, state);
            }
            Fact::Cordoned { node, on } => {
                put(out, u64::from(node.0));
                out.push(u8::from(on));
            }
            Fact::GpuChanged { gpu, healthy } => {
                put(out, u64::from(gpu.node.0));
                out.push(gpu.index);
                out.push(u8::from(healthy));
            }
            Fact::Moved { node, to } => {
                put(out, u64::from(node.0));
                put(out, u64::from(to.0));
            }
            Fact::ShareChanged { account, share } => {
                put(out, u64::from(account.0));
                out.extend_from_slice(&share.to_bits().to_le_bytes());
            }
            Fact::DemandChanged { pool, need } => {
                put(out, u64::from(pool.0));
                put(out, need.as_milli());
            }
            Fact::WindowEdge { window, begins } => {
                put(out, u64::from(window.0));
                out.push(u8::from(begins));
            }
            Fact::Reserved { slot: held, until, .. } => {
                slot(out, &held);
                self.instant(out, until);
            }
            Fact::Refused { kind, job, reason } => {
                other(out, job);
                word(out, kind);
                word(out, reason);
            }
        }
    }

    /// Takes one fact from the front of `from`; `None` if the bytes are not one.
    pub(super) fn decode(&mut self, from: &mut &[u8]) -> Option<(SimTime, Fact)> {
        let tag = byte(from)?;
        if tag & SAME_INSTANT == 0 {
            self.at = self.at.checked_add(get(from)?)?;
        }
        let variant = tag & VARIANT;
        if tag & SAME_JOB == 0 && !(JOBLESS..WEIGHED).contains(&variant) {
            let job = i64::from(self.job).checked_add(unzigzag(get(from)?))?;
            self.job = u32::try_from(job).ok()?;
        }
        let job = JobId(self.job);
        let fact = match variant {
            0 => Fact::Submitted { job },
            1 => Fact::Rejected { job, reason: get_word(from)? },
            2 => Fact::Queued { job, reason: get_word(from)? },
            3 => Fact::Amended { job, change: get_change(from)? },
            4 => Fact::Claimed { job, slot: get_slot(from)? },
            5 => Fact::Released { job, slot: get_slot(from)? },
            6 => Fact::Started { job, attempt: get_u32(from)?, overhead: get_span(from)? },
            7 => Fact::Ready { job },
            8 => Fact::Scaled { job, workers: get_u32(from)?, pause: get_span(from)? },
            9 => Fact::Granting { job, victims: get_u32(from)? },
            10 => Fact::CalledOff { job },
            11 => Fact::Evicting { job, by: get_other(from)?, reason: get_word(from)?, until: self.get_instant(from)? },
            12 => Fact::Preempted { job, by: get_other(from)?, reason: get_word(from)?, lost: get_span(from)? },
            13 => Fact::Broken { job, node: NodeId(get_u32(from)?), lost: get_span(from)? },
            14 => Fact::Ended { job, reason: get_word(from)?, lost: get_span(from)? },
            15 => Fact::Reserved { job, slot: get_slot(from)?, until: self.get_instant(from)? },
            16 => Fact::Unreserved { job },
            JOBLESS => Fact::NodeChanged { node: NodeId(get_u32(from)?), state: get_word(from)? },
            18 => Fact::Cordoned { node: NodeId(get_u32(from)?), on: get_flag(from)? },
            19 => {
                let gpu = GpuId { node: NodeId(get_u32(from)?), index: byte(from)? };
                Fact::GpuChanged { gpu, healthy: get_flag(from)? }
            }
            20 => Fact::Moved { node: NodeId(get_u32(from)?), to: PoolId(get_u32(from)?.try_into().ok()?) },
            21 => {
                let account = AccountId(get_u32(from)?);
                let (bits, rest) = from.split_first_chunk()?;
                *from = rest;
                Fact::ShareChanged { account, share: f64::from_bits(u64::from_le_bytes(*bits)) }
            }
            22 => Fact::DemandChanged { pool: PoolId(get_u32(from)?.try_into().ok()?), need: MilliGpu::from_milli(get(from)?) },
            23 => Fact::WindowEdge { window: ReservationId(get_u32(from)?), begins: get_flag(from)? },
            24 => {
                let job = get_other(from)?;
                Fact::Refused { kind: get_word(from)?, job, reason: get_word(from)? }
            }
            25 => Fact::PassLimit,
            26 => Fact::Cut,
            WEIGHED => {
                let by = JobId(get_u32(from)?);
                let level = byte(from)?;
                let mut ratio = || Some(Ratio::from_millionths(get_u32(from)?.wrapping_sub(1)));
                let weighing = Weighing { level, before: [ratio()?, ratio()?], after: [ratio()?, ratio()?] };
                Fact::Weighed { job, by, weighing }
            }
            28 => match byte(from)? {
                0 => Fact::Noted { job, note: Note::Promised(self.get_instant(from)?) },
                1 => Fact::Noted { job, note: Note::Missed(get_word(from)?) },
                _ => return None,
            },
            29 => Fact::Migrated { job, pause: get_span(from)? },
            _ => return None,
        };
        Some((SimTime::from_millis(self.at), fact))
    }

    fn instant(&self, out: &mut Vec<u8>, at: SimTime) {
        put(out, at.as_millis().wrapping_sub(self.at));
    }
    fn get_instant(&self, from: &mut &[u8]) -> Option<SimTime> {
        Some(SimTime::from_millis(self.at.wrapping_add(get(from)?)))
    }
}

/// The first variant that names no job of its own, and the first beyond those.
const JOBLESS: u8 = 17;
const WEIGHED: u8 = 27;

/// The number of a fact's variant in the packed form, and the job it is about.
fn head(fact: &Fact) -> (u8, Option<JobId>) {
    match *fact {
        Fact::Submitted { job } => (0, Some(job)),
        Fact::Rejected { job, .. } => (1, Some(job)),
        Fact::Queued { job, .. } => (2, Some(job)),
        Fact::Amended { job, .. } => (3, Some(job)),
        Fact::Claimed { job, .. } => (4, Some(job)),
        Fact::Released { job, .. } => (5, Some(job)),
        Fact::Started { job, .. } => (6, Some(job)),
        Fact::Ready { job } => (7, Some(job)),
        Fact::Scaled { job, .. } => (8, Some(job)),
        Fact::Granting { job, .. } => (9, Some(job)),
        Fact::CalledOff { job } => (10, Some(job)),
        Fact::Evicting { job, .. } => (11, Some(job)),
        Fact::Preempted { job, .. } => (12, Some(job)),
        Fact::Broken { job, .. } => (13, Some(job)),
        Fact::Ended { job, .. } => (14, Some(job)),
        Fact::Reserved { job, .. } => (15, Some(job)),
        Fact::Unreserved { job } => (16, Some(job)),
        Fact::NodeChanged { .. } => (JOBLESS, None),
        Fact::Cordoned { .. } => (18, None),
        Fact::GpuChanged { .. } => (19, None),
        Fact::Moved { .. } => (20, None),
        Fact::ShareChanged { .. } => (21, None),
        Fact::DemandChanged { .. } => (22, None),
        Fact::WindowEdge { .. } => (23, None),
        Fact::Refused { .. } => (24, None),
        Fact::PassLimit => (25, None),
        Fact::Cut => (26, None),
        Fact::Weighed { job, .. } => (WEIGHED, Some(job)),
        Fact::Noted { job, .. } => (28, Some(job)),
        Fact::Migrated { job, .. } => (29, Some(job)),
    }
}

fn put(out: &mut Vec<u8>, mut value: u64) {
    while 0x80 <= value {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}
fn get(from: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let part = byte(from)?;
        if shift == 63 && 1 < part {
            return None;
        }
        value |= u64::from(part & 0x7f) << shift;
        if part < 0x80 {
            return Some(value);
        }
    }
    None
}
fn byte(from: &mut &[u8]) -> Option<u8> {
    let (&first, rest) = from.split_first()?;
    *from = rest;
    Some(first)
}
fn get_u32(from: &mut &[u8]) -> Option<u32> {
    u32::try_from(get(from)?).ok()
}
fn get_flag(from: &mut &[u8]) -> Option<bool> {
    match byte(from)? {
        0 => Some(false),
        1 => Some(true),
        _ => None,
    }
}

const fn zigzag(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)) as u64
}
const fn unzigzag(value: u64) -> i64 {
    (value >> 1) as i64 ^ -((value & 1) as i64)
}

fn word<W: Word>(out: &mut Vec<u8>, value: W) {
    out.push(value.code());
}
fn get_word<W: Word>(from: &mut &[u8]) -> Option<W> {
    W::ALL.get(usize::from(byte(from)?)).copied()
}

/// Spans are written plus one, so that the longest of them (unlimited) takes one byte.
fn span(out: &mut Vec<u8>, value: SimSpan) {
    put(out, value.as_millis().wrapping_add(1));
}
fn get_span(from: &mut &[u8]) -> Option<SimSpan> {
    Some(SimSpan::from_millis(get(from)?.wrapping_sub(1)))
}

/// A job beside the one a fact is about.
fn other(out: &mut Vec<u8>, job: Option<JobId>) {
    put(out, job.map_or(0, |job| u64::from(job.0) + 1));
}
fn get_other(from: &mut &[u8]) -> Option<Option<JobId>> {
    match get(from)? {
        0 => Some(None),
        row => Some(Some(JobId(u32::try_from(row - 1).ok()?))),
    }
}

fn get_change(from: &mut &[u8]) -> Option<Amendment> {
    match byte(from)? {
        0 => Some(Amendment::Priority(unzigzag(get(from)?).try_into().ok()?)),
        1 => Some(Amendment::Limit(get_span(from)?)),
        2 => Some(Amendment::MinRuntime(None)),
        3 => Some(Amendment::MinRuntime(Some(get_span(from)?))),
        _ => None,
    }
}

const FLEXIBLE: u8 = 1;
const WHOLE: u8 = 2;
const FIRST_GROUP: u8 = 4;
const FIRST_TASK: u8 = 8;

fn slot(out: &mut Vec<u8>, slot: &Slot) {
    let flag = |on: bool, bit: u8| if on { bit } else { 0 };
    let flags = flag(slot.class == Class::Flexible, FLEXIBLE)
        | flag(slot.milli == 1000, WHOLE)
        | flag(slot.group == 0, FIRST_GROUP)
        | flag(slot.task == 0, FIRST_TASK);
    out.push(flags);
    put(out, u64::from(slot.node.0));
    put(out, slot.gpus);
    if flags & WHOLE == 0 {
        put(out, u64::from(slot.milli));
    }
    if flags & FIRST_GROUP == 0 {
        out.push(slot.group);
    }
    if flags & FIRST_TASK == 0 {
        put(out, u64::from(slot.task));
    }
}
fn get_slot(from: &mut &[u8]) -> Option<Slot> {
    let flags = byte(from)?;
    Some(Slot {
        node: NodeId(get_u32(from)?),
        gpus: get(from)?,
        milli: if flags & WHOLE != 0 { 1000 } else { get_u32(from)?.try_into().ok()? },
        group: if flags & FIRST_GROUP != 0 { 0 } else { byte(from)? },
        task: if flags & FIRST_TASK != 0 { 0 } else { get_u32(from)? },
        class: if flags & FLEXIBLE != 0 { Class::Flexible } else { Class::Base },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::Ledger;
    use proptest::prelude::*;

    fn job() -> impl Strategy<Value = JobId> {
        any::<u32>().prop_map(JobId)
    }
    fn node() -> impl Strategy<Value = NodeId> {
        any::<u32>().prop_map(NodeId)
    }
    fn any_span() -> impl Strategy<Value = SimSpan> {
        any::<u64>().prop_map(SimSpan::from_millis)
    }
    fn any_time() -> impl Strategy<Value = SimTime> {
        any::<u64>().prop_map(SimTime::from_millis)
    }
    fn any_word<W: Word + std::fmt::Debug>() -> impl Strategy<Value = W> {
        (0..W::ALL.len()).prop_map(|code| W::ALL[code])
    }
    fn any_slot() -> impl Strategy<Value = Slot> {
        let milli = prop_oneof![Just(1000_u16), any::<u16>()];
        let group = prop_oneof![Just(0_u8), any::<u8>()];
        let task = prop_oneof![Just(0_u32), any::<u32>()];
        (any::<u64>(), node(), task, milli, group, any_word()).prop_map(|(gpus, node, task, milli, group, class)| Slot {
            gpus,
            node,
            task,
            milli,
            group,
            class,
        })
    }
    fn any_change() -> impl Strategy<Value = Amendment> {
        prop_oneof![
            any::<i32>().prop_map(Amendment::Priority),
            any_span().prop_map(Amendment::Limit),
            proptest::option::of(any_span()).prop_map(Amendment::MinRuntime),
        ]
    }
    fn any_fact() -> impl Strategy<Value = Fact> {
        let by = || proptest::option::of(job());
        prop_oneof![
            job().prop_map(|job| Fact::Submitted { job }),
            (job(), any_word()).prop_map(|(job, reason)| Fact::Rejected { job, reason }),
            (job(), any_word()).prop_map(|(job, reason)| Fact::Queued { job, reason }),
            (job(), any_change()).prop_map(|(job, change)| Fact::Amended { job, change }),
            (job(), any_slot()).prop_map(|(job, slot)| Fact::Claimed { job, slot }),
            (job(), any_slot()).prop_map(|(job, slot)| Fact::Released { job, slot }),
            (job(), any::<u32>(), any_span()).prop_map(|(job, attempt, overhead)| Fact::Started { job, attempt, overhead }),
            job().prop_map(|job| Fact::Ready { job }),
            (job(), any::<u32>(), any_span()).prop_map(|(job, workers, pause)| Fact::Scaled { job, workers, pause }),
            (job(), any::<u32>()).prop_map(|(job, victims)| Fact::Granting { job, victims }),
            job().prop_map(|job| Fact::CalledOff { job }),
            (job(), by(), any_word(), any_time()).prop_map(|(job, by, reason, until)| Fact::Evicting { job, by, reason, until }),
            (job(), by(), any_word(), any_span()).prop_map(|(job, by, reason, lost)| Fact::Preempted { job, by, reason, lost }),
            (job(), node(), any_span()).prop_map(|(job, node, lost)| Fact::Broken { job, node, lost }),
            (job(), any_word(), any_span()).prop_map(|(job, reason, lost)| Fact::Ended { job, reason, lost }),
            (job(), any_slot(), any_time()).prop_map(|(job, slot, until)| Fact::Reserved { job, slot, until }),
            job().prop_map(|job| Fact::Unreserved { job }),
            (node(), any_word()).prop_map(|(node, state)| Fact::NodeChanged { node, state }),
            (node(), any::<bool>()).prop_map(|(node, on)| Fact::Cordoned { node, on }),
            (node(), any::<u8>(), any::<bool>())
                .prop_map(|(node, index, healthy)| Fact::GpuChanged { gpu: GpuId { node, index }, healthy }),
            (node(), any::<u16>()).prop_map(|(node, to)| Fact::Moved { node, to: PoolId(to) }),
            (any::<u32>(), any::<i32>())
                .prop_map(|(row, share)| Fact::ShareChanged { account: AccountId(row), share: f64::from(share) / 7.0 }),
            (any::<u16>(), any::<u64>())
                .prop_map(|(row, need)| Fact::DemandChanged { pool: PoolId(row), need: MilliGpu::from_milli(need) }),
            (any::<u32>(), any::<bool>()).prop_map(|(row, begins)| Fact::WindowEdge { window: ReservationId(row), begins }),
            (any_word(), by(), any_word()).prop_map(|(kind, job, reason)| Fact::Refused { kind, job, reason }),
            (job(), job(), any::<u8>(), any::<[u32; 4]>()).prop_map(|(job, by, level, ratios)| {
                let [a, b, c, d] = ratios.map(Ratio::from_millionths);
                Fact::Weighed { job, by, weighing: Weighing { level, before: [a, b], after: [c, d] } }
            }),
            (job(), any_time()).prop_map(|(job, at)| Fact::Noted { job, note: Note::Promised(at) }),
            (job(), any_word()).prop_map(|(job, miss)| Fact::Noted { job, note: Note::Missed(miss) }),
            (job(), any_span()).prop_map(|(job, pause)| Fact::Migrated { job, pause }),
            Just(Fact::PassLimit),
            Just(Fact::Cut),
        ]
    }

    proptest! {
        /// Every fact of every variant reads back as it was written, and the hash depends on all of them.
        #[test]
        fn facts_read_back(steps in proptest::collection::vec((any::<u32>(), any::<bool>(), any_fact()), 1..200)) {
            let mut ledger = Ledger::default();
            let mut story = Vec::new();
            let mut at = SimTime::ZERO;
            for (later, still, fact) in steps {
                at = if still { at } else { at + SimSpan::from_millis(u64::from(later)) };
                ledger.push(at, &fact);
                story.push((at, fact));
            }
            prop_assert_eq!(ledger.len(), story.len() as u64);
            prop_assert_eq!(ledger.iter().collect::<Vec<_>>(), story.clone());
            let mut shorter = Ledger::default();
            story.pop();
            story.iter().for_each(|(at, fact)| shorter.push(*at, fact));
            prop_assert_ne!(ledger.hash(), shorter.hash());
        }

        /// Arbitrary bytes are facts or are not: never a panic.
        #[test]
        fn arbitrary_bytes_do_not_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let mut rest: &[u8] = &bytes;
            let mut codec = Codec::default();
            while !rest.is_empty() && codec.decode(&mut rest).is_some() {}
        }
    }

    #[test]
    fn words_are_numbered_in_order() {
        fn check<W: Word>() {
            assert!(W::ALL.iter().enumerate().all(|(row, word)| usize::from(word.code()) == row));
        }
        check::<RejectReason>();
        check::<QueueReason>();
        check::<PreemptReason>();
        check::<EndReason>();
        check::<Refusal>();
        check::<DecisionKind>();
        check::<NodeState>();
        check::<Class>();
    }

    #[test]
    fn no_fact_is_longer_than_the_room_kept_for_it() {
        let slot = Slot { gpus: u64::MAX, node: NodeId(u32::MAX), task: u32::MAX, milli: 999, group: 9, class: Class::Flexible };
        let mut bytes = Vec::new();
        let fact = Fact::Reserved { job: JobId(u32::MAX), slot, until: SimTime::ZERO };
        Codec::default().encode(&mut bytes, SimTime::NEVER, &fact);
        assert!(bytes.len() <= FACT_MAX, "{}", bytes.len());
    }

    #[test]
    fn a_plain_job_takes_few_bytes() {
        let mut ledger = Ledger::default();
        for row in 0..1000_u32 {
            let (job, at) = (JobId(row), SimTime::from_millis(u64::from(row) * 37_123));
            let slot = Slot { gpus: 0b11, node: NodeId(row % 128), task: 0, milli: 1000, group: 0, class: Class::Base };
            ledger.push(at, &Fact::Submitted { job });
            ledger.push(at, &Fact::Queued { job, reason: QueueReason::Submitted });
            ledger.push(at, &Fact::Claimed { job, slot });
            ledger.push(at, &Fact::Started { job, attempt: 1, overhead: SimSpan::ZERO });
            ledger.push(at, &Fact::Ended { job, reason: EndReason::Completed, lost: SimSpan::ZERO });
        }
        assert!(ledger.bytes() <= 5000 * 4, "{} bytes for 5000 facts", ledger.bytes());
    }
}
