//! `[evolve]`: which knobs of a policy are to be evolved, for what cost, under which guardrail. It evolves nothing, and does not know the
//! policies that it names.

use super::{Folders, policies};
use crate::form::{Fault, Faults, Filled, Form, Node, Part, Place, Setting, Tree};
use crate::registry::{Kind, Knob, Value};
use crate::report::{Figure, Unit, figure};

const NAMES: Kind = Kind::List(&Kind::Text);
const NOT_NEGATIVE: Kind = Kind::Float { min: 0.0, max: f64::MAX };

/// The table.
pub const EVOLVE: Form = Form {
    about: "which knobs of a policy `schedlab evolve` looks for, for what cost, under which guardrail (docs/evolve.md)",
    required: &["policy", "reference"],
    knobs: &[
        Knob::optional("policy", "name or file of the policy whose knobs evolve", Kind::Text),
        Knob::optional(
            "genes",
            "knobs that evolve, such as `place.frag`; those with a range of their own are `[[evolve.gene]]`",
            NAMES,
        ),
        Knob::new("simplex", "genes are weights: none below 0, their sum is 1", Kind::Bool, "false"),
        Knob::new("signed", "genes are weights that may be negative: their amounts add up to 1", Kind::Bool, "false"),
        Knob::optional("reference", "the policy that relative costs and the guardrail are against", Kind::Text),
        Knob::optional("start", "policies whose values of the genes join the first population", NAMES),
        Knob::new("population", "individuals of a generation", Kind::Int { min: 2, max: 10_000 }, "32"),
        Knob::new("generations", "most generations", Kind::Int { min: 1, max: 100_000 }, "30"),
        Knob::new("tournament", "the best of so many becomes a parent", Kind::Int { min: 1, max: 10_000 }, "3"),
        Knob::new("crossover", "how likely a child has two parents", Kind::FRACTION, "0.9"),
        Knob::new(
            "blx",
            "how far beyond its parents a child may lie, in their distance (BLX-alpha)",
            Kind::Float { min: 0.0, max: 10.0 },
            "0.3",
        ),
        Knob::new("mutation", "how likely a gene mutates", Kind::FRACTION, "0.25"),
        Knob::new(
            "sd_from",
            "standard deviation of a mutation in the first generation, of a weight, or of a range of length 1",
            Kind::FRACTION,
            "0.15",
        ),
        Knob::new("sd_to", "the same in the last one", Kind::FRACTION, "0.03"),
        Knob::new("elites", "so many of the best go on unchanged", Kind::Int { min: 0, max: 10_000 }, "2"),
        Knob::new("patience", "generations without improvement after which it ends", Kind::Int { min: 1, max: 100_000 }, "8"),
        Knob::new(
            "seeds",
            "seeds of an evaluation, counted up from `run.seed`, the same for all",
            Kind::Int { min: 1, max: 10_000 },
            "5",
        ),
        Knob::new("validation", "fresh seeds on which the best are judged again", Kind::Int { min: 1, max: 10_000 }, "20"),
        Knob::new("finalists", "so many of the best are judged again", Kind::Int { min: 1, max: 100 }, "3"),
        Knob::new(
            "racing",
            "stop runs of an individual that cannot pass the guardrail any more; changes no result",
            Kind::Bool,
            "true",
        ),
    ],
    parts: &[
        ("gene", Part::Many(&GENE)),
        ("set", Part::One(&SET)),
        ("cost", Part::Many(&COST)),
        ("guardrail", Part::One(&GUARDRAIL)),
        ("regime", Part::Many(&REGIME)),
    ],
    free: None,
};

const GENE: Form = Form {
    required: &["knob"],
    ..Form::of(
        "a knob that evolves within a range",
        &[
            Knob::optional("knob", "the knob, such as `order.lookback`", Kind::Text),
            Knob::optional("range", "from where to where, such as `1h..14d`; unset: what the knob takes", Kind::Text),
            Knob::new("log", "equal steps are equal factors", Kind::Bool, "false"),
        ],
    )
};

const SET: Form = Form {
    free: Some("key"),
    ..Form::of("knobs of the policy that are held while it evolves: `\"place.regimes\" = false`", &[])
};

