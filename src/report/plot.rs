//! Charts for a terminal: the cumulative distribution of waits by policy, and the queue over time. Plain characters, no colour.

use super::humane::duration;
use crate::engine::{Case, Outcome};
use crate::metrics::record;
use crate::units::SimTime;

/// What is drawn of one run.
#[derive(Clone, Debug, PartialEq)]
pub struct Plotted {
    /// Name of the policy.
    pub policy: String,
    /// Waits of the measured jobs in seconds, ascending; of those still waiting, so far.
    pub waits: Vec<f64>,
    /// From when on how many jobs were queued.
    pub queue: Vec<(SimTime, u64)>,
    /// The end of the run.
    pub end: SimTime,
}

impl Plotted {
    /// Takes what is drawn from a run.
    pub fn new(policy: &str, case: &Case, outcome: &Outcome) -> Plotted {
        let recorded = record(case, outcome);
        let measured = recorded.jobs.iter().filter(|row| row.measured);
        let mut waits: Vec<f64> = measured.map(|row| row.wait.as_secs_f64()).collect();
        waits.sort_unstable_by(f64::total_cmp);
        let queue: Vec<(SimTime, u64)> = recorded.timeline.iter().map(|row| (row.at, row.queue)).collect();
        let end = queue.last().map_or(outcome.end, |last| last.0);
        Plotted { policy: policy.into(), waits, queue, end }
    }
}

/// Rows of characters of one curve.
const ROWS: usize = 4;
/// What stands left of a curve: `100% │`.
const MARGIN: usize = 6;
/// Wider charts are no easier to read. Our choice.
const WIDEST: usize = 100;

/// Both charts, no line wider than `width` characters.
pub fn plot(runs: &[Plotted], width: usize) -> String {
    let columns = width.min(WIDEST).saturating_sub(MARGIN).max(1);
    let text = waits(runs, columns) + "\n" + &queues(runs, columns);
    text.lines().map(|line| format!("{}\n", line.chars().take(width).collect::<String>().trim_end())).collect()
}

/// The share of jobs that waited no longer than the time below, on a logarithmic axis from one second on.
fn waits(runs: &[Plotted], columns: usize) -> String {
    let longest = runs.iter().filter_map(|run| run.waits.last()).fold(10.0_f64, |a, b| a.max(*b));
    let dots = columns * 2;
    // The wait at a column of dots.
    let wait = |dot: usize| libm::exp(libm::log(longest) * dot as f64 / (dots - 1).max(1) as f64);
    let mut text = "jobs that waited at most so long\n".to_owned();
    for run in runs {
        text += &format!("{:MARGIN$}{}\n", "", run.policy);
        if run.waits.is_empty() {
            text += &format!("{:MARGIN$}no measured jobs\n", "");
            continue;
        }
        let mut cells = vec![vec![0u8; columns]; ROWS];
        let mut before = None;
        for dot in 0..dots {
            // The last column is the longest wait itself, which rounding must not leave out.
            let most = if dot + 1 == dots { longest } else { wait(dot) };
            let share = run.waits.partition_point(|it| *it <= most) as f64 / run.waits.len() as f64;
            let height = libm::round(share * (ROWS * 4 - 1) as f64) as usize;
            // A curve without gaps: from the last height up to this one.
            for level in before.unwrap_or(height).min(height)..=height {
                let row = ROWS - 1 - level / 4;
                cells[row][dot / 2] |= DOTS[dot % 2][level % 4];
            }
            before = Some(height);
        }
        for (row, cells) in cells.iter().enumerate() {
            let label = match row {
                0 => "100% │",
                _ if row + 1 == ROWS => "  0% │",
                _ => "     │",
            };
            let braille = |dots: &u8| char::from_u32(0x2800 + u32::from(*dots)).unwrap_or(' ');
            text += &format!("{label}{}\n", cells.iter().map(braille).collect::<String>());
        }
    }
    text += &format!("     └{}\n", "─".repeat(columns));
    text + &axis("≤1s", &duration(wait(dots / 2)), &duration(longest), columns)
}

/// Bits of a braille character by column and height, the lowest dot first (Unicode, "Braille Patterns").
const DOTS: [[u8; 4]; 2] = [[0x40, 0x04, 0x02, 0x01], [0x80, 0x20, 0x10, 0x08]];

