//! SARIF 2.1.0: a result for each limit that does not hold, at its line of the scenario.
//!
//! Source: OASIS, "Static Analysis Results Interchange Format (SARIF) Version 2.1.0".

use super::judge::{Outcome, Report};
use super::line;
use super::page::{limit, sentence};
use serde_json::{Value, json};

/// What may be wrong, with a rule each.
const RULES: [(Outcome, &str); 7] = [
    (Outcome::Broken, "A figure is not within a limit of the scenario's gate."),
    (Outcome::TooFew, "A margin takes more seeds that give different runs."),
    (Outcome::NoValue, "A figure has no value, here or in the baseline."),
    (Outcome::Withheld, "A percentile is only known to be at least what it is, and may be larger."),
    (Outcome::Fewer, "A figure of completed jobs alone is of fewer of them than in the baseline."),
    (Outcome::Cut, "A run was cut, since the policy did not come to rest."),
    (Outcome::NoCounterpart, "A policy has no counterpart in the baseline, or the other way round."),
];

/// The file.
pub fn sarif(report: &Report) -> String {
    let rule = |outcome: Outcome| format!("gate/{}", outcome.words().replace(' ', "-"));
    let rules: Vec<Value> =
        RULES.iter().map(|(outcome, about)| json!({ "id": rule(*outcome), "shortDescription": { "text": about } })).collect();
    let result = |check: &super::Check| {
        json!({
            "ruleId": rule(check.outcome),
            "ruleIndex": RULES.iter().position(|(outcome, _)| *outcome == check.outcome),
            "level": "error",
            "message": { "text": sentence(check) },
            "locations": [{ "physicalLocation": {
                "artifactLocation": { "uri": uri(&report.file) },
                "region": { "startLine": line(&check.limit.at) },
            } }],
            "partialFingerprints": { "limit/v1": format!("{} {} {}", check.policy, check.figure.key(), limit(check)) },
        })
    };
    let log = json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": { "name": "schedlab", "semanticVersion": env!("CARGO_PKG_VERSION"), "rules": rules } },
            "results": report.failures().map(result).collect::<Vec<Value>>(),
        }],
    });
    format!("{log:#}\n")
}

/// A path as the reference that it is in a URI: relative paths stay so.
fn uri(path: &str) -> String {
    let mut out = if path.starts_with('/') { "file://".to_owned() } else { String::new() };
    for byte in path.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => out.push(char::from(byte)),
            other => out += &format!("%{other:02X}"),
        }
    }
    out
}
