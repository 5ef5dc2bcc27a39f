//! `contract`: backfill by promises instead of estimates. What runs is promised its GPUs until its protection ends and no longer, so
//! that end bounds when a large job can have them: the head is promised the earliest such time, and others may start past it only if
//! their own protection ends by then, or beside what is kept for it.
//!
//! The idea and its variants are ours. The promise holds while the head keeps its place (it is sticky) and those past protection may
//! be made to leave; how often it is broken, and why, is noted in the ledger.

use super::{Build, Fill};
use crate::engine::Status;
use crate::facts::{Miss, Note};
use crate::ids::JobId;
use crate::policy::context::Running;
use crate::policy::evict::Claim;
use crate::policy::pass::{Pass, Tried};
use crate::policy::plan::Shadow;
use crate::policy::queue::{Queued, Tier};
use crate::registry::{Entry, Kind, Knob};
use crate::units::{MilliGpu, SimTime};

/// The fill.
pub const ENTRY: Entry<Build> = Entry {
    name: "contract",
    about: "one large job at a time is promised the end of others' protection; who starts past it gives way by then, or uses what it leaves",
    source: "ours; after Lifka's EASY, with start + min runtime for the estimate",
    knobs: &[
        Knob::new("reserve_from", "jobs of at least this share of the cluster are promised a time", Kind::FRACTION, "0.25")
            .tunable(),
        Knob::new(
            "override",
            "once the promised time has passed: its own commitment does not count against it (soft), whoever is past protection leaves \
             for it (full), or nothing changes (none)",
            Kind::Choice(&["soft", "full", "none"]),
            "soft",
        ),
    ],
    needs: &["promises"],
    provides: &[],
    timed: true,
    build: |knobs, case| {
        let capacity = case.cluster.own_capacity().as_milli() as f64;
        let from = libm::ceil(capacity * knobs.float("reserve_from")) as u64;
        Box::new(Contract {
            from: MilliGpu::from_milli(from),
            overdue: match knobs.text("override") {
                "full" => Claim::Override,
                "none" => Claim::Plain,
                _ => Claim::Overdue,
            },
            head: None,
            starting: None,
            shadow: Shadow::default(),
            releases: Vec::new(),
        })
    },
};

/// A job that is promised a time.
#[derive(Clone, Copy, Debug)]
struct Head {
    job: JobId,
    promised: SimTime,
    missed: bool,
}

struct Contract {
    from: MilliGpu,
    overdue: Claim,
    head: Option<Head>,
    /// One whose start was proposed and may yet be called off.
    starting: Option<Head>,
    shadow: Shadow,
    /// Who can be made to leave when, kept as a buffer.
    releases: Vec<Running>,
}

impl Fill for Contract {
    fn fill(&mut self, pass: &mut Pass<'_, '_>, tier: Tier) {
        if tier == Tier::Unallocated {
            // What is kept for the head may be used by work that leaves for it at once.
            return super::greedy::start_all(pass, tier);
        }
        self.take_back(pass);
        if self.head.is_some_and(|head| pass.context.queue.place(head.job).is_none()) {
            // It was withdrawn: what it kept from others is theirs.
            self.head = None;
            pass.context.stir();
        }
        if let Some(head) = self.head {
            self.try_head(pass, head);
        }
        let mut beside = Beside::Unknown;
        while let Some((at, job)) = pass.next(tier) {
            let id = job.key.job;
            let Some(head) = self.head else {
                let tried = pass.start(id);
                if tried != Tried::Started {
                    let large = tried == Tried::Full && self.from <= pass.view.job(id).shape().capacity();
                    if large && self.promise(pass, id) {
                        beside = Beside::Unknown;
                        pass.context.queue.pass_over(at, job);
                    } else {
                        pass.failed(at, job, tried);
                    }
                }
                continue;
            };
            if id == head.job {
                pass.context.queue.pass_over(at, job);
                continue;
            }
            // Those of one bucket are protected alike, so what one cannot do none of them can.
            let tried = self.start_past(pass, job, head, &mut beside);
            if tried != Tried::Started {
                pass.failed(at, job, tried);
            }
        }
        self.shadow.undo(pass.context);
    }
}

/// What is known in this pass of what the head leaves to others.
enum Beside {
    Unknown,
    /// From when on it needs its GPUs, and how many are left then, where counts decide.
    Known(SimTime, u64),
}

impl Contract {
    /// Promises a job the earliest time by which enough of what runs is past its protection. Returns whether there is one: while
    /// nodes are closed it may be that no release would do.
    fn promise(&mut self, pass: &mut Pass<'_, '_>, job: JobId) -> bool {
        let at = self.reserve(pass, job).0;
        self.shadow.undo(pass.context);
        if at == SimTime::NEVER {
            return false;
        }
        self.head = Some(Head { job, promised: at, missed: false });
        pass.out.note(job, Note::Promised(at));
        true
    }
    /// A head whose start was refused, or called off with a node, has its place and its promise back.
    fn take_back(&mut self, pass: &Pass<'_, '_>) {
        let Some(head) = self.starting else { return };
        if pass.context.queue.place(head.job).is_some() {
            self.head.get_or_insert(head);
            self.starting = None;
        } else if pass.view.job(head.job).status() != Status::Granting {
            self.starting = None;
        }
    }
    fn reserve(&mut self, pass: &Pass<'_, '_>, job: JobId) -> (SimTime, u64) {
        pass.releases(&mut self.releases);
        let reservation = self.shadow.reserve_by(pass.view, pass.context, job, self.releases.iter().copied());
        (reservation.at, reservation.extra)
    }
    fn try_head(&mut self, pass: &mut Pass<'_, '_>, mut head: Head) {
        let now = pass.view.now();
        let due = head.promised <= now;
        let claim = if due { self.overdue } else { Claim::Plain };
        if pass.may_start(head.job, claim) && pass.start_by(head.job, claim, None) == Tried::Started {
            self.head = None;
            self.starting = Some(head);
            return;
        }
        if head.promised < now && !head.missed {
            head.missed = true;
            let (at, _) = self.reserve(pass, head.job);
            self.shadow.undo(pass.context);
            pass.out.note(head.job, Note::Missed(if at <= now { Miss::NotItsTurn } else { Miss::Protected }));
        }
        self.head = Some(head);
    }
    /// Tries a job behind the head: anywhere, if its protection ends in time; else beside what is kept for the head.
    fn start_past(&mut self, pass: &mut Pass<'_, '_>, job: Queued, head: Head, beside: &mut Beside) -> Tried {
        let view = pass.view;
        let it = view.job(job.key.job);
        let protected = pass.order.standing().map_or_else(|| it.protection(), |standing| standing.shield_of(it));
        let gives_way = view.now().after(view.eviction_latency()).after(protected);
        if gives_way <= head.promised {
            return pass.start(job.key.job);
        }
        let (needed, extra) = match *beside {
            Beside::Known(needed, extra) => (needed, extra),
            Beside::Unknown => {
                let found = self.reserve(pass, head.job);
                *beside = Beside::Known(found.0, found.1);
                found
            }
        };
        // Nothing is known of when the head could start: nobody delays it.
        if gives_way <= needed || needed == SimTime::NEVER {
            return pass.start(job.key.job);
        }
        if pass.context.counted {
            let gpus = u64::from(it.shape().gpus());
            if extra < gpus {
                return Tried::Full;
            }
            let tried = pass.start(job.key.job);
            if tried == Tried::Started {
                *beside = Beside::Known(needed, extra - gpus);
            }
            return tried;
        }
        pass.start_by(job.key.job, Claim::Plain, Some(&mut self.shadow))
    }
}
