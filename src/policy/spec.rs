//! What a policy file says, checked: one implementation per stage with its knobs.

use crate::engine::{Case, Policy};
use crate::registry::{Info, Kind, Knob, Knobs};
use crate::units::SimSpan;

/// The questions that a policy answers, in the order of a pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// Who is next?
    Order,
    /// How far past a stuck head?
    Fill,
    /// Which node, which GPU?
    Place,
    /// Who leaves for it?
    Evict,
    /// What capacity moves between pools?
    Lend,
    /// How many workers does an elastic job hold?
    Scale,
    /// Who is moved so that free GPUs lie better?
    Deschedule,
}

impl Stage {
    /// All stages.
    pub const ALL: [Stage; 7] =
        [Stage::Order, Stage::Fill, Stage::Place, Stage::Evict, Stage::Lend, Stage::Scale, Stage::Deschedule];

    /// Its table in a policy file.
    pub const fn key(self) -> &'static str {
        match self {
            Stage::Order => "order",
            Stage::Fill => "fill",
            Stage::Place => "place",
            Stage::Evict => "evict",
            Stage::Lend => "lend",
            Stage::Scale => "scale",
            Stage::Deschedule => "deschedule",
        }
    }
    /// Its word in `schedlab list`.
    pub const fn plural(self) -> &'static str {
        match self {
            Stage::Order => "orders",
            Stage::Fill => "fills",
            Stage::Place => "places",
            Stage::Evict => "evictions",
            Stage::Lend => "lenders",
            Stage::Scale => "scalers",
            Stage::Deschedule => "deschedulers",
        }
    }
    /// The question it answers.
    pub const fn question(self) -> &'static str {
        match self {
            Stage::Order => "who is next?",
            Stage::Fill => "how far past a stuck head?",
            Stage::Place => "which node, which GPU?",
            Stage::Evict => "who leaves for it?",
            Stage::Lend => "what capacity moves between pools?",
            Stage::Scale => "how many workers does an elastic job hold?",
            Stage::Deschedule => "who is moved so that free GPUs lie better?",
        }
    }
    /// The implementation a policy file gets when it names none.
    pub const fn default_name(self) -> &'static str {
        match self {
            Stage::Order => "fifo",
            Stage::Fill => "strict",
            Stage::Place => "first-fit",
            Stage::Evict => "nobody",
            Stage::Lend => "none",
            Stage::Scale => "base",
            Stage::Deschedule => "none",
        }
    }
    /// What is registered for it.
    pub fn infos(self) -> Vec<Info> {
        crate::policy::infos(self)
    }
}

/// Knobs of a policy's `[contract]` table; unset ones leave the scenario's contract as it is.
pub const CONTRACT_KNOBS: &[Knob] = &[
    Knob::optional(
        "protection",
        "what protects an attempt: what its job declared, `exempt_time` for all, what its account says, or nothing",
        Kind::Choice(&["contract", "global", "queue", "none"]),
    ),
    Knob::optional("exempt_time", "with protection = global: how long each allocated attempt is protected", Kind::SPAN).tunable(),
    Knob::optional("max_min_runtime", "longest protection whatever a job declares", Kind::SPAN_OR_UNLIMITED).tunable(),
    Knob::optional("default_min_runtime", "min runtime of allocated jobs that declare none", Kind::SPAN).tunable(),
    Knob::optional("undeclared", "how jobs that declare no min runtime count", Kind::Choice(&["unallocated", "allocated"])),
    Knob::optional(
        "unallocated_gpus_max",
        "most GPUs that unallocated work of one account holds at once; unset: no limit",
        Kind::Int { min: 0, max: 1 << 32 },
    )
    .unit("GPUs")
    .tunable(),
];

/// One implementation and its knobs.
#[derive(Clone, Debug, PartialEq)]
pub struct Choice {
    /// Name of a registered entry of the stage.
    pub entry: &'static str,
    /// All its knobs, checked.
    pub knobs: Knobs,
}

/// A checked policy file.
#[derive(Clone, Debug, PartialEq)]
pub struct PolicySpec {
    /// Its name in reports: the file's stem.
    pub name: String,
    /// One line on what it is.
    pub about: String,
    /// One choice a stage, in the order of [`Stage::ALL`].
    pub stages: [Choice; 7],
    /// What it sets of the contract ([`CONTRACT_KNOBS`]).
    pub contract: Knobs,
    /// A policy that is not cut into stages, instead of them.
    pub whole: Option<Choice>,
}

impl PolicySpec {
    /// A policy of the default stages (FIFO, strict, first-fit).
    pub fn named(name: &str) -> PolicySpec {
        let stages = Stage::ALL.map(|stage| {
            let infos = stage.infos();
            let info = infos.iter().find(|info| info.name == stage.default_name()).expect("defaults are registered");
            Choice { entry: info.name, knobs: Knobs::defaults(info.knobs) }
        });
        PolicySpec { name: name.into(), about: String::new(), stages, contract: Knobs::default(), whole: None }
    }
    /// The same policy with `entry` (with default knobs) at `stage`.
    ///
    /// Panics if no such entry is registered.
    pub fn with(mut self, stage: Stage, entry: &str) -> PolicySpec {
        let infos = stage.infos();
        let info = infos.iter().find(|info| info.name == entry).expect("a registered entry");
        self.stages[stage as usize] = Choice { entry: info.name, knobs: Knobs::defaults(info.knobs) };
        self
    }
    /// The choice made for `stage`.
    pub fn choice(&self, stage: Stage) -> &Choice {
        &self.stages[stage as usize]
    }
    /// How long its order remembers usage: the window, or of what decays the sliding window of the same mean age (half-life x 2 / ln 2);
    /// zero if it remembers none.
    pub fn lookback(&self) -> SimSpan {
        let knobs = &self.choice(Stage::Order).knobs;
        let window = knobs.opt_span("lookback").unwrap_or(SimSpan::ZERO);
        let alike =
            |half: SimSpan| SimSpan::from_millis(libm::round(half.as_millis() as f64 * 2.0 / std::f64::consts::LN_2) as u64);
        match knobs.opt_text("kernel") {
            Some("none") => SimSpan::ZERO,
            Some("decay") => knobs.opt_span("half_life").map_or(window, alike),
            Some(_) | None => window,
        }
    }
    /// A policy ready to run on `case`.
    ///
    /// Errors: the reasons, one a line, why these stages do not go together.
    pub fn build(&self, case: &Case) -> Result<Box<dyn Policy>, Vec<String>> {
        crate::policy::build(self, case)
    }
    /// The reasons, one a line, why these stages do not go together.
    pub fn conflicts(&self) -> Vec<String> {
        crate::policy::conflicts(self)
    }
}
