//! A whole scenario: loading, and the case of each seed.

use super::{Folders, accounts, cluster, fit, form, jobs, policies, settings, wire};
use crate::cluster::{ClusterSpec, Window};
use crate::engine::{Case, Contract, EngineSpec};
use crate::error::{Error, Problem, problems};
use crate::form::{Fault, Faults, Filled, Node, Place, Setting, check};
use crate::ids::AccountId;
use crate::registry::Value;
use crate::units::{MilliGpu, SimTime};
use crate::workload::{Catalog, Workload};
use std::path::Path;
use std::sync::Arc;

/// A checked scenario: one case for each seed, and what is compared on it.
#[derive(Debug)]
pub struct Scenario {
    /// Its name in reports: its path below `scenarios/`, without the ending.
    pub name: String,
    /// One line on what it shows.
    pub about: String,
    /// The policies that it compares, with the places that name them.
    pub policies: Vec<(String, Place)>,
    /// The first seed.
    pub seed: u64,
    /// How many seeds, counted up from the first.
    pub seeds: u64,
    /// Lines for the user on what was read, altered and dropped, and on the load.
    pub notes: Vec<String>,
    /// Where the files that it names lie.
    pub folders: Folders,
    base: Catalog,
    cluster: Arc<ClusterSpec>,
    windows_for: Vec<(usize, String, Place)>,
    work: Work,
    plan: accounts::Plan,
    contract: Contract,
    engine: EngineSpec,
    measured: settings::Measured,
}

/// Where the work comes from.
#[derive(Debug)]
enum Work {
    /// A trace or jobs written out, the same for all seeds before they are shaped.
    Given { workload: Arc<Workload>, shaping: Option<Filled> },
    /// A generator, anew for each seed.
    Made { synth: Filled, shaping: Filled },
}

impl Scenario {
    /// Reads and checks a scenario file, changed by `settings`.
    ///
    /// - Errors: every fault of the file and of the node list; of the trace only when the file itself is right.
    pub fn load(path: &Path, settings: &[Setting]) -> Result<Scenario, Error> {
        let mut faults = Faults::new();
        let name = path.display().to_string();
        let Some(mut root) = Node::read_file(path, &name, &mut faults) else { return Err(faults.into()) };
        for setting in settings {
            setting.apply(&mut root, &mut faults);
        }
        let file = check(&form::SCENARIO, &root, &mut faults);
        Loader { folders: Folders::of(path), catalog: Catalog::default(), faults, problems: Vec::new() }.load(path, &file)
    }

    /// The case of one seed.
    ///
    /// - Errors: what only the work of that seed shows, such as accounts that the tree does not name.
    pub fn case(&self, seed: u64) -> Result<Case, Error> {
        let mut notes = Vec::new();
        self.case_with_notes(seed, &mut notes)
    }

    fn case_with_notes(&self, seed: u64, notes: &mut Vec<String>) -> Result<Case, Error> {
        let mut catalog = self.base.clone();
        let capacity = self.cluster.capacity();
        let mut workload = self.work.make(capacity, seed, &mut catalog, notes).map_err(Error::Input)?;
        let charged = Arc::make_mut(&mut workload);
        let (accounts, share_changes) = self.plan.settle(&mut catalog, charged)?;
        let mut cluster = self.cluster.clone();
        if cluster.models.len() < catalog.models.len() {
            // Work may ask for models that no node has.
            Arc::make_mut(&mut cluster).models.resize(catalog.models.len(), crate::cluster::ModelSpec::default());
        }
        for (window, account, place) in &self.windows_for {
            let Some(row) = catalog.accounts.row(account) else {
                let fault = Fault::new(format!("there is no account `{account}`")).at(place, "expected an account of the work");
                return Err(fault.nearest(account, catalog.accounts.rows().iter().map(String::as_str)).into());
            };
            Arc::make_mut(&mut cluster).windows[*window].account = Some(AccountId(row));
        }
        Ok(Case {
            measured: self.measured.window(&workload),
            catalog: Arc::new(catalog),
            cluster,
            workload,
            accounts,
            share_changes,
            contract: self.contract,
            engine: self.engine,
            seed,
        })
    }
}

impl Work {
    fn make(
        &self,
        capacity: MilliGpu,
        seed: u64,
        catalog: &mut Catalog,
        notes: &mut Vec<String>,
    ) -> Result<Arc<Workload>, Vec<Problem>> {
        let (given, shaping) = match self {
            Work::Given { workload, shaping: None } => return Ok(workload.clone()),
            Work::Given { workload, shaping: Some(shaping) } => (Workload::clone(workload), shaping),
            Work::Made { synth, shaping } => (wire::generate(synth, capacity, seed, catalog)?, shaping),
        };
        let (workload, lines) = wire::shape(shaping, given, capacity, seed, catalog)?;
        notes.extend(lines);
        Ok(Arc::new(workload))
    }
}

/// A scenario on its way.
struct Loader {
    folders: Folders,
    catalog: Catalog,
    faults: Faults,
    problems: Vec<Problem>,
}

