//! What may stand on the command line.

use super::batch::BatchArgs;
use crate::report::{EXPORTS, Export};
use clap::{Args as ClapArgs, Parser, Subcommand, ValueEnum};
use std::path::PathBuf;

/// Backtests a GPU cluster's scheduling policy.
#[derive(Debug, Parser)]
#[command(name = "schedlab", version, about, max_term_width = 110, propagate_version = true)]
#[command(after_help = "Exit codes: 0 fine; 1 a check failed; 2 the input or the command line is wrong; 3 a bug.")]
pub struct Args {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The subcommands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run a scenario under one or more policies, and report who waited, who was preempted and what was left idle
    Run(RunArgs),
    /// Run a scenario over every combination of values of its knobs, and say which is best and what matters
    Sweep(Box<SweepArgs>),
    /// Compare a scenario with a baseline, limit by limit, and fail if a change of policy made a figure worse
    Check(CheckArgs),
    /// Say why a job of a run waited, cause by cause, and what happened to it
    Explain(ExplainArgs),
    /// Write the page of a result anew, or one page of several results side by side
    Report(ReportArgs),
    /// Look for better values of a policy's knobs by a genetic algorithm, under a guardrail
    Evolve(EvolveArgs),
    /// Learn from runs of a scenario whether somebody is about to be refused, and say how well that is foreseen
    Predict(PredictArgs),
    /// Look at a trace, convert it, or make one
    Trace(TraceArgs),
    /// Make a scenario of a real cluster, from what it says of itself
    Import(ImportArgs),
    /// List what is there to choose from, with knobs and defaults
    List(ListArgs),
    /// Print the JSON Schema of a kind of file, for editors that complete and check it
    Schema(SchemaArgs),
    /// Print a completion script for a shell
    Completions(CompletionsArgs),
}

/// Arguments of `explain`.
#[derive(Debug, ClapArgs)]
pub struct ExplainArgs {
    /// What `schedlab run` wrote: the directory, or that of one policy or seed in it
    pub run_dir: PathBuf,
    /// The job, by its name in the workload
    #[arg(required_unless_present_any = ["account", "idle"], conflicts_with_all = ["account", "idle"])]
    pub job: Option<String>,
    /// Instead of a job: what all jobs of this account, or below it, waited for, and what it received of what it was owed
    #[arg(long, value_name = "NAME", conflicts_with = "idle")]
    pub account: Option<String>,
    /// Instead of a job: why GPUs were free
    #[arg(long)]
    pub idle: bool,
    /// Under which policy [default: the first, or the one whose directory is named]
    #[arg(long, value_name = "NAME")]
    pub policy: Option<String>,
    /// With which seed [default: the first, or the one whose directory is named]
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Print all of it as JSON, and nothing else
    #[arg(long)]
    pub json: bool,
    /// No progress
    #[arg(long, short)]
    pub quiet: bool,
}

/// Arguments of `report`.
#[derive(Debug, ClapArgs)]
pub struct ReportArgs {
    /// What `schedlab run` wrote: one or several directories
    #[arg(required = true)]
    pub run_dirs: Vec<PathBuf>,
    /// Where the page goes [default: report.html in the directory; of several compare.html]
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// No progress and no notes
    #[arg(long, short)]
    pub quiet: bool,
    /// Runs at a time [default: the number of cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,
}

/// Arguments of `run`.
#[derive(Debug, ClapArgs)]
pub struct RunArgs {
    /// The scenario file
    pub scenario: PathBuf,
    /// A policy, by name or file, instead of the scenario's own; may be repeated
    #[arg(long = "policy", value_name = "NAME|FILE")]
    pub policies: Vec<String>,
    /// A key of the scenario or of the policies, dotted, and its value, such as `workload.load=0.9`; may be repeated
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub settings: Vec<String>,
    /// How many seeds, counted up from the scenario's own; results are then means with 95% intervals
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=100_000))]
    pub seeds: Option<u64>,
    /// Where the results go [default: reports/SCENARIO]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Print the summary as JSON, and nothing else
    #[arg(long)]
    pub json: bool,
    /// Rebuild each run from its facts alone, and check that they hold together
    #[arg(long)]
    pub audit: bool,
    /// Rank the policies by how well they explain the waits that a trace recorded
    #[arg(long)]
    pub fidelity: bool,
    /// Write each run in the formats of other tools too; `schedlab list exports` says which
    #[arg(long, value_name = "NAME,…", value_delimiter = ',', value_parser = export)]
    pub export: Vec<&'static Export>,
    /// Draw waits by policy and the queue over time, of the first seed, below the tables
    #[arg(long, conflicts_with = "json")]
    pub plot: bool,
    /// No progress and no notes
    #[arg(long, short)]
    pub quiet: bool,
    /// Runs at a time [default: the number of cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,
}

