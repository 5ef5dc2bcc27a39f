//! `aryl`: nodes that the inference pool can spare by what it needs now and is believed to need next are lent, and called back at least
//! preemption cost.
//!
//! Published: whole idle servers announced by the inference side, and reclaiming by the greedy preemption cost (Aryl / Lyra, by its abstract and
//! two public re-implementations). How surplus is measured, the two samples for which it must hold, and ties are our choice.

use super::Build;
use super::lender::{Lender, Terms};
use super::reclaim::Rule;
use crate::registry::{Entry, Kind, Knob};

/// The rule.
pub const ENTRY: Entry<Build> = Entry {
    name: "aryl",
    about: "idle inference nodes are lent, and called back at least preemption cost",
    source: "Li et al., \"Lyra: Elastic Scheduling for Deep Learning Clusters\", EuroSys 2023 (as Aryl: arXiv 2202.07896), by its abstract and public \
             re-implementations",
    knobs: &[
        Knob::new(
            "reclaim",
            "which nodes go back: least preemption cost by a job's share of servers or of GPUs, fewest jobs counted once or after each, \
             any, or the fewest preemptions there can be (slow; past 200,000 branches the best found so far)",
            Kind::Choice(&Rule::NAMES),
            "cost-server",
        ),
        Knob::new("headroom", "kept beyond what inference needs, as a part of it", Kind::Float { min: 0.0, max: 1e9 }, "0.02")
            .tunable(),
        Knob::new(
            "hold",
            "samples of demand for which a surplus must have held before it is lent",
            Kind::Int { min: 1, max: 1000 },
            "2",
        )
        .tunable(),
        Knob::optional("most", "most nodes on loan; unset: all that can be spared", Kind::Int { min: 0, max: 1 << 24 }),
        Knob::new("delay", "from the decision to lend a node to its taking work", Kind::SPAN, "0"),
        Knob::new("grace", "from calling a node back to its being gone: till then its work may end", Kind::SPAN, "0"),
        Knob::new("allow_protected_on_loan", "work may go there that is promised longer than the grace", Kind::Bool, "false"),
    ],
    needs: &[],
    provides: &[],
    timed: false,
    build: |knobs, case| {
        let terms = Terms {
            headroom: knobs.float("headroom"),
            foresees: true,
            hold: knobs.int("hold") as usize,
            most: knobs.opt_int("most").map_or(usize::MAX, |most| most as usize),
            delay: knobs.span("delay"),
            grace: knobs.span("grace"),
            rule: Rule::named(knobs.text("reclaim")),
            spares: true,
            admits_protected: knobs.flag("allow_protected_on_loan"),
        };
        Box::new(Lender::new(terms, case))
    },
};
