//! Who is moved so that free GPUs lie better? One implementation a file.
//!
//! *Published* (Weng et al., "Beware of Fragmentation", USENIX ATC 2023, and its simulator): now and then, a share of what runs is
//! evicted from nodes whose free GPUs are of little use, and put back by the normal placement, in the order of the evictions. Three
//! rules say who is evicted: [`cos_sim`], [`frag_one`], [`frag_multi`].
//!
//! *Ours*: the evicted are not queued. They are taken off a draft of the cluster, all of them; the place stage then says, in the order of
//! the evictions, where each would go; and all change places at once ([`Decision::Migrate`]), pausing as for a change of workers and
//! losing no work. So each runs on in the same instant, whatever the order and the fill say of who waits (published: nobody waits). A
//! job whose new place makes fragmentation no smaller, is on slower GPUs, or cannot be had keeps its old one, and so do all if together
//! they make it no smaller: published, the evicted go wherever they are put. Moved are jobs of one task that may be preempted and are
//! past their protection, each once within `rest`; a gang would have to be moved whole, and is left alone.
//!
//! [`Decision::Migrate`]: crate::engine::Decision::Migrate

mod clock;
pub mod cos_sim;
pub mod frag_multi;
pub mod frag_one;
mod mover;
mod none;
mod site;
#[cfg(test)]
mod tests;

use super::pass::Pass;
use crate::engine::Case;
use crate::registry::{Entry, Kind, Knob, Knobs, SPAN_MAX};
use crate::units::{SimSpan, SimTime};

/// Makes one from its knobs for one case.
pub type Build = fn(&Knobs, &Case) -> Box<dyn Deschedule>;

/// All of them.
pub const ENTRIES: &[&Entry<Build>] = &[&none::ENTRY, &cos_sim::ENTRY, &frag_one::ENTRY, &frag_multi::ENTRY];

/// Who is moved so that free GPUs lie better?
pub trait Deschedule: Send {
    /// Whether it ever moves anyone.
    fn is_active(&self) -> bool {
        true
    }
    /// Something happened since it last looked.
    fn heard(&mut self) {}
    /// Whether it is to look at the cluster now. Constant time.
    fn is_due(&self, _now: SimTime) -> bool {
        false
    }
    /// When it is to look next, after `now`. Constant time.
    fn next(&self, _now: SimTime) -> Option<SimTime> {
        None
    }
    /// Proposes who moves where, and does so to the draft. Asked when it is due and the other stages have nothing to change, so that the
    /// draft is the cluster as it is.
    fn propose(&mut self, pass: &mut Pass<'_, '_>);
}

/// When, how many and how often: the same for all rules.
const KNOBS: &[Knob] = &[
    Knob::new("budget", "share of the running jobs that may be moved at a time, rounded up", Kind::FRACTION, "0.01").tunable(),
    Knob::optional(
        "every",
        "how often: whenever this divides the time since the start of the run; unset: not by the clock",
        Kind::Span { min: SimSpan::from_secs(1), max: SPAN_MAX },
    )
    .tunable(),
    Knob::optional("at", "at these times since the start of the run, such as once after a fill", Kind::List(&Kind::SPAN)),
    Knob::new("rest", "a job that was moved is not moved again so soon (ours)", Kind::SPAN, "1h").tunable(),
];
