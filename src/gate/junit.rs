//! JUnit XML: a test case for each limit, which continuous integration shows among the tests.
//!
//! Source: the schema that Jenkins and GitLab read (`testsuites`, `testsuite`, `testcase`, `failure`).

use super::judge::{Outcome, Report};
use super::line;
use super::page::{limit, sentence};

/// The file.
pub fn junit(report: &Report) -> String {
    let counts = format!("tests=\"{}\" failures=\"{}\" errors=\"0\"", report.checks.len(), report.failures().count());
    let scenario = escaped(&report.scenario);
    let mut text = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"schedlab check\" {counts}>\n  \
         <testsuite name=\"{scenario}\" {counts} skipped=\"0\">\n"
    );
    for check in &report.checks {
        let name = escaped(&format!("{}, {}", check.figure.key(), limit(check)));
        let place = format!("file=\"{}\" line=\"{}\"", escaped(&report.file), line(&check.limit.at));
        let case = format!("<testcase classname=\"{scenario}.{}\" name=\"{name}\" {place}", escaped(&check.policy));
        if check.outcome == Outcome::Holds {
            text += &format!("    {case}/>\n");
        } else {
            let (kind, said) = (check.outcome.words(), escaped(&sentence(check)));
            text +=
                &format!("    {case}>\n      <failure type=\"{kind}\" message=\"{said}\">{said}</failure>\n    </testcase>\n");
        }
    }
    text + "  </testsuite>\n</testsuites>\n"
}

/// Text as it may stand in an attribute or an element; what XML 1.0 cannot hold becomes U+FFFD.
pub(super) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for it in text.chars() {
        match it {
            '&' => out += "&amp;",
            '<' => out += "&lt;",
            '>' => out += "&gt;",
            '"' => out += "&quot;",
            '\'' => out += "&apos;",
            // Else a reader would make a space of them.
            '\t' | '\n' | '\r' => out += &format!("&#{};", u32::from(it)),
            '\u{0}'..'\u{20}' | '\u{fffe}' | '\u{ffff}' => out.push('\u{fffd}'),
            it => out.push(it),
        }
    }
    out
}
