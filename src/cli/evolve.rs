//! `schedlab evolve`: better values of a policy's knobs, by a genetic algorithm under a guardrail.

use super::args::EvolveArgs;
use super::output;
use super::progress::{Bars, Course, Stopwatch};
use super::spread::spread;
use crate::drive::{drive, under};
use crate::engine::Case;
use crate::error::Error;
use crate::evolve::{Ask, Beside, Generation, Memory, Plan, Runner, Trial, course, page, plot, policy_file, trial, write_whole};
use crate::form::Fault;
use crate::report::{Part, duration, set_terminal};
use crate::sweep::many;
use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::path::Path;
use std::time::Duration;

/// Most notes shown.
const NOTES_MAX: usize = 24;
/// How long one run is watched before the time of all is estimated.
const PROBE: Duration = Duration::from_secs(2);

/// Evolves, and writes the policy.
pub fn evolve(args: &EvolveArgs) -> Result<(), Error> {
    let plan = Plan::make(&args.scenario, &args.settings)?;
    let bars = Bars::new(args.quiet);
    let threads = args.threads.map(usize::from);
    let out = args.out.as_deref();
    let memory = out.map(|out| memory(out, &plan.identity, args)).transpose()?;
    if !args.quiet {
        plan.notes.iter().take(NOTES_MAX).for_each(|note| bars.note(note));
    }
    let (Some(out), Some(mut memory), false) = (out, memory, args.dry_run) else {
        return output::print(&format!("{}\n", size(&plan, threads)));
    };
    if !args.quiet {
        bars.note(&size(&plan, threads));
        if !memory.is_empty() {
            bars.note(&format!("{} are there", many(memory.len() as u128, "run")));
        }
    }
    if let Some(folder) = out.parent().filter(|it| !it.as_os_str().is_empty()) {
        std::fs::create_dir_all(folder).map_err(|source| Error::Write { path: folder.to_path_buf(), source })?;
    }
    Memory::sweep_up(out);
    // What is in the way of the results is better known before the runs than after.
    memory.save()?;
    let bar = bars.course(u64::try_from(plan.runs()).unwrap_or(u64::MAX));
    let watch = Stopwatch::new(None);
    let mut machine = Machine { plan: &plan, threads, bar: &bar, cases: BTreeMap::new(), seconds: 0.0 };
    let done = course(&plan, &mut memory, &mut machine);
    let seconds = machine.seconds;
    bar.finish();
    let outcome = done?;
    write_whole(out, policy_file(&plan, &outcome).as_bytes())?;
    if let Some(file) = &args.plot {
        let title = format!("{}: evolution of {}", plan.scenario, plan.policy.name);
        output::write_file(file, |it| it.write_all(plot(&title, memory.history()).as_bytes()))?;
    }
    let mut parts = page(&plan, &outcome);
    parts.push(Part::Text(made(outcome.made, outcome.remembered, watch.seconds(), seconds)));
    output::print(&set_terminal(parts))?;
    if !args.quiet {
        bars.note(&format!("written to {}, and how it came about to {}", out.display(), memory.path().display()));
    }
    Ok(())
}

fn made(made: usize, remembered: usize, wall: f64, seconds: f64) -> String {
    let before = if remembered == 0 { String::new() } else { format!(", and {remembered} that were there") };
    let rate = if made == 0 || seconds <= 0.0 {
        String::new()
    } else {
        format!("; they took {} of one thread: {:.1} runs a second", duration(seconds), made as f64 / seconds)
    };
    format!("{}{before}, in {}{rate}.", many(made as u128, "run"), duration(wall))
}

/// What is known of an evolution that was begun.
///
/// - Errors: what is in the way.
fn memory(out: &Path, identity: &str, args: &EvolveArgs) -> Result<Memory, Error> {
    let name = out.display();
    if out.extension().is_none_or(|ending| ending != "toml") {
        let fault = Fault::new(format!("`{name}` is no name of a policy file"));
        return Err(fault.help("expected one that ends in `.toml`, such as `policies/evolved.toml`").into());
    }
    if out.is_dir() {
        return Err(Error::input(format!("`{name}` is in the way: it is a directory")));
    }
    let checkpoint = Memory::file(out);
    let said = match Memory::find(out, identity) {
        Beside::Same(memory) if args.resume => return Ok(memory),
        _ if args.force => return Ok(Memory::new(out, identity)),
        Beside::Nothing if !out.exists() => return Ok(Memory::new(out, identity)),
        Beside::Nothing => format!("`{name}` is there already; `--force` replaces it, `--out` names another file"),
        Beside::Same(_) => {
            format!("`{}` holds this evolution, begun; `--resume` goes on with it, `--force` begins anew", checkpoint.display())
        }
        Beside::Other => format!(
            "`{}` holds another evolution (the scenario or a policy has changed, or something else is set); `--force` begins anew, `--out` \
             names another file",
            checkpoint.display()
        ),
        Beside::Unreadable => {
            format!(
                "`{}` is no checkpoint that can be read; `--force` begins anew, `--out` names another file",
                checkpoint.display()
            )
        }
    };
    Err(Error::input(said))
}

