//! Dense row numbers for the things a run talks about. Each indexes a `Vec`; none is a name.

macro_rules! id {
    ($($(#[$doc:meta])* $name:ident($raw:ty)),* $(,)?) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub $raw);

        impl $name {
            /// The row as an index into a `Vec`.
            pub const fn index(self) -> usize {
                self.0 as usize
            }
            /// The id of row `index`.
            ///
            /// Panics if the row does not fit: tables are bounded when they are read.
            pub fn from_index(index: usize) -> $name {
                $name(<$raw>::try_from(index).expect("tables are bounded when read"))
            }
        }
    )*};
}

id! {
    /// A job, in order of submission (ties in the order of the source).
    JobId(u32),
    /// A node's row in the cluster, dense from zero; "lowest id" is the order of the node list.
    NodeId(u32),
    /// A pool of nodes.
    PoolId(u16),
    /// A GPU model; `ModelId(0)` is the model of nodes that name none.
    ModelId(u16),
    /// A node of the account tree.
    AccountId(u32),
    /// A user.
    UserId(u32),
    /// A class label of jobs ("debug", "training").
    ClassId(u16),
    /// An interned request: what the gang of a job asks for.
    ShapeId(u32),
    /// A reservation or maintenance window of the scenario or of a policy.
    ReservationId(u32),
    /// Counts the changes of a job's rate; an event with an older epoch is stale.
    Epoch(u32),
}

/// One physical GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GpuId {
    /// The node that holds it.
    pub node: NodeId,
    /// Its index in the node, from zero.
    pub index: u8,
}
