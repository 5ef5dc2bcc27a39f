//! What each account was owed and what it received, hour by hour.
//!
//! Owed counts allocated requests only. Unallocated time is charged to nobody; it stands beside.

use super::cliff::Autocorrelation;
use super::spread::Spans;
use super::{AccountFigures, Build, Delivered, Level, Life, Measured, Metric, Scene, Stage, WindowCliff};
use crate::facts::Fact;
use crate::ids::{AccountId, JobId};
use crate::registry::Entry;
use crate::units::{GpuTime, SimSpan, SimTime};
use crate::workload::Job;

/// Owed and delivered capacity.
pub(super) const ENTRY: Entry<Build> = Entry {
    name: "accounts",
    about: "by account: what it was owed (by hour, share of what was available up to its demand) and what it received; by day, and whether that swings with the lookback",
    source: "ours",
    knobs: &[],
    needs: &[],
    provides: &[],
    timed: false,
    build: |scene| Box::new(Accounts::new(scene, false)),
};

/// Most rows of (account, hour); a run that would have more gets longer buckets, whole hours each.
const ROWS_MAX: u64 = 4_000_000;

/// One account in one bucket of time, an hour unless the run is very long. Buckets in which nothing is wanted or held have no row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HourRow {
    /// Whose.
    pub account: AccountId,
    /// When the bucket begins.
    pub from: SimTime,
    /// How long it is, within the measured span.
    pub length: SimSpan,
    /// min(share x available capacity, demand), in milli-GPU x ms.
    pub owed: f64,
    /// Running and pending GPUs of allocated requests.
    pub demand: GpuTime,
    /// Charged.
    pub delivered: GpuTime,
    /// Held by unallocated work.
    pub unallocated: GpuTime,
}

/// One account in one day of the measured span, counted from its begin.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DayRow {
    /// Whose.
    pub account: AccountId,
    /// When the day begins.
    pub from: SimTime,
    /// How long it is: less at the end of the span, more where buckets are longer than a day.
    pub length: SimSpan,
    /// Share x available capacity, whatever the account asked for, in milli-GPU x ms.
    pub due: f64,
    /// Charged.
    pub delivered: GpuTime,
}

impl DayRow {
    /// Delivered by due; `None` if nothing is due.
    pub fn delivered_of_share(&self) -> Option<f64> {
        of(self.delivered.as_raw() as f64, self.due)
    }
}

/// What is summed up to one cap.
#[derive(Clone, Default)]
struct Period {
    owed: f64,
    delivered: f64,
    /// Sum of min(delivered, owed) over the periods that are over.
    capped: f64,
}

impl Period {
    fn add(&mut self, owed: f64, delivered: GpuTime) {
        self.owed += owed;
        self.delivered += delivered.as_raw() as f64;
    }
    fn close(&mut self) {
        self.capped += self.delivered.min(self.owed);
        (self.owed, self.delivered) = (0.0, 0.0);
    }
}

#[derive(Clone, Default)]
struct Leaf {
    listed: bool,
    level: Level,
    share: f64,
    /// Up to when everything is booked, and the healthy GPU time there was by then.
    booked: SimTime,
    healthy: GpuTime,
    // The current bucket.
    due: f64,
    demand: GpuTime,
    charged: GpuTime,
    unallocated: GpuTime,
    // The current day.
    day_due: f64,
    day_charged: GpuTime,
    days: Vec<DayRow>,
    // The whole span.
    owed: f64,
    delivered: GpuTime,
    unallocated_all: GpuTime,
    lookback: Period,
    day: Period,
    hour: Period,
    waits: Spans,
    completed: u64,
    goodput: GpuTime,
}

impl Leaf {
    /// Keeps what the day that ends at `to` came to.
    fn close_day(&mut self, account: AccountId, from: SimTime, to: SimTime) {
        let (due, delivered) = (std::mem::take(&mut self.day_due), std::mem::take(&mut self.day_charged));
        self.days.push(DayRow { account, from, length: to.since(from), due, delivered });
    }
    /// Whether what it receives by day swings at that lag, in days. A day that is cut short says nothing.
    fn swings(&self, lag: usize) -> Autocorrelation {
        let whole = self.days.iter().filter(|row| SimSpan::DAY <= row.length);
        let series: Vec<f64> = whole.map(|row| row.delivered_of_share().unwrap_or(0.0)).collect();
        Autocorrelation::of(&series, lag)
    }
}

