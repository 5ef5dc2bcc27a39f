//! The hash of what runs were given, so that only like is compared with like. The policy and its contract have no part in it.

use crate::cluster::power::PowerSpec;
use crate::cluster::{ModelSpec, Shape};
use crate::engine::Case;
use crate::units::SimTime;
use crate::workload::{Curve, Extra, Mixing, Workload};
use std::sync::Arc;

/// `blake3:` and the hash of workload, cluster, accounts, times of the machinery, horizon, what figures go by, and seeds of all cases, in
/// order. Equal inputs have equal hashes whatever the policy and its contract; names count, ids do not beyond their order.
pub fn inputs(cases: &[&Case]) -> String {
    let mut sink = Sink { hasher: blake3::Hasher::new(), buffer: Vec::with_capacity(Sink::FULL + 1024) };
    sink.text("schedlab inputs 2");
    for (row, case) in cases.iter().enumerate() {
        // Seeds often share one workload and one cluster; each is hashed once.
        let earlier = &cases[..row];
        match earlier.iter().position(|other| Arc::ptr_eq(&other.workload, &case.workload)) {
            Some(same) => sink.number(same as u64),
            None => workload(&mut sink, case, &case.workload),
        }
        match earlier.iter().position(|other| Arc::ptr_eq(&other.cluster, &case.cluster)) {
            Some(same) => sink.number(same as u64),
            None => cluster(&mut sink, case),
        }
        if let Some(users) = &case.users {
            sink.text(&users.fingerprint());
        }
        // Small and rarely there, or named field by field: their debug forms say all of them.
        let accounts = (&case.accounts, &case.share_changes, &case.session_classes, case.lookback);
        sink.text(&format!("{accounts:?} {:?} {:?}", case.mix, case.engine));
        let (from, until) = case.measured.unwrap_or((SimTime::ZERO, SimTime::NEVER));
        sink.number(from.as_millis());
        sink.number(until.as_millis());
        sink.number(case.seed);
        // What few cases have is told apart by its debug form, which names every field.
        if let Some(failures) = case.failures {
            sink.text(&format!("{failures:?}"));
        }
        if case.power != PowerSpec::default() {
            sink.text(&format!("{:?}", case.power));
        }
        if case.engine.drop_on_deadline {
            sink.text("drop_on_deadline");
        }
    }
    sink.flush();
    format!("blake3:{}", sink.hasher.finalize().to_hex())
}

struct Sink {
    hasher: blake3::Hasher,
    buffer: Vec<u8>,
}

impl Sink {
    const FULL: usize = 1 << 16;

    fn number(&mut self, value: u64) {
        self.buffer.extend_from_slice(&value.to_le_bytes());
        if Sink::FULL < self.buffer.len() {
            self.flush();
        }
    }
    fn text(&mut self, value: &str) {
        self.number(value.len() as u64);
        self.buffer.extend_from_slice(value.as_bytes());
    }
    fn float(&mut self, value: f64) {
        self.number(value.to_bits());
    }
    fn option(&mut self, value: Option<u64>) {
        self.number(u64::from(value.is_some()));
        self.number(value.unwrap_or(0));
    }
    fn flush(&mut self) {
        self.hasher.update(&self.buffer);
        self.buffer.clear();
    }
}

fn workload(sink: &mut Sink, case: &Case, workload: &Workload) {
    let catalog = &case.catalog;
    for table in [&catalog.models, &catalog.pools, &catalog.accounts, &catalog.users, &catalog.classes] {
        sink.number(table.len() as u64);
        table.rows().iter().for_each(|name| sink.text(name));
    }
    sink.number(catalog.shapes.len() as u64);
    catalog.shapes.rows().iter().for_each(|it| shape(sink, it));
    sink.number(workload.jobs.len() as u64);
    for job in &workload.jobs {
        sink.text(workload.names.get(job.name));
        let small = [
            u64::from(job.account.0),
            u64::from(job.user.0),
            u64::from(job.class.0),
            job.submit.as_millis(),
            job.not_before.as_millis(),
            u64::from(job.shape.0),
            job.work.as_millis(),
            job.estimate.as_millis(),
            job.limit.as_millis(),
            i64::from(job.priority) as u64,
            u64::from(job.resumable),
            u64::from(job.preemptible),
            job.checkpoint.as_millis(),
            job.restart_cost.as_millis(),
        ];
        small.into_iter().for_each(|value| sink.number(value));
        sink.option(job.min_runtime.map(|span| span.as_millis()));
        match workload.extra(job) {
            Some(it) => extra(sink, it),
            None => sink.number(0),
        }
    }
}

fn shape(sink: &mut Sink, shape: &Shape) {
    sink.number(shape.groups.len() as u64);
    for group in &shape.groups {
        let request = &group.request;
        sink.number(u64::from(group.count));
        sink.number(u64::from(request.gpus) << 16 | u64::from(request.milli));
        sink.number(u64::from(request.cpu_milli));
        sink.number(u64::from(request.memory_mib));
        sink.number(request.models.0);
        sink.number(request.pools.0);
        if request.wording != 0 {
            sink.number(u64::from(request.wording));
        }
    }
}

