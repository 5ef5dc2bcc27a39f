//! The choice of servers, one after the other.

use super::Rule;
use super::optimal::fewest;
use super::state::{Loaned, Reclaimed, State};
use crate::seed::{self, Purpose};

/// Chooses `n` servers to go back, or all if there are fewer. The seed and a number that differs from call to call decide for
/// [`Rule::Random`].
///
/// With `free_first`, whatever the rule, idle servers go first, then those that hold only workers that their jobs can do without.
/// Cost: a look at each server for each one chosen, and at each hold of a job whose workers go.
pub fn reclaim(loaned: &Loaned, n: usize, rule: Rule, free_first: bool, (seed, ordinal): (u64, u64)) -> Reclaimed {
    let n = n.min(loaned.servers);
    let mut state = State::new(loaned, rule);
    if free_first {
        take_free(&mut state, n);
    }
    let short = n - state.result.servers.len();
    if short == 0 {
        return state.result;
    }
    let fixed = match rule {
        Rule::ScfStatic => {
            let mut order: Vec<usize> = state.left().collect();
            order.sort_by_key(|&server| (state.jobs[server], server));
            Some(order)
        }
        Rule::Random => {
            let mut order: Vec<usize> = state.left().collect();
            for at in (1..order.len()).rev() {
                order.swap(at, seed::index(seed, Purpose::Policy, ordinal, at as u64, at + 1));
            }
            Some(order)
        }
        Rule::Optimal => Some(fewest(&state, short)),
        Rule::CostServer | Rule::CostGpu | Rule::ScfDynamic => None,
    };
    if let Some(order) = fixed {
        order.into_iter().take(short).for_each(|server| state.take(server));
        return state.result;
    }
    while state.result.servers.len() < n {
        let found = match rule {
            Rule::ScfDynamic => state.left().min_by_key(|&server| (state.jobs[server], server)),
            _ => state.cheapest(),
        };
        let Some(server) = found else { break };
        state.result.looks += (loaned.servers - state.result.servers.len()) as u64;
        state.take(server);
    }
    state.result
}

/// Takes servers that cost no preemption: idle ones, then those with fewest workers.
fn take_free(state: &mut State<'_>, n: usize) {
    while state.result.servers.len() < n {
        let free = state.left().filter(|&server| state.deaths[server] == 0);
        let Some(server) = free.min_by_key(|&server| (state.workers(server), server)) else { return };
        state.result.looks += (state.loaned.servers - state.result.servers.len()) as u64;
        state.take(server);
    }
}
