//! Free GPUs that a mix of tasks cannot use as they lie (Weng et al., "Beware of Fragmentation", USENIX ATC 2023): formulas only, which
//! placement, descheduling and metrics share.
//!
//! For a node with `R` free milli-GPU and a typical task `m`, all of `R` is fragment unless `m` fits; if it fits, only what lies on
//! GPUs too small for `m` is. The fragment of a node is the mean over typical tasks, weighted by how often they occur.

mod gauge;
mod mix;
mod published;

pub use gauge::{Free, FreeClass, Gauge};
pub use mix::{Pod, TaskMix, Typical, TypicalBy};
