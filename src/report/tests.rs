//! Whole reports of small stories, as snapshots, and the files read back.

use super::*;
use crate::cluster::NodeState;
use crate::facts::{EndReason, Fact, PreemptReason, QueueReason};
use crate::ids::NodeId;
use crate::ledger::story::{Story, preemption};
use crate::metrics::measure;
use crate::units::{SimSpan, SimTime};
use crate::workload::Extra;
use polars::prelude::{DataFrame, ParquetReader, SerReader};
use std::fs;
use std::path::Path;

pub(super) fn run(policy: &str, story: &Story) -> Run {
    let (case, outcome) = story.told();
    let counters = crate::engine::Counters { events: 8, passes: 4, decisions: 4, node_visits: 9, ..outcome.counters };
    let (measured, ledger_hash) = (measure(&case, &outcome), outcome.ledger.hash());
    Run { policy: policy.into(), seed: case.seed, ledger_hash, measured, counters, waits: None }
}

/// The story of the preemption with labels, and its first half without the preemption.
pub(super) fn stories() -> (Story, Story) {
    let (mut urgent, [a, b, c]) = preemption();
    let label = |story: &mut Story| {
        story.account("a/a1", 3.0);
        story.account("b", 1.0);
        for (job, class, account) in [(a, "training", "a/a1"), (b, "training", "b"), (c, "debug", "a/a1")] {
            story.class(job, class);
            story.charge(job, account, 1);
        }
    };
    label(&mut urgent);
    let (mut patient, _) = preemption();
    label(&mut patient);
    patient.facts.retain(|(at, _)| *at < SimTime::from_secs(2));
    patient.at(2).submit(c).at(5).complete(b).start(c, &[(1, 0b1111)]).at(9).complete(c).at(10).complete(a);
    (patient, urgent)
}

pub(super) fn summary() -> Summary {
    let (patient, urgent) = stories();
    Summary::new("tiny", "blake3:00", &[run("fcfs", &patient), run("priority", &urgent)])
}