impl Loader {
    fn load(mut self, path: &Path, file: &Filled) -> Result<Scenario, Error> {
        let mut spec = ClusterSpec::default();
        let mut windows_for = Vec::new();
        let plan = accounts::Plan::read(file.part("accounts"), &self.folders, &mut self.faults);
        match file.part("cluster") {
            Some(table) => windows_for = self.cluster(table, &plan, &mut spec),
            None => self.faults.push(Fault::new("there is no cluster").at(&file.at, "expected a table `[cluster]` in this file")),
        }
        spec.models = cluster::models(file.part("cluster"), &self.catalog, &mut self.faults);
        let (policies, seed, seeds, until) = self.run(file.part("run"));
        let measured = settings::Measured::read(file.part("run"), &mut self.faults);
        let mut notes = Vec::new();
        let work = self.work(file, &plan, &spec, &mut notes);
        let contract =
            file.part("contract").map_or_else(Contract::default, |it| settings::contract(&it.knobs, Contract::default()));
        let mut all = problems(self.faults);
        all.extend(self.problems);
        let Some(work) = work.filter(|_| all.is_empty()) else { return Err(Error::Input(all)) };
        let mut scenario = Scenario {
            name: name(path),
            about: file.knobs.opt_text("about").unwrap_or("").to_owned(),
            policies,
            seed,
            seeds,
            notes,
            folders: self.folders,
            base: self.catalog,
            cluster: Arc::new(spec),
            windows_for,
            work,
            plan,
            contract,
            engine: settings::engine(file.part("engine"), until),
            measured,
        };
        let target = file
            .part("cluster")
            .and_then(|it| it.knobs.opt_float("scale_to_load").map(|target| (target, it.place("scale_to_load"))));
        scenario.settle(target)?;
        Ok(scenario)
    }

    fn cluster(&mut self, table: &Filled, plan: &accounts::Plan, spec: &mut ClusterSpec) -> Vec<(usize, String, Place)> {
        let faults = &mut self.faults;
        spec.nodes = cluster::nodes(table, &self.folders, &mut self.catalog, faults, &mut self.problems);
        let names = cluster::names(&spec.nodes, table, faults);
        // What names nodes of a list that could not be read would only be a second fault.
        if table.says("nodes") && !self.problems.is_empty() {
            return Vec::new();
        }
        spec.health = cluster::health(table, &spec.nodes, &names, faults);
        spec.demand = cluster::demand(table, &self.catalog, faults);
        let mut windows = Vec::new();
        for it in table.parts("window") {
            let (Some(from), Some(until)) = (it.knobs.opt_span("from"), it.knobs.opt_span("until")) else { continue };
            if until <= from {
                let fault = Fault::new("this window ends before it begins");
                faults.push(fault.at(it.place("until"), format!("expected more than `from`, {from}")));
            }
            let nodes = cluster::named_nodes(it, "nodes", &names, faults);
            let account = it.knobs.opt_text("account").and_then(|name| {
                let place = it.place("account");
                let path = if plan.has_tree() { plan.any(name, place, faults)? } else { name.to_owned() };
                Some((path, place.clone()))
            });
            windows.push((Window { from: SimTime::ZERO + from, until: SimTime::ZERO + until, nodes, account: None }, account));
        }
        windows.sort_by_key(|(window, _)| window.from);
        let mut accounts = Vec::new();
        for (row, (window, account)) in windows.into_iter().enumerate() {
            spec.windows.push(window);
            accounts.extend(account.map(|(path, place)| (row, path, place)));
        }
        accounts
    }

    fn run(&mut self, run: Option<&Filled>) -> (Vec<(String, Place)>, u64, u64, Option<crate::units::SimSpan>) {
        let Some(run) = run else { return (Vec::new(), 1, 1, None) };
        let place = run.place("policies").clone();
        let names = run.knobs.list("policies").iter().filter_map(|value| match value {
            Value::Text(name) => Some((name.clone(), place.clone())),
            _ => None,
        });
        let policies: Vec<(String, Place)> = names.collect();
        for (name, place) in &policies {
            policies::check_name(name, place, &self.folders, &mut self.faults);
        }
        (policies, run.knobs.int("seed") as u64, run.knobs.int("seeds") as u64, run.knobs.opt_span("until"))
    }

