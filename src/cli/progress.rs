//! Progress bars on stderr, and the wall clock of runs: the only things here that differ between equal runs.

use crate::engine::{Progress, Watch};
use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use std::io::IsTerminal;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// The bars of a command; they show only on a terminal.
pub struct Bars {
    all: Option<MultiProgress>,
}

impl Bars {
    /// Bars, unless the user wants quiet or stderr is no terminal.
    pub fn new(quiet: bool) -> Bars {
        Bars { all: (!quiet && std::io::stderr().is_terminal()).then(MultiProgress::new) }
    }
    /// A watch of one run over `jobs` jobs (if known).
    pub fn watch(&self, label: &str, jobs: Option<usize>) -> RunWatch {
        let bar = self.all.as_ref().map(|all| {
            let bar = all.add(ProgressBar::new(jobs.unwrap_or(0) as u64));
            let template = "{prefix:24!} {bar:24} {pos}/{len} jobs  {msg}  {eta} left";
            // A template of ours that does not parse would show the default bar: nothing to fail for.
            bar.set_style(ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar()));
            bar.set_prefix(label.to_owned());
            bar
        });
        RunWatch { bar, start: now(), shown: Duration::ZERO }
    }
    /// A tally of `runs` runs side by side.
    pub fn tally(&self, runs: usize) -> Tally {
        let bar = self.all.as_ref().map(|all| {
            let bar = all.add(ProgressBar::new(runs as u64));
            let template = "{bar:32} {pos}/{len} runs  {msg}  {eta} left";
            bar.set_style(ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar()));
            bar.tick();
            bar
        });
        Tally { bar, start: now(), events: AtomicU64::new(0) }
    }
    /// A course of runs side by side of which some turn out not to be needed.
    pub fn course(&self, runs: u64) -> Course {
        let bar = self.all.as_ref().map(|all| {
            let bar = all.add(ProgressBar::new(runs));
            let template = "{bar:24} {pos}/{len} runs  {msg}  {eta} left";
            bar.set_style(ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar()));
            bar.tick();
            bar
        });
        Course { bar }
    }
    /// Prints a note on stderr, above the bars.
    pub fn note(&self, text: &str) {
        match &self.all {
            // A closed stderr leaves nobody to tell.
            Some(all) => drop(all.println(text)),
            None => super::output::say(&format!("{text}\n")),
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "the command line times runs")]
fn now() -> Instant {
    Instant::now()
}

/// Counts runs that are over.
pub struct Tally {
    bar: Option<ProgressBar>,
    start: Instant,
    events: AtomicU64,
}

impl Tally {
    /// One more run is over, which took so many events.
    pub fn one(&self, events: u64) {
        let all = self.events.fetch_add(events, Ordering::Relaxed) + events;
        if let Some(bar) = &self.bar {
            bar.set_message(format!("{:.0} events/s", all as f64 / self.start.elapsed().as_secs_f64().max(1e-3)));
            bar.inc(1);
        }
    }
    /// Takes the bar away.
    pub fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

/// Counts runs that are over, or not needed.
pub struct Course {
    bar: Option<ProgressBar>,
}

impl Course {
    /// One more run is over.
    pub fn one(&self) {
        if let Some(bar) = &self.bar {
            bar.inc(1);
        }
    }
    /// So many runs are not needed.
    pub fn spared(&self, runs: u64) {
        if let Some(bar) = &self.bar {
            bar.set_length(bar.length().unwrap_or(0).saturating_sub(runs));
        }
    }
    /// How far it is.
    pub fn say(&self, text: String) {
        if let Some(bar) = &self.bar {
            bar.set_message(text);
        }
    }
    /// Takes the bar away.
    pub fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

/// Times one run of many, and stops it when it has taken too long.
pub struct Stopwatch {
    start: Instant,
    most: Option<Duration>,
    /// How far the run had come when it was last seen.
    pub seen: Option<Progress>,
}

impl Stopwatch {
    /// Starts now; the run is stopped after `most`, if that is said.
    pub fn new(most: Option<Duration>) -> Stopwatch {
        Stopwatch { start: now(), most, seen: None }
    }
    /// Seconds since it was started.
    pub fn seconds(&self) -> f64 {
        self.start.elapsed().as_secs_f64()
    }
    /// Whether it was stopped.
    pub fn is_over(&self) -> bool {
        self.most.is_some_and(|most| most <= self.start.elapsed())
    }
}

impl Watch for Stopwatch {
    fn proceed(&mut self, progress: Progress) -> bool {
        self.seen = Some(progress);
        !self.is_over()
    }
    fn clock_ns(&mut self) -> Option<u64> {
        Some(u64::try_from(self.start.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }
}

/// Watches one run: moves its bar, and times it.
pub struct RunWatch {
    bar: Option<ProgressBar>,
    start: Instant,
    shown: Duration,
}

impl RunWatch {
    /// Seconds since the watch was made.
    pub fn seconds(&self) -> f64 {
        self.start.elapsed().as_secs_f64()
    }
    /// Takes the bar away.
    pub fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

impl Watch for RunWatch {
    fn proceed(&mut self, progress: Progress) -> bool {
        if let Some(bar) = &self.bar {
            let elapsed = self.start.elapsed();
            if Duration::from_millis(100) <= elapsed - self.shown {
                self.shown = elapsed;
                bar.set_position(progress.over);
                let days = progress.now.as_secs_f64() / 86_400.0;
                bar.set_message(format!("day {days:.1}  {} events", progress.events));
            }
        }
        true
    }
    fn clock_ns(&mut self) -> Option<u64> {
        Some(u64::try_from(self.start.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }
}
