//! `fifo`: by submit time, ties by id. A requeued job keeps its submit time.

use super::{Build, Order};
use crate::engine::JobView;
use crate::ids::JobId;
use crate::policy::queue::Key;
use crate::registry::Entry;

/// The order.
pub const ENTRY: Entry<Build> = Entry {
    name: "fifo",
    about: "by submit time",
    source: "textbook",
    knobs: &[],
    needs: &[],
    provides: &[],
    timed: false,
    build: |_knobs, _case| Box::new(Fifo),
};

struct Fifo;

impl Order for Fifo {
    fn key(&self, id: JobId, job: JobView<'_>) -> Key {
        Key { rank: 0, then: job.submit().as_millis(), job: id }
    }
}
