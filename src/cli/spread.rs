//! Runs side by side on threads of their own.
//!
//! Not on a `rayon` pool: a worker of one that waits for another pool (polars writes tables on its own) takes up the next run
//! meanwhile, on the same stack, and so on for as many runs as there are.

use crate::engine::Case;
use crate::error::Error;
use crate::scenario::Scenario;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// What `each` makes of every item, in the order of the items, on `threads` threads (as many as there are cores, if none is said). At
/// the first error no further item is begun, and the error of the earliest item that has one is returned.
pub fn spread<T: Sync, R: Send, E: Send>(
    items: &[T],
    threads: Option<usize>,
    each: impl Fn(&T) -> Result<R, E> + Sync,
) -> Result<Vec<R>, E> {
    let cores = || std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let threads = threads.unwrap_or_else(cores).clamp(1, items.len().max(1));
    let (next, failed) = (AtomicUsize::new(0), AtomicBool::new(false));
    let work = || {
        let mut done = Vec::new();
        while !failed.load(Ordering::Relaxed) {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(at) else { break };
            let result = each(item);
            failed.fetch_or(result.is_err(), Ordering::Relaxed);
            done.push((at, result));
        }
        done
    };
    let mut all: Vec<(usize, Result<R, E>)> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        let joined = workers.into_iter().map(|worker| worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        joined.flatten().collect()
    });
    all.sort_by_key(|(at, _)| *at);
    all.into_iter().map(|(_, result)| result).collect()
}

/// The cases of all seeds of a scenario, in order.
///
/// - Errors: what only the work of a seed shows.
pub fn cases(scenario: &Scenario, threads: Option<usize>) -> Result<Vec<Case>, Error> {
    spread(&scenario.all_seeds(), threads, |seed| scenario.case(*seed))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_come_in_order_and_the_first_error_ends_it() {
        let items: Vec<u64> = (0..100).collect();
        let double = |item: &u64| if *item == 70 { Err(*item) } else { Ok(item * 2) };
        assert_eq!(spread(&items, Some(4), double), Err(70));
        assert_eq!(spread(&items[..50], Some(4), double), Ok((0..50).map(|n| n * 2).collect()));
        assert_eq!(spread(&items[..0], None, double), Ok(Vec::new()));
    }
}