/// Arguments of `sweep`.
#[derive(Debug, ClapArgs)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub struct SweepArgs {
    /// What else to do.
    #[command(subcommand)]
    pub command: Option<SweepCommand>,
    /// The scenario file
    #[arg(required = true)]
    pub scenario: Option<PathBuf>,
    /// A key of the scenario or of the policies and its values, such as `order.lookback=1d,7d,28d`; may be repeated: every combination is run.
    /// With --sample also a range, such as `workload.load=0.5..1.5`
    #[arg(long = "over", value_name = "KEY=V1,V2,…")]
    pub over: Vec<String>,
    /// A policy, by name or file, instead of the scenario's own; may be repeated
    #[arg(long = "policy", value_name = "NAME|FILE")]
    pub policies: Vec<String>,
    /// A key that every cell has, and its value; may be repeated
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub settings: Vec<String>,
    /// How many seeds, counted up from the scenario's own
    #[arg(long, value_name = "N")]
    pub seeds: Option<u64>,
    /// Instead of every combination, so many points of a Latin hypercube
    #[arg(long, value_name = "N")]
    pub sample: Option<u64>,
    /// A file that says the same as these options, which go before it
    #[arg(long, value_name = "FILE")]
    pub file: Option<PathBuf>,
    /// Figures of the tables and answers, keys of summary.json
    /// [default: by_class.debug.wait_s.p90 or wait_s.p90, delivered_of_owed, preemption.lost_gpu_h]
    #[arg(long, value_name = "KEY,…", value_delimiter = ',')]
    pub metrics: Vec<String>,
    /// Larger grids are refused
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    pub max_runs: u64,
    /// Go on with a sweep that was begun: keep what fits, run what is missing
    #[arg(long)]
    pub resume: bool,
    /// Run each N-th run from the I-th on alone, and write parts only; `sweep merge` joins them
    #[arg(long, value_name = "I/N", value_parser = shard)]
    pub shard: Option<(usize, usize)>,
    /// Do not run the best again on fresh seeds
    #[arg(long)]
    pub no_confirm: bool,
    /// Where the results go [default: reports/sweeps/SCENARIO]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Runs at a time [default: the number of cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,
    /// No progress and no notes
    #[arg(long, short)]
    pub quiet: bool,
    /// Print sweep.json, and nothing else
    #[arg(long)]
    pub json: bool,
    /// Options for runs on many machines.
    #[command(flatten)]
    pub batch: BatchArgs,
}

/// What else to do with a sweep.
#[derive(Debug, Subcommand)]
pub enum SweepCommand {
    /// Join the parts of all shards into the result
    Merge(MergeArgs),
}

/// Arguments of `sweep merge`.
#[derive(Debug, ClapArgs)]
pub struct MergeArgs {
    /// The folder of the sweep
    pub dir: PathBuf,
    /// Runs at a time, if the best is run again [default: the number of cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,
    /// No progress and no notes
    #[arg(long, short)]
    pub quiet: bool,
    /// Print sweep.json, and nothing else
    #[arg(long)]
    pub json: bool,
}

/// An export by name.
fn export(text: &str) -> Result<&'static Export, String> {
    let names = || EXPORTS.iter().map(|it| it.name);
    let found = EXPORTS.iter().copied().find(|it| it.name == text);
    found.ok_or_else(|| format!("there is no such export; there are {}", names().collect::<Vec<&str>>().join(", ")))
}

/// Reads `I/N`.
fn shard(text: &str) -> Result<(usize, usize), String> {
    let wrong = || format!("expected I/N, such as 1/4: a shard from 1 to N of at most {SHARDS_MAX}");
    let (own, all) = text.split_once('/').ok_or_else(wrong)?;
    let (own, all) = (own.parse().map_err(|_| wrong())?, all.parse().map_err(|_| wrong())?);
    if 1 <= own && own <= all && all <= SHARDS_MAX { Ok((own, all)) } else { Err(wrong()) }
}

/// Most shards.
const SHARDS_MAX: usize = 100_000;

