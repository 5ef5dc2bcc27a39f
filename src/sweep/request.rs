//! What was asked for, and the grid that follows from it: `grid.json`, by which shards, resumed sweeps and merges know each other.

use serde::{Deserialize, Serialize};

/// How many of what.
pub fn many(count: u128, noun: &str) -> String {
    let digits = count.to_string();
    let apart = digits.char_indices().map(|(place, digit)| {
        let comma = 0 < place && (digits.len() - place).is_multiple_of(3);
        if comma { format!(",{digit}") } else { digit.to_string() }
    });
    let number: String = apart.collect();
    match (count, noun.strip_suffix('y')) {
        (1, _) => format!("1 {noun}"),
        (_, Some(stem)) => format!("{number} {stem}ies"),
        (_, None) => format!("{number} {noun}s"),
    }
}

/// What a sweep was asked for, as its options say it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Request {
    /// Path of the scenario file.
    pub scenario: String,
    /// Swept keys with their values.
    pub over: Vec<String>,
    /// Policies by name or file; none: those of the scenario.
    pub policies: Vec<String>,
    /// Keys set in every cell.
    pub settings: Vec<String>,
    /// How many seeds; `None`: as the scenario says.
    pub seeds: Option<u64>,
    /// How many points of a sampled grid; `None`: every combination.
    pub sample: Option<u64>,
    /// Keys of the figures of tables and answers; none: the default.
    pub metrics: Vec<String>,
    /// Whether the best is run again on fresh seeds.
    pub confirm: bool,
}

/// A swept key and the values of its cells.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Key {
    /// The dotted key.
    pub key: String,
    /// Its values in the order given; of a range its two ends.
    pub values: Vec<String>,
    /// Whether it is a range.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub range: bool,
}

/// `grid.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Grid {
    /// Version of the program.
    pub schedlab: String,
    /// Name of the scenario.
    pub scenario: String,
    /// What was asked for.
    pub request: Request,
    /// The swept keys.
    pub keys: Vec<Key>,
    /// The values of each cell, in the order of `keys`.
    pub cells: Vec<Vec<String>>,
    /// Names of the policies.
    pub policies: Vec<String>,
    /// The first seed.
    pub seed: u64,
    /// How many, counted up.
    pub seeds: u64,
    /// What each arm is run from, hashed: cells, then policies.
    pub arms: Vec<String>,
    /// What was read, decided and doubted on the way.
    pub notes: Vec<String>,
}

impl Grid {
    /// Most runs of a grid: a folder holds two files for each (our choice).
    pub const ROWS_MAX: u128 = 100_000_000;

    /// Whether its parts fit together, as those of one that was written here do.
    pub fn is_whole(&self) -> bool {
        self.cells.len().checked_mul(self.policies.len()) == Some(self.arms.len())
            && (1..=Grid::ROWS_MAX).contains(&self.size())
            && self.cells.iter().all(|cell| cell.len() == self.keys.len())
    }
    /// Number of rows, however many it says.
    pub fn size(&self) -> u128 {
        self.arms.len() as u128 * u128::from(self.seeds)
    }
    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.arms.len() * self.seeds as usize
    }
    /// Arm and seed of a row.
    pub fn row(&self, row: usize) -> (usize, u64) {
        let seeds = self.seeds as usize;
        (row / seeds, self.seed.wrapping_add((row % seeds) as u64))
    }
    /// Cell and policy (its row) of an arm.
    pub fn arm(&self, arm: usize) -> (usize, usize) {
        (arm / self.policies.len(), arm % self.policies.len())
    }
    /// What a run of an arm on a seed is of.
    pub fn identity(&self, arm: usize, seed: u64) -> String {
        let text = format!("{} seed {seed}", self.arms[arm]);
        blake3::hash(text.as_bytes()).to_hex()[..32].to_owned()
    }
    /// Whether another grid has the same rows, whatever is done with their figures.
    pub fn same_rows(&self, other: &Grid) -> bool {
        (&self.arms, self.seed, self.seeds, &self.cells) == (&other.arms, other.seed, other.seeds, &other.cells)
    }
}
