//! Scenario files: read by form, checked whole, and turned into complete, immutable cases.
//!
//! Past [`Scenario::load`] nothing re-checks a scenario or fills in a default. It does not run anything.

mod accounts;
pub mod chosen;
mod cluster;
mod drains;
pub mod evolve;
mod failures;
mod fit;
mod form;
pub mod gate;
mod inference;
mod jobs;
mod load;
mod paths;
pub mod policies;
mod settings;
mod work;

#[cfg(test)]
mod tests;

pub use form::SCENARIO;
pub use load::{Scenario, named_policies};
pub use paths::Folders;
pub use policies::{POLICY, find_policy};
pub use settings::contract;
