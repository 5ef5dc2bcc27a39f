//! A whole scenario: loading, and the case of each seed.

use super::{Folders, accounts, cluster, drains, evolve, failures, fit, form, gate, inference, policies, settings, work};
use crate::cluster::ClusterSpec;
use crate::cluster::demand::Service;
use crate::cluster::power::PowerSpec;
use crate::engine::{Case, Contract, EngineSpec, FailureSpec};
use crate::error::{Error, Problem, problems};
use crate::form::{Fault, Faults, Filled, Node, Place, Setting, check};
use crate::fragment::TaskMix;
use crate::ids::AccountId;
use crate::registry::Value;
use crate::trace;
use crate::units::{SimSpan, SimTime};
use crate::workload::inflate::{self, Orders};
use crate::workload::load::offered_load;
use crate::workload::{Catalog, Job};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Jobs of each stream of users that say which tasks are to be expected of it.
const FORESEEN: u32 = 4;

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
    /// What a change of policy may do to the figures.
    pub gate: gate::Gate,
    /// Which knobs are to be evolved, if the file says so.
    pub evolve: Option<evolve::Evolve>,
    /// Where the files that it names lie.
    pub folders: Folders,
    base: Catalog,
    cluster: Arc<ClusterSpec>,
    windows_for: Vec<(usize, String, Place)>,
    /// Whether nodes stand in a random order of each seed.
    shuffle: bool,
    work: work::Work,
    plan: accounts::Plan,
    contract: Contract,
    engine: EngineSpec,
    failures: Option<FailureSpec>,
    power: PowerSpec,
    measured: settings::Measured,
    drains: Option<drains::Drains>,
    service: Option<Service>,
    lookback: SimSpan,
    session_classes: Arc<[String]>,
    /// The first seed's case, made when the scenario was checked.
    first: Option<Case>,
}

impl Scenario {
    /// Reads and checks a scenario file, changed by `settings`.
    ///
    /// - Errors: every fault of the file and of the node list; of the trace only when the file itself is right.
    pub fn load(path: &Path, settings: &[Setting]) -> Result<Scenario, Error> {
        let mut faults = Faults::new();
        let name = path.display().to_string();
        let Some(mut root) = Node::read_file(path, &name, &mut faults) else { return Err(faults.into()) };
        if !faults.is_empty() {
            // What is missing behind a syntax error is not known.
            return Err(faults.into());
        }
        for setting in settings {
            setting.apply(&mut root, &mut faults);
        }
        let file = check(&form::SCENARIO, &root, &mut faults);
        Loader { folders: Folders::of(path), catalog: Catalog::default(), faults, problems: Vec::new(), notes: Vec::new() }
            .load(path, &file)
    }

    /// Checks that its work still says when jobs started in fact, so that waits can be compared with those.
    ///
    /// - Errors: why it does not.
    pub fn check_observed(&self) -> Result<(), Error> {
        let jobs = self.first.iter().flat_map(|case| case.workload.jobs.iter().filter_map(|job| case.workload.extra(job)));
        if jobs.into_iter().any(|extra| extra.observed_start.is_some()) {
            return Ok(());
        }
        let fault = Fault::new("there are no observed waits to compare with");
        let fault = if self.work.records_starts() {
            fault.at(self.work.at(), "the starts recorded here are left out").help(
                "other arrivals or run times (`load`, `arrival_scale`, `runtime_scale`), copies and inflation make another history than \
                 the one observed",
            )
        } else {
            fault.at(self.work.at(), "this work does not say when jobs started").help(
                "expected a trace with observed starts: `alibaba-gpu-2023`, `sacct`, `swf` with wait times, or `native` with a column \
                 `observed_start`",
            )
        };
        Err(fault.into())
    }

    /// The trailing span over which figures set what was delivered against what was owed.
    pub fn lookback(&self) -> SimSpan {
        self.lookback
    }

    /// Its seeds, in order.
    pub fn all_seeds(&self) -> Vec<u64> {
        (0..self.seeds).map(|n| self.seed.wrapping_add(n)).collect()
    }

    /// The case of one seed.
    ///
    /// - Errors: what only the work of that seed shows, such as accounts that the tree does not name.
    pub fn case(&self, seed: u64) -> Result<Case, Error> {
        match &self.first {
            Some(case) if seed == self.seed => Ok(case.clone()),
            _ => self.case_with_notes(seed, &mut Vec::new()),
        }
    }