fn extra(sink: &mut Sink, extra: &Extra) {
    sink.number(1 + extra.after.len() as u64);
    extra.after.iter().for_each(|job| sink.number(u64::from(job.0)));
    sink.option(extra.array.map(|(array, index)| u64::from(array) << 32 | u64::from(index)));
    sink.number(u64::from(extra.elastic.is_some()));
    if let Some(elastic) = extra.elastic.as_deref() {
        sink.number(u64::from(elastic.base) << 32 | u64::from(elastic.max));
        sink.number(u64::from(elastic.reference));
        match elastic.curve {
            Curve::Linear => sink.number(0),
            Curve::Power { alpha } => {
                sink.number(1);
                sink.float(alpha);
            }
            Curve::Loss { lambda } => {
                sink.number(2);
                sink.float(lambda);
            }
            Curve::Table(points) => {
                sink.number(3);
                for (workers, yields) in points.rows() {
                    sink.number(u64::from(*workers));
                    sink.float(*yields);
                }
            }
        }
    }
    match extra.mixing {
        Mixing::Slowest => {}
        Mixing::Never => sink.number(4),
        Mixing::At(part) => {
            sink.number(5);
            sink.float(part);
        }
    }
    for at in [extra.start_deadline, extra.observed_start, extra.observed_end] {
        sink.option(at.map(SimTime::as_millis));
    }
    sink.option(extra.utilization.map(f64::to_bits));
    sink.option(extra.running_for.map(|span| span.as_millis()));
}

fn cluster(sink: &mut Sink, case: &Case) {
    let cluster = &case.cluster;
    sink.number(cluster.nodes.len() as u64);
    for node in &cluster.nodes {
        sink.text(&node.name);
        sink.number(u64::from(node.pool.0) << 32 | u64::from(node.model.0));
        sink.number(u64::from(node.gpus));
        sink.number(node.cpu_milli);
        sink.number(node.memory_mib);
        sink.number(u64::from(node.domain));
    }
    sink.number(cluster.models.len() as u64);
    for (row, model) in cluster.models.iter().enumerate() {
        [model.speed, model.watts_idle, model.watts_full, model.billing].into_iter().for_each(|value| sink.float(value));
        sink.number(model.memory_mib);
        // What is known of a model follows from its name.
        let known = case.catalog.models.rows().get(row).map_or(1.0, |name| ModelSpec::named(name).failure_factor);
        if model.failure_factor != known {
            sink.float(model.failure_factor);
        }
    }
    // What is planned is small and rarely there; its debug form names every field.
    sink.text(&format!("{:?}", (&cluster.health, &cluster.windows, &cluster.demand)));
    if let Some(loans) = cluster.loans {
        sink.text(&format!("{loans:?}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::FailureSpec;
    use crate::ledger::story::preemption;
    use crate::units::SimSpan;

    #[test]
    fn inputs_are_what_was_given_and_not_the_policy() {
        let (case, _) = preemption().0.told();
        let hash = inputs(&[&case]);
        assert!(hash.starts_with("blake3:") && hash.len() == 7 + 64, "{hash}");
        let mut same = case.clone();
        same.contract.max_min_runtime = SimSpan::HOUR;
        same.workload = Arc::new((*case.workload).clone());
        assert_eq!(inputs(&[&same]), hash);

        let mut other = case.clone();
        other.seed += 1;
        assert_ne!(inputs(&[&other]), hash);
        assert_ne!(inputs(&[&case, &other]), hash);
        let mut other = case.clone();
        Arc::make_mut(&mut other.workload).jobs[1].work = SimSpan::HOUR;
        assert_ne!(inputs(&[&other]), hash);
        let mut other = case.clone();
        Arc::make_mut(&mut other.cluster).nodes[0].gpus = 5;
        assert_ne!(inputs(&[&other]), hash);
        let mut other = case.clone();
        other.engine.until = Some(SimTime::from_secs(5));
        assert_ne!(inputs(&[&other]), hash);
        let failing = |accel| Case { failures: Some(FailureSpec { accel, ..FailureSpec::default() }), ..case.clone() };
        assert_ne!(inputs(&[&failing(1.0)]), hash);
        assert_ne!(inputs(&[&failing(1.0)]), inputs(&[&failing(200.0)]));
        let mut other = case.clone();
        other.power.load = crate::cluster::power::GpuLoad::Use;
        assert_ne!(inputs(&[&other]), hash);
    }

    #[test]
    fn accounts_mix_and_machinery_are_inputs_too() {
        let (case, _) = preemption().0.told();
        let hash = inputs(&[&case]);
        let changes: [fn(&mut Case); 6] = [
            |it| it.engine.startup = SimSpan::HOUR,
            |it| it.engine.retries = 7,
            |it| it.session_classes = Arc::new(["debug".to_owned()]),
            |it| it.lookback = SimSpan::HOUR,
            |it| it.mix = Some(Arc::default()),
            |it| {
                it.share_changes.push(crate::engine::ShareChange {
                    at: SimTime::ZERO,
                    account: crate::ids::AccountId(0),
                    share: 0.5,
                })
            },
        ];
        for (row, change) in changes.iter().enumerate() {
            let mut other = case.clone();
            change(&mut other);
            assert_ne!(inputs(&[&other]), hash, "change {row}");
        }
    }
}
