//! Which loaned servers go back, so that few jobs are preempted: pure functions over who holds what where.
//!
//! The problem is a knapsack whose items' values depend on each other: a job that is preempted for one server leaves its others, too. Published:
//! the greedy choice by *server preemption cost*. The ties, the servers that cost nothing going first, and the comparators' details are
//! ours.

mod choose;
mod optimal;
mod state;

pub use choose::reclaim;
pub use state::{Hold, Loaned, Reclaimed, Tenant};

/// How servers are chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// The least preemption cost, a job's one preemption divided evenly among the loaned servers it is on.
    CostServer,
    /// The same, by its GPUs there over all it holds, on loan or not: of a job that is partly at home this adds up to less than one.
    CostGpu,
    /// Fewest running jobs, as counted when the servers are called back.
    ScfStatic,
    /// Fewest running jobs, counted again after each choice.
    ScfDynamic,
    /// Any, each as likely.
    Random,
    /// The fewest preempted jobs there can be, by trying: for tests and small cases.
    Optimal,
}

impl Rule {
    /// The names of all, in the order in which they are described.
    pub const NAMES: [&str; 6] = ["cost-server", "cost-gpu", "scf-static", "scf-dynamic", "random", "optimal"];

    /// The rule of that name.
    pub fn named(name: &str) -> Rule {
        match name {
            "cost-gpu" => Rule::CostGpu,
            "scf-static" => Rule::ScfStatic,
            "scf-dynamic" => Rule::ScfDynamic,
            "random" => Rule::Random,
            "optimal" => Rule::Optimal,
            _ => Rule::CostServer,
        }
    }
}

#[cfg(test)]
mod tests;