const COST: Form = Form {
    required: &["metric"],
    ..Form::of(
        "one term of the cost, a sum of weight x figure; of a figure of which more is better the amount that is missing counts: \
         1 - figure of a share, else -figure",
        &[
            Knob::optional("metric", "key of a figure (docs/comparing.md)", Kind::Text),
            Knob::new("weight", "its weight", NOT_NEGATIVE, "1"),
            Knob::optional(
                "absent",
                "what the figure counts as in a run that has none (nobody waited, say); unset: such a run cannot be chosen",
                NOT_NEGATIVE,
            ),
            Knob::new(
                "relative",
                "over the mean of the reference on the same seeds (of at least 1e-9; absolute if that is 0)",
                Kind::Bool,
                "false",
            ),
        ],
    )
};

const GUARDRAIL: Form = Form::of(
    "what is bounded: the upper confidence bound of the figure is at most the reference's mean + margin",
    &[
        Knob::optional("metric", "key of a figure of which less is better", Kind::Text),
        Knob::optional("events", "or key of a count of events, taken per `per`", Kind::Text),
        Knob::new(
            "per",
            "what events are divided by: attempts started, or GPU hours held",
            Kind::Choice(&["attempts", "gpu_hours"]),
            "attempts",
        ),
        Knob::new("margin", "what it may be worse by, in the unit of the figure", NOT_NEGATIVE, "0.005"),
        Knob::new("confidence", "of the one-sided bound", Kind::Float { min: 0.5, max: 0.999_999 }, "0.95"),
        Knob::new("paired", "bound the difference to the reference, seed by seed", Kind::Bool, "false"),
    ],
);

const REGIME: Form = Form {
    required: &["name"],
    parts: &[("set", Part::One(&REGIME_SET))],
    ..Form::of(
        "a situation for which genes are evolved apart",
        &[
            Knob::optional("name", "what it is called", Kind::Text),
            Knob::optional(
                "writes",
                "the knobs that its genes become in the result, in their order; unset: the genes themselves",
                NAMES,
            ),
        ],
    )
};

const REGIME_SET: Form =
    Form { free: Some("key"), ..Form::of("keys of the scenario (or of the policies) in it: `\"workload.load\" = 0.2`", &[]) };

/// The table, read.
#[derive(Clone, Debug)]
pub struct Evolve {
    /// The policy whose knobs evolve.
    pub policy: (String, Place),
    /// What evolves.
    pub genes: Vec<GeneAsked>,
    /// What the genes have to do with each other.
    pub space: SpaceAsked,
    /// Knobs of the policy that are held.
    pub held: Vec<Setting>,
    /// What it is measured against.
    pub reference: (String, Place),
    /// Policies whose genes join the first population.
    pub start: Vec<(String, Place)>,
    /// How the search goes.
    pub settings: Settings,
    /// Terms of the cost.
    pub costs: Vec<Cost>,
    /// What is bounded, if anything.
    pub guardrail: Option<Guardrail>,
    /// Situations; one without a setting if the file names none.
    pub regimes: Vec<Regime>,
    /// Where the table stands.
    pub at: Place,
}

/// A gene as the file asks for it.
#[derive(Clone, Debug)]
pub struct GeneAsked {
    /// The dotted knob.
    pub knob: String,
    /// Where it stands.
    pub at: Place,
    /// Its range, unread, and where that stands.
    pub range: Option<(String, Place)>,
    /// Whether equal steps are equal factors.
    pub log: bool,
}

/// What genes have to do with each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpaceAsked {
    /// Weights from 0 with the sum 1.
    Simplex,
    /// Weights whose amounts have the sum 1.
    Signed,
    /// Nothing: each has a range of its own.
    Box,
}

/// How the search goes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// Individuals of a generation.
    pub population: usize,
    /// Most generations.
    pub generations: usize,
    /// Size of a tournament.
    pub tournament: usize,
    /// How likely a child has two parents.
    pub crossover: f64,
    /// The alpha of BLX-alpha.
    pub blx: f64,
    /// How likely a gene mutates.
    pub mutation: f64,
    /// Standard deviation of a mutation at first and at last.
    pub sd: (f64, f64),
    /// How many of the best go on unchanged.
    pub elites: usize,
    /// Generations without improvement after which it ends.
    pub patience: usize,
    /// Seeds of an evaluation.
    pub seeds: usize,
    /// Fresh seeds of the validation.
    pub validation: usize,
    /// How many are validated.
    pub finalists: usize,
    /// Whether hopeless individuals are stopped.
    pub racing: bool,
}

