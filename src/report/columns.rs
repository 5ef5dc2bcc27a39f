//! The columns of every Parquet file, with units and meaning: the writer, the tests and `docs/outputs.md` read this list.

use super::compared::KEYS;
use super::export::EXPORTS;
use super::fidelity;
use super::figures::{Unit, figures};
use crate::compare::Direction;

/// The type of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DataType {
    /// Text.
    Text,
    /// A whole number of 32 bits, not negative.
    U32,
    /// A whole number of 64 bits, not negative.
    U64,
    /// A number.
    F64,
    /// Yes or no.
    Bool,
}

impl DataType {
    /// Its word in the documentation.
    pub const fn word(self) -> &'static str {
        match self {
            DataType::Text => "string",
            DataType::U32 => "u32",
            DataType::U64 => "u64",
            DataType::F64 => "f64",
            DataType::Bool => "bool",
        }
    }
}

/// One column.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    /// Its name.
    pub name: &'static str,
    /// Its type.
    pub data: DataType,
    /// Unit of a number, or "".
    pub unit: &'static str,
    /// What it means.
    pub about: &'static str,
}

/// One file.
#[derive(Clone, Copy, Debug)]
pub struct TableDoc {
    /// Its name.
    pub file: &'static str,
    /// What a row is.
    pub about: &'static str,
    /// Its columns, in order.
    pub columns: &'static [Column],
}

const fn column(name: &'static str, data: DataType, unit: &'static str, about: &'static str) -> Column {
    Column { name, data, unit, about }
}

use DataType::{Bool, F64, Text, U32, U64};

