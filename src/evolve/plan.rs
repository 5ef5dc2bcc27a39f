//! The whole evolution, checked: scenarios and policies of every regime, genes and their ranges, read before anything runs.

use super::gene::{Gene, Target, decode};
use super::genome::{Genome, Space};
use crate::drive::{build, under};
use crate::error::{Error, Problem};
use crate::form::{Fault, Faults, Place, Setting, read_value};
use crate::policy::{PolicySpec, doubts};
use crate::registry::Value;
use crate::report;
use crate::scenario::evolve::{Evolve, Regime, SpaceAsked};
use crate::scenario::{Folders, Scenario, chosen};
use std::collections::BTreeSet;
use std::path::Path;

/// One run that is asked for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ask {
    /// The regime, by its row.
    pub regime: usize,
    /// The genes; `None`: the reference.
    pub genes: Option<Genome>,
    /// The seed.
    pub seed: u64,
}

/// A checked evolution.
#[derive(Debug)]
pub struct Plan {
    /// The table.
    pub evolve: Evolve,
    /// What evolves.
    pub genes: Vec<Gene>,
    /// What holds of the genes.
    pub space: Space,
    /// Regime by regime.
    pub regimes: Vec<RegimePlan>,
    /// The policy whose knobs evolve, as its file says it: what the result is made from.
    pub policy: PolicySpec,
    /// Name of the scenario.
    pub scenario: String,
    /// The first seed.
    pub seed: u64,
    /// Hash of all that decides the result.
    pub identity: String,
    /// What was read, decided and doubted on the way.
    pub notes: Vec<String>,
}

/// One regime.
#[derive(Debug)]
pub struct RegimePlan {
    /// What the file says of it.
    pub regime: Regime,
    /// The scenario in it.
    pub scenario: Scenario,
    /// Knobs of the result that its genes become.
    pub writes: Vec<Target>,
    /// The policy, without genes.
    base: PolicySpec,
    /// What it is measured against.
    pub reference: PolicySpec,
    /// Genomes of the first population.
    pub starts: Vec<Genome>,
    inputs: String,
}

impl Plan {
    /// Reads and checks everything.
    ///
    /// - Errors: all faults of the scenario, the table and the policies, each once.
    pub fn make(path: &Path, options: &[String]) -> Result<Plan, Error> {
        let settings = chosen::settings(options)?;
        let mut scenario = Scenario::load(path, &chosen::for_scenario(&settings))?;
        let Some(evolve) = scenario.evolve.take() else {
            let fault = Fault::new(format!("`{}` does not say what to evolve", path.display()));
            return Err(fault
                .help("expected a table `[evolve]` with `policy`, `genes`, `reference` and `[[evolve.cost]]`")
                .into());
        };
        let space = match evolve.space {
            SpaceAsked::Simplex => Space::Simplex,
            SpaceAsked::Signed => Space::Signed,
            SpaceAsked::Box => Space::Box,
        };
        let mut reader =
            Reader { path, settings, evolve: &evolve, space, seen: BTreeSet::new(), problems: Vec::new(), notes: Vec::new() };
        let (name, seed) = (scenario.name.clone(), scenario.seed);
        let policy = reader.policies(&[]).map(|(own, ..)| own);
        let genes = policy.as_ref().map(|policy| reader.genes(policy));
        let mut first = Some(scenario);
        let mut regimes = Vec::new();
        for regime in &evolve.regimes {
            let own = if regime.settings.is_empty() { first.take() } else { None };
            regimes.extend(reader.regime(regime, own, genes.as_deref().unwrap_or(&[])));
        }
        let Reader { problems, notes, settings, .. } = reader;
        let (Some(policy), Some(genes)) = (policy, genes) else { return Err(Error::Input(problems)) };
        if !problems.is_empty() {
            return Err(Error::Input(problems));
        }
        let text = std::fs::read(path).unwrap_or_default();
        let settings: Vec<String> = settings.iter().map(|it| format!("{}={:?}", it.key(), it.value.tree)).collect();
        let mut hasher = blake3::Hasher::new();
        hasher.update(format!("schedlab evolve 1 {} {name} {settings:?}", env!("CARGO_PKG_VERSION")).as_bytes());
        hasher.update(&text);
        hasher.update(format!("{policy:?}").as_bytes());
        for it in &regimes {
            hasher.update(format!("{} {:?} {:?} {:?}", it.inputs, it.base, it.reference, it.starts).as_bytes());
        }
        let identity = hasher.finalize().to_hex()[..32].to_owned();
        Ok(Plan { evolve, genes, space, regimes, policy, scenario: name, seed, identity, notes })
    }