/// A term of the cost.
#[derive(Clone, Debug)]
pub struct Cost {
    /// The figure.
    pub figure: Figure,
    /// Its weight.
    pub weight: f64,
    /// Whether over the reference's mean.
    pub relative: bool,
    /// What the figure counts as in a run that has none.
    pub absent: Option<f64>,
    /// Where it stands.
    pub at: Place,
}

/// What a guardrail bounds.
#[derive(Clone, Debug)]
pub enum Bounded {
    /// A figure.
    Figure(Figure),
    /// A count of events over something.
    Events(Figure, Per),
}

/// What events are divided by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Per {
    /// Attempts started.
    Attempts,
    /// GPU hours held.
    GpuHours,
}

/// The guardrail.
#[derive(Clone, Debug)]
pub struct Guardrail {
    /// What is bounded.
    pub bounded: Bounded,
    /// What it may be worse by.
    pub margin: f64,
    /// Confidence of the bound.
    pub confidence: f64,
    /// Whether differences are bounded.
    pub paired: bool,
    /// Where it stands.
    pub at: Place,
}

/// A situation.
#[derive(Clone, Debug)]
pub struct Regime {
    /// Its name.
    pub name: String,
    /// What is set in it.
    pub settings: Vec<Setting>,
    /// Knobs that the genes become, with their places; none: the genes themselves.
    pub writes: Vec<(String, Place)>,
    /// Where it stands.
    pub at: Place,
}

/// Reads `[evolve]`, if the file has it.
pub fn read(file: &Filled, folders: &Folders, faults: &mut Faults) -> Option<Evolve> {
    let table = file.part("evolve")?;
    let before = faults.len();
    let knobs = &table.knobs;
    let policy = named(table, "policy", folders, faults);
    let reference = named(table, "reference", folders, faults);
    let start = texts(table, "start");
    start.iter().for_each(|(name, place)| policies::check_name(name, place, folders, faults));
    let space = match (knobs.flag("simplex"), knobs.flag("signed")) {
        (_, true) => SpaceAsked::Signed,
        (true, false) => SpaceAsked::Simplex,
        (false, false) => SpaceAsked::Box,
    };
    let genes = genes(table, space, faults);
    if table.parts("cost").is_empty() {
        faults.push(
            Fault::new("there is no cost, so nothing is better than anything").at(&table.at, "expected `[[evolve.cost]]` tables"),
        );
    }
    let costs = table.parts("cost").iter().filter_map(|it| cost(it, faults)).collect();
    let guardrail = table.part("guardrail").and_then(|it| guardrail(it, faults));
    let regimes = regimes(table, genes.len(), faults);
    let held = table.part("set").map_or_else(Vec::new, |it| settings(it, faults));
    let settings = numbers(table);
    if settings.population < settings.elites {
        let fault = Fault::new("there are more elites than individuals");
        faults.push(fault.at(table.place("elites"), format!("expected at most the population, {}", settings.population)));
    }
    if faults.len() != before {
        return None;
    }
    Some(Evolve {
        policy: policy?,
        genes,
        space,
        held,
        reference: reference?,
        start,
        settings,
        costs,
        guardrail,
        regimes,
        at: table.at.clone(),
    })
}

fn numbers(table: &Filled) -> Settings {
    let count = |name: &str| table.knobs.int(name) as usize;
    let float = |name: &str| table.knobs.float(name);
    Settings {
        population: count("population"),
        generations: count("generations"),
        tournament: count("tournament"),
        crossover: float("crossover"),
        blx: float("blx"),
        mutation: float("mutation"),
        sd: (float("sd_from"), float("sd_to")),
        elites: count("elites"),
        patience: count("patience"),
        seeds: count("seeds"),
        validation: count("validation"),
        finalists: count("finalists"),
        racing: table.knobs.flag("racing"),
    }
}

