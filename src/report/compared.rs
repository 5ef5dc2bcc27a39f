//! The key `comparison` of a summary: its objects.

use serde::{Deserialize, Serialize};

/// One policy against the first in one figure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ComparisonSummary {
    /// Key of the figure, as in a run.
    pub metric: String,
    /// The policy compared with: the first.
    pub base: String,
    /// The policy compared.
    pub policy: String,
    /// Pairs of runs that have the figure. Seeds that gave the same two runs again count once.
    pub n: u64,
    /// Mean of the base.
    pub mean_base: Option<f64>,
    /// Mean of the policy.
    pub mean: Option<f64>,
    /// Mean difference, policy minus base.
    pub difference: Option<f64>,
    /// Half of its 95 % interval by Student's t; null of one pair.
    pub half: Option<f64>,
    /// Its 95 % interval by bootstrap: over pairs, or of one pair over blocks of time.
    pub bootstrap: Option<[f64; 2]>,
    /// How likely a difference at least as large is by chance.
    pub p: Option<f64>,
    /// The same, corrected for all comparisons of this list.
    pub p_holm: Option<f64>,
    /// In words.
    pub verdict: String,
    /// Why the verdict is withheld, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub withheld: Option<String>,
    /// Sides (`base`, `policy`) known only to be at least that, since a job still waiting is at the rank.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub at_least: Vec<String>,
    /// Of one history in blocks of time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocks: Option<BlocksSummary>,
}

impl ComparisonSummary {
    /// The verdict, and why there is none where it is withheld.
    pub fn said(&self) -> String {
        match &self.withheld {
            Some(why) => format!("{}: {why}", self.verdict),
            None => self.verdict.clone(),
        }
    }
}

/// Blocks of time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct BlocksSummary {
    /// How many fit into the history.
    pub count: u64,
    /// How long one is, in days.
    pub length_d: Option<f64>,
}

/// Its keys and what they mean, for the documentation.
pub(super) const KEYS: &[(&str, &str)] = &[
    ("metric", "Key of the figure, as in a run."),
    ("base", "The policy compared with: the first."),
    ("policy", "The policy compared."),
    ("n", "Pairs of runs of one seed that both have the figure. Seeds that gave the same two runs again count once."),
    ("mean_base", "Mean of the base."),
    ("mean", "Mean of the policy."),
    ("difference", "Mean difference, policy minus base."),
    ("half", "Half of its 95 % interval (Student's t for pairs); null of one pair."),
    (
        "bootstrap",
        "Its 95 % interval by bootstrap, lower and upper end: over pairs, or of one pair over blocks of time; null without.",
    ),
    (
        "p",
        "How likely a difference at least as large is by chance; null without interval, or where neither side is known exactly.",
    ),
    ("p_holm", "The same, corrected for all comparisons of the list."),
    ("verdict", "`better`, `worse`, `no difference seen`, `too few to tell`, `intervals disagree` or `withheld`."),
    (
        "withheld",
        "Why the verdict is withheld: `still waiting` (a value is only known to be at least that), `fewer completed` (the figure is of \
         completed jobs, and the side that it favours completed fewer) or `cut` (a run was cut); absent otherwise.",
    ),
    (
        "at_least",
        "Sides (`base`, `policy`) known only to be at least that, since a job still waiting is at the rank; absent of none.",
    ),
    ("blocks", "Of one history: `count` blocks of `length_d` days; absent where time was not cut."),
];
