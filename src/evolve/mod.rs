//! Evolution: a genetic algorithm over knobs of a policy, under a guardrail.
//!
//! What is evolved is any set of knobs that the registry marks tunable. Individuals are judged on the same seeds as each other and as a
//! reference policy (common random numbers): a cost, and an upper confidence bound on what must not get worse. Everything is checked before
//! anything runs ([`Plan`]). The [`search`] is a function of the plan, a seed and figures of runs, and so is all that follows, so the result
//! is the same on any number of threads, and after it was killed and gone on with: what is remembered ([`Memory`]) is the figures of the
//! runs, and nothing else has to be.
//!
//! It runs nothing itself and knows no threads: the command line runs what it is asked for ([`Ask`]), and hands back its figures ([`Trial`]).

mod breed;
mod cost;
mod course;
mod gene;
mod genome;
mod guardrail;
mod memory;
mod page;
mod plan;
mod plot;
mod policy_file;
mod search;
mod trial;

#[cfg(test)]
mod tests;

pub use cost::{Judge, Verdict};
pub use course::{Finalist, Outcome, RegimeOutcome, Runner, course};
pub use gene::{Gene, Target, value_text};
pub use genome::{Genome, Space, UNIT};
pub use guardrail::{Bound, poisson_upper, t_upper};
pub use memory::{Beside, Memory, Of, Row, write_whole};
pub use page::page;
pub use plan::{Ask, Plan, RegimePlan};
pub use plot::plot;
pub use policy_file::policy_file;
pub use search::{Evaluate, Found, Generation, Individual, search};
pub use trial::{Exact, Trial, trial};