/// How many runs there may be, and how long they may take, judged by the reference's first run.
fn size(plan: &Plan, threads: Option<usize>) -> String {
    let it = &plan.evolve.settings;
    let text = format!(
        "{} of at most {} of {} on {}, and {} on {}: at most {}",
        many(plan.regimes.len() as u128, "regime"),
        many(it.generations as u128, "generation"),
        many(it.population as u128, "individual"),
        many(it.seeds as u128, "seed"),
        many(it.finalists as u128, "finalist"),
        many(it.validation as u128, "fresh seed"),
        many(plan.runs(), "run"),
    );
    let threads = threads.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, NonZeroUsize::get));
    let seconds: Option<f64> = (0..plan.regimes.len()).map(|regime| probe(plan, regime)).sum();
    match seconds {
        None => format!("{text}; how long that takes is not known"),
        Some(seconds) => {
            let each = seconds / plan.regimes.len() as f64;
            let all = each * plan.runs() as f64 / threads as f64;
            format!("{text}, {} each: about {} on {threads} threads at most", duration(each), duration(all))
        }
    }
}

/// Seconds of a run of the reference.
fn probe(plan: &Plan, regime: usize) -> Option<f64> {
    let scenario = &plan.regimes[regime].scenario;
    let spec = &plan.regimes[regime].reference;
    let case = under(spec, &scenario.case(plan.seed).ok()?);
    let mut watch = Stopwatch::new(Some(PROBE));
    let outcome = drive(spec, &case, &mut watch).ok()?;
    if !watch.is_over() {
        // What is kept of it is part of the run.
        trial(&plan.evolve, spec, &case, &outcome);
        return Some(watch.seconds());
    }
    let share = watch.seen?.now.as_secs_f64() / scenario.end().as_secs_f64();
    Some(watch.seconds() / share.clamp(1e-6, 1.0))
}

/// Makes runs, side by side.
struct Machine<'a> {
    plan: &'a Plan,
    threads: Option<usize>,
    bar: &'a Course,
    /// Cases of the regime at hand, each made once.
    cases: BTreeMap<(usize, u64), Case>,
    /// What runs took, on all threads together.
    seconds: f64,
}

impl Runner for Machine<'_> {
    fn run(&mut self, asks: &[Ask]) -> Result<Vec<Trial>, Error> {
        // One regime comes after the other, so cases of another are not needed any more.
        self.cases.retain(|(regime, _), _| asks.iter().any(|ask| ask.regime == *regime));
        let mut missing: Vec<(usize, u64)> = asks.iter().map(|ask| (ask.regime, ask.seed)).collect();
        missing.sort_unstable();
        missing.dedup();
        missing.retain(|key| !self.cases.contains_key(key));
        let plan = self.plan;
        let made = spread(&missing, self.threads, |(regime, seed)| plan.regimes[*regime].scenario.case(*seed))?;
        self.cases.extend(missing.into_iter().zip(made));
        let cases = &self.cases;
        let one = |ask: &Ask| -> Result<(Trial, f64), Error> {
            let spec = plan.spec(ask);
            let case = under(&spec, &cases[&(ask.regime, ask.seed)]);
            let mut watch = Stopwatch::new(None);
            let outcome = drive(&spec, &case, &mut watch)?;
            let trial = trial(&plan.evolve, &spec, &case, &outcome);
            self.bar.one();
            Ok((trial, watch.seconds()))
        };
        let done = spread(asks, self.threads, one)?;
        let (trials, seconds): (Vec<Trial>, Vec<f64>) = done.into_iter().unzip();
        self.seconds += seconds.iter().sum::<f64>();
        Ok(trials)
    }

    fn generation(&mut self, regime: &str, generation: &Generation, limit: Option<f64>) {
        let best = &generation.best.verdict;
        let guarded = match (best.bound.and_then(|it| it.upper), limit) {
            (Some(bound), Some(limit)) => format!(", bound {bound:.4} of {limit:.4}"),
            _ => String::new(),
        };
        let text = format!(
            "{regime}: generation {} of {}, best {:.4}{guarded}, {:.0}% feasible",
            generation.number + 1,
            self.plan.evolve.settings.generations,
            best.cost,
            100.0 * generation.feasible as f64 / generation.of as f64
        );
        self.bar.say(text);
    }

    fn spared(&mut self, runs: usize) {
        self.bar.spared(runs as u64);
    }
}
