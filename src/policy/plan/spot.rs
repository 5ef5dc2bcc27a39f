//! Where and when a job is planned to run.

use crate::ids::NodeId;
use crate::units::{SimSpan, SimTime};

/// Tasks of one group on one node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Use {
    /// The node.
    pub node: NodeId,
    /// The group of the job's shape.
    pub group: u8,
    /// How many of its tasks.
    pub tasks: u32,
}

/// Where and when a job is to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spot {
    /// From when.
    pub at: SimTime,
    /// For how long, by the estimate.
    pub span: SimSpan,
    /// Its nodes; none where counts decide.
    pub uses: Vec<Use>,
}
