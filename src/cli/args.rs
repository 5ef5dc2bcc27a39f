//! What may stand on the command line.

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
    /// Compare a scenario with a baseline, limit by limit, and fail if a change of policy made a figure worse
    Check(CheckArgs),
    /// Look at a trace, convert it, or make one
    Trace(TraceArgs),
    /// List what is there to choose from, with knobs and defaults
    List(ListArgs),
    /// Print the JSON Schema of a kind of file, for editors that complete and check it
    Schema(SchemaArgs),
    /// Print a completion script for a shell
    Completions(CompletionsArgs),
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
    /// No progress and no notes
    #[arg(long, short)]
    pub quiet: bool,
    /// Runs at a time [default: the number of cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,
}

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
    /// How many seeds, counted up from the scenario's own; as many as the baseline has
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
        /// Wider jobs become gangs of tasks of at most so many GPUs
        #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u8).range(1..=64))]
        max_gpus_per_task: u8,
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
