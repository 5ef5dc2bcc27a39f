//! `nobody`: running work is never stopped.

use super::{Build, Evict, Room};
use crate::ids::JobId;
use crate::registry::Entry;

/// The rule.
pub const ENTRY: Entry<Build> = Entry {
    name: "nobody",
    about: "running work is never stopped",
    source: "textbook",
    knobs: &[],
    needs: &[],
    provides: &[],
    timed: false,
    build: |_knobs, _case| Box::new(Nobody),
};

struct Nobody;

impl Evict for Nobody {
    fn is_active(&self) -> bool {
        false
    }
    fn make_room(&mut self, _room: &mut Room<'_, '_>, _job: JobId) -> bool {
        false
    }
}
