//! The example of `docs/comparing.md`, computed again.

use super::*;

/// Checks that the page says each of `said`.
fn check_said(said: &[String]) {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/comparing.md");
    let page = std::fs::read_to_string(path).unwrap().replace('\n', " ");
    let missing: Vec<&String> = said.iter().filter(|it| !page.contains(it.as_str())).collect();
    assert!(missing.is_empty(), "docs/comparing.md does not say {missing:?}");
}

#[test]
fn the_example_of_the_documentation() {
    let (base, own) = ([62.0, 58.0, 71.0, 66.0, 60.0], [55.0, 54.0, 60.0, 61.0, 56.0]);
    let rows = base.iter().zip(&own).enumerate();
    let mut said: Vec<String> =
        rows.map(|(row, (base, own))| format!("| {} | {base} | {own} | {} |", row + 1, own - base)).collect();
    let found = paired(&base, &own).unwrap();
    let (half, p, bootstrap) = (found.half.unwrap(), found.p.unwrap(), found.bootstrap.unwrap());
    let (low, high) = (found.difference - half, found.difference + half);
    said.push(format!("The mean difference is {:.2}.", found.difference));
    said.push(format!("{:.2} ± {half:.2}, or {low:.2} to {high:.2};", found.difference));
    said.push(format!("p = {p:.4}. The bootstrap gives {:.2} to {:.2}.", bootstrap.low, bootstrap.high));
    said.push(format!("more than 1 % of {:.1}.", found.mean_base));
    let floor = Floor { absolute: 1.0 / 60.0, relative: 0.01 };
    assert_eq!(verdict(&found, found.p, Direction::LowerIsBetter, floor), Verdict::Better);

    let corrected = holm(&[p, 0.0004, 0.03, 0.6]);
    said.push(format!(
        "gives {:.4}, {:.4} and {:.4} for those and {:.4} here",
        corrected[1], corrected[2], corrected[3], corrected[0]
    ));
    assert_eq!(verdict(&found, Some(corrected[0]), Direction::LowerIsBetter, floor), Verdict::Better);
    let spread = base.iter().map(|it| (it - found.mean_base) * (it - found.mean_base)).sum::<f64>() / 4.0;
    said.push(format!("the seeds differ by {:.1} minutes", libm::sqrt(spread)));
    said.push(format!("{LEAST_BLOCKS} blocks"));
    check_said(&said);
}
