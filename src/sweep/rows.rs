//! The figures of all rows, a column each.

use super::folder::{Folder, fresh_name, row_name};
use super::request::Grid;
use crate::compare::Seeded;
use crate::error::Error;
use crate::report::{Figure, RunSummary, Seen, Summary, figures, resolve, seen};
use std::collections::BTreeMap;

/// One run.
#[derive(Clone, Debug)]
pub struct Row {
    /// Its arm.
    pub arm: usize,
    /// Its seed.
    pub seed: u64,
    /// Hash of its ledger.
    pub ledger_hash: String,
    /// Whether it was cut.
    pub cut: bool,
    values: BTreeMap<(usize, String), Seen>,
}

/// All runs in grid order, and every figure that any of them has.
#[derive(Debug, Default)]
pub struct Rows {
    /// The figures, in the order of their list, then by name.
    pub figures: Vec<Figure>,
    /// Places of the figures in the rows.
    keys: Vec<(usize, String)>,
    /// The runs, by arm.
    pub rows: Vec<Row>,
}

impl Seeded for Row {
    fn seed(&self) -> u64 {
        self.seed
    }
    fn ledger_hash(&self) -> &str {
        &self.ledger_hash
    }
}

impl Row {
    fn new(arm: usize, run: RunSummary, all: &mut BTreeMap<(usize, String), Figure>) -> Row {
        let (seed, ledger_hash, cut) = (run.seed, run.ledger_hash.clone(), run.engine.is_cut());
        let one = Summary::of_run(run);
        let mut values = BTreeMap::new();
        for (place, info) in figures().iter().enumerate() {
            for figure in resolve(info.key, &one).unwrap_or_default() {
                let key = (place, figure.key());
                if let Some(value) = seen(&one.runs[0], &figure) {
                    values.insert(key.clone(), value);
                }
                all.entry(key).or_insert(figure);
            }
        }
        Row { arm, seed, ledger_hash, cut, values }
    }
}

impl Rows {
    /// Reads the parts of all rows.
    ///
    /// - Errors: how many are missing, and the first.
    pub fn read(folder: &Folder, grid: &Grid) -> Result<Rows, Error> {
        let (mut missing, mut first) = (0, None);
        let mut rows = Rows::default();
        let mut all = BTreeMap::new();
        for row in 0..grid.rows() {
            let (arm, seed) = grid.row(row);
            match folder.part(&row_name(row), grid, (arm, seed)) {
                Some(part) => rows.rows.push(Row::new(arm, part.run, &mut all)),
                None => {
                    missing += 1;
                    first.get_or_insert((row, arm, seed));
                }
            }
        }
        if let Some((row, arm, seed)) = first {
            let (cell, policy) = grid.arm(arm);
            let which = format!("row {row} (cell {cell}, {}, seed {seed})", grid.policies[policy]);
            let dir = folder.dir().display();
            return Err(Error::input(format!(
                "{missing} of {} runs are missing in `{dir}`, the first of them {which}; run their shard, with `--resume` if it was begun",
                grid.rows()
            )));
        }
        rows.settle(all);
        Ok(rows)
    }

    /// Reads the parts of arms on fresh seeds; `runs` by arm. Those that are not there are left out.
    pub fn read_fresh(folder: &Folder, grid: &Grid, runs: &[(usize, u64)]) -> Rows {
        let mut rows = Rows::default();
        let mut all = BTreeMap::new();
        for (arm, seed) in runs {
            if let Some(part) = folder.part(&fresh_name(*arm, *seed), grid, (*arm, *seed)) {
                rows.rows.push(Row::new(*arm, part.run, &mut all));
            }
        }
        rows.settle(all);
        rows
    }

    /// Of runs by arm, as if read.
    #[cfg(test)]
    pub(super) fn of(runs: impl IntoIterator<Item = (usize, RunSummary)>) -> Rows {
        let (mut rows, mut all) = (Rows::default(), BTreeMap::new());
        for (arm, run) in runs {
            rows.rows.push(Row::new(arm, run, &mut all));
        }
        rows.settle(all);
        rows
    }

    fn settle(&mut self, all: BTreeMap<(usize, String), Figure>) {
        (self.keys, self.figures) = all.into_iter().unzip();
    }

    /// The figure of that key.
    pub fn figure(&self, key: &str) -> Option<usize> {
        self.figures.iter().position(|figure| figure.key() == key)
    }
    /// The figures that a key with or without `*` means.
    pub fn resolve(&self, key: &str) -> Vec<usize> {
        let means = |figure: &Figure| figure.info.key == key || figure.key() == key;
        (0..self.figures.len()).filter(|row| means(&self.figures[*row])).collect()
    }
    /// A figure of a row.
    pub fn seen(&self, row: &Row, figure: usize) -> Option<Seen> {
        row.values.get(&self.keys[figure]).copied()
    }
    /// The rows of an arm, by seed.
    pub fn of_arm(&self, arm: usize) -> impl Iterator<Item = &Row> + Clone {
        // Rows stand by arm.
        let from = self.rows.partition_point(|row| row.arm < arm);
        self.rows[from..].iter().take_while(move |row| row.arm == arm)
    }
}
