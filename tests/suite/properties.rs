//! What must hold whatever the policy: over every registered entry, on random cases.

use super::bench::{Bench, policy};
use super::cases::{any_case, any_policy, every_policy, weigh};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use rayon::prelude::*;
use schedlab::audit::audit;
use schedlab::cluster::Cluster;
use schedlab::engine::Outcome;
use schedlab::facts::{EndReason, Fact};
use schedlab::ids::JobId;
use schedlab::policy::{PolicySpec, Stage};
use schedlab::registry::Value;
use schedlab::units::{SimSpan, SimTime};

/// The same cases every time, so that a change is judged by what it changes; `PROPTEST_CASES` and `PROPTEST_RNG_SEED` look further.
pub fn config() -> ProptestConfig {
    let given = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    ProptestConfig {
        cases: given("PROPTEST_CASES").map_or(1500, |cases| cases as u32),
        rng_seed: RngSeed::Fixed(given("PROPTEST_RNG_SEED").unwrap_or(1)),
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

fn scanning(policy: &PolicySpec) -> PolicySpec {
    let mut policy = policy.clone();
    let place = &mut policy.stages[Stage::Place as usize];
    place.knobs.set("mode", Value::Text(if place.entry == "fgd" { "local" } else { "scan" }.into()));
    policy
}

/// Placements that can search by an index or by a scan.
fn searching() -> Vec<&'static str> {
    let infos = Stage::Place.infos();
    infos.iter().filter(|info| info.knobs.iter().any(|knob| knob.name == "mode")).map(|info| info.name).collect()
}

/// Start of the first attempt of each job.
fn first_starts(outcome: &Outcome) -> Vec<Option<SimTime>> {
    let mut starts = vec![None; outcome.workload.jobs.len()];
    for (at, fact) in outcome.ledger.iter() {
        if let Fact::Started { job, .. } = fact {
            starts[job.index()].get_or_insert(at);
        }
    }
    starts
}

proptest! {
    #![proptest_config(config())]

    /// No GPU over-committed, gangs whole, GPU time conserved, work conserved, evictions followed by the start they were made for:
    /// the audit rebuilds the cluster from the facts alone. And what stages propose is never refused.
    #[test]
    fn every_run_passes_the_audit_and_no_proposal_is_refused(bench in any_case(false), policy in any_policy()) {
        let outcome = bench.run(&policy);
        let audited = audit(&bench.case(), &outcome);
        prop_assert!(audited.is_ok(), "{}: {:?}", policy.name, audited);
        let refused: Vec<_> = outcome.ledger.iter().filter(|(_, fact)| matches!(fact, Fact::Refused { .. })).collect();
        prop_assert!(refused.is_empty(), "{}: {:?}", policy.name, refused);
    }

    /// Every job is over in the end, unless the machines it needs stay away.
    #[test]
    fn everyone_finishes_where_nothing_fails(bench in any_case(true), policy in any_policy()) {
        // Who wants more GPUs than its account owns never starts.
        prop_assume!(policy.choice(Stage::Order).entry != "monopoly");
        let outcome = bench.run(&policy);
        let over = outcome.ledger.iter().filter(|(_, fact)| matches!(fact, Fact::Ended { reason: EndReason::Completed, .. } | Fact::Rejected { .. }));
        prop_assert_eq!(over.count(), bench.workload.jobs.len(), "{}", policy.name);
    }

    /// The same case, policy and seed give the same ledger, byte for byte, also side by side with others.
    #[test]
    fn runs_repeat_to_the_byte(bench in any_case(false), policy in any_policy()) {
        prop_assert_eq!(bench.run(&policy).ledger.hash(), bench.run(&policy).ledger.hash());
    }

    /// The index by free capacity, and that of points by request, find what a scan of all nodes finds: node and GPU.
    #[test]
    fn index_and_scan_agree(bench in any_case(false), place in prop::sample::select(searching()),
        fill in prop::sample::select(vec!["greedy", "easy", "strict"]), variant in any::<u8>()) {
        let mut policy = policy("priority", fill, place, "priority");
        weigh(&mut policy);
        let place = &mut policy.stages[Stage::Place as usize];
        let choose = |bit: u8, yes: &'static str, no: &'static str| Value::Text(if variant & bit == 0 { no } else { yes }.into());
        if place.knobs.get("points").is_some() {
            place.knobs.set("points", choose(1, "float", "integer"));
        }
        if place.entry == "fgd" {
            place.knobs.set("arith", choose(2, "published", "exact"));
        }
        prop_assert_eq!(bench.run(&policy).ledger.hash(), bench.run(&scanning(&policy)).ledger.hash());
    }

    /// A job that opted out is never evicted, nor, where min runtimes protect, one within its own.
    #[test]
    fn the_protected_stay(bench in any_case(true), fill in prop::sample::select(vec!["greedy", "easy", "strict", "conservative", "k-reservations", "slurm"])) {
        let mut policy = policy("priority", fill, "first-fit", "priority");
        policy.stages[Stage::Evict as usize].knobs.set("protection", Value::Bool(true));
        let case = bench.case();
        let outcome = bench.run(&policy);
        let mut started = vec![SimTime::NEVER; bench.workload.jobs.len()];
        for (at, fact) in outcome.ledger.iter() {
            match fact {
                Fact::Started { job, .. } => started[job.index()] = at,
                Fact::Preempted { job, .. } => {
                    let it = &bench.workload.jobs[job.index()];
                    prop_assert!(it.preemptible);
                    prop_assert!(started[job.index()].after(case.contract.protection(it.min_runtime)) <= at);
                }
                _ => {}
            }
        }
    }

    /// Under FIFO, without failures and with estimates that are upper bounds, EASY never delays the head: whenever a job is the head,
    /// it starts no later than the earliest time at which the running jobs' estimates would then have let it start.
    #[test]
    fn easy_never_delays_the_head(bench in any_case(true), place in prop::sample::select(vec!["first-fit", "best-fit", "worst-fit", "random"])) {
        let outcome = bench.run(&policy("fifo", "easy", place, "nobody"));
        check_heads(&bench, &outcome)?;
    }

    /// Under FIFO with exact estimates nobody who comes later makes a difference to a job planned by conservative backfill.
    #[test]
    fn conservative_delays_nobody(bench in any_case(true)) {
        let mut bench = bench;
        for job in &mut bench.workload.jobs {
            // Not zero: such a job is planned for an instant and ends before it is over, which moves plans forward.
            job.work = job.work.max(SimSpan::from_secs(1));
            job.estimate = job.work;
        }
        let rule = policy("fifo", "conservative", "first-fit", "nobody");
        let all = first_starts(&bench.run(&rule));
        for jobs in 1..bench.workload.jobs.len() {
            let mut prefix = bench.clone();
            prefix.workload.jobs.truncate(jobs);
            prop_assert_eq!(first_starts(&prefix.run(&rule))[jobs - 1], all[jobs - 1]);
        }
    }
}

/// An independent reading of the facts: for each instant the head, and the earliest time it could start by the estimates.
fn check_heads(bench: &Bench, outcome: &Outcome) -> Result<(), TestCaseError> {
    let case = bench.case();
    let starts = first_starts(outcome);
    let shapes = case.catalog.shapes.rows();
    let mut cluster = Cluster::new(case.cluster.clone());
    let mut running: Vec<(SimTime, JobId, Vec<schedlab::cluster::Slot>)> = Vec::new();
    let mut queue: Vec<JobId> = Vec::new();
    let mut claimed = Vec::new();
    let facts: Vec<(SimTime, Fact)> = outcome.ledger.iter().collect();
    for (row, (at, fact)) in facts.iter().enumerate() {
        match *fact {
            Fact::Queued { job, .. } => queue.push(job),
            Fact::Claimed { slot, .. } => claimed.push(slot),
            Fact::Started { job, .. } => {
                let it = &bench.workload.jobs[job.index()];
                for slot in &claimed {
                    cluster.take(slot, &shapes[it.shape.index()].groups[usize::from(slot.group)].request);
                }
                queue.retain(|it| *it != job);
                running.push((at.after(it.estimate), job, std::mem::take(&mut claimed)));
            }
            Fact::Ended { job, .. } => {
                if let Some(at) = running.iter().position(|it| it.1 == job) {
                    let (_, _, slots) = running.remove(at);
                    let shape = &shapes[bench.workload.jobs[job.index()].shape.index()];
                    slots.iter().for_each(|slot| cluster.give(slot, &shape.groups[usize::from(slot.group)].request));
                }
            }
            _ => {}
        }
        let last_of_instant = facts.get(row + 1).is_none_or(|next| next.0 != *at);
        let Some(head) = queue.iter().min().filter(|_| last_of_instant) else { continue };
        let shape = &shapes[bench.workload.jobs[head.index()].shape.index()];
        // Only gangs of equal tasks: for those counting tasks node by node is exact.
        let [group] = &*shape.groups else { continue };
        let mut later = cluster.clone();
        let fits = |cluster: &Cluster| {
            let tasks = |node: &schedlab::cluster::Node| node.idle.count_ones() / u32::from(group.request.gpus);
            group.count <= cluster.nodes().iter().map(tasks).sum()
        };
        running.sort();
        let mut promised = *at;
        for (ends, job, slots) in &running {
            if fits(&later) {
                break;
            }
            promised = (*ends).max(*at);
            let shape = &shapes[bench.workload.jobs[job.index()].shape.index()];
            slots.iter().for_each(|slot| later.give(slot, &shape.groups[usize::from(slot.group)].request));
        }
        let start = starts[head.index()].expect("everyone starts");
        prop_assert!(start <= promised, "at {at:?} job {head:?} was promised {promised:?} and started {start:?}");
    }
    Ok(())
}

#[test]
fn ledgers_do_not_depend_on_threads() {
    let bench = Bench::new(3, 4).jobs(
        "A at 0: 3 gpus 40 s | B at 1: 8 gpus 20 s priority 1 | C at 1: 2 gpus 30 s | D at 5: 4 gpus 9 s priority 2 | E at 9: 1 gpus 50 s",
    );
    let policies = every_policy();
    let hashes = |threads: usize| -> Vec<String> {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
        pool.install(|| policies.par_iter().map(|policy| bench.run(policy).ledger.hash()).collect())
    };
    let one = hashes(1);
    assert_eq!(one, hashes(4));
    assert!(8 < one.iter().collect::<std::collections::BTreeSet<_>>().len(), "policies differ");
}

#[test]
fn stages_that_do_not_go_together_are_refused_by_name() {
    let conflicts = policy("fifo", "greedy", "first-fit", "priority").conflicts();
    let levels = ["priority", "las", "fair-share", "fair-tree", "classic", "kai", "yarn", "drf", "multifactor"];
    let offers = levels.map(|it| format!("order = \"{it}\"")).join(", ");
    assert_eq!(conflicts, [format!("evict = \"priority\" needs levels, which no other stage here provides; these do: {offers}")]);
}

#[test]
fn every_default_of_every_knob_is_of_its_kind() {
    for stage in Stage::ALL {
        for info in stage.infos() {
            schedlab::registry::Knobs::defaults(info.knobs);
            assert!(!info.about.is_empty() && !info.source.is_empty(), "{}", info.name);
        }
    }
}

#[test]
fn a_warm_up_longer_than_the_run_measures_nothing() {
    let bench = Bench::new(1, 1).jobs("A at 0: 1 gpus 1 s");
    let mut case = bench.case();
    case.measured = Some((SimTime::from_secs(10), SimTime::NEVER));
    let measured = schedlab::metrics::measure(&case, &bench.run(&policy("fifo", "strict", "first-fit", "nobody")));
    assert_eq!((measured.jobs.submitted, measured.jobs.measured), (1, 0));
    assert_eq!(measured.capacity.occupancy, None);
}

#[test]
fn machines_that_change_after_the_last_job_do_not_lengthen_the_run() {
    let mut bench = Bench::new(1, 1).jobs("A at 0: 1 gpus 1 s");
    bench.cluster.health = vec![(SimTime::from_secs(86_400), schedlab::cluster::HealthEvent::NodeUp(schedlab::ids::NodeId(0)))];
    assert_eq!(bench.run(&policy("fifo", "strict", "first-fit", "nobody")).end, SimTime::from_secs(1));
}
