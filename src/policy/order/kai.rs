//! `kai`: the time-based fair share of KAI-Scheduler (NVIDIA Run:ai). At each level of the tree capacity is divided anew: first what is
//! guaranteed, then the rest by weights, which past usage pulls down or up. Whoever holds less of that division is next.
//!
//! Our mapping: an account's `deserved` GPUs are a fraction of its share of the capacity (none by default: where the guarantees of
//! those who wait add up to the cluster, the past decides nothing), its weight over quota is its share, GPUs are the only resource,
//! and there are no queue priorities. What comes of it is not the share: a sibling's pull is its weight plus k times the distance of
//! its usage from it.
//!
//! A pass at a new instant, or after an arrival or an end, divides anew: O(n) in the accounts a round, and a round more for each
//! account that wants less than it could have.

use super::by_share::{ByShare, Rule, standing};
use super::share_tree::{ShareTree, usage};
use super::{Build, Head};
use crate::engine::View;
use crate::policy::context::{Phase, Turn};
use crate::policy::standing::{FAMILY_KNOBS, Row, Standing, Waiting};
use crate::registry::{Entry, Kind, Knob};
use crate::units::{MilliGpu, SimTime};
use std::cmp::Ordering;

/// The order.
pub const ENTRY: Entry<Build> = Entry {
    name: "kai",
    about: "by what is held of a division of the GPUs that past usage corrects; priority and submit time within an account",
    source: "KAI-Scheduler, resource_division.go and queue_order.go (time-based fair share, 2026); the mapping of shares is ours",
    knobs: &[
        FAMILY_KNOBS[0],
        FAMILY_KNOBS[1],
        FAMILY_KNOBS[2],
        FAMILY_KNOBS[3],
        FAMILY_KNOBS[4],
        Knob::new("k", "how much past usage corrects the weights; 0: not at all", Kind::Float { min: 0.0, max: 1e6 }, "1")
            .tunable(),
        Knob::new(
            "usage_norm",
            "past usage of an account as a part of the capacity of the cluster (as shipped; fades with depth) or of its parent's usage",
            Kind::Choice(&["cluster", "parent"]),
            "cluster",
        ),
        Knob::new("deserved", "guaranteed part of an account's share of the capacity", Kind::FRACTION, "0").tunable(),
    ],
    needs: &[],
    provides: &["shares", "tiers", "levels"],
    timed: false,
    build: |knobs, case| {
        let standing = standing(knobs, case);
        let rule = Kai {
            k: knobs.float("k"),
            by_parent: knobs.text("usage_norm") == "parent",
            deserved: knobs.float("deserved"),
            ..Kai::default()
        };
        ByShare::boxed(standing, case, rule)
    },
};

/// One of several who divide capacity among themselves, in GPUs.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Queue {
    /// Guaranteed.
    pub deserved: f64,
    /// Held and asked for.
    pub requested: f64,
    /// Weight in what is left when all have what is guaranteed to them.
    pub weight: f64,
    /// Past usage, as a part of all that could be used.
    pub usage: f64,
}

/// How strongly each of those with these weights pulls at what is left: its part of the weights, corrected by `k` times what that
/// part is above its past usage; never below 0.
///
/// - Source: KAI-Scheduler, resource_division.go. No weight at all gives 0 everywhere.
pub fn pulls(queues: &[Queue], k: f64) -> Vec<f64> {
    let all: f64 = queues.iter().map(|queue| queue.weight).sum();
    let part = |queue: &Queue| if 0.0 < all { queue.weight / all } else { 0.0 };
    queues.iter().map(|queue| (part(queue) + k * (part(queue) - queue.usage)).max(0.0)).collect()
}