/// Arguments of `check`.
#[derive(Debug, ClapArgs)]
pub struct CheckArgs {
    /// The scenario file; its `[gate]` has the limits
    pub scenario: PathBuf,
    /// The baseline to compare with
    #[arg(long, value_name = "FILE")]
    pub baseline: PathBuf,
    /// Write the baseline instead of comparing with it
    #[arg(long, conflicts_with_all = ["junit", "sarif", "annotations"])]
    pub update: bool,
    /// A policy, by name or file, instead of the scenario's own; may be repeated
    #[arg(long = "policy", value_name = "NAME|FILE")]
    pub policies: Vec<String>,
    /// A key of the scenario or of the policies, dotted, and its value; may be repeated
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub settings: Vec<String>,
    /// Runs so many seeds, counted up from the scenario's own [default: its `run.seeds`]; a baseline of other seeds is refused
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=100_000))]
    pub seeds: Option<u64>,
    /// Write a test case for each limit as JUnit XML
    #[arg(long, value_name = "FILE")]
    pub junit: Option<PathBuf>,
    /// Write a result for each limit that does not hold as SARIF 2.1.0
    #[arg(long, value_name = "FILE")]
    pub sarif: Option<PathBuf>,
    /// Print a line for each limit that does not hold, by which a log marks a change
    #[arg(long, value_name = "FOR")]
    pub annotations: Option<Annotations>,
    /// No progress and no notes
    #[arg(long, short)]
    pub quiet: bool,
    /// Runs at a time [default: the number of cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,
}

/// Whose annotations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Annotations {
    /// GitHub Actions
    Github,
}

/// Arguments of `evolve`.
#[derive(Debug, ClapArgs)]
pub struct EvolveArgs {
    /// The scenario file; its `[evolve]` says what evolves, for what cost
    pub scenario: PathBuf,
    /// The policy file to write; its checkpoint is FILE.evolve
    #[arg(long, value_name = "FILE", required_unless_present = "dry_run")]
    pub out: Option<PathBuf>,
    /// Go on with an evolution that was begun
    #[arg(long)]
    pub resume: bool,
    /// Replace what is there
    #[arg(long)]
    pub force: bool,
    /// A key of the scenario or of the policies, dotted, and its value, such as `evolve.generations=10`; may be repeated
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub settings: Vec<String>,
    /// Draw cost and bound over generations as SVG
    #[arg(long, value_name = "FILE")]
    pub plot: Option<PathBuf>,
    /// Check everything, say how large it is and how long it may take, and run nothing else
    #[arg(long)]
    pub dry_run: bool,
    /// No progress and no notes
    #[arg(long, short)]
    pub quiet: bool,
    /// Runs at a time [default: the number of cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,
}

/// Arguments of `predict`.
#[derive(Debug, ClapArgs)]
pub struct PredictArgs {
    /// The scenario file
    pub scenario: PathBuf,
    /// The policy that runs, by name or file [default: the scenario's first]
    #[arg(long, value_name = "NAME|FILE")]
    pub policy: Option<String>,
    /// A key of the scenario or of the policy, dotted, and its value, such as `workload.load=0.85`; may be repeated
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub settings: Vec<String>,
    /// How many seeds, counted up from the scenario's own; the first 70% of each is learned from, the last 30% judged by
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=100_000))]
    pub seeds: Option<u64>,
    /// The model to write, which knob `predictor` of `gfgd` and `gfgd-x` takes
    #[arg(long, value_name = "FILE")]
    pub out: PathBuf,
    /// Print the figures as JSON, and nothing else
    #[arg(long)]
    pub json: bool,
    /// No progress and no notes
    #[arg(long, short)]
    pub quiet: bool,
    /// Runs at a time [default: the number of cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,
}

/// Arguments of `trace`.
#[derive(Debug, ClapArgs)]
pub struct TraceArgs {
    /// What to do with it.
    #[command(subcommand)]
    pub command: TraceCommand,
}

