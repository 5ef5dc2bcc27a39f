//! Tables of names and shapes shared by cluster, workload and reports, and the jobs of a recorded or generated history.

use super::job::{Extra, Job};
use crate::cluster::Shape;
use crate::ids::{AccountId, ClassId, ModelId, PoolId, ShapeId, UserId};
use std::collections::BTreeMap;

/// Distinct values in order of first use, each with its row.
#[derive(Clone, Debug)]
pub struct Table<T: Ord + Clone> {
    rows: Vec<T>,
    index: BTreeMap<T, u32>,
}

impl<T: Ord + Clone> Default for Table<T> {
    fn default() -> Self {
        Table { rows: Vec::new(), index: BTreeMap::new() }
    }
}

impl<T: Ord + Clone> Table<T> {
    /// The row of `value`, added if it is new.
    pub fn intern<Q>(&mut self, value: &Q) -> u32
    where
        T: std::borrow::Borrow<Q>,
        Q: Ord + ToOwned<Owned = T> + ?Sized,
    {
        if let Some(&row) = self.index.get(value) {
            return row;
        }
        let row = u32::try_from(self.rows.len()).expect("a table has fewer than 2^32 rows");
        self.rows.push(value.to_owned());
        self.index.insert(value.to_owned(), row);
        row
    }
    /// The row of `value`, if it is known.
    pub fn row<Q>(&self, value: &Q) -> Option<u32>
    where
        T: std::borrow::Borrow<Q>,
        Q: Ord + ?Sized,
    {
        self.index.get(value).copied()
    }
    /// All values, in order of row.
    pub fn rows(&self) -> &[T] {
        &self.rows
    }
    /// How many values.
    pub fn len(&self) -> usize {
        self.rows.len()
    }
    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }
}

/// Names that need no index, packed into one buffer.
#[derive(Clone, Debug, Default)]
pub struct Names {
    text: String,
    ends: Vec<u32>,
}

impl Names {
    /// Appends `name` and returns its row.
    ///
    /// Panics past 4 GiB of names (readers refuse larger input).
    pub fn push(&mut self, name: &str) -> u32 {
        self.text.push_str(name);
        self.ends.push(u32::try_from(self.text.len()).expect("names stay below 4 GiB"));
        self.ends.len() as u32 - 1
    }
    /// The name of `row`.
    pub fn get(&self, row: u32) -> &str {
        let row = row as usize;
        let start = if row == 0 { 0 } else { self.ends[row - 1] as usize };
        &self.text[start..self.ends[row] as usize]
    }
    /// So many of a letter as stand in no name: what is added behind them gives no name that is there already.
    pub fn unused(&self, letter: char) -> String {
        let mut mark = String::from(letter);
        while self.text.contains(&mark) {
            mark.push(letter);
        }
        mark
    }
    /// Bytes of all names, of which there may be 2^32 - 1.
    pub fn text_len(&self) -> usize {
        self.text.len()
    }
    /// How many names.
    pub fn len(&self) -> usize {
        self.ends.len()
    }
    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }
}

/// The words of a scenario: row 0 of models is "" (none named), of pools `main`, of classes, accounts and users the default.
#[derive(Clone, Debug)]
pub struct Catalog {
    /// GPU models.
    pub models: Table<String>,
    /// Pools of nodes.
    pub pools: Table<String>,
    /// Accounts, as paths (`a/a1`).
    pub accounts: Table<String>,
    /// Users.
    pub users: Table<String>,
    /// Class labels.
    pub classes: Table<String>,
    /// Requests.
    pub shapes: Table<Shape>,
    /// Lists of models whose spelling is not the catalog's own: in another order, or with repeats. Row 0 is "".
    pub wordings: Table<String>,
}

impl Default for Catalog {
    fn default() -> Self {
        let mut catalog = Catalog {
            models: Table::default(),
            pools: Table::default(),
            accounts: Table::default(),
            users: Table::default(),
            classes: Table::default(),
            shapes: Table::default(),
            wordings: Table::default(),
        };
        catalog.wordings.intern("");
        catalog.model("");
        catalog.pool("main");
        catalog.class(Catalog::CLASS);
        catalog
    }
}

impl Catalog {
    /// The account of jobs that name none.
    pub const ACCOUNT: &str = "all";
    /// The user of jobs that name none.
    pub const USER: &str = "all";
    /// The class of jobs that name none.
    pub const CLASS: &str = "all";
    /// Most models, and most pools: they are kept as sets of 64 bits.
    pub const SET_MAX: usize = 64;

    /// The row of a model; callers check `models.len()` against [`Catalog::SET_MAX`].
    pub fn model(&mut self, name: &str) -> ModelId {
        ModelId::from_index(self.models.intern(name) as usize)
    }
    /// The row of a pool; callers check `pools.len()` against [`Catalog::SET_MAX`].
    pub fn pool(&mut self, name: &str) -> PoolId {
        PoolId::from_index(self.pools.intern(name) as usize)
    }
    /// The row of an account.
    pub fn account(&mut self, path: &str) -> AccountId {
        AccountId(self.accounts.intern(path))
    }
    /// The row of a user.
    pub fn user(&mut self, name: &str) -> UserId {
        UserId(self.users.intern(name))
    }
    /// The row of a class label.
    pub fn class(&mut self, name: &str) -> ClassId {
        ClassId::from_index(self.classes.intern(name) as usize)
    }
    /// The row of a shape.
    pub fn shape(&mut self, shape: &Shape) -> ShapeId {
        ShapeId(self.shapes.intern(shape))
    }
}

/// A history of submissions.
#[derive(Clone, Debug, Default)]
pub struct Workload {
    /// By submit time, ties in the order of the source; a job's `JobId` is its row here.
    pub jobs: Vec<Job>,
    /// What few jobs have, indexed by [`Job::extra`].
    pub extras: Vec<Extra>,
    /// Names, indexed by [`Job::name`].
    pub names: Names,
}

impl Workload {
    /// The extras of `job`, if it has any.
    pub fn extra(&self, job: &Job) -> Option<&Extra> {
        (job.extra != Job::PLAIN).then(|| &self.extras[job.extra as usize])
    }
}