/// What each is given of `total` GPUs: what is guaranteed and asked for, then rounds of whole GPUs by [`pulls`] among those who ask for
/// more, then what is left, at most a GPU each, by largest remainder.
///
/// Where nobody pulls, nobody is given more than what is guaranteed (as in KAI).
///
/// - Shape: one entry a queue, none above what it asks for.
/// - Source: KAI-Scheduler, resource_division.go; equal remainders go by row (there by age).
pub fn divide(total: f64, queues: &[Queue], k: f64) -> Vec<f64> {
    // A sum of thirds that should be whole is not cut down by one for its last bit.
    const ABOUT: f64 = 1e-9;
    let mut given: Vec<f64> = queues.iter().map(|queue| queue.deserved.min(queue.requested)).collect();
    let mut rest = total - given.iter().sum::<f64>();
    let mut remainders: Vec<(f64, usize)> = Vec::new();
    loop {
        let open: Vec<usize> = (0..queues.len()).filter(|&at| ABOUT < queues[at].requested - given[at]).collect();
        let pulls = pulls(&open.iter().map(|&at| queues[at]).collect::<Vec<Queue>>(), k);
        let all: f64 = pulls.iter().sum();
        if rest < ABOUT || all <= 0.0 {
            break;
        }
        remainders.clear();
        let (mut again, round) = (false, rest);
        for (&at, pull) in open.iter().zip(&pulls) {
            let (fair, wanted) = (round * pull / all, queues[at].requested - given[at]);
            let amount = if wanted <= fair { wanted } else { libm::floor(fair + ABOUT) };
            if wanted < fair {
                again = true;
            } else if 0.0 < *pull {
                remainders.push((fair - amount, at));
            }
            given[at] += amount;
            rest -= amount;
        }
        if !again {
            break;
        }
    }
    remainders.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    for (_, at) in remainders {
        let amount = rest.min(1.0).min(queues[at].requested - given[at]).max(0.0);
        given[at] += amount;
        rest -= amount;
    }
    given
}

#[derive(Debug, Default)]
struct Kai {
    k: f64,
    by_parent: bool,
    deserved: f64,
    tree: ShareTree,
    usage: Vec<f64>,
    waiting: Waiting,
    /// Changes whenever someone came, or left, other than from the queue to GPUs.
    stamp: u64,
    /// Whether a division holds, and of when.
    seen: Option<(SimTime, u64)>,
    /// By row, in GPUs: what is divided to it, and what is guaranteed.
    fair: Vec<f64>,
    guaranteed: Vec<f64>,
}

impl Kai {
    fn divide_all(&mut self, standing: &Standing, view: &View<'_>) {
        let now = view.now();
        self.tree.follow(standing, standing.len());
        usage(standing, now, &mut self.usage);
        let capacity = view.cluster().spec().own_capacity();
        let could = (capacity * standing.kernel().span(now)).as_raw() as f64;
        let gpus = capacity.as_gpus_f64();
        self.fair.clear();
        self.fair.resize(standing.len(), 0.0);
        self.guaranteed.clear();
        self.guaranteed.extend((0..standing.len() as Row).map(|row| self.deserved * standing.whole(row) * gpus));
        self.fair[0] = gpus;
        for &parent in self.tree.top_down() {
            let below = self.tree.children(parent);
            let all = if self.by_parent { self.usage[parent as usize] } else { could };
            let queue = |&row: &Row| Queue {
                deserved: self.guaranteed[row as usize],
                requested: (standing.holding(row) + MilliGpu::from_milli(self.waiting.of(row))).as_gpus_f64(),
                weight: self.tree.part(row),
                usage: if 0.0 < all { self.usage[row as usize] / all } else { 0.0 },
            };
            let queues: Vec<Queue> = below.iter().map(queue).collect();
            for (&row, amount) in below.iter().zip(divide(self.fair[parent as usize], &queues, self.k)) {
                self.fair[row as usize] = amount;
            }
        }
    }
    /// The order of queues: not over its division; would stay within what is guaranteed; has something divided to it; holds less of
    /// it with the job, then without; is divided less.
    fn compare(&self, standing: &Standing, view: &View<'_>, a: (Row, &Head), b: (Row, &Head)) -> Ordering {
        let place = |(row, head): (Row, &Head)| {
            let (fair, held) = (self.fair[row as usize], standing.holding(row).as_gpus_f64());
            let with = held + view.job(head.queued.key.job).shape().capacity().as_gpus_f64();
            // Where nothing is divided to a queue, what it holds counts.
            let of = |amount: f64| if 0.0 < fair { amount / fair } else { amount };
            let flags = (fair < held, self.guaranteed[row as usize] < with, fair <= 0.0);
            (flags, [of(with), of(held), fair])
        };
        let (a, b) = (place(a), place(b));
        a.0.cmp(&b.0).then_with(|| {
            a.1.iter().zip(&b.1).map(|(a, b)| a.total_cmp(b)).find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
        })
    }
}

