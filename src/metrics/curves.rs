//! The run over time, in equal stretches: what GPUs did, who waited, what free GPUs were worth, what was lent, drawn and lost.
//!
//! Of the measured span, as all figures of capacity. What is kept does not grow with the run.

use super::elastic::Elastic;
use super::energy::Energy;
use super::fragmentation::Fragments;
use super::loans::Book;
use super::{Measured, Metric, Scene, replay};
use crate::engine::{Case, Outcome};
use crate::facts::Fact;
use crate::units::{SimSpan, SimTime};
use std::cell::RefCell;
use std::rc::Rc;

/// Stretches into which a span is cut. Our choice: two pixels each of the widest picture.
const STRETCHES: usize = 480;

/// A run over time. Every list has one entry a stretch; levels are means over it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Curves {
    /// The measured span.
    pub span: (SimTime, SimTime),
    /// GPUs of the cluster, all nodes up, without those that a pool lends.
    pub capacity: f64,
    /// Held and charged, in GPUs.
    pub charged: Vec<f64>,
    /// Held by unallocated work, in GPUs.
    pub unallocated: Vec<f64>,
    /// Free while someone waits, in pieces that the task mix cannot use, in GPUs.
    pub fragmented: Vec<f64>,
    /// Free while someone waits, and of use to some, in GPUs.
    pub unused: Vec<f64>,
    /// Free while nobody waits, in GPUs.
    pub undemanded: Vec<f64>,
    /// Down, in GPUs.
    pub down: Vec<f64>,
    /// Jobs in the queue.
    pub queue_jobs: Vec<f64>,
    /// GPUs they want.
    pub queue_gpus: Vec<f64>,
    /// Attempts stopped by the scheduler.
    pub preempted: Vec<f64>,
    /// Attempts lost with a node or GPU.
    pub broken: Vec<f64>,
    /// Free GPUs by what they are to the task mix (classes Q1 to Q6 and NA); empty without GPU tasks.
    pub classes: Vec<Vec<f64>>,
    /// Nodes on loan, and nodes that inference needs of those it has; `None` if no pool lends.
    pub loans: Option<[Vec<f64>; 2]>,
    /// Nodes that the pool has that lends.
    pub lendable: u64,
    /// GPUs of workers beyond the base; `None` without elastic jobs.
    pub flexible: Option<Vec<f64>>,
    /// Watts drawn; `None` where they are not known.
    pub watts: Option<Vec<f64>>,
}

impl Curves {
    /// How long a stretch is.
    pub fn stretch(&self) -> SimSpan {
        SimSpan::from_millis(self.span.1.since(self.span.0).as_millis().div_ceil(STRETCHES as u64))
    }
    /// Replays a ledger into curves.
    pub fn of(case: &Case, outcome: &Outcome) -> Curves {
        let mut scene = Scene::new(case, outcome);
        let drawer = Rc::new(RefCell::new(Drawer::new(&scene)));
        let mut metrics: Vec<Box<dyn Metric>> = vec![Box::new(drawer.clone())];
        replay(outcome, &mut scene, &mut metrics);
        drop(metrics);
        Rc::into_inner(drawer).expect("the only other owner was dropped").into_inner().into_curves()
    }
}

/// Which level a row of sums is of.
#[derive(Clone, Copy)]
enum Level {
    Charged,
    Unallocated,
    Fragmented,
    Unused,
    Undemanded,
    Down,
    QueueJobs,
    QueueGpus,
    Loaned,
    Needed,
    Flexible,
    Watts,
    /// The first of seven.
    Class,
}

const LEVELS: usize = Level::Class as usize + 7;

struct Drawer {
    curves: Curves,
    step: u64,
    /// Level x milliseconds, a row a level.
    sums: Vec<Vec<f64>>,
    fragments: Fragments,
    elastic: Elastic,
    loans: Book,
    energy: Energy,
    has_elastic: bool,
}

