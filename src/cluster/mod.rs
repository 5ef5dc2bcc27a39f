//! Nodes, pools, GPUs and their health; claims; the indexes by free capacity.

mod buckets;
pub mod demand;
pub mod gang;
pub mod models;
mod node_set;
pub mod power;
mod request;
mod slot;
mod spec;
mod state;

pub use buckets::{Buckets, Preference};
pub use node_set::NodeSet;
pub use request::{IdSet, Shape, TaskGroup, TaskRequest};
pub use slot::{Class, Slot, bits, lowest, shrink};
pub use spec::{ClusterSpec, DemandSample, HealthEvent, Loans, ModelSpec, NodeSpec, Window};
pub use state::{Cluster, Missing, Node, NodeState, WHOLE, mask};
