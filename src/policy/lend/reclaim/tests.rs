//! Golden vectors and properties of the choice of servers (section 10 of the specification; computed by brute force there).

use super::*;
use crate::seed::{Draws, Purpose};

/// Jobs with a worker on each of some servers, numbered from 1.
fn vector(servers: usize, jobs: &[&[usize]]) -> Loaned {
    let tenant = |on: &&[usize]| Tenant {
        spare: 0,
        gpus: on.len() as u32,
        holds: on.iter().map(|server| Hold { server: server - 1, workers: 1, gpus: 1 }).collect(),
    };
    Loaned { servers, tenants: jobs.iter().map(tenant).collect() }
}

/// Servers from 1 and preempted jobs as letters.
fn answer(loaned: &Loaned, n: usize, rule: Rule) -> (Vec<usize>, String) {
    let found = reclaim(loaned, n, rule, true, (1, 0));
    let letters = found.preempted.iter().map(|&row| char::from(b'a' + row as u8)).collect();
    (found.servers.iter().map(|server| server + 1).collect(), letters)
}

#[test]
fn the_vectors_of_the_specification() {
    let e1 = vector(4, &[&[3, 4], &[1], &[2]]);
    assert_eq!(answer(&e1, 2, Rule::CostServer), (vec![3, 4], "a".to_owned()));
    assert_eq!(answer(&e1, 2, Rule::ScfStatic), (vec![1, 2], "bc".to_owned()));
    let e2 = vector(6, &[&[1, 2, 3], &[1], &[4], &[5], &[5], &[6], &[2, 6]]);
    assert_eq!(answer(&e2, 3, Rule::CostServer), (vec![3, 2, 1], "agb".to_owned()));
    assert_eq!(answer(&e2, 3, Rule::ScfStatic), (vec![3, 4, 1], "acb".to_owned()));
    let e3 = vector(6, &[&[1, 2], &[2, 3], &[3, 4], &[4, 1], &[5], &[6]]);
    assert_eq!(answer(&e3, 2, Rule::CostServer), (vec![5, 6], "ef".to_owned()));
    let e4 = vector(5, &[&[1, 2, 3, 4], &[1, 2], &[3], &[4], &[5], &[5]]);
    assert_eq!(answer(&e4, 4, Rule::CostServer).1.len(), 4);
    let mut servers = answer(&e4, 4, Rule::CostServer).0;
    servers.sort_unstable();
    assert_eq!(servers, [1, 2, 3, 4]);
    for (loaned, n, optimum) in [(&e1, 2, 1), (&e2, 3, 3), (&e3, 2, 2), (&e4, 4, 4)] {
        assert_eq!(answer(loaned, n, Rule::Optimal).1.len(), optimum);
        // One worker a server: the share of the GPUs is the share of the servers.
        assert_eq!(answer(loaned, n, Rule::CostGpu), answer(loaned, n, Rule::CostServer));
    }
}

#[test]
fn the_costs_at_the_start_are_those_of_the_specification() {
    let cost = |loaned: &Loaned| -> Vec<f64> {
        state::State::new(loaned, Rule::CostServer).cost.iter().map(|&it| (it as f64 / 72.072).round() / 10_000.0).collect()
    };
    assert_eq!(cost(&vector(4, &[&[3, 4], &[1], &[2]])), [1.0, 1.0, 0.5, 0.5]);
    let e2 = vector(6, &[&[1, 2, 3], &[1], &[4], &[5], &[5], &[6], &[2, 6]]);
    assert_eq!(cost(&e2), [1.3333, 0.8333, 0.3333, 1.0, 2.0, 1.5]);
    assert_eq!(cost(&vector(5, &[&[1, 2, 3, 4], &[1, 2], &[3], &[4], &[5], &[5]])), [0.75, 0.75, 1.25, 1.25, 2.0]);
}

#[test]
fn idle_servers_go_first_then_those_that_can_be_spared() {
    // Server 2 is idle; a has a spare worker on 0 and its base on 1.
    let hold = |server, workers| Hold { server, workers, gpus: workers };
    let a = Tenant { spare: 2, gpus: 4, holds: vec![hold(0, 2), hold(1, 2)] };
    let b = Tenant { spare: 0, gpus: 1, holds: vec![hold(3, 1)] };
    let loaned = Loaned { servers: 4, tenants: vec![a, b] };
    for rule in Rule::NAMES.map(Rule::named) {
        assert_eq!(reclaim(&loaned, 1, rule, true, (1, 0)).servers, [2], "{rule:?}");
        let two = reclaim(&loaned, 2, rule, true, (1, 0));
        assert_eq!((two.servers.as_slice(), two.preempted.len()), (&[2, 0][..], 0), "{rule:?}");
        assert_eq!(two.scaled, [(0, 0)]);
        let all = reclaim(&loaned, 9, rule, true, (1, 0));
        assert_eq!((all.servers.len(), all.preempted.len()), (4, 2), "{rule:?}");
    }
}

