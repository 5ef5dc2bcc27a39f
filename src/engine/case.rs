//! A case: everything a run depends on but the policy. Immutable, complete and checked; the same case, policy and seed give the
//! same ledger, byte for byte.

use super::failures::FailureSpec;
use crate::accounts::AccountTree;
use crate::cluster::ClusterSpec;
use crate::cluster::power::PowerSpec;
use crate::fragment::TaskMix;
use crate::ids::AccountId;
use crate::units::{MilliGpu, SimSpan, SimTime};
use crate::workload::behave::{Crowd, Users};
use crate::workload::{Catalog, Replay, Source, Workload};
use std::sync::Arc;

/// What becomes of a preempted job that cannot be continued.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unresumable {
    /// It is resubmitted from zero, its wait going on.
    #[default]
    Resubmit,
    /// It is given up.
    Abandon,
}

/// How jobs that declare no min runtime count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Undeclared {
    /// As unallocated work: charged to nobody, never protected.
    #[default]
    Unallocated,
    /// As allocated work, charged, with the contract's default min runtime.
    Allocated,
}

/// What protects an allocated attempt from preemption, from the grant of its GPUs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Protection {
    /// What its job declared.
    #[default]
    Contract,
    /// The same span for all (Slurm's `PreemptExemptTime`).
    Global(SimSpan),
    /// What its job declared, else what its account or one above it says (KAI's `minruntime`, by the lowest common ancestor with
    /// whoever would take its place).
    Queue,
    /// Nothing.
    Nothing,
}

/// The scheduling contract that order, evict, fill and metrics read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Contract {
    /// What protects.
    pub protect: Protection,
    /// Longest protection whatever a job declares.
    pub max_min_runtime: SimSpan,
    /// Min runtime of allocated jobs that declare none.
    pub default_min_runtime: SimSpan,
    /// How jobs that declare none count.
    pub undeclared: Undeclared,
    /// Most GPUs that unallocated work of an account holds at once; `None`: no limit.
    pub unallocated_max: Option<MilliGpu>,
}

impl Default for Contract {
    fn default() -> Self {
        Contract {
            protect: Protection::Contract,
            max_min_runtime: SimSpan::HOUR * 8,
            default_min_runtime: SimSpan::ZERO,
            undeclared: Undeclared::Unallocated,
            unallocated_max: None,
        }
    }
}

impl Contract {
    /// Whether a job that declared `min_runtime` is allocated: charged to its account.
    pub fn is_allocated(&self, min_runtime: Option<SimSpan>) -> bool {
        match min_runtime {
            Some(declared) => SimSpan::ZERO < declared,
            None => self.undeclared == Undeclared::Allocated,
        }
    }
    /// How long an attempt of such a job is protected, from the grant of its GPUs; where accounts have a say, without them.
    pub fn protection(&self, min_runtime: Option<SimSpan>) -> SimSpan {
        self.protection_with(min_runtime, None)
    }
    /// The same where its account says `queue` (only [`Protection::Queue`] asks). Unallocated work has no protection.
    pub fn protection_with(&self, min_runtime: Option<SimSpan>, queue: Option<SimSpan>) -> SimSpan {
        if !self.is_allocated(min_runtime) {
            return SimSpan::ZERO;
        }
        let declared = min_runtime.unwrap_or(self.default_min_runtime);
        let protection = match self.protect {
            Protection::Contract => declared,
            Protection::Global(span) => span,
            Protection::Queue => min_runtime.or(queue).unwrap_or(self.default_min_runtime),
            Protection::Nothing => SimSpan::ZERO,
        };
        protection.min(self.max_min_runtime)
    }
}