/// The tables of a run.
pub const TABLES: [TableDoc; 6] = [
    TableDoc {
        file: "jobs.parquet",
        about: "A row a submitted job, in order of submission.",
        columns: &[
            column("job", U32, "", "Row of the job: the key of the other tables."),
            column("name", Text, "", "Its name in the trace or scenario."),
            column("account", Text, "", "Path of the account it charges."),
            column("user", Text, "", "Who submitted it."),
            column("class", Text, "", "Its class label."),
            column("gpus", F64, "GPUs", "What its gang asks for at base size."),
            column("tasks", U32, "", "Tasks of its gang at base size."),
            column("submit_s", F64, "s", "When it was submitted, from the origin of the run."),
            column("first_start_s", F64, "s", "When it first started; null if it did not."),
            column("end_s", F64, "s", "When it was over; null if it is not."),
            column(
                "outcome",
                Text,
                "",
                "completed, running, queued, rejected, failed, cancelled, timed_out or abandoned (counted as failed).",
            ),
            column("measured", Bool, "", "Submitted in the measured window."),
            column("allocated", Bool, "", "Charged to its account."),
            column("wait_s", F64, "s", "All stays in the queue, up to the end of the run."),
            column("run_s", F64, "s", "All attempts, summed."),
            column("work_s", F64, "s", "Undisturbed run time."),
            column("held_gpu_s", F64, "GPU s", "GPU time it held."),
            column("attempts", U32, "", "Times it started."),
            column("preemptions", U32, "", "Times the scheduler stopped it."),
            column("failures", U32, "", "Times it was lost with a node or GPU."),
            column("lost_s", F64, "s", "Work that was done and lost."),
        ],
    },
    TableDoc {
        file: "attempts.parquet",
        about: "A row per attempt and segment of constant workers, by start.",
        columns: &[
            column("job", U32, "", "Row of the job."),
            column("attempt", U32, "", "Number of the attempt, from 1."),
            column("segment", U32, "", "Number of the segment within the attempt, from 1."),
            column("from_s", F64, "s", "When it begins."),
            column("to_s", F64, "s", "When it ends, or the end of the run."),
            column("gpus", F64, "GPUs", "GPUs held."),
            column("tasks", U32, "", "Tasks running."),
            column("nodes", U32, "", "Nodes they are on."),
            column("allocated", Bool, "", "Charged to its account."),
            column("overhead_s", F64, "s", "Start-up and restart cost, or the pause of scaling, at its begin."),
            column(
                "end",
                Text,
                "",
                "running, scaled, migrated, preempted, broken, completed, timed_out, cancelled, failed or abandoned.",
            ),
            column("by", U32, "", "Row of the job it left for; null if it left for none."),
            column("lost_s", F64, "s", "Work thrown away at its end."),
        ],
    },
    TableDoc {
        file: "accounts.parquet",
        about: "A row per hour and account, in the measured span. Hours in which an account neither wants nor holds anything have no \
                row; a run of more than four million such rows has buckets of several hours.",
        columns: &[
            column("account", Text, "", "Path of the account."),
            column("from_s", F64, "s", "When the hour begins."),
            column("length_s", F64, "s", "How long it is: less at the ends of the span."),
            column("owed_gpu_s", F64, "GPU s", "min(share x available capacity, demand)."),
            column("demand_gpu_s", F64, "GPU s", "Running and pending GPUs of allocated requests."),
            column("delivered_gpu_s", F64, "GPU s", "Charged GPU time."),
            column("unallocated_gpu_s", F64, "GPU s", "GPU time held by unallocated work."),
        ],
    },
    TableDoc {
        file: "timeline.parquet",
        about: "A row per change of the cluster or the queue, valid until the next, in the measured span; the last is its end.",
        columns: &[
            column("at_s", F64, "s", "From when it holds."),
            column("healthy_gpus", F64, "GPUs", "Healthy GPUs."),
            column("held_gpus", F64, "GPUs", "Held by running work."),
            column("charged_gpus", F64, "GPUs", "Held and charged to an account."),
            column("free_gpus", F64, "GPUs", "Healthy and not held."),
            column("fragment_gpus", F64, "GPUs", "Free GPUs that the task mix cannot use as they lie; null without GPU tasks."),
            column("queue_jobs", U64, "", "Jobs in the queue."),
            column("queue_gpus", F64, "GPUs", "GPUs they want."),
        ],
    },
    TableDoc {
        file: "days.parquet",
        about: "A row per day and account, in the measured span; days count from its begin. A share that is due whatever the account asks \
                for shows bursts and droughts: `window_cliff` of the summary says whether they come back a lookback later.",
        columns: &[
            column("account", Text, "", "Path of the account."),
            column("from_s", F64, "s", "When the day begins."),
            column("length_s", F64, "s", "How long it is: less at the end of the span."),
            column("due_gpu_s", F64, "GPU s", "Share x available capacity."),
            column("delivered_gpu_s", F64, "GPU s", "Charged GPU time."),
            column("delivered_of_share", F64, "", "Delivered by due; null if nothing is due."),
        ],
    },
    TableDoc {
        file: "evictions.parquet",
        about: "A row per attempt that the scheduler stopped, by time. Ratios are (usage + commitment) / (share x capacity of the \
                lookback): above 1 is over-served. They and the level are null where victim and newcomer were not compared.",
        columns: &[
            column("at_s", F64, "s", "When the victim had left."),
            column("job", U32, "", "Row of the victim."),
            column("victim", Text, "", "Its name."),
            column("victim_account", Text, "", "Path of its account."),
            column("by_job", U32, "", "Row of the job it left for; null if it left for none."),
            column("by", Text, "", "Name of that job."),
            column("by_account", Text, "", "Path of its account."),
            column("reason", Text, "", "for_job, drain, reclaim, window or rebalance."),
            column("victim_allocated", Bool, "", "The attempt was charged to its account."),
            column("held_s", F64, "s", "How long the attempt ran."),
            column("gpus", F64, "GPUs", "What it held."),
            column("lost_s", F64, "s", "Work thrown away."),
            column(
                "level",
                U32,
                "",
                "Level of the account tree at which the two were compared, the children of the root being 1; 0: not compared, since the victim is unallocated or of the same account; null: the policy did not say.",
            ),
            column("victim_ratio_before", F64, "", "Ratio of the victim's side before the eviction."),
            column("by_ratio_before", F64, "", "Ratio of the newcomer's side before."),
            column("victim_ratio_after", F64, "", "Ratio of the victim's side after."),
            column("by_ratio_after", F64, "", "Ratio of the newcomer's side after, its commitment counted in."),
        ],
    },
];