    /// Whether its work is drawn (generated, or of users who react) and starts on an empty cluster, instead of recorded.
    pub fn is_generated(&self) -> bool {
        self.work.is_generated()
    }

    /// Jobs submitted earlier are not measured; `None` if none was said.
    pub fn warm_up(&self) -> Option<SimSpan> {
        self.measured.warm_up
    }

    /// When submissions end: the cut, or the last one of the first seed.
    pub fn end(&self) -> SimTime {
        let last = |case: &Case| {
            let submitted = case.workload.jobs.last().map_or(SimTime::ZERO, |job| job.submit);
            case.users.as_ref().map_or(submitted, |users| users.last())
        };
        let last = self.first.as_ref().map_or(SimTime::NEVER, last);
        self.engine.until.map_or(last, |until| until.min(last))
    }

    /// The same scenario, measured after that warm-up.
    pub fn warmed(mut self, warm_up: SimSpan) -> Scenario {
        self.measured.warm_up = Some(warm_up);
        if let Some(mut case) = self.first.take() {
            let submitted = case.workload.jobs.last().map_or(SimTime::ZERO, |job| job.submit);
            case.measured = self.measured.window(case.users.as_ref().map_or(submitted, |users| users.last()));
            self.first = Some(case);
        }
        self
    }

    fn case_with_notes(&self, seed: u64, notes: &mut Vec<String>) -> Result<Case, Error> {
        let mut catalog = self.base.clone();
        let capacity = self.cluster.own_capacity();
        let (mut workload, mut mix) =
            self.work.make(capacity, (self.cluster.loans, self.cluster.loaned_speed()), seed, &mut catalog, notes)?;
        let (accounts, share_changes) = self.plan.settle(&mut catalog, &mut workload)?;
        let users = self.work.users(capacity, seed, (&self.plan, &accounts), &mut catalog)?;
        if let Some(users) = &users {
            let mut jobs = vec![0; catalog.shapes.len()];
            users.first_shapes(FORESEEN).for_each(|shape| jobs[shape.index()] += 1);
            mix = Some(Arc::new(TaskMix::counted(&jobs, &catalog)));
        }
        let submitted = workload.jobs.last().map_or(SimTime::ZERO, |job| job.submit);
        let last = users.as_ref().map_or(submitted, |users| users.last());
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
        if let Some(service) = &self.service {
            Arc::make_mut(&mut cluster).demand = service.samples(seed);
        }
        if let Some(drains) = self.drains {
            drains.add_to(Arc::make_mut(&mut cluster), seed);
        }
        if self.shuffle {
            // Last of all, so that what happens to a node does not depend on where it stands.
            cluster = Arc::new(cluster::shuffled(&cluster, seed));
        }
        Ok(Case {
            measured: self.measured.window(last),
            lookback: self.lookback,
            session_classes: self.session_classes.clone(),
            catalog: Arc::new(catalog),
            cluster,
            workload,
            mix,
            users,
            accounts,
            share_changes,
            contract: self.contract,
            engine: self.engine,
            failures: self.failures,
            power: self.power,
            seed,
        })
    }
}

/// A scenario on its way.
struct Loader {
    folders: Folders,
    catalog: Catalog,
    faults: Faults,
    problems: Vec<Problem>,
    notes: Vec<String>,
}