/// What the machinery itself takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EngineSpec {
    /// From the grant of GPUs to the first work of an attempt.
    pub startup: SimSpan,
    /// From telling a victim to go to its GPUs being free.
    pub eviction_latency: SimSpan,
    /// Pause of an elastic job when its workers change.
    pub scale_pause: SimSpan,
    /// How often a timed policy is asked while anyone waits; zero: at events only.
    pub pass_interval: SimSpan,
    /// Most passes of one instant.
    pub passes_max: u32,
    /// What becomes of a preempted job that cannot be continued.
    pub unresumable: Unresumable,
    /// How often a job whose attempt failed with its node is tried again before it counts as failed.
    pub retries: u32,
    /// How long a drained node is down for repair once it is empty; `None`: until an event says it is up.
    pub repair: Option<SimSpan>,
    /// A drained node that work still holds this long after its drain began counts as repaired by people, who had to ask for it.
    pub human_after: SimSpan,
    /// Whether a job that has not started by its start deadline is withdrawn.
    pub drop_on_deadline: bool,
    /// The run is cut there; `None`: it goes on until nothing is left to happen.
    pub until: Option<SimTime>,
}

impl Default for EngineSpec {
    fn default() -> Self {
        EngineSpec {
            startup: SimSpan::ZERO,
            eviction_latency: SimSpan::ZERO,
            scale_pause: SimSpan::ZERO,
            pass_interval: SimSpan::from_secs(60),
            passes_max: 16,
            unresumable: Unresumable::Resubmit,
            retries: u32::MAX,
            repair: None,
            human_after: SimSpan::HOUR * 8,
            drop_on_deadline: false,
            until: None,
        }
    }
}

/// A change of an account's share at a given time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ShareChange {
    /// When.
    pub at: SimTime,
    /// Whose.
    pub account: AccountId,
    /// The new share, relative to siblings.
    pub share: f64,
}

/// Everything a run depends on but the policy.
#[derive(Clone, Debug)]
pub struct Case {
    /// The names behind the ids.
    pub catalog: Arc<Catalog>,
    /// The machines.
    pub cluster: Arc<ClusterSpec>,
    /// The recorded or generated submissions.
    pub workload: Arc<Workload>,
    /// The mix of tasks whose frequencies placement and fragmentation go by, where it is not that of `workload`: that of a history before
    /// it was inflated, or what users who react are about to submit.
    pub mix: Option<Arc<TaskMix>>,
    /// Users who react, instead of recorded or generated submissions.
    pub users: Option<Arc<Users>>,
    /// Who is charged, at the start.
    pub accounts: AccountTree,
    /// Changes of shares, by time.
    pub share_changes: Vec<ShareChange>,
    /// The scheduling contract.
    pub contract: Contract,
    /// What the machinery itself takes.
    pub engine: EngineSpec,
    /// How GPUs fail by themselves; `None`: they do not.
    pub failures: Option<FailureSpec>,
    /// How the energy of a run is reckoned.
    pub power: PowerSpec,
    /// The seed of every draw.
    pub seed: u64,
    /// Jobs submitted in [from, until) are measured; `None`: all.
    pub measured: Option<(SimTime, SimTime)>,
    /// The trailing span over which metrics set what was delivered against what was owed.
    pub lookback: SimSpan,
    /// Labels of the classes whose jobs are interactive sessions.
    pub session_classes: Arc<[String]>,
}

impl Case {
    /// The lookback of metrics where the scenario names none: that of the scheduler at Ai2 ("Impactful scheduling for GPU clusters",
    /// 2026).
    pub const LOOKBACK: SimSpan = SimSpan::from_millis(7 * SimSpan::DAY.as_millis());

    /// The classes of interactive sessions where the scenario names none.
    pub fn session_classes() -> Arc<[String]> {
        Arc::new(["interactive".to_owned()])
    }

    /// The mix of tasks that typical ones are taken from.
    pub fn task_mix(&self) -> Arc<TaskMix> {
        self.mix.clone().unwrap_or_else(|| Arc::new(TaskMix::of(&self.workload, &self.catalog)))
    }

    /// The source of this case's work: its users, or a replay of its workload.
    pub fn source(&self) -> Box<dyn Source> {
        match &self.users {
            Some(users) => Box::new(Crowd::new(users.clone())),
            None => Box::new(Replay::new(self.workload.clone())),
        }
    }
}
