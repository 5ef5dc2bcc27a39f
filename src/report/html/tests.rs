//! The page of small runs: whole, safe, the same twice, and of what it says.

use super::{Drawn, report_html};
use crate::engine::{Case, Outcome};
use crate::facts::{Fact, PreemptReason, QueueReason};
use crate::ledger::story::Story;
use crate::metrics::{measure, record};
use crate::report::{Run, Summary};
use crate::units::SimSpan;

/// Two accounts on four GPUs: A runs, B waits and stops it, A goes on.
fn told() -> (Case, Outcome) {
    let mut story = Story::new(&[4]);
    let (a, b) = (story.job("A <b>", 0, 3, 4000), story.job("B", 500, 2, 1000));
    story.at(0).submit(a).start(a, &[(0, 0b111)]);
    let left = Fact::Preempted { job: a, by: Some(b), reason: PreemptReason::ForJob, lost: SimSpan::from_secs(10) };
    story.at(500).submit(b).at(1000).fact(left).queue(a, QueueReason::Requeued).start(b, &[(0, 0b11)]);
    story.at(2000).complete(b).start(a, &[(0, 0b111)]).at(5000).complete(a);
    story.told()
}

fn page(policies: &[&str]) -> String {
    let (case, outcome) = told();
    let run = |policy: &&str| Run {
        policy: (*policy).to_owned(),
        seed: case.seed,
        ledger_hash: outcome.ledger.hash(),
        measured: measure(&case, &outcome),
        counters: outcome.counters,
        waits: None,
    };
    let runs: Vec<Run> = policies.iter().map(run).collect();
    let summary = Summary::new("a <scenario> & \"more\"", "blake3:0", &runs);
    let drawn: Vec<Drawn> = policies.iter().map(|policy| Drawn::new(policy, &case, &outcome, &record(&case, &outcome))).collect();
    report_html(&summary, &drawn, &["A remark with `code` and <i>.".to_owned()])
}

/// What stands between two words, every time.
fn all<'a>(text: &'a str, from: &str, to: &str) -> Vec<&'a str> {
    text.split(from).skip(1).filter_map(|rest| rest.split(to).next()).collect()
}

#[test]
fn nothing_is_loaded_and_nothing_is_taken_for_markup() {
    let page = page(&["one", "two <&>"]);
    for foreign in ["http:", "https:", "src=", "@import", "url(h"] {
        assert!(!page.contains(foreign), "{foreign}");
    }
    assert!(!page.contains("<scenario>") && !page.contains("two <&>") && !page.contains("A <b>") && !page.contains("<i>"));
    assert!(page.contains("a &lt;scenario&gt;") && page.contains("A remark with <code>code</code> and &lt;i&gt;."));
    assert!(page.starts_with("<!doctype html>") && page.trim_end().ends_with("</html>"));
}

#[test]
fn every_picture_has_a_text_and_every_link_a_target() {
    let page = page(&["one"]);
    let figures = all(&page, "<figure", "</figure>");
    assert!(4 < figures.len(), "{}", figures.len());
    for figure in &figures {
        for word in ["role=\"img\"><title>", "<desc>", "<figcaption>"] {
            let text = figure.split(word).nth(1).and_then(|rest| rest.split('<').next());
            assert!(text.is_some_and(|text| !text.trim().is_empty()), "{word} in {figure}");
        }
        assert!(!figure.contains("NaN") && !figure.contains("inf"), "{figure}");
    }
    for target in all(&page, "href=\"#", "\"") {
        assert!(page.contains(&format!("<section id=\"{target}\"")), "{target}");
    }
    for tag in ["section", "figure", "svg", "table", "details", "tr", "td", "div"] {
        let (opened, closed) = (page.matches(&format!("<{tag}")).count(), page.matches(&format!("</{tag}>")).count());
        // `td` begins `tdata`, and so on: none of these begins another that is used, but `tr` of `track` and `th` of `thead`.
        assert_eq!(opened, closed, "{tag}");
    }
}

#[test]
fn sections_are_those_that_have_something_to_show() {
    let page = page(&["one", "two"]);
    let ids = all(&page, "<section id=\"", "\"");
    assert_eq!(ids, ["findings", "overview", "waits", "queue", "capacity", "preemptions", "fragmentation", "timeline"]);
}

#[test]
fn the_same_runs_give_the_same_bytes() {
    assert_eq!(page(&["one", "two"]), page(&["one", "two"]));
}

#[test]
fn a_page_of_no_runs_is_a_page() {
    let summary = Summary::new("nothing", "blake3:0", &[]);
    let page = report_html(&summary, &[], &[]);
    assert!(page.contains("<h1>nothing</h1>") && page.trim_end().ends_with("</html>"));
}
