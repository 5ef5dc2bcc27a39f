//! Cases shared by the runs that need them: made when first asked for, dropped after the last.

use super::plan::{KEPT_JOBS, Plan};
use crate::engine::Case;
use crate::error::Error;
use crate::scenario::Scenario;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What is shared by the runs of a sweep.
pub struct Shared<'a> {
    plan: &'a Plan,
    scenarios: BTreeMap<usize, Mutex<Slot<Arc<Scenario>>>>,
    cases: BTreeMap<(usize, u64), Mutex<Slot<Case>>>,
    /// Jobs of the cases that are kept.
    jobs: AtomicUsize,
    made: AtomicUsize,
}

struct Slot<T> {
    uses: usize,
    kept: Option<T>,
}

impl<'a> Shared<'a> {
    /// For these runs: arms and seeds.
    pub fn new(plan: &'a Plan, runs: &[(usize, u64)]) -> Shared<'a> {
        let (mut scenarios, mut cases) = (BTreeMap::new(), BTreeMap::new());
        for (arm, seed) in runs {
            let group = plan.group(*arm);
            *cases.entry((group, *seed)).or_insert(0) += 1;
            *scenarios.entry(group).or_insert(0) += 1;
        }
        let slots = |uses| Mutex::new(Slot { uses, kept: None });
        Shared {
            plan,
            scenarios: scenarios.into_iter().map(|(group, uses)| (group, Mutex::new(Slot { uses, kept: None }))).collect(),
            cases: cases.into_iter().map(|(key, uses)| (key, slots(uses))).collect(),
            jobs: AtomicUsize::new(0),
            made: AtomicUsize::new(0),
        }
    }

    /// The case of a run; to be asked for once by each of the runs.
    ///
    /// - Errors: what only the work of that seed shows.
    pub fn case(&self, arm: usize, seed: u64) -> Result<Case, Error> {
        let group = self.plan.group(arm);
        let mut slot = locked(&self.cases[&(group, seed)]);
        slot.uses = slot.uses.saturating_sub(1);
        let case = match &slot.kept {
            Some(case) => case.clone(),
            None => {
                self.made.fetch_add(1, Ordering::Relaxed);
                let case = self.scenario(group)?.case(seed)?;
                let jobs = case.workload.jobs.len();
                if self.jobs.load(Ordering::Relaxed) + jobs <= KEPT_JOBS {
                    self.jobs.fetch_add(jobs, Ordering::Relaxed);
                    slot.kept = Some(case.clone());
                }
                case
            }
        };
        if slot.uses == 0
            && let Some(kept) = slot.kept.take()
        {
            self.jobs.fetch_sub(kept.workload.jobs.len(), Ordering::Relaxed);
        }
        drop(slot);
        let mut scenario = locked(&self.scenarios[&group]);
        scenario.uses = scenario.uses.saturating_sub(1);
        if scenario.uses == 0 {
            scenario.kept = None;
        }
        Ok(case)
    }

    fn scenario(&self, group: usize) -> Result<Arc<Scenario>, Error> {
        let mut slot = locked(&self.scenarios[&group]);
        if let Some(scenario) = &slot.kept {
            return Ok(scenario.clone());
        }
        let scenario = self.plan.scenario(group)?;
        slot.kept = Some(scenario.clone());
        Ok(scenario)
    }

    /// How many cases were made so far.
    pub fn made(&self) -> usize {
        self.made.load(Ordering::Relaxed)
    }
}

/// A thread that panicked left nothing half done behind: what is kept is whole or absent.
fn locked<T>(slot: &Mutex<T>) -> MutexGuard<'_, T> {
    slot.lock().unwrap_or_else(PoisonError::into_inner)
}