/// Random loaned servers as the specification describes them: 12 servers, 6 to 16 jobs that span 1 to 6 servers, 2 to 8 to give back.
fn instance(seed: u64, spares: bool) -> (Loaned, usize) {
    let mut draws = Draws::new(seed, Purpose::Sample, 0);
    let tenants = 6 + draws.index(11);
    let tenant = |draws: &mut Draws| {
        let mut servers: Vec<usize> = (0..12).collect();
        for at in (1..12).rev() {
            servers.swap(at, draws.index(at + 1));
        }
        servers.truncate(1 + draws.index(6));
        let holds: Vec<Hold> = servers.into_iter().map(|server| Hold { server, workers: 1, gpus: 1 }).collect();
        let spare = if spares { draws.index(holds.len()) as u32 } else { 0 };
        Tenant { spare, gpus: holds.len() as u32, holds }
    };
    let tenants = (0..tenants).map(|_| tenant(&mut draws)).collect();
    (Loaned { servers: 12, tenants }, 2 + draws.index(7))
}

/// Our specification's own model of such instances gave 4.46, 4.67, 4.83, 5.46 and 7.54; how it drew them is not stated.
#[test]
fn cost_preempts_fewer_than_counting_and_chance() {
    const RULES: [Rule; 5] = [Rule::Optimal, Rule::CostServer, Rule::ScfDynamic, Rule::ScfStatic, Rule::Random];
    for seeds in 0..10 {
        let mut sums = [0; 5];
        for seed in 0..200 {
            let (loaned, n) = instance(200 * seeds + seed, false);
            for (sum, rule) in sums.iter_mut().zip(RULES) {
                let found = reclaim(&loaned, n, rule, true, (seed, 0));
                assert_eq!(found.servers.len(), n);
                *sum += found.preempted.len();
            }
        }
        assert!(sums.is_sorted(), "{seeds}: {sums:?}");
    }
}

/// What is said to be preempted is what must be; nobody else loses all; the best is the best of all choices there are.
#[test]
fn the_optimum_is_what_trying_everything_finds() {
    for seed in 0..60 {
        let (loaned, n) = instance(seed, true);
        let dead = |set: u32| -> usize {
            let lost = |tenant: &Tenant| -> u32 {
                tenant.holds.iter().filter(|it| set >> it.server & 1 == 1).map(|it| it.workers).sum()
            };
            loaned.tenants.iter().filter(|tenant| tenant.spare < lost(tenant)).count()
        };
        let least = (0_u32..1 << 12).filter(|set| set.count_ones() as usize == n).map(dead).min().unwrap_or(0);
        for rule in Rule::NAMES.map(Rule::named) {
            let found = reclaim(&loaned, n, rule, true, (seed, 1));
            let set = found.servers.iter().fold(0_u32, |set, server| set | 1 << server);
            assert_eq!((set.count_ones() as usize, dead(set)), (n, found.preempted.len()), "{seed} {rule:?}");
            assert!(least <= found.preempted.len());
            // Taking what costs nothing first may cost more in the end, where jobs can spare workers.
            let (plain, _) = instance(seed, false);
            let dead =
                |set: u32| plain.tenants.iter().filter(|it| it.holds.iter().any(|hold| set >> hold.server & 1 == 1)).count();
            if rule == Rule::Optimal {
                let least = (0_u32..1 << 12).filter(|set| set.count_ones() as usize == n).map(dead).min().unwrap_or(0);
                assert_eq!(reclaim(&plain, n, rule, true, (seed, 1)).preempted.len(), least, "{seed}");
            }
        }
    }
}

/// A server for each one chosen, a hold for each that goes or stays: no more looks than that.
#[test]
fn what_it_costs_grows_with_servers_times_choices() {
    for (servers, n) in [(100, 10), (400, 10), (400, 40)] {
        let jobs: Vec<Vec<usize>> = (0..servers).map(|at| vec![at + 1, (at + 7) % servers + 1]).collect();
        let loaned = vector(servers, &jobs.iter().map(Vec::as_slice).collect::<Vec<_>>());
        let found = reclaim(&loaned, n, Rule::CostServer, true, (1, 0));
        assert!(found.looks <= (servers * (n + 1) + 8 * servers) as u64, "{servers} {n}: {}", found.looks);
    }
}
