//! `shortest`: by estimated remaining run time, then submit time. Jobs without an estimate come last.

use super::{Build, Order};
use crate::engine::JobView;
use crate::ids::JobId;
use crate::policy::queue::Key;
use crate::registry::Entry;

/// The order.
pub const ENTRY: Entry<Build> = Entry {
    name: "shortest",
    about: "by estimated remaining run time (shortest job first)",
    source: "textbook (SJF; Aryl's phase 1 uses it)",
    knobs: &[],
    needs: &[],
    provides: &[],
    timed: false,
    build: |_knobs, _case| Box::new(Shortest),
};

struct Shortest;

impl Order for Shortest {
    fn key(&self, id: JobId, job: JobView<'_>) -> Key {
        Key { rank: job.estimate().as_millis(), then: job.submit().as_millis(), job: id }
    }
}
