//! What a result is of: what was said on the command line, so that a run can be made again.

use serde::{Deserialize, Serialize};

/// Scenario, settings and policies of a result, as they were said.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// The version that wrote it.
    pub schedlab: String,
    /// The scenario file, as it was named.
    pub scenario: String,
    /// `--set` options.
    pub settings: Vec<String>,
    /// `--policy` options; none: the scenario's own.
    pub policies: Vec<String>,
}

impl Origin {
    /// Where it is written.
    pub const FILE: &str = "run.json";

    /// What was said.
    pub fn new(scenario: &std::path::Path, settings: &[String], policies: &[String]) -> Origin {
        Origin {
            schedlab: env!("CARGO_PKG_VERSION").to_owned(),
            scenario: scenario.display().to_string(),
            settings: settings.to_vec(),
            policies: policies.to_vec(),
        }
    }
    /// As a file.
    pub fn to_json(&self) -> String {
        // Text and lists of text always make JSON.
        serde_json::to_string_pretty(self).map(|text| text + "\n").unwrap_or_default()
    }
}