/// Labels below the left end, the middle and the right end.
fn axis(left: &str, middle: &str, right: &str, columns: usize) -> String {
    let (a, b, c) = (left.chars().count(), middle.chars().count(), right.chars().count());
    if columns < a + b + c + 4 {
        let gap = columns.saturating_sub(a + c).max(1);
        return format!("{:MARGIN$}{left}{:gap$}{right}\n", "", "");
    }
    let first = (columns / 2).saturating_sub(b / 2 + a).max(1);
    let second = columns.saturating_sub(a + first + b + c).max(1);
    format!("{:MARGIN$}{left}{:first$}{middle}{:second$}{right}\n", "", "", "")
}

/// Mean queue in equal stretches of time, on one scale.
fn queues(runs: &[Plotted], columns: usize) -> String {
    let end = runs.iter().map(|run| run.end).max().unwrap_or_default();
    let means: Vec<Vec<f64>> = runs.iter().map(|run| mean_queue(run, end, columns)).collect();
    let top = means.iter().flatten().fold(0.0_f64, |a, b| a.max(*b));
    let mut text = format!("jobs queued over time, █ = {top:.0}\n");
    for (run, means) in runs.iter().zip(&means) {
        text += &format!(
            "{:MARGIN$}{}\n{:MARGIN$}{}\n",
            "",
            run.policy,
            "",
            means.iter().map(|it| block(*it, top)).collect::<String>()
        );
    }
    let half = SimTime::from_millis(end.as_millis() / 2);
    text + &axis("0s", &duration(half.as_secs_f64()), &duration(end.as_secs_f64()), columns)
}

/// A block as high as a value; a blank is nothing at all.
fn block(value: f64, top: f64) -> char {
    const BLOCKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    if value <= 0.0 || top <= 0.0 {
        return ' ';
    }
    let eighths = libm::ceil(value / top * 8.0) as usize;
    BLOCKS[eighths.clamp(1, 8) - 1]
}

fn mean_queue(run: &Plotted, end: SimTime, columns: usize) -> Vec<f64> {
    let mut sums = vec![0.0; columns];
    let step = end.as_millis() as f64 / columns as f64;
    if step <= 0.0 {
        return sums;
    }
    let until = run.queue.iter().skip(1).map(|next| next.0).chain([run.end]);
    for ((from, queued), to) in run.queue.iter().zip(until) {
        let (from, to) = (from.as_millis() as f64, to.as_millis() as f64);
        let first = ((from / step) as usize).min(columns - 1);
        let last = ((to / step) as usize).min(columns - 1);
        for (column, sum) in sums.iter_mut().enumerate().take(last + 1).skip(first) {
            let (a, b) = (column as f64 * step, (column + 1) as f64 * step);
            *sum += (to.min(b) - from.max(a)).max(0.0) * *queued as f64;
        }
    }
    sums.into_iter().map(|sum| sum / step).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs() -> Vec<Plotted> {
        let t = SimTime::from_secs;
        let run = |policy: &str, waits: &[f64], queue: &[(u64, u64)]| Plotted {
            policy: policy.into(),
            waits: waits.to_vec(),
            queue: queue.iter().map(|(at, queued)| (t(*at), *queued)).collect(),
            end: t(100),
        };
        vec![
            run("fcfs", &[0.0, 30.0, 200.0, 3600.0], &[(0, 0), (20, 4), (60, 2), (100, 0)]),
            run("a-policy", &[0.0, 0.0, 0.0, 10.0], &[(0, 0), (50, 1), (60, 0), (100, 0)]),
        ]
    }

    #[test]
    fn both_charts() {
        insta::assert_snapshot!(plot(&runs(), 46));
    }

    #[test]
    fn no_line_is_wider_than_the_terminal() {
        for width in [1, 5, 7, 20, 80, 300] {
            for line in plot(&runs(), width).lines() {
                assert!(line.chars().count() <= width, "{width}: {line}");
            }
        }
    }

    #[test]
    fn nothing_measured_and_nothing_queued_is_drawn_too() {
        let empty = Plotted { policy: "none".into(), waits: Vec::new(), queue: Vec::new(), end: SimTime::default() };
        assert!(plot(&[empty], 80).contains("no measured jobs"));
        assert!(plot(&[], 80).contains("queued"));
    }

    #[test]
    fn the_mean_queue_keeps_job_time() {
        let run = &runs()[0];
        let total: f64 = mean_queue(run, run.end, 7).iter().map(|mean| mean * 100.0 / 7.0).sum();
        assert!((total - 240.0).abs() < 1e-6, "{total}");
    }
}