impl Rule for Kai {
    fn best(&mut self, standing: &mut Standing, view: &View<'_>, heads: &[Head]) -> usize {
        // As in a cycle of KAI, the division stands while jobs of it start.
        let state = Some((view.now(), self.stamp));
        if std::mem::replace(&mut self.seen, state) != state {
            self.divide_all(standing, view);
        }
        standing.first_by(heads, &|standing, a, b| self.compare(standing, view, a, b))
    }
    fn turned(&mut self, standing: &mut Standing, view: &View<'_>, turn: Turn) {
        self.waiting.turned(standing, view, turn, standing.row_of_waiting(view.job(turn.job)));
        if !(turn.from == Phase::Queued && turn.to.stays()) {
            self.stamp += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn queues(weights: &[f64], usages: &[f64]) -> Vec<Queue> {
        let queue = |(&weight, &usage)| Queue { deserved: 0.0, requested: 1e9, weight, usage };
        weights.iter().zip(usages).map(queue).collect()
    }

    fn check(total: f64, weights: &[f64], usages: &[f64], expected: &[f64]) {
        assert_eq!(divide(total, &queues(weights, usages), 1.0), expected);
    }

    #[test]
    fn past_usage_corrects_the_division() {
        check(16.0, &[1.0, 1.0], &[0.3, 0.1], &[7.0, 9.0]);
        check(100.0, &[35.0, 25.0, 20.0, 20.0], &[0.50, 0.25, 0.15, 0.10], &[20.0, 25.0, 25.0, 30.0]);
        check(16.0, &[1.0, 1.0], &[1.0, 0.0], &[0.0, 16.0]);
        // Three thirds of 16: what is left goes by row.
        check(16.0, &[1.0, 1.0, 1.0], &[0.0, 0.0, 0.0], &[6.0, 5.0, 5.0]);
    }

    /// A department that holds a tenth of the cluster, all of it used by one of two equal children: relative to the cluster the past
    /// hardly counts, relative to the department it decides.
    #[test]
    fn usage_by_cluster_fades_with_depth() {
        let of_cluster = pulls(&queues(&[1.0, 1.0], &[0.1, 0.0]), 1.0);
        let all: f64 = of_cluster.iter().sum();
        assert!((10.0 * of_cluster[0] / all - 4.7368).abs() < 1e-4 && (10.0 * of_cluster[1] / all - 5.2632).abs() < 1e-4);
        check(10.0, &[1.0, 1.0], &[1.0, 0.0], &[0.0, 10.0]);
    }

    #[test]
    fn guarantees_and_small_requests_come_first() {
        let queue = |deserved, requested, weight| Queue { deserved, requested, weight, usage: 0.0 };
        let all = [queue(4.0, 20.0, 1.0), queue(4.0, 5.0, 1.0), queue(0.0, 20.0, 2.0)];
        // 4 and 4 guaranteed; of 8 left the second wants 1; 7 by weights 1 : 2.
        assert_eq!(divide(16.0, &all, 1.0), [6.0, 5.0, 5.0]);
        assert_eq!(divide(16.0, &[queue(0.0, 20.0, 0.0), queue(2.0, 20.0, 0.0)], 1.0), [0.0, 2.0]);
        assert_eq!(divide(0.0, &all, 1.0)[2], 0.0);
        assert!(divide(16.0, &[], 1.0).is_empty());
    }

    proptest! {
        /// Nobody is given more than asked for, nor less than what is guaranteed and asked for, and together no more than there is.
        #[test]
        fn a_division_is_one(
            rows in proptest::collection::vec((0_u32..40, 0_u32..10, 0.0..1.0_f64), 0..12),
            total in 0_u32..200,
            k in 0.0..4.0_f64,
        ) {
            let guaranteed = f64::from(total) / 100.0;
            let queue = |&(requested, weight, usage): &(u32, u32, f64)| Queue {
                deserved: guaranteed, requested: f64::from(requested), weight: f64::from(weight), usage,
            };
            let queues: Vec<Queue> = rows.iter().map(queue).collect();
            let given = divide(f64::from(total), &queues, k);
            for (queue, given) in queues.iter().zip(&given) {
                prop_assert!(*given <= queue.requested + 1e-9 && queue.deserved.min(queue.requested) <= *given);
            }
            prop_assert!(given.iter().sum::<f64>() <= f64::from(total) + 1e-6);
        }
    }
}