/// Sums by leaf.
pub(super) struct Accounts {
    leaves: Vec<Leaf>,
    bucket: SimSpan,
    opened: SimTime,
    healthy: GpuTime,
    healthy_at: SimTime,
    span: (SimTime, SimTime),
    lookback: SimSpan,
    day_opened: SimTime,
    rows: Option<Vec<HourRow>>,
}

impl Accounts {
    /// Leaves of the tree, and whatever else jobs charge; with a row for each bucket if `keep`.
    pub(super) fn new(scene: &Scene<'_>, keep: bool) -> Accounts {
        let span = scene.span();
        let mut leaves = vec![Leaf { booked: span.0, ..Leaf::default() }; scene.account_count()];
        for (row, leaf) in leaves.iter_mut().enumerate() {
            let account = AccountId::from_index(row);
            leaf.share = scene.share(account);
            leaf.listed = row < scene.accounts.accounts.len() && scene.accounts.is_leaf(account);
        }
        for job in &scene.workload.jobs {
            leaves[job.account.index()].listed = true;
        }
        let hours = scene.span_length().as_millis().div_ceil(SimSpan::HOUR.as_millis());
        let rows = hours.saturating_mul(leaves.len().max(1) as u64);
        let bucket = SimSpan::HOUR * rows.div_ceil(ROWS_MAX).max(1);
        let rows = keep.then(Vec::new);
        let lookback = scene.case.lookback;
        let (opened, day_opened, healthy_at) = (span.0, span.0, span.0);
        Accounts { leaves, bucket, opened, healthy: GpuTime::ZERO, healthy_at, span, lookback, day_opened, rows }
    }

    /// The rows kept so far, by bucket, then account; and those of days, by day, then account.
    pub(super) fn into_rows(self) -> (Vec<HourRow>, Vec<DayRow>) {
        let mut days: Vec<DayRow> = self.leaves.into_iter().flat_map(|leaf| leaf.days).collect();
        days.sort_by_key(|row| (row.from, row.account));
        (self.rows.unwrap_or_default(), days)
    }

    /// Books a leaf up to `to` at its level until then.
    fn book(leaf: &mut Leaf, to: SimTime, healthy: GpuTime) {
        let span = to.since(leaf.booked);
        leaf.demand += (leaf.level.charged + leaf.level.pending) * span;
        leaf.charged += leaf.level.charged * span;
        leaf.unallocated += leaf.level.unallocated * span;
        leaf.due += leaf.share * (healthy.as_raw() - leaf.healthy.as_raw()) as f64;
        leaf.booked = to;
        leaf.healthy = healthy;
    }

    /// Ends the bucket at `to`.
    fn close_bucket(&mut self, to: SimTime) {
        // Days and lookbacks count from the begin of the span, whole or not.
        let index = |at: SimTime, period: SimSpan| at.since(self.span.0).as_millis() / period.as_millis();
        let over = |period: SimSpan| index(self.opened, period) != index(to, period);
        let (lookback, day) = (over(self.lookback), over(SimSpan::DAY));
        let length = to.since(self.opened);
        for (row, leaf) in self.leaves.iter_mut().enumerate().filter(|(_, leaf)| leaf.listed) {
            Accounts::book(leaf, to, self.healthy);
            let owed = leaf.due.min(leaf.demand.as_raw() as f64);
            leaf.owed += owed;
            leaf.delivered += leaf.charged;
            leaf.unallocated_all += leaf.unallocated;
            for period in [&mut leaf.lookback, &mut leaf.day, &mut leaf.hour] {
                period.add(owed, leaf.charged);
            }
            leaf.hour.close();
            leaf.day_due += leaf.due;
            leaf.day_charged += leaf.charged;
            if day {
                leaf.day.close();
                leaf.close_day(AccountId::from_index(row), self.day_opened, to);
            }
            if lookback {
                leaf.lookback.close();
            }
            if let Some(rows) = &mut self.rows
                && (GpuTime::ZERO < leaf.demand || GpuTime::ZERO < leaf.unallocated)
            {
                rows.push(HourRow {
                    account: AccountId::from_index(row),
                    from: self.opened,
                    length,
                    owed,
                    demand: leaf.demand,
                    delivered: leaf.charged,
                    unallocated: leaf.unallocated,
                });
            }
            leaf.due = 0.0;
            (leaf.demand, leaf.charged, leaf.unallocated) = (GpuTime::ZERO, GpuTime::ZERO, GpuTime::ZERO);
        }
        self.opened = to;
        if day {
            self.day_opened = to;
        }
    }