    /// The one source of work that the file names.
    fn work(&mut self, file: &Filled, plan: &accounts::Plan, spec: &ClusterSpec, notes: &mut Vec<String>) -> Option<Work> {
        let shaping = file.part("workload");
        let synth = shaping.and_then(|it| it.part("synth"));
        let trace = shaping.filter(|it| it.says("trace"));
        let jobs = file.parts("job");
        let named = [trace.map(|it| it.key_place("trace")), synth.map(|it| &it.at), jobs.first().map(|it| &it.at)];
        let mut named = named.into_iter().flatten();
        match (named.next(), named.next()) {
            (None, _) => {
                let fault =
                    Fault::new("there is no work").at(shaping.map_or(&file.at, |it| &it.at), "expected work in this file");
                self.faults
                    .push(fault.help("name a `trace` in `[workload]`, or write `[workload.synth]`, or jobs with `[[job]]`"));
                return None;
            }
            (Some(one), Some(other)) => {
                let fault = Fault::new("the work comes from two places").at(one, "from here").at(other, "and from here");
                self.faults.push(fault.help("expected one of `trace`, `[workload.synth]` and `[[job]]`"));
            }
            (Some(_), None) => {}
        }
        if let Some(table) = trace {
            let path = self.folders.file(table.knobs.text("trace"), table.place("trace"), &mut self.faults)?;
            // A trace may be long: it is read when nothing else is wrong.
            if !self.faults.is_empty() || !self.problems.is_empty() {
                return None;
            }
            return match wire::read_trace(&path, &table.knobs, &mut self.catalog) {
                Ok((workload, lines)) => {
                    notes.extend(lines);
                    Some(Work::Given { workload: Arc::new(workload), shaping: Some(table.clone()) })
                }
                Err(found) => {
                    self.problems.extend(found);
                    None
                }
            };
        }
        if let (Some(synth), Some(shaping)) = (synth, shaping) {
            return Some(Work::Made { synth: synth.clone(), shaping: shaping.clone() });
        }
        let widest = spec.nodes.iter().map(|node| node.gpus).max().unwrap_or(8).clamp(1, 64);
        let per_task = match shaping {
            Some(it) if it.says("max_gpus_per_task") => it.knobs.int("max_gpus_per_task") as u8,
            // A job wider than a node becomes a gang.
            _ => widest.min(8),
        };
        let around = jobs::Around { per_task, plan };
        let workload = jobs::read(jobs, &around, &mut self.catalog, &mut self.faults);
        Some(Work::Given { workload: Arc::new(workload), shaping: shaping.cloned() })
    }
}

impl Scenario {
    /// Makes the first seed's case, so that its faults come up before anything runs, and shrinks the cluster if asked to.
    fn settle(&mut self, scale_to_load: Option<(f64, &Place)>) -> Result<(), Error> {
        let mut notes = Vec::new();
        let mut case = self.case_with_notes(self.seed, &mut notes)?;
        if let Some((target, place)) = scale_to_load {
            let whole = case.cluster.capacity();
            let load = wire::offered_load(&case.workload, &case.catalog, whole);
            if load <= 0.0 {
                let fault = Fault::new("this work offers no load, so no cluster fits it");
                return Err(fault.at(place, "expected jobs that use GPUs and arrive at different times").into());
            }
            let kept = fit::keep(&case.cluster.nodes, load, target);
            notes.push(format!(
                "cluster as listed: {} nodes, {} GPUs, offered load {load:.3}",
                case.cluster.nodes.len(),
                whole.as_gpus_f64()
            ));
            self.cluster = Arc::new(cluster::subset(&self.cluster, &kept));
            // Shaping may depend on capacity, and the ids of what is left changed: from here on all is as if listed so.
            case = self.case_with_notes(self.seed, &mut Vec::new())?;
        }
        let capacity = case.cluster.capacity();
        let load = wire::offered_load(&case.workload, &case.catalog, capacity);
        let how = if scale_to_load.is_some() { "cluster as scaled" } else { "cluster" };
        notes.push(format!(
            "{how}: {} nodes, {} GPUs, {} jobs, offered load {load:.3}",
            case.cluster.nodes.len(),
            capacity.as_gpus_f64(),
            case.workload.jobs.len()
        ));
        self.notes.extend(notes);
        Ok(())
    }
}

/// The policies that a scenario file names and that can be found, whatever else is wrong with it: so that faults of the file
/// and of its policies are shown at once.
pub fn named_policies(path: &Path, settings: &[Setting]) -> Vec<(String, Place)> {
    let mut ignored = Faults::new();
    let Some(mut root) = Node::read_file(path, &path.display().to_string(), &mut ignored) else { return Vec::new() };
    for setting in settings {
        setting.apply(&mut root, &mut ignored);
    }
    let file = check(&form::SCENARIO, &root, &mut ignored);
    let folders = Folders::of(path);
    let mut loader = Loader { folders: folders.clone(), catalog: Catalog::default(), faults: ignored, problems: Vec::new() };
    let (named, ..) = loader.run(file.part("run"));
    named.into_iter().filter(|(name, _)| policies::exists(name, &folders)).collect()
}

/// The path of a scenario below `scenarios/`, without its ending.
fn name(path: &Path) -> String {
    let stem = path.with_extension("");
    let parts: Vec<String> = stem.iter().map(|part| part.to_string_lossy().into_owned()).collect();
    let start = parts.iter().rposition(|part| part == "scenarios").map_or(parts.len() - 1, |at| at + 1);
    if start < parts.len() { parts[start..].join("/") } else { "scenario".into() }
}
