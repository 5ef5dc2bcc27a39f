//! `strict`: the head blocks everyone behind it, or only those who cannot be evicted for it.

use super::{Build, Fill};
use crate::policy::pass::{Pass, Tried};
use crate::policy::queue::Tier;
use crate::registry::{Entry, Kind, Knob};

/// The fill.
pub const ENTRY: Entry<Build> = Entry {
    name: "strict",
    about: "a head that does not fit blocks all behind it",
    source: "textbook (FCFS); Ai2's former scheduler with `behind_head = preemptible`",
    knobs: &[Knob::new(
        "behind_head",
        "who may start past a stuck head: nobody, or preemptible work (which the head may evict)",
        Kind::Choice(&["nothing", "preemptible"]),
        "nothing",
    )],
    needs: &[],
    provides: &[],
    timed: false,
    build: |knobs, _case| Box::new(Strict { preemptible: knobs.text("behind_head") == "preemptible" }),
};

struct Strict {
    preemptible: bool,
}

impl Fill for Strict {
    fn uses_running(&self) -> bool {
        false
    }
    fn passes(&self) -> bool {
        self.preemptible
    }
    fn fill(&mut self, pass: &mut Pass<'_, '_>, tier: Tier) {
        while let Some((at, head)) = pass.first(tier, |_, _| Some(u64::MAX)) {
            if pass.is_blocked(at) {
                break;
            }
            match pass.start(head.key.job) {
                Tried::Started => {}
                Tried::Barred => pass.failed(at, head, Tried::Barred),
                Tried::Full => {
                    pass.failed(at, head, Tried::Full);
                    break;
                }
            }
        }
        if self.preemptible {
            while let Some((at, job)) = pass.next(tier) {
                let tried =
                    if pass.view.job(job.key.job).is_preemptible() { pass.backfill(job.key.job, None) } else { Tried::Barred };
                if tried != Tried::Started {
                    // Its bucket may hold jobs that differ in what counts here, so only this one is passed over.
                    pass.context.queue.pass_over(at, job);
                }
            }
        }
    }
}