/// What to do with a trace.
#[derive(Debug, Subcommand)]
pub enum TraceCommand {
    /// What a trace holds: rows kept, altered and dropped, and the load it offers
    Info {
        /// The trace
        file: PathBuf,
        /// Its format [default: told by its content]
        #[arg(long, value_name = "FORMAT")]
        format: Option<String>,
        /// A knob of the format and its value, such as `zone=Europe/Berlin`; may be repeated
        #[arg(long = "set", value_name = "KNOB=VALUE", requires = "format")]
        settings: Vec<String>,
        /// A list of nodes, to set the load against
        #[arg(long, value_name = "FILE")]
        nodes: Option<PathBuf>,
        /// Wider jobs become gangs of tasks of at most so many GPUs
        #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u8).range(1..=64))]
        max_gpus_per_task: u8,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Rewrite a trace in the native format
    Convert {
        /// The trace
        input: PathBuf,
        /// Where the native trace goes
        output: PathBuf,
        /// Its format [default: told by its content]
        #[arg(long, value_name = "FORMAT")]
        format: Option<String>,
        /// A knob of the format and its value, such as `zone=Europe/Berlin`; may be repeated
        #[arg(long = "set", value_name = "KNOB=VALUE", requires = "format")]
        settings: Vec<String>,
        /// Wider jobs become gangs of tasks of at most so many GPUs
        #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u8).range(1..=64))]
        max_gpus_per_task: u8,
    },
    /// Replace the names of users, accounts and jobs by pseudonyms that only who has the key can tell
    Scrub {
        /// The trace
        input: PathBuf,
        /// Where the native trace goes
        output: PathBuf,
        /// The key: the same gives the same pseudonyms
        #[arg(long, value_name = "TEXT", required_unless_present = "key_file", conflicts_with = "key_file")]
        key: Option<String>,
        /// A file with the key
        #[arg(long, value_name = "FILE")]
        key_file: Option<PathBuf>,
        /// Its format [default: told by its content]
        #[arg(long, value_name = "FORMAT")]
        format: Option<String>,
        /// A knob of the format and its value; may be repeated
        #[arg(long = "set", value_name = "KEY=VALUE", requires = "format")]
        settings: Vec<String>,
        /// Wider jobs become gangs of tasks of at most so many GPUs
        #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u8).range(1..=64))]
        max_gpus_per_task: u8,
    },
    /// Say all that is wrong with a trace, or was altered or left out by which rule
    Validate {
        /// The trace
        file: PathBuf,
        /// Its format [default: told by its content]
        #[arg(long, value_name = "FORMAT")]
        format: Option<String>,
        /// A knob of the format and its value; may be repeated
        #[arg(long = "set", value_name = "KEY=VALUE", requires = "format")]
        settings: Vec<String>,
        /// Wider jobs become gangs of tasks of at most so many GPUs
        #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u8).range(1..=64))]
        max_gpus_per_task: u8,
        /// Fail, with exit code 1, if any row was altered or left out
        #[arg(long)]
        strict: bool,
        /// Write what the rules make of it, in the native format
        #[arg(long, value_name = "FILE")]
        fix: Option<PathBuf>,
    },
    /// Write the work of a scenario, generated and shaped, as a native trace
    Synth {
        /// The scenario file
        scenario: PathBuf,
        /// Where the native trace goes
        output: PathBuf,
        /// The seed [default: the scenario's own]
        #[arg(long, value_name = "N")]
        seed: Option<u64>,
        /// A key of the scenario, dotted, and its value; may be repeated
        #[arg(long = "set", value_name = "KEY=VALUE")]
        settings: Vec<String>,
    },
}

/// Arguments of `import`.
#[derive(Debug, ClapArgs)]
pub struct ImportArgs {
    /// Of what cluster.
    #[command(subcommand)]
    pub command: ImportCommand,
}

/// What cluster is imported.
#[derive(Debug, Subcommand)]
pub enum ImportCommand {
    /// A Slurm cluster: what sacct, sshare, sacctmgr, scontrol and sinfo print, and slurm.conf
    Slurm {
        /// The folder with those files, whatever they are called
        dir: PathBuf,
        /// Where scenario, policy, nodes and jobs go
        #[arg(long, value_name = "DIR")]
        out: PathBuf,
        /// A knob of the format `sacct` and its value, such as `zone=Europe/Berlin`; may be repeated
        #[arg(long = "set", value_name = "KEY=VALUE")]
        settings: Vec<String>,
        /// Write into a folder that is not empty
        #[arg(long)]
        force: bool,
    },
}

/// Arguments of `list`.
#[derive(Debug, ClapArgs)]
pub struct ListArgs {
    /// What to list, with knobs; without it, everything in short
    pub what: Option<What>,
}

/// What can be listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum What {
    /// Policies that ship
    Policies,
    /// Who is next?
    Orders,
    /// How far past a stuck head?
    Fills,
    /// Which node, which GPU?
    Places,
    /// Who leaves for it?
    Evictions,
    /// What capacity moves between pools?
    Lenders,
    /// How many workers does an elastic job hold?
    Scalers,
    /// Who is moved so that free GPUs lie better?
    Deschedulers,
    /// Trace formats
    Formats,
    /// What is measured
    Metrics,
    /// What is written
    Reports,
    /// Formats of other tools
    Exports,
}

/// Arguments of `schema`.
#[derive(Debug, ClapArgs)]
pub struct SchemaArgs {
    /// The kind of file
    pub what: SchemaOf,
}

/// Kinds of files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SchemaOf {
    /// A scenario
    Scenario,
    /// A policy
    Policy,
}

/// Arguments of `completions`.
#[derive(Debug, ClapArgs)]
pub struct CompletionsArgs {
    /// The shell
    pub shell: clap_complete::Shell,
}
