//! `schedlab sweep --slurm` and `--kubernetes`: the sweep is checked here, and run elsewhere.

use super::args::SweepArgs;
use super::output::print;
use super::submit::submit;
use crate::error::{Error, problems};
use crate::form::Faults;
use crate::sweep::{Batch, Folder, Grid, Kubernetes, Plan, Slurm, manifest};
use clap::{ArgGroup, Args as ClapArgs};
use std::path::{Path, PathBuf};

/// What only runs that are done here can have.
const LOCAL: [&str; 3] = ["shard", "threads", "json"];

/// Options of `sweep` for runs on many machines.
#[derive(Debug, ClapArgs)]
#[command(next_help_heading = "On many machines (docs/batch.md)")]
#[command(group = ArgGroup::new("system").args(["slurm", "kubernetes"]).requires("shards").conflicts_with_all(LOCAL))]
pub struct BatchArgs {
    /// Submit the sweep to Slurm: a job array with a task for each shard, and a job after it that merges
    #[arg(long)]
    pub slurm: bool,
    /// Print the sweep as a manifest for Kubernetes: an Indexed Job with a pod for each shard, and a Job that merges
    #[arg(long, requires = "image", requires = "claim")]
    pub kubernetes: bool,
    /// How many shards
    #[arg(long, value_name = "N", requires = "system", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub shards: Option<u32>,
    /// Cores, and runs at a time, of each shard [default: 1]
    #[arg(long, value_name = "N", requires = "system", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub cpus: Option<u16>,
    /// Slurm's partition [default: the cluster's own]
    #[arg(long, value_name = "NAME", requires = "slurm")]
    pub partition: Option<String>,
    /// Slurm's time limit of each job, such as 02:00:00 [default: the partition's own]
    #[arg(long, value_name = "TIME", requires = "slurm")]
    pub time: Option<String>,
    /// Print what would be submitted to Slurm, as a shell script that submits it
    #[arg(long, requires = "slurm")]
    pub dry_run: bool,
    /// Kubernetes: an image that holds this version of the program
    #[arg(long, value_name = "IMAGE", requires = "kubernetes")]
    pub image: Option<String>,
    /// Kubernetes: the persistent volume claim that holds the inputs and takes the results
    #[arg(long, value_name = "NAME", requires = "kubernetes")]
    pub claim: Option<String>,
    /// Kubernetes: where the volume is mounted, as it is here [default: the current directory]
    #[arg(long, value_name = "DIR", requires = "kubernetes")]
    pub mount: Option<PathBuf>,
    /// Kubernetes: shards at a time [default: all]
    #[arg(long, value_name = "N", requires = "kubernetes", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub parallelism: Option<u32>,
}

impl BatchArgs {
    /// Whether the sweep is for other machines.
    pub fn is_asked(&self) -> bool {
        self.slurm || self.kubernetes
    }
}

/// A path from the root, as text; the scenario's is told to shards, so it must not depend on where they start.
pub fn absolute(path: &Path) -> Result<String, Error> {
    let wrong = |source| Error::input(format!("`{}` cannot be made a path from the root: {source}", path.display()));
    let path = std::path::absolute(path).map_err(wrong)?;
    let not_text = || Error::input(format!("`{}` is not UTF-8, which batch jobs need", path.display()));
    Ok(path.to_str().ok_or_else(not_text)?.to_owned())
}

/// Hands a checked sweep to Slurm, or prints it for Kubernetes.
pub fn batch(args: &SweepArgs, plan: &Plan, out: &Path) -> Result<(), Error> {
    let grid = &plan.grid;
    let out = absolute(out)?;
    let rows: Vec<usize> = (0..grid.rows()).collect();
    let asked = args.batch.shards.map_or(1, |it| it as usize);
    // A shard without a run would be a job that does nothing.
    let shards = asked.min(rows.len()).max(1);
    let batch = Batch {
        name: grid.scenario.clone(),
        program: String::new(),
        arguments: arguments(args, grid)?,
        directory: absolute(Path::new("."))?,
        out,
        shards,
        missing: Batch::shards_of(&rows, shards),
        cpus: args.batch.cpus.unwrap_or(1),
    };
    if args.batch.kubernetes { kubernetes(args, batch, grid) } else { slurm(args, batch, grid, &rows) }
}

