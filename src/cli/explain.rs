//! `schedlab explain`: why did that job wait? The run is made again, with a witness beside its policy.

use super::args::ExplainArgs;
use super::found::Found;
use super::output;
use super::progress::Bars;
use crate::drive::{build, drive};
use crate::engine::Case;
use crate::error::Error;
use crate::explain::{Explained, explain};
use crate::form::Fault;
use crate::ids::JobId;
use crate::report::{Causes, Life, gpu_hours};
use crate::workload::Workload;
use std::collections::BTreeSet;

/// Explains the wait of one job of a run, of all jobs of an account, or why GPUs were free.
pub fn run(args: &ExplainArgs) -> Result<(), Error> {
    let found = Found::new(&args.run_dir)?;
    let (scenario, policies) = found.scenario()?;
    let name = args.policy.as_ref().or(found.policy.as_ref());
    let spec = match name {
        None => policies.first().ok_or_else(|| Error::input("these results are of no policy"))?,
        Some(name) => policies.iter().find(|spec| spec.name == *name).ok_or_else(|| {
            let known = policies.iter().map(|spec| spec.name.as_str());
            Error::from(Fault::new(format!("these results are not of a policy `{name}`")).nearest(name, known))
        })?,
    };
    let seed = args.seed.or(found.seed).unwrap_or(scenario.seed);
    let recorded = found.recorded(&spec.name, seed)?;
    let case = found.case(&scenario, spec, seed)?;
    let bars = Bars::new(args.quiet);
    let known = case.users.is_none().then_some(case.workload.jobs.len());
    let label = format!("{} {seed}", spec.name);
    // Users who react submit as their jobs end: whose job is meant is known when the run has been made once. Its jobs have the same
    // rows when it is made again.
    let made = if case.users.is_some() && !args.idle {
        let mut watch = bars.watch(&label, known);
        let made = drive(spec, &case, &mut watch)?.workload;
        watch.finish();
        Some(made)
    } else {
        None
    };
    let workload = made.as_ref().unwrap_or(&case.workload);
    let (mut jobs, mut account) = (BTreeSet::new(), None);
    if let Some(name) = &args.job {
        jobs.insert(job(workload, name)?);
    }
    if let Some(name) = &args.account {
        account = Some(name.as_str());
        jobs = jobs_of(&case, workload, name)?;
    }
    let mut watch = bars.watch(&label, known);
    let mut policy = build(spec, &case)?;
    let Explained { outcome, accounts, idle } = explain(&case, &mut *policy, &jobs, &mut watch);
    watch.finish();
    found.same(recorded, &outcome)?;
    let label = format!("{} under {}, seed {}", found.origin.scenario, spec.name, case.seed);
    let (text, json) = match (account, jobs.first()) {
        (Some(name), _) => {
            let sums = Causes::of_jobs(&case, &outcome.workload, &accounts);
            let about = format!("{label}: {} jobs of {name} waited for {} GPU h.", jobs.len(), gpu_hours(sums.all()));
            let owed =
                recorded.by_account.get(name).and_then(|it| Some((it.owed_gpu_h?, it.delivered_gpu_h?, it.delivered_of_owed)));
            (sums.text(&about, owed), sums.json(&spec.name, seed, ("account", name), owed))
        }
        (None, Some(&job)) => {
            let account = &accounts.get(&job).cloned().unwrap_or_default();
            let life = Life { case: &case, outcome: &outcome, policy: &spec.name, job, account };
            (life.text(), life.json())
        }
        (None, None) => {
            let sums = Causes::of_idle(&idle);
            let part = 100.0 * sums.all().as_raw() as f64 / (idle.all.as_raw() as f64).max(1.0);
            let about = format!("{label}: {} GPU h were free, {part:.1} % of all.", gpu_hours(sums.all()));
            (sums.text(&about, None), sums.json(&spec.name, seed, ("idle", "all"), None))
        }
    };
    output::print(&if args.json { format!("{json:#}\n") } else { text })
}

/// The jobs charged to an account or to one below it.
fn jobs_of(case: &Case, workload: &Workload, name: &str) -> Result<BTreeSet<JobId>, Error> {
    let names = case.catalog.accounts.rows();
    let below = |path: &str| path == name || path.strip_prefix(name).is_some_and(|rest| rest.starts_with('/'));
    let jobs = workload.jobs.iter().enumerate().filter(|(_, job)| below(&names[job.account.index()]));
    let jobs: BTreeSet<JobId> = jobs.map(|(row, _)| JobId::from_index(row)).collect();
    if jobs.is_empty() {
        let known = names.iter().map(String::as_str);
        return Err(Fault::new(format!("no job is charged to an account `{name}`")).nearest(name, known).into());
    }
    Ok(jobs)
}

fn job(workload: &Workload, name: &str) -> Result<JobId, Error> {
    let names = &workload.names;
    let row = workload.jobs.iter().position(|job| names.get(job.name) == name);
    row.map(JobId::from_index).ok_or_else(|| {
        let known = workload.jobs.iter().map(|job| names.get(job.name));
        Error::from(Fault::new(format!("there is no job `{name}`")).nearest(name, known))
    })
}