fn named(table: &Filled, key: &str, folders: &Folders, faults: &mut Faults) -> Option<(String, Place)> {
    let name = table.knobs.opt_text(key)?.to_owned();
    let place = table.place(key).clone();
    policies::check_name(&name, &place, folders, faults);
    Some((name, place))
}

/// The words of a list, all at its place.
fn texts(table: &Filled, key: &str) -> Vec<(String, Place)> {
    let text = |value: &Value| match value {
        Value::Text(text) => Some((text.clone(), table.place(key).clone())),
        Value::Bool(_) | Value::Int(_) | Value::Float(_) | Value::Span(_) | Value::File(_) | Value::List(_) => None,
    };
    table.knobs.list(key).iter().filter_map(text).collect()
}

fn genes(table: &Filled, space: SpaceAsked, faults: &mut Faults) -> Vec<GeneAsked> {
    let plain = texts(table, "genes").into_iter().map(|(knob, at)| GeneAsked { knob, at, range: None, log: false });
    let ranged = table.parts("gene").iter().filter_map(|it| {
        Some(GeneAsked {
            knob: it.knobs.opt_text("knob")?.to_owned(),
            at: it.place("knob").clone(),
            range: it.knobs.opt_text("range").map(|text| (text.to_owned(), it.place("range").clone())),
            log: it.knobs.flag("log"),
        })
    });
    let genes: Vec<GeneAsked> = plain.chain(ranged).collect();
    if genes.is_empty() {
        let fault = Fault::new("there is nothing to evolve");
        faults.push(fault.at(&table.at, "expected `genes = [\"STAGE.KNOB\", …]` or `[[evolve.gene]]` tables"));
    }
    for (row, gene) in genes.iter().enumerate() {
        if genes[..row].iter().any(|earlier| earlier.knob == gene.knob) {
            faults.push(Fault::new(format!("`{}` is a gene twice", gene.knob)).at(&gene.at, "expected each knob once"));
        }
        if let (SpaceAsked::Simplex | SpaceAsked::Signed, Some((_, place))) = (space, &gene.range) {
            faults.push(Fault::new("weights that add up to 1 have no range of their own").at(place, "expected no range"));
        }
    }
    if space != SpaceAsked::Box && genes.len() == 1 {
        let fault = Fault::new("one weight that is always 1 leaves nothing to evolve");
        faults.push(fault.at(&genes[0].at, "expected at least two genes, or neither `simplex` nor `signed`"));
    }
    genes
}

/// The figure of a key, one and no more.
fn figure_of(table: &Filled, key: &str, faults: &mut Faults) -> Option<Figure> {
    let name = table.knobs.opt_text(key)?;
    let (near, place) = match figure(name) {
        Ok(found) if found.name() != "*" => return Some(found),
        Ok(_) => {
            let fault =
                Fault::new(format!("`{name}` means several figures")).at(table.place(key), "expected one: a name for `*`");
            faults.push(fault);
            return None;
        }
        Err(near) => (near, table.place(key)),
    };
    let fault = Fault::new(format!("there is no figure `{name}`"));
    let fault = fault.at(place, "expected the key of a figure that can be compared (docs/comparing.md)");
    faults.push(match near {
        Some(near) => fault.help(format!("did you mean `{near}`?")),
        None => fault,
    });
    None
}

fn cost(table: &Filled, faults: &mut Faults) -> Option<Cost> {
    Some(Cost {
        figure: figure_of(table, "metric", faults)?,
        weight: table.knobs.float("weight"),
        relative: table.knobs.flag("relative"),
        absent: table.knobs.opt_float("absent"),
        at: table.place("metric").clone(),
    })
}

