//! Nodes that go bad at random: drains drawn beforehand, for each seed, so that every policy meets the same.

use crate::cluster::{ClusterSpec, HealthEvent};
use crate::form::{Fault, Faults, Filled};
use crate::ids::NodeId;
use crate::seed::{Draws, Purpose};
use crate::units::{SimSpan, SimTime};

/// Most random drains of one run that a scenario may be expected to draw.
const EXPECTED_MAX: f64 = 1e6;

/// `[cluster.drains]`: each node is drained at the points of a Poisson process of its own.
#[derive(Clone, Copy, Debug)]
pub struct Drains {
    /// Mean time between two drains of a node.
    every: SimSpan,
    /// No drain begins earlier.
    first: SimTime,
    /// Nor one from here on: the cut of the run.
    until: SimTime,
}

/// Reads `[cluster.drains]`. It needs `run.until`, without which there would be no last drain, and `engine.repair`, without which
/// the cluster would drain away.
pub fn read(file: &Filled, cluster: &ClusterSpec, until: Option<SimSpan>, faults: &mut Faults) -> Option<Drains> {
    let table = file.part("cluster")?.part("drains")?;
    if until.is_none() {
        let fault = Fault::new("random drains never end").at(&table.at, "expected `until` in `[run]` beside these");
        faults.push(fault.help("write `until = \"30d\"` into `[run]`"));
    }
    if file.part("engine").and_then(|engine| engine.knobs.opt_span("repair")).is_none() {
        let fault = Fault::new("drained nodes never come back").at(&table.at, "expected `repair` in `[engine]` beside these");
        faults.push(fault.help("write `repair = \"4h\"` into `[engine]`"));
    }
    let (every, until) = (table.knobs.opt_span("every")?, until?);
    let first = table.knobs.span("first");
    let expected = cluster.nodes.len() as f64 * until.beyond(first).as_secs_f64() / every.as_secs_f64();
    if EXPECTED_MAX < expected {
        let fault = Fault::new("these would be more than a million drains");
        faults.push(fault.at(table.place("every"), format!("expected more than {every}, or a run that is cut earlier")));
        return None;
    }
    Some(Drains { every, first: SimTime::ZERO + first, until: SimTime::ZERO + until })
}

impl Drains {
    /// Draws the drains of one seed and puts them among what is scheduled; at equal times what the scenario lists comes first.
    ///
    /// A drain of a node that is down or draining already says nothing to the engine, so times do not depend on the policy.
    pub fn add_to(self, cluster: &mut ClusterSpec, seed: u64) {
        let mean = self.every.as_millis() as f64;
        for row in 0..cluster.nodes.len() {
            let mut draws = Draws::new(seed, Purpose::Failure, DRAIN | row as u64);
            let mut at = self.first;
            loop {
                // At least a millisecond, so that the row of drains ends.
                let gap = libm::ceil(draws.exponential(mean)).max(1.0);
                at = at.after(SimSpan::from_millis(gap as u64));
                if self.until <= at {
                    break;
                }
                cluster.health.push((at, HealthEvent::NodeDrain(NodeId::from_index(row))));
            }
        }
        cluster.health.sort_by_key(|(at, _)| *at);
    }
}

/// Tells draws of drains from draws of other failures of the same node.
const DRAIN: u64 = 1 << 32;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::NodeSpec;
    use crate::ids::{ModelId, PoolId};

    fn drained(nodes: usize, seed: u64) -> Vec<(SimTime, HealthEvent)> {
        let (name, pool, model) = (String::from("n"), PoolId(0), ModelId(0));
        let node = NodeSpec { name, pool, model, gpus: 8, cpu_milli: 1, memory_mib: 1, domain: 0 };
        let listed = (SimTime::from_secs(86_400 * 7), HealthEvent::NodeDown(NodeId(0)));
        let mut cluster = ClusterSpec { nodes: vec![node; nodes], health: vec![listed], ..ClusterSpec::default() };
        let first = SimTime::ZERO + SimSpan::DAY * 7;
        Drains { every: SimSpan::DAY * 10, first, until: first + SimSpan::DAY * 100 }.add_to(&mut cluster, seed);
        cluster.health
    }

    #[test]
    fn drains_come_at_their_rate_and_in_order() {
        let events = drained(200, 3);
        assert!(events.is_sorted_by_key(|(at, _)| *at));
        assert_eq!(events[0].1, HealthEvent::NodeDown(NodeId(0)), "nothing is drawn before `first`");
        // 200 nodes, ten times each: 2000 with a standard deviation of 45.
        assert!((1800..2200).contains(&events.len()), "{}", events.len());
        assert_eq!(events, drained(200, 3));
        assert_ne!(events, drained(200, 4));
    }

    #[test]
    fn a_node_has_its_drains_whatever_the_others() {
        let of_first = |events: Vec<(SimTime, HealthEvent)>| -> Vec<SimTime> {
            let drain = |(at, event)| (event == HealthEvent::NodeDrain(NodeId(0))).then_some(at);
            events.into_iter().filter_map(drain).collect()
        };
        assert_eq!(of_first(drained(1, 3)), of_first(drained(50, 3)));
    }
}