    fn changed(&mut self, scene: &Scene<'_>, account: AccountId, at: SimTime) {
        let leaf = &mut self.leaves[account.index()];
        let level = scene.level(account);
        if leaf.level != level {
            Accounts::book(leaf, at.clamp(self.span.0, self.span.1), self.healthy);
            leaf.level = level;
        }
    }
}

impl Metric for Accounts {
    fn elapse(&mut self, scene: &Scene<'_>, from: SimTime, to: SimTime) {
        debug_assert!(from == self.healthy_at, "spans follow each other");
        while self.healthy_at < to {
            let bucket = self.bucket.as_millis();
            let edge = SimTime::from_millis((self.healthy_at.as_millis() / bucket + 1) * bucket);
            let until = edge.min(to);
            self.healthy += scene.own_healthy * (until - self.healthy_at);
            self.healthy_at = until;
            if until == edge {
                self.close_bucket(edge);
            }
        }
    }

    fn observe(&mut self, scene: &Scene<'_>, at: SimTime, fact: &Fact) {
        let of = |job: JobId| scene.job(job).account;
        match *fact {
            Fact::Rejected { job, .. }
            | Fact::Queued { job, .. }
            | Fact::Amended { job, .. }
            | Fact::Claimed { job, .. }
            | Fact::Released { job, .. }
            | Fact::Started { job, .. }
            | Fact::Preempted { job, .. }
            | Fact::Broken { job, .. }
            | Fact::Ended { job, .. } => self.changed(scene, of(job), at),
            Fact::ShareChanged { .. } => {
                for (row, leaf) in self.leaves.iter_mut().enumerate() {
                    Accounts::book(leaf, at.clamp(self.span.0, self.span.1), self.healthy);
                    leaf.share = scene.share(AccountId::from_index(row));
                }
            }
            _ => {}
        }
    }

    fn job(&mut self, scene: &Scene<'_>, life: &Life, job: &Job) {
        if life.completed() && !scene.is_placeholder(job) {
            let leaf = &mut self.leaves[job.account.index()];
            leaf.completed += 1;
            leaf.goodput += scene.work(job);
        }
        if life.counts() {
            let waiting = matches!(life.stage, Stage::Queued | Stage::Submitted);
            self.leaves[job.account.index()].waits.push(life.wait(scene.at()), waiting);
        }
    }

    fn close(&mut self, scene: &Scene<'_>, out: &mut Measured) {
        if self.opened < self.span.1 {
            self.close_bucket(self.span.1);
        }
        let (mut owed, mut delivered) = (0.0, 0.0);
        let (mut lookback, mut day, mut hour) = (0.0, 0.0, 0.0);
        let lag_days = (self.lookback.as_millis() + SimSpan::DAY.as_millis() / 2) / SimSpan::DAY.as_millis();
        let lag = usize::try_from(lag_days.max(1)).unwrap_or(usize::MAX);
        let mut cliff = Autocorrelation::default();
        for (row, leaf) in self.leaves.iter_mut().enumerate().filter(|(_, leaf)| leaf.listed) {
            let account = AccountId::from_index(row);
            leaf.day.close();
            leaf.lookback.close();
            if self.day_opened < self.span.1 {
                leaf.close_day(account, self.day_opened, self.span.1);
            }
            let swings = leaf.swings(lag);
            cliff = cliff.and(swings);
            owed += leaf.owed;
            delivered += leaf.delivered.as_raw() as f64;
            lookback += leaf.lookback.capped;
            day += leaf.day.capped;
            hour += leaf.hour.capped;
            out.by_account.push(AccountFigures {
                account: scene.account_name(account).to_owned(),
                share: leaf.share,
                owed: leaf.owed,
                delivered: leaf.delivered,
                delivered_of_owed: of(leaf.lookback.capped, leaf.owed),
                unallocated: leaf.unallocated_all,
                wait: std::mem::take(&mut leaf.waits).spread(),
                by_day: leaf.days.clone(),
                autocorrelation: swings.value(),
                completed: leaf.completed,
                goodput: leaf.goodput,
            });
        }
        out.by_account.sort_by(|a, b| a.account.cmp(&b.account));
        out.delivered_of_owed = Delivered {
            by_lookback: of(lookback, owed),
            by_day: of(day, owed),
            by_hour: of(hour, owed),
            uncapped: of(delivered, owed),
        };
        out.window_cliff = WindowCliff { lag_days: lag as u64, autocorrelation: cliff.value() };
    }
}

fn of(part: f64, whole: f64) -> Option<f64> {
    (0.0 < whole).then(|| part / whole)
}
