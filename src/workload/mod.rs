//! Submissions: the job model, tables of names, shaping of a trace, generators, and the [`Source`] that feeds the engine.
//!
//! It does not know the cluster's state or any policy.

mod job;
mod source;
mod tables;

pub use job::{Curve, Elasticity, Extra, Job};
pub use source::{Arrival, Replay, Source};
pub use tables::{Catalog, Names, Table, Workload};
