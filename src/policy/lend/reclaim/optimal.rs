//! The choice that preempts fewest jobs, by branch and bound (a minimum-k-union, NP-hard: for tests and small cases).

use super::state::State;

/// Most branches that are looked at; beyond that the best so far stands, which is no worse than the greedy choice.
const BRANCHES: u64 = 200_000;

struct Best {
    preempted: usize,
    servers: Vec<usize>,
    branches: u64,
}

/// Servers to take from `state`, `n` of them, in the order in which to take them.
pub(super) fn fewest(state: &State<'_>, n: usize) -> Vec<usize> {
    let before = state.result.servers.len();
    let mut guess = state.clone();
    for _ in 0..n {
        if let Some(server) = guess.cheapest() {
            guess.take(server);
        }
    }
    let found = &guess.result;
    let mut best = Best { preempted: found.preempted.len(), servers: found.servers[before..].to_vec(), branches: 0 };
    search(state.clone(), before + n, 0, before, &mut best);
    best.servers
}

fn search(mut state: State<'_>, goal: usize, from: usize, before: usize, best: &mut Best) {
    best.branches += 1;
    // Servers that have become free cost nothing, whichever they are.
    while state.result.servers.len() < goal {
        let Some(server) = state.left().find(|&server| state.deaths[server] == 0) else { break };
        state.take(server);
    }
    let preempted = state.result.preempted.len();
    if goal <= state.result.servers.len() {
        if preempted < best.preempted {
            best.preempted = preempted;
            best.servers = state.result.servers[before..].to_vec();
        }
        return;
    }
    // One more at least must go.
    if best.preempted <= preempted + 1 || BRANCHES <= best.branches {
        return;
    }
    for server in state.left().filter(|&server| from <= server).collect::<Vec<_>>() {
        let mut next = state.clone();
        next.take(server);
        search(next, goal, server + 1, before, best);
    }
}