    /// The policy of a run.
    pub fn spec(&self, ask: &Ask) -> PolicySpec {
        let regime = &self.regimes[ask.regime];
        match &ask.genes {
            None => regime.reference.clone(),
            Some(genome) => with(&regime.base, &self.genes, genome),
        }
    }

    /// Seeds of the training.
    pub fn training(&self) -> Vec<u64> {
        (0..self.evolve.settings.seeds as u64).map(|n| self.seed.wrapping_add(n)).collect()
    }
    /// Seeds of the validation, which the training never saw.
    pub fn validation(&self) -> Vec<u64> {
        let from = self.seed.wrapping_add(self.evolve.settings.seeds as u64);
        (0..self.evolve.settings.validation as u64).map(|n| from.wrapping_add(n)).collect()
    }
    /// The most runs that it may take.
    pub fn runs(&self) -> u128 {
        let it = &self.evolve.settings;
        let training = (it.population as u128 * it.generations as u128 + 1) * it.seeds as u128;
        (training + (it.finalists as u128 + 1) * it.validation as u128) * self.regimes.len() as u128
    }
    /// Whose genes stand where the guardrail is unmet, in words.
    pub fn fallback(&self, regime: usize) -> &'static str {
        let reference = &self.regimes[regime].reference;
        match self.genes.iter().filter(|gene| same(gene, reference).is_some()).count() {
            0 => "the reference does not have these genes, so those of the policy itself stand",
            count if count == self.genes.len() => "the reference's genes stand",
            _ => "the reference's genes stand, and those of the policy itself that it does not have",
        }
    }
    /// What the reference says of the genes; of one that it does not have, what the policy itself says.
    pub fn of_reference(&self, regime: usize) -> Vec<Option<Value>> {
        let reference = &self.regimes[regime].reference;
        let own = |gene: &Gene| same(gene, reference).or_else(|| gene.target.value(&self.policy));
        self.genes.iter().map(own).collect()
    }
}

/// A policy with the genes of a genome.
fn with(base: &PolicySpec, genes: &[Gene], genome: &Genome) -> PolicySpec {
    let mut spec = base.clone();
    for (gene, value) in genes.iter().zip(decode(genes, genome)) {
        gene.target.set(&mut spec, value);
    }
    spec
}

/// What another policy says of a gene, if it has that knob in that stage.
fn same(gene: &Gene, other: &PolicySpec) -> Option<Value> {
    Target::find(other, &gene.key).ok()?.value(other)
}

/// The policy that evolves, the reference, and the policies to start from.
type Policies = (PolicySpec, PolicySpec, Vec<(PolicySpec, Place)>);

/// A plan on its way.
struct Reader<'a> {
    path: &'a Path,
    settings: Vec<Setting>,
    evolve: &'a Evolve,
    space: Space,
    seen: BTreeSet<String>,
    problems: Vec<Problem>,
    notes: Vec<String>,
}

