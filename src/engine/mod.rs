//! The engine: a discrete-event loop that alone changes cluster state. It asks the policy, checks what it proposes, and tells
//! everyone what happened.
//!
//! It knows no policy, no metric, no file and no clock.

mod apply;
mod arrivals;
mod attempts;
mod case;
mod decisions;
mod event;
mod failures;
mod grants;
mod hazards;
mod health;
mod jobs;
mod migrate;
mod outcome;
mod policy;
mod run;
mod view;

pub use case::{Case, Contract, EngineSpec, Protection, ShareChange, Undeclared, Unresumable};
pub use decisions::{Decision, Decisions, Move, Release};
pub use failures::{FailureSpec, HazardForm};
pub use jobs::{JobView, Status};
pub use outcome::{Counters, Outcome, Progress, Unwatched, Watch};
pub use policy::{Policy, Standings, Why};
pub use run::run;
pub use view::View;
