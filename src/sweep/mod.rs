//! Sweeps: a scenario over every combination of values of its knobs, policies and seeds.
//!
//! A *cell* is one combination of values, an *arm* a cell under one policy, a *row* an arm under one seed. Rows are numbered in grid order:
//! cells (the first knob slowest), then policies, then seeds. Everything is checked before anything runs ([`Plan`]); each run leaves a part
//! file that says what it is of ([`Folder`]), and the parts together make the result ([`Outcome`]), whose bytes depend on nothing else.
//!
//! It runs nothing itself and knows no threads: the command line asks a [`Plan`] for the case and policy of a row, and hands back its
//! figures.

mod answers;
mod asked;
mod axes;
mod batch;
mod cells;
mod file;
mod folder;
mod html;
mod outcome;
mod page;
mod partial;
mod plan;
mod reader;
mod request;
mod results;
mod rows;
mod sample;
mod sealed;
mod shared;

pub use answers::{Best, Confirmed, Mean};
pub use asked::Asked;
pub use axes::{Axis, Range, Values};
pub use batch::{Batch, Kubernetes, Slurm, job_id, manifest};
pub use file::{SAMPLE_MAX, SEEDS_MAX, SweepFile};
pub use folder::{Folder, Part, PartTiming};
pub use outcome::Outcome;
pub use plan::{Arm, Plan, TooMany};
pub use request::{Grid, Key, Request, many};
pub use rows::{Row, Rows};
pub use shared::Shared;