impl Reader<'_> {
    /// The policy that evolves, the reference and the starts, under the settings of a regime.
    fn policies(&mut self, of_regime: &[Setting]) -> Option<Policies> {
        let evolve = self.evolve;
        let settings: Vec<Setting> = self.settings.iter().chain(of_regime).cloned().collect();
        let mut named: Vec<(String, Place)> = Vec::new();
        for it in [&evolve.policy, &evolve.reference].into_iter().chain(&evolve.start) {
            if !named.iter().any(|(name, _)| *name == it.0) {
                named.push(it.clone());
            }
        }
        let mut notes = Vec::new();
        let specs = chosen::read_policies(&named, &Folders::of(self.path), &settings, &mut notes);
        let specs = self.keep(specs)?;
        self.note(notes);
        let find = |name: &str| named.iter().position(|(it, _)| it == name).map(|row| specs[row].clone());
        let starts = evolve.start.iter().filter_map(|(name, place)| Some((find(name)?, place.clone()))).collect();
        Some((find(&evolve.policy.0)?, find(&evolve.reference.0)?, starts))
    }

    fn genes(&mut self, policy: &PolicySpec) -> Vec<Gene> {
        let mut faults = Faults::new();
        let genes = self.evolve.genes.iter().filter_map(|asked| Gene::new(asked, policy, self.space, &mut faults)).collect();
        self.fault(faults);
        genes
    }

    fn regime(&mut self, regime: &Regime, own: Option<Scenario>, genes: &[Gene]) -> Option<RegimePlan> {
        let settings: Vec<Setting> = self.settings.iter().chain(&regime.settings).cloned().collect();
        let scenario = own.map_or_else(|| Scenario::load(self.path, &chosen::for_scenario(&settings)), Ok);
        let (scenario, policies) = (self.keep(scenario), self.policies(&regime.settings));
        let (scenario, (mut base, reference, starts)) = (scenario?, policies?);
        let mut faults = Faults::new();
        self.hold(&mut base, &mut faults);
        let writes = writes(regime, genes, &base, &mut faults);
        let whole = genes.len() == self.evolve.genes.len();
        let starts = if whole { self.starts(genes, &base, &starts, &mut faults) } else { Vec::new() };
        if !faults.is_empty() || !whole {
            self.fault(faults);
            return None;
        }
        let case = self.keep(scenario.case(scenario.seed))?;
        let centre = with(&base, genes, &self.space.centre(genes.len()));
        for spec in [&reference, &centre] {
            let case = under(spec, &case);
            let built = build(spec, &case);
            self.keep(built)?;
            self.note(doubts(spec, &case));
        }
        self.note(scenario.notes.iter().map(|note| format!("{}: {note}", regime.name)).collect());
        let rest = (&case.accounts, &case.share_changes, case.contract, case.engine, case.lookback, &case.session_classes);
        let inputs = format!("{} {rest:?}", report::inputs(&[&case]));
        Some(RegimePlan { regime: regime.clone(), scenario, writes, base, reference, starts, inputs })
    }

    /// Sets what is held while the genes evolve.
    fn hold(&self, base: &mut PolicySpec, faults: &mut Faults) {
        for setting in &self.evolve.held {
            match Target::find(base, &setting.key()) {
                Ok(target) => {
                    if let Some(value) = read_value(target.knob, &setting.value, faults) {
                        target.set(base, value);
                    }
                }
                Err(known) => {
                    let fault = Fault::new(format!("policy `{}` has no knob `{}`", base.name, setting.key()));
                    let fault = fault.at(&setting.path[0].1, "expected a knob of the policy, with its stage");
                    faults.push(fault.nearest(&setting.key(), known.iter().map(String::as_str)));
                }
            }
        }
    }

    /// Genomes to start from: of the policies named, and where the policy itself stands.
    fn starts(&self, genes: &[Gene], base: &PolicySpec, starts: &[(PolicySpec, Place)], faults: &mut Faults) -> Vec<Genome> {
        let genome = |spec: &PolicySpec| {
            let numbers: Option<Vec<f64>> = genes.iter().map(|gene| gene.encode(&same(gene, spec)?)).collect();
            let numbers = numbers.ok_or_else(|| genes.iter().find(|gene| same(gene, spec).is_none()))?;
            Ok::<Genome, Option<&Gene>>(self.space.repair(&numbers))
        };
        let mut all = Vec::new();
        for (spec, place) in starts {
            match genome(spec) {
                Ok(genome) => all.push(genome),
                Err(missing) => {
                    let key = missing.map_or("the genes", |gene| gene.key.as_str());
                    let fault = Fault::new(format!("policy `{}` says nothing of `{key}`", spec.name));
                    faults.push(fault.at(place, "expected policies that have all genes"));
                }
            }
        }
        // A policy whose genes are unset stands nowhere.
        all.extend(genome(base));
        all
    }

    /// The value, or its faults among those found so far.
    fn keep<T>(&mut self, found: Result<T, Error>) -> Option<T> {
        let problems = match found {
            Ok(found) => return Some(found),
            Err(Error::Input(problems)) => problems,
            Err(other) => vec![Box::new(Fault::new(other.to_string())) as Problem],
        };
        for problem in problems {
            if self.seen.insert(format!("{problem:?}")) {
                self.problems.push(problem);
            }
        }
        None
    }

    fn fault(&mut self, faults: Faults) {
        if !faults.is_empty() {
            _ = self.keep::<()>(Err(faults.into()));
        }
    }

    fn note(&mut self, notes: Vec<String>) {
        for note in notes {
            if !self.notes.contains(&note) {
                self.notes.push(note);
            }
        }
    }
}

/// The knobs that the genes of a regime become.
fn writes(regime: &Regime, genes: &[Gene], base: &PolicySpec, faults: &mut Faults) -> Vec<Target> {
    if regime.writes.is_empty() {
        return genes.iter().map(|gene| gene.target).collect();
    }
    let mut targets = Vec::new();
    for ((key, place), gene) in regime.writes.iter().zip(genes) {
        match Target::find(base, key) {
            Ok(target) if target.knob.kind == gene.target.knob.kind => targets.push(target),
            Ok(target) => {
                let said = format!("`{}` cannot become `{key}`, which takes {}", gene.key, target.knob.kind.expected());
                faults.push(Fault::new(said).at(place, "expected a knob that takes the same"));
            }
            Err(known) => {
                let fault = Fault::new(format!("policy `{}` has no knob `{key}`", base.name));
                let fault = fault.at(place, "expected a knob of the policy, with its stage");
                faults.push(fault.nearest(key, known.iter().map(String::as_str)));
            }
        }
    }
    targets
}