/// The arguments of `sweep` that every shard has: what was asked for, from the root where it names a file of its own.
fn arguments(args: &SweepArgs, grid: &Grid) -> Result<Vec<String>, Error> {
    let mut words = vec![grid.request.scenario.clone()];
    let mut each = |option: &str, values: &[String]| words.extend(values.iter().map(|value| format!("--{option}={value}")));
    each("over", &args.over);
    each("policy", &args.policies);
    each("set", &args.settings);
    each("seeds", &args.seeds.map(|it| it.to_string()).into_iter().collect::<Vec<_>>());
    each("sample", &args.sample.map(|it| it.to_string()).into_iter().collect::<Vec<_>>());
    each("file", &args.file.as_deref().map(absolute).transpose()?.into_iter().collect::<Vec<_>>());
    each("metrics", &args.metrics);
    each("max-runs", &[args.max_runs.to_string()]);
    if args.no_confirm {
        words.push("--no-confirm".into());
    }
    if args.quiet {
        words.push("--quiet".into());
    }
    Ok(words)
}

fn kubernetes(args: &SweepArgs, batch: Batch, grid: &Grid) -> Result<(), Error> {
    let own = &args.batch;
    let mount = own.mount.as_deref().map_or_else(|| Ok(batch.directory.clone()), absolute)?;
    let parallelism = own.parallelism.map_or(batch.shards, |it| (it as usize).min(batch.shards));
    let tag = blake3::hash(format!("{:?} {} {}", grid.arms, grid.seeds, batch.shards).as_bytes()).to_hex()[..8].to_owned();
    let text = |option: &Option<String>| option.clone().unwrap_or_default();
    let batch = Batch { program: "schedlab".into(), ..batch };
    let sweep = Kubernetes { batch, image: text(&own.image), claim: text(&own.claim), mount, parallelism, tag };
    let mut faults = Faults::new();
    sweep.check(&mut faults);
    sweep.check_path("the scenario", &grid.request.scenario, &mut faults);
    sweep.check_path("the folder of the sweep", &sweep.batch.out, &mut faults);
    sweep.check_path("the current directory", &sweep.batch.directory, &mut faults);
    for (what, file) in
        args.policies.iter().map(|it| ("the policy", Path::new(it))).chain(args.file.iter().map(|it| ("the file", it.as_path())))
    {
        if file.is_file() {
            sweep.check_path(what, &absolute(file)?, &mut faults);
        }
    }
    refuse(faults)?;
    print(&manifest(&sweep))
}

fn slurm(args: &SweepArgs, mut batch: Batch, grid: &Grid, rows: &[usize]) -> Result<(), Error> {
    let program = std::env::current_exe();
    let program = program.map_err(|source| Error::input(format!("where this program lies cannot be told: {source}")))?;
    batch.program = absolute(&program)?;
    let (partition, time) = (args.batch.partition.clone(), args.batch.time.clone());
    let mut sweep = Slurm { batch, partition, time };
    let mut faults = Faults::new();
    sweep.check(&mut faults);
    refuse(faults)?;
    if !args.batch.dry_run {
        return submit(sweep, grid, rows, args.resume);
    }
    if let Ok((folder, earlier)) = Folder::find(Path::new(&sweep.batch.out))
        && args.resume
        && earlier.same_rows(grid)
    {
        sweep.batch.missing = Batch::shards_of(&folder.missing(grid, rows), sweep.batch.shards);
    }
    print(&sweep.submission())
}

fn refuse(faults: Faults) -> Result<(), Error> {
    if faults.is_empty() { Ok(()) } else { Err(Error::Input(problems(faults))) }
}
