//! Nodes, pools, GPUs and their health; claims; the indexes by free capacity.

mod buckets;
mod node_set;
mod slot;
mod spec;
mod state;

pub use buckets::Buckets;
pub use node_set::NodeSet;
pub use slot::{Class, Slot, bits};
pub use spec::{ClusterSpec, DemandSample, HealthEvent, ModelSpec, NodeSpec, Window};
pub use state::{Cluster, Missing, Node, WHOLE, mask};
