//! Who was on which GPUs, when: bars in rows of GPUs, few enough to be looked at.

use crate::engine::{Case, Outcome};
use crate::ids::AccountId;
use crate::metrics::AttemptEnd;
use crate::report::export::Stay;
use crate::units::{GpuTime, SimTime};
use std::collections::BTreeMap;

/// Most rows of GPUs.
const ROWS: usize = 128;
/// Most bars.
const BARS: usize = 2200;
/// What is shorter than this part of the span is drawn grey and together with its neighbours: a pixel of the picture. Our choice.
const PIXELS: u64 = 800;
/// Accounts with a colour of their own.
const COLOURED: usize = 6;

/// Bars of one run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Gantt {
    /// From when until when.
    pub span: (SimTime, SimTime),
    /// Names of nodes, from the top, and how many rows of GPUs each has.
    pub nodes: Vec<(String, usize)>,
    /// Nodes with GPUs that the cluster has.
    pub nodes_in_all: usize,
    /// Accounts with a colour of their own, those that held most first.
    pub accounts: Vec<String>,
    /// The bars, by row, then time.
    pub bars: Vec<Bar>,
    /// Stays that are too short to be told apart.
    pub short: usize,
}

/// One stay, or several that are too short to be told apart.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bar {
    /// The first row, and the one behind the last.
    pub rows: (usize, usize),
    /// From when until when.
    pub span: (SimTime, SimTime),
    /// Place of its account in the list; beyond it: another, or several.
    pub account: usize,
    /// From when on it may be interrupted, if that is before its end.
    pub open: Option<SimTime>,
    /// Whether the scheduler stopped it.
    pub stopped: bool,
}

impl Gantt {
    /// Chooses nodes, evenly spaced, and draws the stays on them.
    pub(super) fn new(case: &Case, outcome: &Outcome, stays: &[Stay]) -> Gantt {
        let nodes: Vec<usize> = (0..case.cluster.nodes.len()).filter(|row| 0 < case.cluster.nodes[*row].gpus).collect();
        let gpus: usize = nodes.iter().map(|row| usize::from(case.cluster.nodes[*row].gpus)).sum();
        let (Some(first), Some(last)) = (stays.iter().map(|it| it.from).min(), stays.iter().map(|it| it.to).max()) else {
            return Gantt::default();
        };
        let mut held: BTreeMap<AccountId, GpuTime> = BTreeMap::new();
        for stay in stays {
            let account = outcome.workload.jobs[stay.job.index()].account;
            *held.entry(account).or_default() += stay.gpus() * stay.to.since(stay.from);
        }
        let mut ranked: Vec<(AccountId, GpuTime)> = held.into_iter().collect();
        ranked.sort_by_key(|(account, time)| (std::cmp::Reverse(*time), *account));
        ranked.truncate(COLOURED);
        let stopped = stays.iter().any(|it| it.end == AttemptEnd::Preempted);
        let mut wanted = (nodes.len() * ROWS).checked_div(gpus).map_or(0, |fit| fit.clamp(1, nodes.len()));
        loop {
            let chosen: Vec<usize> = (0..wanted).map(|row| nodes[row * nodes.len() / wanted]).collect();
            let found = drawn(case, outcome, stays, &chosen, &ranked, (first, last), stopped);
            if found.bars.len() <= BARS || wanted <= 1 {
                return Gantt { nodes_in_all: nodes.len(), ..found };
            }
            wanted = (wanted * BARS / found.bars.len()).clamp(1, wanted - 1);
        }
    }
}

fn drawn(
    case: &Case,
    outcome: &Outcome,
    stays: &[Stay],
    chosen: &[usize],
    ranked: &[(AccountId, GpuTime)],
    span: (SimTime, SimTime),
    stopped: bool,
) -> Gantt {
    let mut first_row: BTreeMap<usize, usize> = BTreeMap::new();
    let (mut rows, mut nodes) = (0, Vec::new());
    for &node in chosen {
        first_row.insert(node, rows);
        let spec = &case.cluster.nodes[node];
        nodes.push((spec.name.clone(), usize::from(spec.gpus)));
        rows += usize::from(spec.gpus);
    }
    let place: BTreeMap<AccountId, usize> = ranked.iter().enumerate().map(|(row, (account, _))| (*account, row)).collect();
    let pixel = span.1.since(span.0).as_millis() / PIXELS;
    let (mut bars, mut short) = (Vec::new(), 0);
    // The last bar of each row, if it is of short stays.
    let mut last_short: Vec<Option<usize>> = vec![None; rows];
    for stay in stays {
        let account = outcome.workload.jobs[stay.job.index()].account;
        let account = place.get(&account).copied().unwrap_or(ranked.len());
        let is_short = stay.to.since(stay.from).as_millis() < pixel;
        let mut counted = false;
        for rows in spans(stay, &first_row) {
            if is_short {
                short += usize::from(!std::mem::replace(&mut counted, true));
                for (row, last) in last_short.iter_mut().enumerate().take(rows.1).skip(rows.0) {
                    let near = last.filter(|bar: &usize| {
                        let bar: &Bar = &bars[*bar];
                        stay.from.as_millis() <= bar.span.1.as_millis() + pixel
                    });
                    match near {
                        Some(bar) => bars[bar].span.1 = bars[bar].span.1.max(stay.to),
                        None => {
                            *last = Some(bars.len());
                            let rows = (row, row + 1);
                            bars.push(Bar { rows, span: (stay.from, stay.to), account: usize::MAX, open: None, stopped: false });
                        }
                    }
                }
                continue;
            }
            last_short[rows.0..rows.1].fill(None);
            let open = stay.protected_until.max(stay.from);
            let open = (stopped && open < stay.to).then_some(open);
            let stopped = stay.end == AttemptEnd::Preempted;
            bars.push(Bar { rows, span: (stay.from, stay.to), account, open, stopped });
        }
    }
    let accounts =
        ranked.iter().map(|(account, _)| case.catalog.accounts.rows().get(account.index()).cloned().unwrap_or_default());
    Gantt { span, nodes, nodes_in_all: 0, accounts: accounts.collect(), bars, short }
}

/// Rows next to each other that a stay holds, wholly or in part.
fn spans(stay: &Stay, first_row: &BTreeMap<usize, usize>) -> Vec<(usize, usize)> {
    let mut rows: Vec<usize> = Vec::new();
    for slot in &stay.slots {
        if let Some(first) = first_row.get(&slot.node.index()) {
            rows.extend(slot.gpu_indexes().map(|gpu| first + usize::from(gpu)));
        }
    }
    rows.sort_unstable();
    rows.dedup();
    let mut spans: Vec<(usize, usize)> = Vec::new();
    for row in rows {
        match spans.last_mut() {
            Some(span) if span.1 == row => span.1 = row + 1,
            _ => spans.push((row, row + 1)),
        }
    }
    spans
}