/// The text of `docs/outputs.md`: what a result directory holds.
pub fn outputs_md() -> String {
    let mut text = String::from(INTRODUCTION);
    text += &comparison_md();
    text += FIDELITY;
    for (key, about) in fidelity::KEYS {
        text += &format!("| `{key}` | {about} |\n");
    }
    text += EXPORTED;
    for export in EXPORTS {
        text += &format!("| `{}` | `{}` | {} |\n", export.name, export.place(), export.about);
    }
    text += EXPORTED_HOW;
    for table in &TABLES {
        text += &format!(
            "\n## POLICY/SEED/{}\n\n{}\n\n| column | type | unit | meaning |\n|---|---|---|---|\n",
            table.file, table.about
        );
        for column in table.columns {
            text += &format!("| `{}` | {} | {} | {} |\n", column.name, column.data.word(), column.unit, column.about);
        }
    }
    text
}

/// The key `comparison` of the summary, and the figures that can be compared.
fn comparison_md() -> String {
    let mut text = String::from(COMPARISON);
    for (key, about) in KEYS {
        text += &format!("| `{key}` | {about} |\n");
    }
    text += FIGURES;
    for info in figures() {
        let way = match info.direction {
            Direction::LowerIsBetter => "less",
            Direction::HigherIsBetter => "more",
        };
        let unit = match info.unit {
            Unit::Seconds => "s",
            Unit::GpuHours => "GPU h",
            Unit::Count | Unit::Percent | Unit::Hundredths | Unit::Ratio => "",
        };
        let floor = match (info.floor.absolute, info.floor.relative) {
            (absolute, 0.0) => format!("{absolute}"),
            (0.0, relative) => format!("{} %", 100.0 * relative),
            (absolute, relative) => format!("{} %, at least {absolute} {unit}", 100.0 * relative),
        };
        text += &format!("| `{}` | {unit} | {way} | {floor} | {} |\n", info.key, info.about);
    }
    text
}

const COMPARISON: &str = "
## comparison of summary.json

A list: every other policy against the first, figure by figure; absent of one policy. [comparing.md](comparing.md) says what the numbers
mean.

| key | meaning |
|---|---|
";

const EXPORTED: &str = "
## Exports

`schedlab run --export NAME,…` writes each run in formats of other tools as well, in the same result, whole or not at all; equal runs give
equal bytes.

| name | file | what it is |
|---|---|---|
";

const EXPORTED_HOW: &str = "
- `batsim`: resources are GPUs, numbered over the cluster in the order of its nodes; one of which a job holds a part counts whole.
  A row is a stretch with constant workers: what follows a preemption, a failure, a change of workers or a migration is `ID#1`, `ID#2`, …,
  submitted when the stretch before ended. `workload_name` is the policy, `profile` the class. What never started or holds no GPU has
  no row. `final_state` is Batsim's, or `RUNNING` where the run ended first; `requested_time` is the time limit, -1 without one;
  `consumed_energy` is always -1.
- `chrome`: times are microseconds from the origin of the run. A gang on several nodes has an event on each. `otherData.left_out` counts the
  events that were thinned out.
- `prometheus`: the figures that can be compared (above): `schedlab_` and the key, `.` as `_`; what `*` stands for is the label `name`.
  What has no value is absent.
";

const FIDELITY: &str = "
## fidelity of summary.json

A list: policies by how well they explain the observed waits, the best first; absent where the work holds no observed starts. `schedlab run
--fidelity` shows it as a table.

| key | meaning |
|---|---|
";

const FIGURES: &str = "
### Figures that can be compared

Keys are those of a run in `summary.json`; `*` stands for each name there is. Which way is good and the smallest difference worth a
verdict are our choice.

| key | unit | good | smallest difference | meaning |
|---|---|---|---|---|
";

const INTRODUCTION: &str = "# What a run writes

<!-- Made from src/report/columns.rs; a test compares. -->

`reports/SCENARIO/` holds, written whole or not at all:

- `summary.json`: the figures of all runs. Keys are added, never renamed. Numbers have at most six decimals; what has no value is
  null. Percentiles are nearest-rank. A job still waiting counts with its wait so far: `censored` says how many, and `at_least`
  names the percentiles whose rank is such a job.
- `summary.md`: the same as tables, for people.
- `report.html`: the same with pictures and what was found, one page that loads nothing else: see [report.md](report.md).
- `timing.json`: wall times, events per second, decision times: all that may differ between equal runs.
- `run.json`: scenario, settings and policies as they were said, from which `schedlab explain` makes a run again.
- `POLICY/SEED/ledger`: every fact of the run, packed, compressed and hashed.
- `POLICY/SEED/*.parquet`: the tables below (Zstandard). Times are seconds from the origin of the run.
";