impl Loader {
    fn load(mut self, path: &Path, file: &Filled) -> Result<Scenario, Error> {
        let mut spec = ClusterSpec::default();
        let mut windows_for = Vec::new();
        let plan = accounts::Plan::read(file.part("accounts"), &self.folders, &mut self.faults);
        let orders = work::orders(file.part("workload"), &self.folders, &mut self.faults, &mut self.problems);
        let mut service = None;
        match file.part("cluster") {
            Some(table) => {
                windows_for = self.cluster(table, &plan, orders.as_ref(), &mut spec);
                let around = (&self.folders, &mut self.catalog);
                service = inference::read(table, &mut spec, around, &mut self.faults, &mut self.problems);
            }
            None => self.faults.push(Fault::new("there is no cluster").at(&file.at, "expected a table `[cluster]` in this file")),
        }
        spec.models = cluster::models(file.part("cluster"), &self.catalog, &mut self.faults);
        let (policies, seed, seeds, until) = self.run(file.part("run"));
        let measured = settings::Measured::read(file.part("run"), &mut self.faults);
        let failures = failures::failures(file.part("failures"), &mut self.faults);
        if let (true, Some(users)) = (spec.loans.is_some(), file.part("workload").and_then(|it| it.part("users"))) {
            let fault = Fault::new("users who react cannot be kept from servers that inference needs, so far");
            self.faults.push(fault.at(&users.at, "expected a history or a generator beside `[cluster.inference]`"));
        }
        let drains = drains::read(file, &spec, until, &mut self.faults);
        let (lookback, session_classes) = settings::figures(file.part("run"));
        let mut notes = std::mem::take(&mut self.notes);
        let around = work::Around { folders: &self.folders, plan: &plan, nodes: &spec.nodes, until };
        let work = work::read(file, &around, orders, &mut self.catalog, &mut self.faults, &mut self.problems, &mut notes);
        self.check_scaling(file);
        let shuffle = self.shuffle(file);
        let gate = gate::read(file, &mut self.faults);
        let evolve = evolve::read(file, &self.folders, &mut self.faults);
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
            gate,
            evolve,
            folders: self.folders,
            base: self.catalog,
            cluster: Arc::new(spec),
            windows_for,
            shuffle,
            work,
            plan,
            contract,
            engine: settings::engine(file.part("engine"), until),
            failures,
            power: failures::power(file.part("power")),
            measured,
            drains,
            service,
            lookback,
            session_classes,
            first: None,
        };
        let target = file
            .part("cluster")
            .and_then(|it| it.knobs.opt_float("scale_to_load").map(|target| (target, it.place("scale_to_load"))));
        scenario.settle(target)?;
        Ok(scenario)
    }

    /// A cluster that is shrunk to a load and work that is stretched to one would chase each other.
    fn check_scaling(&mut self, file: &Filled) {
        let Some(cluster) = file.part("cluster").filter(|it| it.says("scale_to_load")) else { return };
        let workload = file.part("workload");
        for table in [workload, workload.and_then(|it| it.part("synth"))].into_iter().flatten().filter(|it| it.says("load")) {
            let fault = Fault::new("both the cluster and the work are to be fitted to a load");
            let fault = fault.at(cluster.key_place("scale_to_load"), "the cluster").at(table.key_place("load"), "the work");
            self.faults.push(fault.help("expected one of the two"));
        }
    }

    /// Whether nodes are to be shuffled. A recorded order says how they stand, and is not to be shuffled away.
    fn shuffle(&mut self, file: &Filled) -> bool {
        let workload = file.part("workload");
        let orders = workload.filter(|it| it.says("orders"));
        let cluster = file.part("cluster").filter(|it| it.says("shuffle"));
        let asked = cluster.and_then(|it| it.knobs.opt_flag("shuffle"));
        if let (Some(cluster), Some(true), Some(orders)) = (cluster, asked, orders) {
            let fault = Fault::new("the nodes are to be shuffled, and to stand in a recorded order");
            let fault = fault.at(cluster.key_place("shuffle"), "shuffled").at(orders.key_place("orders"), "in this order");
            self.faults.push(fault.help("expected one of the two"));
        }
        asked.unwrap_or_else(|| orders.is_none() && workload.is_some_and(|it| 0.0 < it.knobs.float("inflate")))
    }

    fn cluster(
        &mut self,
        table: &Filled,
        plan: &accounts::Plan,
        orders: Option<&(Orders, PathBuf)>,
        spec: &mut ClusterSpec,
    ) -> Vec<(usize, String, Place)> {
        let faults = &mut self.faults;
        spec.nodes = cluster::nodes(table, &self.folders, &mut self.catalog, faults, &mut self.problems);
        if let Some((orders, path)) = orders {
            let names = spec.nodes.iter().map(|node| node.name.as_str());
            if let Err(unknown) = trace::check_node_order(orders, path, names) {
                self.problems.extend(work::boxed(unknown));
            }
            let last = orders.sort_nodes(&mut spec.nodes);
            if 0 < last {
                self.notes.push(format!("{last} nodes are not in the recorded order, and come last in it"));
            }
        }
        let names = cluster::names(&spec.nodes, table, faults);
        // What names nodes of a list that could not be read would only be a second fault.
        if table.says("nodes") && !self.problems.is_empty() {
            return Vec::new();
        }
        spec.health = cluster::health(table, &spec.nodes, &names, faults);
        spec.demand = cluster::demand(table, &self.catalog, faults);
        let (windows, accounts) = cluster::windows(table, &names, plan, faults);
        spec.windows = windows;
        accounts
    }

    fn run(&mut self, run: Option<&Filled>) -> (Vec<(String, Place)>, u64, u64, Option<SimSpan>) {
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
}

