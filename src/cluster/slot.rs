//! Claims: pieces of capacity that a task holds on a node.

use crate::ids::NodeId;
use crate::units::MilliGpu;

/// Whether a worker belongs to the base of its job or may be taken away without stopping it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Class {
    /// One of the workers the job starts with.
    Base,
    /// A worker beyond the base of an elastic job.
    Flexible,
}

/// What one task holds, or would hold, on its node: the claim without its job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Slot {
    /// The GPUs of the node, as a set of bits; none for a CPU task.
    pub gpus: u64,
    /// The node.
    pub node: NodeId,
    /// The task within its job, in order of group; flexible workers are numbered after the base.
    pub task: u32,
    /// Thousandths held of each of those GPUs.
    pub milli: u16,
    /// The group of the job's shape that says what CPU and memory go with it.
    pub group: u8,
    /// Base or flexible.
    pub class: Class,
}

impl Slot {
    /// GPU capacity of the slot.
    pub fn capacity(&self) -> MilliGpu {
        MilliGpu::from_milli(u64::from(self.gpus.count_ones()) * u64::from(self.milli))
    }
    /// The GPU indexes in the node, ascending.
    pub fn gpu_indexes(&self) -> impl Iterator<Item = u8> + use<> {
        bits(self.gpus)
    }
}

/// Takes workers from what a job holds. A flexible worker takes the place and number of each base worker that goes: the last one on a node that
/// `stays` open, else the last. Returns those that changed so, before and after.
pub fn shrink(held: &mut Vec<Slot>, gone: &[Slot], stays: impl Fn(NodeId) -> bool) -> Vec<(Slot, Slot)> {
    held.retain(|slot| !gone.contains(slot));
    let mut turned = Vec::new();
    for base in gone.iter().filter(|slot| slot.class == Class::Base) {
        let flexible = |open: bool| held.iter().rposition(|it| it.class == Class::Flexible && (!open || stays(it.node)));
        if let Some(at) = flexible(true).or_else(|| flexible(false)) {
            let slot = &mut held[at];
            let before = *slot;
            *slot = Slot { class: Class::Base, task: base.task, ..before };
            turned.push((before, *slot));
        }
    }
    turned
}

/// The lowest `count` members of `set`.
pub fn lowest(set: u64, count: u8) -> u64 {
    bits(set).take(usize::from(count)).fold(0, |set, bit| set | 1 << bit)
}

/// The set bits of `set`, ascending.
pub fn bits(mut set: u64) -> impl Iterator<Item = u8> + use<> {
    std::iter::from_fn(move || {
        (set != 0).then(|| {
            let bit = set.trailing_zeros() as u8;
            set &= set - 1;
            bit
        })
    })
}
