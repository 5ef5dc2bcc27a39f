//! The engine: a discrete-event loop that alone changes cluster state. It asks the policy, checks what it proposes, and tells
//! everyone what happened.

mod case;
mod fact;
mod outcome;

pub use case::{Case, Contract, EngineSpec, ShareChange, Undeclared, Unresumable};
pub use fact::{DecisionKind, EndReason, Fact, NodeState, PreemptReason, QueueReason, Refusal, RejectReason};
pub use outcome::{Counters, Outcome, Progress, Unwatched, Watch};

/// Runs `case` under `policy` until nothing is left to happen, or to the scenario's cut.
pub fn run(
    _case: &Case,
    _source: Box<dyn crate::workload::Source>,
    _policy: &mut dyn crate::policy::Policy,
    _watch: &mut dyn Watch,
) -> Outcome {
    unimplemented!("in work")
}
