//! Submissions: the job model, tables of names, shaping of a trace, generators, and the [`Source`] that feeds the engine.
//!
//! It does not know the cluster's state or any policy.

pub mod behave;
mod class;
mod copies;
mod elastic;
pub mod flags;
pub mod inflate;
mod job;
pub mod load;
mod mix;
pub mod shape;
mod shape_knobs;
mod shape_select;
mod source;
pub mod synth;
mod synth_arrivals;
mod synth_knobs;
mod tables;

pub use class::KnobFault;
pub use elastic::{Curve, Elasticity, Mixing, Points};
pub use job::{Extra, Job};
pub use shape_select::{rebase, select};
pub use source::{Arrival, Replay, Source};
pub use tables::{Catalog, Names, Table, Workload};
