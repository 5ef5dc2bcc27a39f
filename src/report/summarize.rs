//! The summary is made: from runs, measured.

use super::behaviour::{by_behaviour, scheduled_at_top};
use super::comparison::compare;
use super::fidelity::ranked;
use super::fragments::{fragmentation, inflation};
use super::keys::{
    AccountSummary, ClassSummary, DeliveredBySummary, DrainsSummary, EngineSummary, FidelitySummary, JobsSummary, LevelsSummary,
    PerJobSummary, PreemptionSummary, PromisesSummary, SessionsSummary, TierSummary, WindowCliffSummary,
};
use super::numbers::{hours, round, spread, value};
use super::summary::{Run, RunSummary, Summary};
use crate::metrics::{ClassFigures, Fidelity, Levels, Spread, TierFigures};
use crate::units::SimSpan;
use std::collections::BTreeMap;

impl Summary {
    /// The summary of `runs`, in the order given. `inputs` is what [`super::inputs`] says of their cases.
    pub fn new(scenario: &str, inputs: &str, runs: &[Run]) -> Summary {
        let first = runs.first().map(|run| &run.measured);
        let mut summary = Summary {
            schedlab: env!("CARGO_PKG_VERSION").into(),
            scenario: scenario.into(),
            inputs: inputs.into(),
            load: first.and_then(|it| round(it.load)),
            outstanding: first.and_then(|it| round(it.capacity.outstanding)),
            runs: runs.iter().map(RunSummary::new).collect(),
            settings: Vec::new(),
            comparison: Vec::new(),
            fidelity: Vec::new(),
        };
        summary.comparison = compare(&summary, runs);
        summary.fidelity = ranked(&summary);
        summary
    }
}