fn guardrail(table: &Filled, faults: &mut Faults) -> Option<Guardrail> {
    use crate::compare::Direction;
    let bounded = match (table.says("metric"), table.says("events")) {
        (true, false) => {
            let figure = figure_of(table, "metric", faults)?;
            if figure.info.direction == Direction::HigherIsBetter {
                let fault = Fault::new(format!("more is better of `{}`, so an upper bound guards nothing", figure.key()));
                faults.push(fault.at(table.place("metric"), "expected a figure of which less is better"));
                return None;
            }
            Bounded::Figure(figure)
        }
        (false, true) => {
            let figure = figure_of(table, "events", faults)?;
            if figure.info.unit != Unit::Count {
                let fault = Fault::new(format!("`{}` is no count of events", figure.key()));
                faults.push(fault.at(table.place("events"), "expected a count, such as `preemption.events`"));
                return None;
            }
            Bounded::Events(figure, if table.knobs.text("per") == "attempts" { Per::Attempts } else { Per::GpuHours })
        }
        (false, false) => {
            faults.push(Fault::new("this guardrail guards nothing").at(&table.at, "expected `metric`, or `events` and `per`"));
            return None;
        }
        (true, true) => {
            let fault = Fault::new("this guardrail says twice what it guards");
            faults.push(fault.at(table.key_place("metric"), "here").at(table.key_place("events"), "and here"));
            return None;
        }
    };
    Some(Guardrail {
        bounded,
        margin: table.knobs.float("margin"),
        confidence: table.knobs.float("confidence"),
        paired: table.knobs.flag("paired"),
        at: table.at.clone(),
    })
}

fn regimes(table: &Filled, genes: usize, faults: &mut Faults) -> Vec<Regime> {
    let mut regimes: Vec<Regime> = Vec::new();
    for it in table.parts("regime") {
        let name = it.knobs.opt_text("name").unwrap_or_default().to_owned();
        if regimes.iter().any(|earlier| earlier.name == name) {
            faults.push(Fault::new(format!("two regimes are called `{name}`")).at(it.place("name"), "expected another name"));
        }
        let writes = texts(it, "writes");
        if !writes.is_empty() && writes.len() != genes {
            let fault = Fault::new(format!("{} genes cannot become {} knobs", genes, writes.len()));
            faults.push(fault.at(it.place("writes"), "expected a knob for each gene, in their order"));
        }

        for (row, (knob, place)) in writes.iter().enumerate() {
            let earlier = regimes.iter().flat_map(|it| &it.writes).chain(&writes[..row]);
            if earlier.into_iter().any(|(other, _)| other == knob) {
                faults.push(Fault::new(format!("`{knob}` is written twice")).at(place, "expected each knob once"));
            }
        }
        let settings = it.part("set").map_or_else(Vec::new, |it| settings(it, faults));
        regimes.push(Regime { name, settings, writes, at: it.at.clone() });
    }
    if 1 < regimes.len() {
        for regime in regimes.iter().filter(|it| it.writes.is_empty()) {
            let fault = Fault::new(format!("regime `{}` would write the same knobs as another", regime.name));
            faults.push(fault.at(&regime.at, "expected `writes`: the knobs that its genes become"));
        }
    }
    if regimes.is_empty() {
        regimes.push(Regime { name: "all".into(), settings: Vec::new(), writes: Vec::new(), at: table.at.clone() });
    }
    regimes
}

/// The keys of a table as settings: `a.b`, `[set.a] b` and `"a.b"` are one.
fn settings(table: &Filled, faults: &mut Faults) -> Vec<Setting> {
    let mut settings = Vec::new();
    for (key, place, node) in table.free() {
        flatten(&mut parts(key, place), node, &mut settings);
    }
    for setting in &settings {
        if setting.head() == "evolve" {
            let fault = Fault::new("a search cannot change itself").at(&setting.path[0].1, "expected another key");
            faults.push(fault);
        }
    }
    // What is set within a table must not give way to the table, whichever was said first.
    settings.sort_by_key(|setting| setting.path.len());
    settings
}

fn parts(key: &str, place: &Place) -> Vec<(String, Place)> {
    key.split('.').map(|part| (part.trim().to_owned(), place.clone())).collect()
}

fn flatten(path: &mut Vec<(String, Place)>, node: &Node, out: &mut Vec<Setting>) {
    let Tree::Table(entries) = &node.tree else {
        // Text may stand for any kind, as in an option.
        let tree = match &node.tree {
            Tree::Text(text) => Tree::Raw(text.clone()),
            other => other.clone(),
        };
        out.push(Setting { path: path.clone(), value: Node { tree, at: node.at.clone() } });
        return;
    };
    for (key, (place, below)) in entries {
        let length = path.len();
        path.extend(parts(key, place));
        flatten(path, below, out);
        path.truncate(length);
    }
}
