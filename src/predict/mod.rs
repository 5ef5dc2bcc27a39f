//! Will somebody who arrives within the next minute be refused at arrival? Gradient-boosted trees over what a scheduler sees.
//!
//! The summary of the GFGD paper says no more than that an optional predictor of non-admittance, by gradient-boosted trees on the state,
//! may choose among policies, and that it is not in the core path. Features, label, settings and use are our choice
//! (`docs/predict.md`).
//!
//! All of it is made of facts: [`Watch`] hears them and says the features of an instant, to a policy while it runs and to [`samples`]
//! from a ledger afterwards. So what a model learned from and what it is asked are one thing by construction. It knows nothing of
//! policies, files or reports.

mod model;
mod score;
mod table;
mod train;
mod watch;

pub use model::{Foreign, Model, Node, Provenance};
pub use score::{Bin, Counts, Scores, auc, brier, calibration};
pub use table::{Sample, Split, samples, split};
pub use train::{OneSided, train};
pub use watch::{FEATURES, Features, LOAD, Watch};

use crate::units::SimSpan;

/// How far ahead is asked.
pub const AHEAD: SimSpan = SimSpan::from_secs(60);