#[test]
fn two_policies_side_by_side() {
    insta::assert_snapshot!(terminal(&summary()), @r"
    tiny

    3 jobs, offered load 4.12, outstanding 0.97 of capacity under fcfs.

    ─────────────────────────────────────────────────────────────────────────────────────────────────────────────
     policy     completed   wait mean   p50   p90   p99   max   JCT mean   preempted   occupancy   goodput GPU h
    ─────────────────────────────────────────────────────────────────────────────────────────────────────────────
     fcfs               3          1s    0s    3s    3s    3s      7.33s           0       82.5%           0.018
     priority           3       1.33s    0s    4s    4s    4s      7.67s           1       82.5%           0.018
    ─────────────────────────────────────────────────────────────────────────────────────────────────────────────

    ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────
     against fcfs       wait mean     wait p90     wait p99         JCT mean   preempted   occupancy   goodput GPU h
    ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────
     priority       +0.33s (+33%)   +1s (+33%)   +1s (+33%)   +0.33s (+4.5%)          +1           =               =
    ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────

    One run each: no interval, no verdict. `--seeds 10` gives them where work is drawn by seed.

    By class

    ──────────────────────────────────────────────────────────────────────────────────────────────
     class      policy     jobs   wait mean   p50   p90   p99   max   first wait mean   preempted
    ──────────────────────────────────────────────────────────────────────────────────────────────
     debug      fcfs          1          3s    3s    3s    3s    3s                3s           0
                priority      1          0s    0s    0s    0s    0s                0s           0
     training   fcfs          2          0s    0s    0s    0s    0s                0s           0
                priority      2          2s    0s    4s    4s    4s                0s           1
    ──────────────────────────────────────────────────────────────────────────────────────────────

    Budgets

    ─────────────────────────────────────────────────────────────────────────────────────────────────
     policy     of owed   worst account   by day   by hour   impact   interruptible GPUs p10   least
    ─────────────────────────────────────────────────────────────────────────────────────────────────
     fcfs         84.6%           79.3%    84.6%     84.6%    75.8%                        1       1
     priority    100.0%          100.0%   100.0%    100.0%    93.9%                        1       1
    ─────────────────────────────────────────────────────────────────────────────────────────────────

    Preemption

    ──────────────────────────────────────────────────────────────────────────────
     policy     allocated   per 1000 GPU h   jobs   per job p50   p90   p99   max
    ──────────────────────────────────────────────────────────────────────────────
     priority           1         54,545.5      1             1     1     1     1
    ──────────────────────────────────────────────────────────────────────────────
    ");
}

#[test]
fn the_same_for_a_file() {
    insta::assert_snapshot!(summary_md(&summary()), @r"
    # tiny

    3 jobs, offered load 4.12, outstanding 0.97 of capacity under fcfs.

    | policy | completed | wait mean (s) | p50 (s) | p90 (s) | p99 (s) | max (s) | JCT mean (s) | preempted | occupancy | goodput GPU h |
    |---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|
    | fcfs | 3 | 1.00 | 0.00 | 3.00 | 3.00 | 3.00 | 7.33 | 0 | 82.5% | 0.018 |
    | priority | 3 | 1.33 | 0.00 | 4.00 | 4.00 | 4.00 | 7.67 | 1 | 82.5% | 0.018 |

    | against fcfs | wait mean (s) | wait p90 (s) | wait p99 (s) | JCT mean (s) | preempted | occupancy | goodput GPU h |
    |---|---:|---:|---:|---:|---:|---:|---:|
    | priority | +0.33 (+33%) | +1.00 (+33%) | +1.00 (+33%) | +0.33 (+4.5%) | +1 | = | = |

    One run each: no interval, no verdict. `--seeds 10` gives them where work is drawn by seed.

    ## By class

    | class | policy | jobs | wait mean (s) | p50 (s) | p90 (s) | p99 (s) | max (s) | first wait mean (s) | preempted |
    |---|---|---:|---:|---:|---:|---:|---:|---:|---:|
    | debug | fcfs | 1 | 3.00 | 3.00 | 3.00 | 3.00 | 3.00 | 3.00 | 0 |
    |  | priority | 1 | 0.00 | 0.00 | 0.00 | 0.00 | 0.00 | 0.00 | 0 |
    | training | fcfs | 2 | 0.00 | 0.00 | 0.00 | 0.00 | 0.00 | 0.00 | 0 |
    |  | priority | 2 | 2.00 | 0.00 | 4.00 | 4.00 | 4.00 | 0.00 | 1 |

    ## By account

    | account | policy | share | owed GPU h | delivered GPU h | of owed | unallocated GPU h | wait mean (s) |
    |---|---|---:|---:|---:|---:|---:|---:|
    | a/a1 | fcfs | 75.0% | 0.016 | 0.013 | 79.3% | 0 | 1.50 |
    |  | priority | 75.0% | 0.013 | 0.013 | 100.0% | 0 | 0.00 |
    | b | fcfs | 25.0% | 0.006 | 0.006 | 100.0% | 0 | 0.00 |
    |  | priority | 25.0% | 0.006 | 0.006 | 100.0% | 0 | 4.00 |

    ## Budgets

    | policy | of owed | worst account | by day | by hour | uncapped |
    |---|---:|---:|---:|---:|---:|
    | fcfs | 84.6% | 79.3% | 84.6% | 84.6% | 84.6% |
    | priority | 100.0% | 100.0% | 100.0% | 100.0% | 100.0% |

    | policy | availability | occupancy | impact | unallocated | interruptible GPUs mean | p10 | least | most |
    |---|---:|---:|---:|---:|---:|---:|---:|---:|
    | fcfs | 100.0% | 82.5% | 75.8% | 0.0% | 6.9 | 1 | 1 | 8 |
    | priority | 100.0% | 82.5% | 93.9% | 0.0% | 6.5 | 1 | 1 | 8 |

    ## Fragmentation

    Free GPUs that typical tasks cannot use as they lie, of the free ones and of all, mean over time; then shares of the free ones by what stands in the way.

    | policy | of free | of all | usable (Q3) | no CPU, no GPUs (Q1) | no GPUs (Q2) | no CPU (Q4) | CPU task (XL) | CPU task, no CPU (XR) | no access (NA) |
    |---|---:|---:|---:|---:|---:|---:|---:|---:|---:|
    | fcfs | 71.4% | 12.5% | 28.6% | 0.0% | 71.4% | 0.0% | 0.0% | 0.0% | 0.0% |
    | priority | 71.4% | 12.5% | 28.6% | 0.0% | 71.4% | 0.0% | 0.0% | 0.0% | 0.0% |

    ## Preemption

    | policy | allocated | per 1000 GPU h | jobs | per job p50 | p90 | p99 | max |
    |---|---:|---:|---:|---:|---:|---:|---:|
    | priority | 1 | 54,545.5 | 1 | 1 | 1 | 1 | 1 |

    Inputs `blake3:00`, schedlab 0.1.0.
    ");
}

#[test]
fn the_summary_keeps_its_keys() {
    let summary = Summary::new("tiny", "blake3:00", &[run("priority", &stories().1)]);
    let text = summary.to_json();
    assert_eq!(serde_json::from_str::<Summary>(&text).unwrap(), summary);
    insta::assert_snapshot!(text, @r#"
    {
      "schedlab": "0.1.0",
      "scenario": "tiny",
      "inputs": "blake3:00",
      "load": 4.125,
      "outstanding": 1.025,
      "runs": [
        {
          "policy": "priority",
          "seed": 7,
          "ledger_hash": "ef5c22e9dddb17b8061f189c899651a90297f06fa6e14c73c9faed41e6fb4ee4",
          "jobs": {
            "submitted": 3,
            "completed": 3,
            "running": 0,
            "queued": 0,
            "rejected": 0,
            "failed": 0,
            "cancelled": 0,
            "timed_out": 0,
            "measured": 3,
            "missed_deadlines": 0,
            "measured_completed": 3
          },
          "wait_s": {
            "mean": 1.333333,
            "p50": 0.0,
            "p90": 4.0,
            "p95": 4.0,
            "p99": 4.0,
            "max": 4.0,
            "censored": 0
          },
          "first_wait_s": {
            "mean": 0.0,
            "p50": 0.0,
            "p90": 0.0,
            "p95": 0.0,
            "p99": 0.0,
            "max": 0.0,
            "censored": 0
          },
          "jct_s": {
            "mean": 7.666667,
            "p50": 9.0,
            "p90": 10.0,
            "p95": 10.0,
            "p99": 10.0,
            "max": 10.0,
            "censored": 0
          },
          "bounded_slowdown": {
            "mean": 1.0,
            "p50": 1.0,
            "p90": 1.0,
            "p95": 1.0,
            "p99": 1.0,
            "max": 1.0,
            "censored": 0
          },
          "makespan_s": 10.0,
          "goodput_gpu_h": 0.018333,
          "queue_max": 0,
          "by_class": {
            "debug": {
              "jobs": 1,
              "wait_s": {
                "mean": 0.0,
                "p50": 0.0,
                "p90": 0.0,
                "p95": 0.0,
                "p99": 0.0,
                "max": 0.0,
                "censored": 0
              },
              "first_wait_s": {
                "mean": 0.0,
                "p50": 0.0,
                "p90": 0.0,
                "p95": 0.0,
                "p99": 0.0,
                "max": 0.0,
                "censored": 0
              },
              "preempted": 0,
              "completed": 1,
              "goodput_gpu_h": 0.004444
            },
            "training": {
              "jobs": 2,
              "wait_s": {
                "mean": 2.0,
                "p50": 0.0,
                "p90": 4.0,
                "p95": 4.0,
                "p99": 4.0,
                "max": 4.0,
                "censored": 0
              },
              "first_wait_s": {
                "mean": 0.0,
                "p50": 0.0,
                "p90": 0.0,
                "p95": 0.0,
                "p99": 0.0,
                "max": 0.0,
                "censored": 0
              },
              "preempted": 1,
              "completed": 2,
              "goodput_gpu_h": 0.013889
            }
          },
          "by_account": {
            "a/a1": {
              "share": 0.75,
              "owed_gpu_h": 0.012778,
              "delivered_gpu_h": 0.012778,
              "delivered_of_owed": 1.0,
              "unallocated_gpu_h": 0.0,
              "wait_s": {
                "mean": 0.0,
                "p50": 0.0,
                "p90": 0.0,
                "p95": 0.0,
                "p99": 0.0,
                "max": 0.0,
                "censored": 0
              },
              "autocorrelation": null,
              "completed": 2,
              "goodput_gpu_h": 0.012778
            },
            "b": {
              "share": 0.25,
              "owed_gpu_h": 0.005556,
              "delivered_gpu_h": 0.005556,
              "delivered_of_owed": 1.0,
              "unallocated_gpu_h": 0.0,
              "wait_s": {
                "mean": 4.0,
                "p50": 4.0,
                "p90": 4.0,
                "p95": 4.0,
                "p99": 4.0,
                "max": 4.0,
                "censored": 0
              },
              "autocorrelation": null,
              "completed": 1,
              "goodput_gpu_h": 0.005556
            }
          },
          "delivered_of_owed": 1.0,
          "preemption": {
            "events": 1,
            "jobs": 1,
            "per_1000_gpu_h": 54545.454545,
            "lost_gpu_h": 0.0,
            "per_job_max": 1,
            "per_job": {
              "p50": 1.0,
              "p90": 1.0,
              "p99": 1.0,
              "max": 1.0
            },
            "allocated": {
              "events": 1,
              "per_1000_gpu_h": 54545.454545,
              "lost_gpu_h": 0.0
            },
            "unallocated": {
              "events": 0,
              "per_1000_gpu_h": null,
              "lost_gpu_h": 0.0
            }
          },
          "availability": 1.0,
          "occupancy": 0.825,
          "unallocated_share": 0.0,
          "utilization": null,
          "impact": 0.939394,
          "fragmentation": {
            "ratio": 0.714286,
            "amount": 0.125,
            "stranded": 1.0,
            "classes": {
              "q1": 0.0,
              "q2": 0.714286,
              "q3": 0.285714,
              "q4": 0.0,
              "xl": 0.0,
              "xr": 0.0,
              "na": 0.0
            }
          },
          "engine": {
            "events": 8,
            "passes": 4,
            "decisions": 4,
            "node_visits": 9,
            "job_visits": 0,
            "refused": 0,
            "moves": 0,
            "pass_limits": 0,
            "gave_up": false
          },
          "outstanding": 1.025,
          "delivered_of_owed_by": {
            "day": 1.0,
            "hour": 1.0,
            "uncapped": 1.0
          },
          "failures": {
            "events": 0,
            "jobs": 0,
            "lost_gpu_h": 0.0,
            "gpu_failures": 0,
            "attempts": 4,
            "per_attempt": 0.0,
            "per_1000_gpu_h": 0.0,
            "down_gpu_h": 0.0,
            "downtime": 0.0,
            "jobs_failed": 0
          },
          "fidelity": null,
          "by_size": {
            "large": {
              "jobs": 3,
              "wait_s": {
                "mean": 1.333333,
                "p50": 0.0,
                "p90": 4.0,
                "p95": 4.0,
                "p99": 4.0,
                "max": 4.0,
                "censored": 0
              },
              "first_wait_s": {
                "mean": 0.0,
                "p50": 0.0,
                "p90": 0.0,
                "p95": 0.0,
                "p99": 0.0,
                "max": 0.0,
                "censored": 0
              },
              "preempted": 1,
              "completed": 0,
              "goodput_gpu_h": 0.0
            }
          },
          "interruptible_gpus": {
            "mean": 6.5,
            "p10": 1.0,
            "min": 1.0,
            "max": 8.0
          },
          "preemptible_gpus": {
            "mean": 8.0,
            "p10": 8.0,
            "min": 8.0,
            "max": 8.0
          },
          "drains": null,
          "sessions": null,
          "window_cliff": {
            "lag_d": 7,
            "autocorrelation": null
          },
          "outstanding_allocated": 1.025,
          "promises": null,
          "completion_rate": 1.0,
          "deadlines": null,
          "energy": null
        }
      ]
    }
    "#);
}

#[test]
fn seeds_give_intervals_and_censored_percentiles_a_sign() {
    let mut runs = Vec::new();
    for (seed, extra) in [(1, 0), (2, 3), (3, 9)] {
        for policy in ["fcfs", "cut"] {
            let mut story = Story::new(&[1]);
            let (a, b) = (story.job("A", 0, 1, 5 + extra), story.job("B", 1, 1, 1));
            story.at(0).submit(a).start(a, &[(0, 1)]).at(1).submit(b);
            if policy == "cut" {
                story.at(4 + extra).fact(Fact::Cut);
            } else {
                story.at(5 + extra).complete(a).start(b, &[(0, 1)]).at(6 + extra).complete(b);
            }
            runs.push(Run { seed, ..run(policy, &story) });
        }
    }
    runs.sort_by_key(|run| std::cmp::Reverse(run.policy.clone()));
    insta::assert_snapshot!(terminal(&Summary::new("seeds", "blake3:00", &runs)), @r"
    seeds

    2 jobs, offered load 6.00, outstanding 1.67 of capacity under fcfs. 3 seeds: mean ± half of the 95 %
    interval.

    ───────────────────────────────────────────────────────────────────────────────────────────────────────────────────────
     policy   completed      wait mean            p90            p99      JCT mean   preempted   occupancy   goodput GPU h
    ───────────────────────────────────────────────────────────────────────────────────────────────────────────────────────
     fcfs             2   4.00 ± 5.69s    8.0 ± 11.4s    8.0 ± 11.4s   9.0 ± 11.4s           0      100.0%   0.003 ± 0.003
     cut              0   3.50 ± 5.69s   ≥7.0 ± 11.4s   ≥7.0 ± 11.4s             -           0      100.0%               0
    ───────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

    ──────────────────────────────────────────────────────────────────────────────────────────────────
     cut against fcfs     fcfs      cut       difference          bootstrap                   verdict
    ──────────────────────────────────────────────────────────────────────────────────────────────────
     wait mean              4s    ≥3.5s           ≥-0.5s                  -   withheld: still waiting
     wait p90               8s      ≥7s             ≥-1s                  -   withheld: still waiting
     wait p99               8s      ≥7s             ≥-1s                  -   withheld: still waiting
     preempted               0        0                =                  -        no difference seen
     lost GPU h              0        0                =                  -        no difference seen
     occupancy          100.0%   100.0%                =                  -        no difference seen
     goodput GPU h       0.003        0   -0.003 ± 0.003   -0.004 to -0.002        intervals disagree
    ──────────────────────────────────────────────────────────────────────────────────────────────────

    Differences are taken seed by seed, ± half of their 95 % interval. Verdicts are corrected for 7
    comparisons (Holm) and leave out what is too small to matter (docs/comparing.md). Intervals
    disagree: one of Student's t and the bootstrap holds 0, the other does not. Still waiting: a job is
    at the rank, so the true difference may be another.

    Jobs still waiting at the end, whose waits are at least what is shown: cut 1.

    Jobs still running at the end: cut 1.
    ");
}

#[test]
fn a_load_at_which_nobody_waits_is_no_comparison() {
    let mut story = Story::new(&[4]);
    let a = story.job("A", 0, 1, 3600);
    story.at(0).submit(a).start(a, &[(0, 1)]).at(3600).complete(a);
    let text = terminal(&Summary::new("idle", "blake3:00", &[run("fcfs", &story), run("easy", &story)]));
    insta::assert_snapshot!(text, @r"
    idle

    1 job, offered load unknown, outstanding 0.25 of capacity under fcfs.

    Nobody waited under any policy at this load, so waits do not tell the policies apart. Raise the load
    (`--set workload.load=1.0`) or shrink the cluster to compare them.

    ────────────────────────────────────────────────────────────
     policy   completed   preempted   occupancy   goodput GPU h
    ────────────────────────────────────────────────────────────
     fcfs             1           0       25.0%             1.0
     easy             1           0       25.0%             1.0
    ────────────────────────────────────────────────────────────
    ");
}

#[test]
fn recorded_starts_give_a_fidelity_section() {
    let mut story = Story::new(&[1]);
    let (a, b) = (story.job("A", 0, 1, 100), story.job("B", 1, 1, 5));
    for (job, observed) in [(a, 0), (b, 51)] {
        let observed_start = Some(SimTime::from_secs(observed));
        story.extra(job, Extra { observed_start, ..Extra::default() });
    }
    story.at(0).submit(a).start(a, &[(0, 1)]).at(1).submit(b).at(100).complete(a).start(b, &[(0, 1)]);
    story.at(105).end(b, EndReason::Completed);
    let text = terminal(&Summary::new("recorded", "blake3:00", &[run("fcfs", &story)]));
    insta::assert_snapshot!(text, @r"
    recorded

    2 jobs, offered load 105.00, outstanding 1.94 of capacity under fcfs.

    ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────
     policy   completed   wait mean   p50     p90     p99     max   JCT mean   preempted   occupancy   goodput GPU h
    ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────
     fcfs             2         50s    0s   1m39s   1m39s   1m39s      1m42s           0      100.0%           0.029
    ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────

    Fidelity

    The trace holds the starts of 2 jobs that also started here: simulated against observed first waits.

    ────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────
     policy   jobs   simulated p50   observed p50   simulated p90   observed p90   error p50   error p90   rank correlation
    ────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────
     fcfs        2              0s             0s           1m39s            50s          0s         49s              1.000
    ────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────
    ");
}

#[test]
fn an_empty_summary_is_still_a_text() {
    let summary = Summary::new("none", "blake3:00", &[]);
    assert!(terminal(&summary).starts_with("none\n"));
    let story = Story::new(&[1]);
    let summary = Summary::new("none", "blake3:00", &[run("fcfs", &story)]);
    assert!(!summary.to_json().contains("NaN"));
    assert!(terminal(&summary).contains("fcfs"));
}

fn read(path: &Path) -> DataFrame {
    ParquetReader::new(fs::File::open(path).unwrap()).finish().unwrap()
}

#[test]
fn a_result_is_written_whole() {
    let dir = tempfile::tempdir().unwrap();
    let target = dir.path().join("reports/tiny");
    let (patient, urgent) = stories();
    let told = [("fcfs", patient.told()), ("priority", urgent.told())];
    let runs: Vec<_> = told.iter().map(|(policy, (case, outcome))| RunFiles { policy, case, outcome }).collect();
    let timing = Timing { runs: vec![RunTiming::new("fcfs", 7, 0.25, 8, &[1000])] };
    write(&target, &summary(), &timing, &runs).unwrap();
    let mut names: Vec<String> = Vec::new();
    for policy in ["fcfs", "priority"] {
        for entry in fs::read_dir(target.join(policy).join("7")).unwrap() {
            names.push(format!("{policy}/{}", entry.unwrap().file_name().to_string_lossy()));
        }
    }
    names.sort();
    let files = [
        "accounts.parquet",
        "attempts.parquet",
        "days.parquet",
        "evictions.parquet",
        "jobs.parquet",
        "ledger",
        "timeline.parquet",
    ];
    assert_eq!(names, ["fcfs", "priority"].map(|policy| files.map(|file| format!("{policy}/{file}"))).concat());
    assert_eq!(fs::read_to_string(target.join("summary.json")).unwrap(), summary().to_json());
    let ledger = crate::ledger::Ledger::load(&target.join("priority/7/ledger")).unwrap();
    assert_eq!(ledger.hash(), summary().runs[1].ledger_hash);

    for table in &TABLES {
        let frame = read(&target.join("priority/7").join(table.file));
        let names: Vec<&str> = table.columns.iter().map(|column| column.name).collect();
        assert_eq!(frame.get_column_names().iter().map(|name| name.as_str()).collect::<Vec<_>>(), names, "{}", table.file);
        for (column, found) in table.columns.iter().zip(frame.columns()) {
            let word = if column.data.word() == "string" { "str" } else { column.data.word() };
            assert_eq!(found.dtype().to_string(), word, "{} of {}", column.name, table.file);
        }
    }
    let jobs = read(&target.join("priority/7/jobs.parquet"));
    assert_eq!(jobs.column("wait_s").unwrap().f64().unwrap().to_vec(), [Some(0.0), Some(4.0), Some(0.0)]);
    assert_eq!(jobs.column("outcome").unwrap().str().unwrap().get(1), Some("completed"));
    let attempts = read(&target.join("priority/7/attempts.parquet"));
    assert_eq!(attempts.column("by").unwrap().u32().unwrap().to_vec(), [None, Some(2), None, None]);

    let days = read(&target.join("priority/7/days.parquet"));
    assert_eq!(days.column("account").unwrap().str().unwrap().iter().collect::<Vec<_>>(), [Some("a/a1"), Some("b")]);
    let of_share = days.column("delivered_of_share").unwrap().f64().unwrap().to_vec();
    // Of 80 GPU seconds a is due 60 and received 46, b is due and received 20.
    assert_eq!(of_share, [Some(46.0 / 60.0), Some(1.0)]);
    let evictions = read(&target.join("priority/7/evictions.parquet"));
    let text = |name: &str| evictions.column(name).unwrap().str().unwrap().get(0).map(String::from);
    let found = ["victim", "victim_account", "by", "by_account", "reason"].map(text);
    let expected = [Some("B"), Some("b"), Some("C"), Some("a/a1"), Some("for_job")].map(|it| it.map(String::from));
    assert_eq!(found, expected);
    let number = |name: &str| evictions.column(name).unwrap().f64().unwrap().get(0);
    assert_eq!(
        ["at_s", "held_s", "gpus", "lost_s", "by_ratio_after"].map(number),
        [Some(2.0), Some(2.0), Some(4.0), Some(0.0), None]
    );
    assert_eq!(evictions.column("level").unwrap().u32().unwrap().get(0), None, "priorities are not compared in the tree");
    assert_eq!((evictions.height(), evictions.column("victim_allocated").unwrap().bool().unwrap().get(0)), (1, Some(true)));

    // Again, with less: the older result goes, and equal runs give equal bytes.
    let before = fs::read(target.join("fcfs/7/jobs.parquet")).unwrap();
    write(&target, &summary(), &timing, &runs[..1]).unwrap();
    assert!(!target.join("priority").exists());
    assert_eq!(fs::read(target.join("fcfs/7/jobs.parquet")).unwrap(), before);
    assert_eq!(fs::read_dir(dir.path().join("reports")).unwrap().count(), 1, "nothing is left beside the result");
}

#[test]
fn what_is_not_a_result_is_not_replaced() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("thesis.tex"), "").unwrap();
    let error = Writer::create(dir.path()).unwrap_err();
    assert!(error.to_string().ends_with("holds something that is not a result of schedlab"), "{error}");
    let file = dir.path().join("thesis.tex");
    assert!(matches!(Writer::create(&file), Err(ReportError::Write { .. })));

    let target = dir.path().join("new");
    drop(Writer::create(&target).unwrap());
    assert!(!target.exists(), "a result that is not finished is not there");
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    fs::create_dir(&target).unwrap();
    Writer::create(&target).unwrap().finish(&summary(), &Timing::default(), &[]).unwrap();
    assert!(target.join("summary.json").is_file());
    // A result to which someone added a file of their own is no longer ours to delete; nor is another program's summary.
    drop(Writer::create(&target).unwrap());
    fs::create_dir_all(target.join("fcfs/1")).unwrap();
    fs::write(target.join("fcfs/1/notes.txt"), "").unwrap();
    assert!(matches!(Writer::create(&target), Err(ReportError::NotOurs { .. })));
    let other = dir.path().join("other");
    fs::create_dir(&other).unwrap();
    fs::write(other.join("summary.json"), "{\"mine\": 1}").unwrap();
    assert!(matches!(Writer::create(&other), Err(ReportError::NotOurs { .. })));
}

#[test]
fn the_documentation_names_every_figure() {
    let docs = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/metrics.md")).unwrap();
    let mut summary = summary();
    let run = &mut summary.runs[1];
    (run.drains, run.sessions) = (Some(DrainsSummary::default()), Some(SessionsSummary::default()));
    run.promises = Some(PromisesSummary::default());
    let text = serde_json::to_value(&run).unwrap();
    let named = |key: &str| docs.contains(&format!("`{key}`")) || docs.contains(&format!("`{key}."));
    for (key, value) in text.as_object().unwrap() {
        assert!(["policy", "seed"].contains(&key.as_str()) || named(key), "docs/metrics.md does not name `{key}`");
        let own = ["drains", "sessions", "window_cliff", "preemption", "promises"].contains(&key.as_str());
        for inner in value.as_object().filter(|_| own).into_iter().flat_map(|it| it.keys()) {
            let plain =
                ["events", "jobs", "per_job_max", "per_1000_gpu_h", "interruptions", "autocorrelation"].contains(&inner.as_str());
            assert!(plain || named(inner), "docs/metrics.md does not name `{key}.{inner}`");
        }
    }
}

#[test]
fn drains_sessions_sizes_and_swings_have_their_sections() {
    const H: u64 = 3600;
    let mut story = Story::new(&[32, 32]);
    story.account("x", 1.0);
    story.account("y", 1.0);
    let (a, b, c) = (story.job("A", 0, 16, 60 * H), story.job("B", 0, 2, 60 * H), story.job("C", 0, 12, 30 * H));
    for (job, account, class) in [(a, "x", "training"), (b, "y", "interactive"), (c, "y", "training")] {
        story.class(job, class);
        story.charge(job, account, 1800);
    }
    story.lookback = SimSpan::DAY;
    let (lower, upper) = ((0, 0xff), (0, 0xff00));
    story
        .at(0)
        .submit(a)
        .submit(b)
        .submit(c)
        .start(a, &[lower, upper])
        .start(b, &[(1, 0b11)])
        .start(c, &[(1, 0xff00), (1, 0xf0)]);
    story.at(2 * H).fact(Fact::NodeChanged { node: NodeId(1), state: NodeState::Draining });
    story.at(3 * H).fact(Fact::Preempted { job: b, by: None, reason: PreemptReason::Drain, lost: SimSpan::HOUR });
    story.queue(b, QueueReason::Requeued).at(4 * H).start_after(b, &[(0, 0b11 << 16)], 600);
    story.at(30 * H).fact(Fact::NodeChanged { node: NodeId(1), state: NodeState::Down }).complete(c);
    story.at(60 * H).complete(a).at(80 * H).fact(Fact::Cut);
    insta::assert_snapshot!(terminal(&Summary::new("budgets", "blake3:00", &[run("budget", &story)])), @r"
    budgets

    3 jobs, offered load unknown, outstanding 0.29 of capacity under budget.

    ──────────────────────────────────────────────────────────────────────────────────────────────────────────────
     policy   completed   wait mean   p50    p90    p99    max   JCT mean   preempted   occupancy   goodput GPU h
    ──────────────────────────────────────────────────────────────────────────────────────────────────────────────
     budget           2         20m    0s   1.0h   1.0h   1.0h      45.0h           1       42.0%           1,320
    ──────────────────────────────────────────────────────────────────────────────────────────────────────────────

    By class

    ───────────────────────────────────────────────────────────────────────────────────────────────────
     class         policy   jobs   wait mean    p50    p90    p99    max   first wait mean   preempted
    ───────────────────────────────────────────────────────────────────────────────────────────────────
     interactive   budget      1        1.0h   1.0h   1.0h   1.0h   1.0h                0s           1
     training      budget      2          0s     0s     0s     0s     0s                0s           0
    ───────────────────────────────────────────────────────────────────────────────────────────────────

    By size

    Large is at least a quarter of the cluster, small at most 8 GPUs.

    ──────────────────────────────────────────────────────────────────────────────────────────────
     size     policy   jobs   wait mean    p50    p90    p99    max   first wait mean   preempted
    ──────────────────────────────────────────────────────────────────────────────────────────────
     small    budget      1        1.0h   1.0h   1.0h   1.0h   1.0h                0s           1
     medium   budget      1          0s     0s     0s     0s     0s                0s           0
     large    budget      1          0s     0s     0s     0s     0s                0s           0
    ──────────────────────────────────────────────────────────────────────────────────────────────

    Budgets

    Swing is the autocorrelation, at one lookback (1 day), of what accounts receive by day.

    ───────────────────────────────────────────────────────────────────────────────────────────────────────
     policy   of owed   worst account   by day   by hour   swing   impact   interruptible GPUs p10   least
    ───────────────────────────────────────────────────────────────────────────────────────────────────────
     budget     99.9%           99.6%    99.9%     99.9%   -0.37   100.0%                       32      32
    ───────────────────────────────────────────────────────────────────────────────────────────────────────

    Preemption

    ─────────────────────────────────────────────────────────────────────────────────────────
     policy   allocated   per 1000 GPU h   lost GPU h   jobs   per job p50   p90   p99   max
    ─────────────────────────────────────────────────────────────────────────────────────────
     budget           1              0.7          2.0      1             1     1     1     1
    ─────────────────────────────────────────────────────────────────────────────────────────

    Drains

    ───────────────────────────────────────────────────────────────────────────────────────────────────────────────
     policy   drains   to empty mean     p50     p90     max   human repairs   lost GPU h   kept from repair GPU h
    ───────────────────────────────────────────────────────────────────────────────────────────────────────────────
     budget        1           28.0h   28.0h   28.0h   28.0h               1          2.0                    896.0
    ───────────────────────────────────────────────────────────────────────────────────────────────────────────────

    Interactive sessions

    ───────────────────────────────────────────────────────────────────────────────────────────────────
     policy   sessions   interrupted   interruptions   first after p50   rebuilding GPU h   lost GPU h
    ───────────────────────────────────────────────────────────────────────────────────────────────────
     budget          1             1               1              3.0h              0.333          2.0
    ───────────────────────────────────────────────────────────────────────────────────────────────────

    Jobs still running at the end: budget 1.
    ");
}

/// `SCHEDLAB_UPDATE=1` writes the text anew.
#[test]
fn the_documentation_lists_every_column() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/outputs.md");
    if std::env::var_os("SCHEDLAB_UPDATE").is_some() {
        fs::write(&path, outputs_md()).unwrap();
    }
    let found = fs::read_to_string(&path).unwrap();
    assert!(found == outputs_md(), "docs/outputs.md is not what src/report/columns.rs says; SCHEDLAB_UPDATE=1 writes it anew");
}
