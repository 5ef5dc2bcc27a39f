//! Nodes, pools, GPUs and their health; claims; the indexes by free capacity.

mod slot;
mod spec;

pub use slot::{Class, Slot, bits};
pub use spec::{ClusterSpec, DemandSample, HealthEvent, ModelSpec, NodeSpec, Window};
