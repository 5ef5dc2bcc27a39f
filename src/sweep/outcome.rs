//! The outcome of a sweep: its figures and what they say, made of its parts and of nothing else.

use super::answers::{self, Best, Confirmed};
use super::folder::Folder;
use super::request::Grid;
use super::rows::Rows;
use crate::error::Error;
use std::collections::BTreeSet;

/// The figures of a sweep's tables and answers where it names none: how long it takes until debugging starts, what accounts got, and what
/// that cost.
const METRICS: [&str; 3] = ["by_class.debug.wait_s.p90", "delivered_of_owed", "preemption.lost_gpu_h"];

/// Where nothing is called `debug`.
const WAIT: &str = "wait_s.p90";

/// A sweep whose runs are all there.
#[derive(Debug)]
pub struct Outcome {
    /// The grid.
    pub grid: Grid,
    /// Its figures.
    pub rows: Rows,
    /// The figures of tables and answers.
    pub metrics: Vec<usize>,
    /// The best by each of them.
    pub best: Vec<Best>,
    /// What fresh seeds say of the best; empty where they were not asked.
    pub confirmed: Vec<Confirmed>,
    /// The arms that no other beats in every figure.
    pub front: Vec<usize>,
    /// Figures asked for that no run has.
    pub absent: Vec<String>,
}

impl Outcome {
    /// Reads the parts of all rows.
    ///
    /// - Errors: those that are missing.
    pub fn read(folder: &Folder, grid: Grid) -> Result<Outcome, Error> {
        let rows = Rows::read(folder, &grid)?;
        let mut absent = Vec::new();
        let mut metrics: Vec<usize> = Vec::new();
        for key in wanted(&rows, &grid) {
            let found = rows.resolve(&key);
            if found.is_empty() {
                absent.push(key);
            }
            let fresh: Vec<usize> = found.into_iter().filter(|figure| !metrics.contains(figure)).collect();
            metrics.extend(fresh);
        }
        let best = answers::best(&rows, &grid, &metrics);
        let front = answers::front(&rows, &grid, &metrics);
        Ok(Outcome { grid, rows, metrics, best, confirmed: Vec::new(), front, absent })
    }

    /// The runs (arm and seed) that would tell whether the best is the best by luck: it and the first arm, on as many seeds that the choice has
    /// not seen. None where that was not asked for, where one seed gives no interval, or where nothing is drawn by seed.
    pub fn fresh(&self) -> Vec<(usize, u64)> {
        let grid = &self.grid;
        let mut arms: BTreeSet<usize> = self.best.iter().map(|it| it.arm).filter(|arm| *arm != 0).collect();
        if !grid.request.confirm || grid.seeds < 2 || arms.is_empty() || !answers::draws(&self.rows, grid.arms.len()) {
            return Vec::new();
        }
        arms.insert(0);
        let seeds = (grid.seeds..2 * grid.seeds).map(|n| grid.seed.wrapping_add(n));
        arms.into_iter().flat_map(|arm| seeds.clone().map(move |seed| (arm, seed))).collect()
    }

    /// Takes what the runs on fresh seeds say.
    pub fn confirm(&mut self, folder: &Folder) {
        let fresh = Rows::read_fresh(folder, &self.grid, &self.fresh());
        self.confirmed = answers::confirmed(&fresh, &self.grid, &self.best, &self.rows.figures);
    }
}

/// Keys of the figures wanted.
fn wanted(rows: &Rows, grid: &Grid) -> Vec<String> {
    if !grid.request.metrics.is_empty() {
        return grid.request.metrics.clone();
    }
    let accounts = rows.resolve("by_account.*.delivered_of_owed").len();
    let own = |key: &&str| match *key {
        "by_class.debug.wait_s.p90" => rows.figure(key).is_some(),
        "delivered_of_owed" => 1 < accounts,
        _ => true,
    };
    let mut keys: Vec<String> = METRICS.into_iter().filter(own).map(str::to_owned).collect();
    if keys.first().is_none_or(|key| key != METRICS[0]) {
        keys.insert(0, WAIT.to_owned());
    }
    keys
}
