//! `smallest`: the job of the fewest GPUs first; by submit time within a size.

use crate::engine::JobView;
use crate::ids::JobId;
use crate::policy::order::{Build, Order};
use crate::policy::queue::Key;
use crate::registry::{Entry, Kind, Knob};

/// The order.
pub const ENTRY: Entry<Build> = Entry {
    name: "smallest",
    about: "by GPUs, fewest first; submit time within a size",
    source: "textbook",
    knobs: &[Knob::new("step", "sizes that differ by less count alike", Kind::Int { min: 1, max: 1 << 20 }, "1").unit("GPUs")],
    needs: &[],
    provides: &[],
    timed: false,
    build: |knobs, _case| Box::new(Smallest { step: knobs.int("step").unsigned_abs() }),
};

struct Smallest {
    step: u64,
}

impl Order for Smallest {
    fn key(&self, id: JobId, job: JobView<'_>) -> Key {
        Key { rank: u64::from(job.shape().gpus()) / self.step, then: job.submit().as_millis(), job: id }
    }
}