impl Drawer {
    fn new(scene: &Scene<'_>) -> Drawer {
        let curves = Curves {
            span: scene.span(),
            capacity: scene.capacity.as_gpus_f64(),
            preempted: vec![0.0; STRETCHES],
            broken: vec![0.0; STRETCHES],
            ..Curves::default()
        };
        Drawer {
            step: curves.stretch().as_millis().max(1),
            curves,
            sums: vec![vec![0.0; STRETCHES]; LEVELS],
            fragments: Fragments::new(scene),
            elastic: Elastic::default(),
            loans: Book::new(scene),
            energy: Energy::new(scene),
            has_elastic: scene.workload.extras.iter().any(|extra| extra.elastic.is_some()),
        }
    }
    fn place(&self, at: SimTime) -> Option<usize> {
        let inside = self.curves.span.0 <= at && at <= self.curves.span.1;
        inside.then(|| ((at.since(self.curves.span.0).as_millis() / self.step) as usize).min(STRETCHES - 1))
    }
    fn levels(&mut self, scene: &Scene<'_>) -> [f64; LEVELS] {
        let mut levels = [0.0; LEVELS];
        let free = scene.healthy.beyond(scene.held).as_gpus_f64();
        levels[Level::Charged as usize] = scene.charged.as_gpus_f64();
        levels[Level::Unallocated as usize] = scene.held.beyond(scene.charged).as_gpus_f64();
        if scene.queue == 0 {
            levels[Level::Undemanded as usize] = free;
        } else {
            let fragmented = self.fragments.gpus().unwrap_or(0.0).min(free);
            levels[Level::Fragmented as usize] = fragmented;
            levels[Level::Unused as usize] = free - fragmented;
        }
        levels[Level::Down as usize] = scene.capacity.beyond(scene.own_healthy).as_gpus_f64();
        levels[Level::QueueJobs as usize] = scene.queue as f64;
        levels[Level::QueueGpus as usize] = scene.pending.as_gpus_f64();
        [levels[Level::Loaned as usize], levels[Level::Needed as usize]] = self.loans.nodes_now();
        levels[Level::Flexible as usize] = self.elastic.flexible().as_gpus_f64();
        levels[Level::Watts as usize] = self.energy.watts().unwrap_or(0.0);
        if let Some(classes) = self.fragments.by_class() {
            for (row, milli) in classes.into_iter().enumerate() {
                levels[Level::Class as usize + row] = milli / 1000.0;
            }
        }
        levels
    }
    fn into_curves(self) -> Curves {
        let Drawer { mut curves, step, sums, .. } = self;
        let length = curves.span.1.since(curves.span.0).as_millis();
        // The last stretch is shorter where the span is no multiple of them.
        let lengths = (0..STRETCHES as u64).map(|row| length.saturating_sub(row * step).min(step));
        let used = lengths.clone().filter(|length| 0 < *length).count();
        let mut means = sums.into_iter().map(|row| {
            let means = row.into_iter().zip(lengths.clone()).take(used);
            means.map(|(sum, length)| sum / length as f64).collect::<Vec<f64>>()
        });
        let mut next = || means.next().unwrap_or_default();
        curves.charged = next();
        curves.unallocated = next();
        curves.fragmented = next();
        curves.unused = next();
        curves.undemanded = next();
        curves.down = next();
        curves.queue_jobs = next();
        curves.queue_gpus = next();
        let (loaned, needed, flexible, watts) = (next(), next(), next(), next());
        curves.lendable = self.loans.nodes();
        curves.loans = (0 < curves.lendable).then_some([loaned, needed]);
        curves.flexible = self.has_elastic.then_some(flexible);
        curves.watts = self.energy.watts().is_some().then_some(watts);
        curves.classes = if self.fragments.typical().is_some() { means.collect() } else { Vec::new() };
        curves.preempted.truncate(used);
        curves.broken.truncate(used);
        curves
    }
}

impl Metric for Drawer {
    fn elapse(&mut self, scene: &Scene<'_>, from: SimTime, to: SimTime) {
        let levels = self.levels(scene);
        let mut at = from;
        while at < to {
            let Some(place) = self.place(at) else { break };
            let edge = self.curves.span.0.after(SimSpan::from_millis((place as u64 + 1) * self.step));
            let until = edge.min(to);
            let millis = until.since(at).as_millis() as f64;
            for (sum, level) in self.sums.iter_mut().zip(levels).filter(|(_, level)| *level != 0.0) {
                sum[place] += level * millis;
            }
            at = until;
        }
    }
    fn observe(&mut self, scene: &Scene<'_>, at: SimTime, fact: &Fact) {
        self.fragments.observe(scene, at, fact);
        self.elastic.observe(scene, at, fact);
        self.loans.observe(scene, at, fact);
        self.energy.observe(scene, at, fact);
        let counts = match fact {
            Fact::Preempted { .. } => &mut self.curves.preempted,
            Fact::Broken { .. } => &mut self.curves.broken,
            // Of all that happens these alone are counted; the rest shows in the levels.
            _ => return,
        };
        let (from, until) = self.curves.span;
        if from <= at && at <= until {
            counts[((at.since(from).as_millis() / self.step) as usize).min(STRETCHES - 1)] += 1.0;
        }
    }
    fn close(&mut self, _scene: &Scene<'_>, _out: &mut Measured) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::story::Story;

    #[test]
    fn what_gpus_did_adds_up_to_what_there_is() {
        // Four GPUs; A takes three from 0 to 10, B wants two from 5 on and gets them at 10.
        let mut story = Story::new(&[4]);
        let (a, b) = (story.job("A", 0, 3, 10), story.job("B", 5, 2, 10));
        story.at(0).submit(a).start(a, &[(0, 0b111)]);
        story.at(5).submit(b).at(10).complete(a).start(b, &[(0, 0b11)]).at(20).complete(b);
        let (case, outcome) = story.told();
        let curves = Curves::of(&case, &outcome);
        let hours = |levels: &[f64]| levels.iter().sum::<f64>() * curves.stretch().as_secs_f64();
        let near = |a: f64, b: f64| assert!((a - b).abs() < 0.5, "{a} {b}");
        near(hours(&curves.charged) + hours(&curves.unallocated), 50.0);
        near(hours(&curves.undemanded), 5.0 + 20.0);
        near(hours(&curves.fragmented) + hours(&curves.unused), 5.0);
        near(hours(&curves.queue_jobs), 5.0);
        near(hours(&curves.queue_gpus), 10.0);
        for row in 0..curves.charged.len() {
            let all =
                [&curves.charged, &curves.unallocated, &curves.fragmented, &curves.unused, &curves.undemanded, &curves.down];
            assert!((all.iter().map(|it| it[row]).sum::<f64>() - 4.0).abs() < 1e-9, "{row}");
        }
        assert_eq!((curves.classes.len(), &curves.loans, &curves.flexible, &curves.watts), (7, &None, &None, &None));
    }

    #[test]
    fn a_run_of_no_length_has_no_stretches() {
        let (case, outcome) = Story::new(&[1]).told();
        let curves = Curves::of(&case, &outcome);
        assert!(curves.charged.is_empty() && curves.preempted.is_empty());
    }
}