impl Scenario {
    /// Makes the first seed's case, so that its faults come up before anything runs, and shrinks the cluster if asked to.
    fn settle(&mut self, scale_to_load: Option<(f64, &Place)>) -> Result<(), Error> {
        let mut notes = Vec::new();
        let mut case = self.case_with_notes(self.seed, &mut notes)?;
        notes.extend(failures::accelerated(self.failures));
        if let Some((target, place)) = scale_to_load {
            let whole = case.cluster.own_capacity();
            let load = offered_load(&case.workload, &case.catalog, whole);
            if load <= 0.0 {
                let fault = Fault::new("this work offers no load, so no cluster fits it");
                return Err(fault.at(place, "expected jobs that use GPUs and arrive at different times").into());
            }
            let shapes = case.catalog.shapes.rows().iter();
            let tasks = shapes.flat_map(|shape| shape.groups.iter().map(|group| &group.request));
            let kept = fit::keep(&self.cluster.nodes, load, target, tasks);
            notes.push(format!(
                "cluster as listed: {} nodes, {} GPUs, offered load {load:.3}",
                case.cluster.nodes.len(),
                whole.as_gpus_f64()
            ));
            let events = self.cluster.health.len();
            self.cluster = Arc::new(cluster::subset(&self.cluster, &kept));
            let lost = events - self.cluster.health.len();
            if 0 < lost {
                notes.push(format!("{lost} events are of nodes that are not kept, and are left out"));
            }
            let reached = load * whole.as_gpus_f64() / self.cluster.own_capacity().as_gpus_f64();
            if reached < 0.8 * target || 1.25 * target < reached {
                notes.push(format!(
                    "warning: nodes are kept whole, and of every kind that a job needs: the load comes to {reached:.3}, not {target}"
                ));
            }
            // Shaping may depend on capacity, and the ids of what is left changed: from here on all is as if listed so.
            case = self.case_with_notes(self.seed, &mut Vec::new())?;
        }
        let capacity = case.cluster.own_capacity();
        if let Some(users) = &case.users {
            notes.push(format!(
                "cluster: {} nodes, {} GPUs; {} users with {} streams of jobs",
                case.cluster.nodes.len(),
                capacity.as_gpus_f64(),
                users.user_count(),
                users.stream_count()
            ));
            self.notes.extend(notes);
            self.first = Some(case);
            return Ok(());
        }
        if let Some(until) = case.engine.until {
            let late = case.workload.jobs.iter().filter(|job| until <= job.submit).count();
            if 0 < late {
                notes.push(format!("warning: {late} of {} jobs come after the run is cut, at {until}", case.workload.jobs.len()));
            }
        }
        let load = if case.workload.jobs.iter().all(inflate::is_endless) {
            String::new()
        } else {
            format!(", offered load {:.3}", offered_load(&case.workload, &case.catalog, capacity))
        };
        let how = if scale_to_load.is_some() { "cluster as scaled" } else { "cluster" };
        notes.push(format!(
            "{how}: {} nodes, {} GPUs, {} jobs{load}",
            case.cluster.nodes.len(),
            capacity.as_gpus_f64(),
            case.workload.jobs.len()
        ));
        notes.extend(may_never_progress(&case));
        self.notes.extend(notes);
        self.first = Some(case);
        Ok(())
    }
}

/// A warning where a preempted job may lose all it did in every attempt.
fn may_never_progress(case: &Case) -> Option<String> {
    let stuck = |job: &&Job| {
        let protection = case.contract.protection(job.min_runtime);
        SimSpan::ZERO < job.checkpoint
            && SimSpan::ZERO < protection
            && protection < job.checkpoint + job.restart_cost
            && protection < job.work
    };
    let mut jobs = case.workload.jobs.iter().filter(stuck);
    let first = case.workload.names.get(jobs.next()?.name);
    let more = jobs.count();
    let who = if more == 0 { format!("job {first}") } else { format!("job {first} and {more} more") };
    Some(format!("warning: {who} may never progress when preempted: min runtime below checkpoint interval + restart cost"))
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
    let mut loader = Loader {
        folders: folders.clone(),
        catalog: Catalog::default(),
        faults: ignored,
        problems: Vec::new(),
        notes: Vec::new(),
    };
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