impl RunSummary {
    fn new(run: &Run) -> RunSummary {
        let it = &run.measured;
        let accounts = it.by_account.iter().map(|account| {
            let summary = AccountSummary {
                share: round(Some(account.share)),
                owed_gpu_h: round(Some(account.owed / 3.6e9)),
                delivered_gpu_h: hours(account.delivered),
                delivered_of_owed: round(account.delivered_of_owed),
                unallocated_gpu_h: hours(account.unallocated),
                wait_s: spread(&account.wait),
                autocorrelation: round(account.autocorrelation),
                completed: account.completed,
                goodput_gpu_h: hours(account.goodput),
            };
            (account.account.clone(), summary)
        });
        RunSummary {
            policy: run.policy.clone(),
            seed: run.seed,
            ledger_hash: run.ledger_hash.clone(),
            jobs: JobsSummary {
                submitted: it.jobs.submitted,
                completed: it.jobs.completed,
                running: it.jobs.running,
                queued: it.jobs.queued,
                rejected: it.jobs.rejected,
                failed: it.jobs.failed,
                cancelled: it.jobs.cancelled,
                timed_out: it.jobs.timed_out,
                measured: it.jobs.measured,
                missed_deadlines: it.jobs.missed_deadlines,
                measured_completed: it.jct.count,
            },
            wait_s: spread(&it.wait),
            first_wait_s: spread(&it.first_wait),
            jct_s: spread(&it.jct),
            bounded_slowdown: spread(&it.slowdown),
            makespan_s: round(it.makespan.map(SimSpan::as_secs_f64)),
            goodput_gpu_h: hours(it.goodput),
            queue_max: it.queue_max,
            by_class: groups(&it.by_class),
            by_account: accounts.collect(),
            by_behaviour: by_behaviour(it),
            scheduled_at_top: scheduled_at_top(it),
            delivered_of_owed: round(it.delivered_of_owed.by_lookback),
            preemption: PreemptionSummary {
                events: it.preemption.events,
                jobs: it.preemption.jobs,
                per_1000_gpu_h: round(it.preemption.per_1000_gpu_h),
                lost_gpu_h: hours(it.preemption.lost),
                per_job_max: it.preemption.per_job_max,
                per_job: per_job(&it.preemption.per_job),
                allocated: tier(&it.preemption.allocated),
                unallocated: tier(&it.preemption.unallocated),
            },
            availability: round(it.capacity.availability),
            occupancy: round(it.capacity.occupancy),
            unallocated_share: round(it.capacity.unallocated_share),
            utilization: round(it.utilization),
            impact: round(it.impact),
            fragmentation: fragmentation(it),
            inflation: inflation(it),
            engine: EngineSummary {
                events: run.counters.events,
                passes: run.counters.passes,
                decisions: run.counters.decisions,
                node_visits: run.counters.node_visits,
                job_visits: run.counters.job_visits,
                refused: run.counters.refused,
                moves: run.counters.moves,
                pass_limits: run.counters.pass_limits,
                gave_up: run.counters.gave_up,
            },
            outstanding: round(it.capacity.outstanding),
            delivered_of_owed_by: DeliveredBySummary {
                day: round(it.delivered_of_owed.by_day),
                hour: round(it.delivered_of_owed.by_hour),
                uncapped: round(it.delivered_of_owed.uncapped),
            },
            failures: super::failures::failures(it),
            fidelity: it.fidelity.as_ref().map(fidelity),
            by_size: groups(&it.by_size),
            interruptible_gpus: levels(&it.interruptible),
            preemptible_gpus: levels(&it.preemptible),
            drains: it.drains.as_ref().map(|drains| DrainsSummary {
                events: drains.events,
                empty_s: spread(&drains.empty),
                human_repairs: drains.human_repairs,
                lost_gpu_h: hours(drains.lost),
                kept_gpu_h: hours(drains.kept),
            }),
            sessions: it.sessions.as_ref().map(|sessions| SessionsSummary {
                sessions: sessions.sessions,
                interrupted: sessions.interrupted,
                interruptions: sessions.interruptions,
                first_interruption_s: spread(&sessions.first_interruption),
                rebuild_gpu_h: hours(sessions.rebuild),
                lost_gpu_h: hours(sessions.lost),
            }),
            window_cliff: WindowCliffSummary {
                lag_d: it.window_cliff.lag_days,
                autocorrelation: round(it.window_cliff.autocorrelation),
            },
            outstanding_allocated: round(it.capacity.outstanding_allocated),
            promises: it.promises.as_ref().map(|promises| PromisesSummary {
                made: promises.made,
                kept: promises.kept,
                missed_not_its_turn: promises.missed_not_its_turn,
                missed_protected: promises.missed_protected,
                late_leaving: promises.late_leaving,
                withdrawn: promises.withdrawn,
                open: promises.open,
                late_s: spread(&promises.late),
            }),
            completion_rate: round(it.completion_rate),
            loans: super::loans::loans(it),
            elastic: super::loans::elastic(it),
            deadlines: super::failures::deadlines(it),
            energy: super::failures::energy(it),
        }
    }
}

fn fidelity(it: &Fidelity) -> FidelitySummary {
    FidelitySummary {
        jobs: it.jobs,
        simulated_wait_s: spread(&it.simulated),
        observed_wait_s: spread(&it.observed),
        error_p50_s: value(it.error_p50),
        error_p90_s: value(it.error_p90),
        rank_correlation: round(it.rank_correlation),
    }
}

fn groups(groups: &[ClassFigures]) -> BTreeMap<String, ClassSummary> {
    let summary = |it: &ClassFigures| {
        let (wait_s, first_wait_s) = (spread(&it.wait), spread(&it.first_wait));
        let (completed, goodput_gpu_h) = (it.completed, hours(it.goodput));
        let (jobs, preempted) = (it.jobs, it.preempted);
        (it.class.clone(), ClassSummary { jobs, wait_s, first_wait_s, preempted, completed, goodput_gpu_h })
    };
    groups.iter().map(summary).collect()
}

fn per_job(it: &Spread) -> PerJobSummary {
    PerJobSummary { p50: value(it.p50), p90: value(it.p90), p99: value(it.p99), max: value(it.max) }
}

fn tier(it: &TierFigures) -> TierSummary {
    TierSummary { events: it.events, per_1000_gpu_h: round(it.per_1000_gpu_h), lost_gpu_h: hours(it.lost) }
}

fn levels(it: &Levels) -> LevelsSummary {
    LevelsSummary { mean: round(it.mean), p10: round(it.p10), min: round(it.min), max: round(it.max) }
}
