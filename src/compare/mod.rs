//! Statistics of comparisons: numbers in, intervals and verdicts out.
//!
//! Knows nothing of runs, figures or files. Runs that share a seed share their draws, so two policies are compared pair by pair
//! ([`paired`]); a history without seeds is resampled in blocks of time ([`blocks`]). What differs is called a difference only if it is
//! both significant, after Holm's correction, and larger than the smallest one worth a verdict ([`verdict`]).

mod bootstrap;
mod estimate;
mod holm;
mod pairs;
mod pareto;
mod ranks;
mod seeds;
mod sensitivity;
mod timeblocks;
mod verdicts;

#[cfg(test)]
mod tests;

pub use bootstrap::{Interval, RESAMPLES};
pub use estimate::{Estimate, LEVEL};
pub use holm::holm;
pub use pairs::{Paired, paired};
pub use pareto::{Point, pareto};
pub use seeds::{Seeded, by_seed};
pub use sensitivity::{Effect, sensitivity};
pub use timeblocks::{BlockEstimate, Blocks, LEAST_BLOCKS, Statistic, TimedPair, block_length, blocks};
pub use verdicts::{Direction, Floor, Verdict, Why, verdict};
