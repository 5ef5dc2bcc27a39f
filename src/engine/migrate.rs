//! Claims of running jobs that change places. What the first gives up the second may take, and the other way round: all let go, then
//! all take, so that no order of moves needs to be found and a circle of them is no obstacle.

use super::decisions::Move;
use super::jobs::Status;
use super::run::Engine;
use crate::facts::{Fact, Refusal};
use crate::ids::JobId;

impl Engine<'_> {
    /// Makes all of `moves`, or none.
    pub(super) fn apply_migrate(&mut self, moves: &[Move]) -> Result<(), Refusal> {
        if moves.is_empty() {
            return Err(Refusal::OutOfRange);
        }
        let mut claims: Vec<_> = moves.iter().map(|it| (it.job, it.from)).collect();
        claims.sort_unstable();
        if claims.windows(2).any(|pair| pair[0] == pair[1]) {
            return Err(Refusal::NotHeld);
        }
        for it in moves {
            self.check_move(it)?;
        }
        for it in moves {
            let request = self.request(it.job, &it.from);
            self.cluster.give(&it.from, &request);
        }
        for (at, it) in moves.iter().enumerate() {
            let request = self.request(it.job, &it.from);
            if !self.cluster.take(&it.to, &request) {
                self.undo_moves(moves, at);
                return Err(Refusal::NotFree);
            }
        }
        self.tell_moves(moves);
        Ok(())
    }

    fn check_move(&self, it: &Move) -> Result<(), Refusal> {
        if self.jobs.get(it.job).is_none_or(|row| row.status != Status::Running) {
            return Err(Refusal::WrongState);
        }
        if !self.jobs.slots(it.job).contains(&it.from) {
            return Err(Refusal::NotHeld);
        }
        let task = |slot: &crate::cluster::Slot| (slot.task, slot.group, slot.class);
        if task(&it.to) != task(&it.from) || it.to == it.from {
            return Err(Refusal::WrongShape);
        }
        let request = self.request(it.job, &it.from);
        let others = self.jobs.slots(it.job).iter().filter(|slot| **slot != it.from);
        self.check_mixing(it.job, others.chain([&it.to]))?;
        self.check_slot(it.job, &it.to, &request)
    }

    /// Puts everything back of which the first `taken` have their new place.
    fn undo_moves(&mut self, moves: &[Move], taken: usize) {
        for it in &moves[..taken] {
            let request = self.request(it.job, &it.from);
            self.cluster.give(&it.to, &request);
        }
        for it in moves {
            let request = self.request(it.job, &it.from);
            let back = self.cluster.take(&it.from, &request);
            assert!(back, "what was just given back is free");
        }
    }

    fn tell_moves(&mut self, moves: &[Move]) {
        for it in moves {
            for slot in self.jobs.slots_mut(it.job).iter_mut().filter(|slot| **slot == it.from) {
                *slot = it.to;
            }
            self.tell(&Fact::Released { job: it.job, slot: it.from });
        }
        let mut jobs: Vec<JobId> = Vec::with_capacity(moves.len());
        for it in moves {
            self.tell(&Fact::Claimed { job: it.job, slot: it.to });
            jobs.push(it.job);
        }
        for it in moves {
            self.note_emptied(it.from.node);
        }
        // A gang pauses once, however many of its tasks move.
        jobs.sort_unstable();
        jobs.dedup();
        for job in jobs {
            self.counters.moves += 1;
            self.move_attempt(job);
        }
    }
}
