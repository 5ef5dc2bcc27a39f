//! Users as a scenario file describes them: checked, with names not looked up yet.

use super::burst::Burst;
use super::hours::Hours;
use super::inflate::Inflate;
use super::longest::Longest;
use super::season::Seasons;
use super::session::Session;
use super::squat::Squat;
use super::{Behaviour, CLASS_KNOBS};
use crate::registry::Knobs;
use crate::units::{MilliGpu, SimSpan};
use crate::workload::class::{ACCOUNTS, ClassSpec, KnobFault};
use crate::workload::mix::{SpanRange, weighted};
use std::collections::BTreeSet;

/// All users, checked.
#[derive(Clone, Debug, PartialEq)]
pub struct Spec {
    /// Nothing is submitted later.
    pub span: Option<SimSpan>,
    /// Whether those who game do.
    pub behave: bool,
    pub(super) accounts: Option<Vec<(String, f64)>>,
    pub(super) users_per_account: u32,
    pub(super) users: Vec<(String, f64)>,
    pub(super) per_task: u8,
    pub(super) allocated: f64,
    pub(super) filler: f64,
    pub(super) seasons: Seasons,
    pub(super) classes: Vec<ClassPlan>,
}

/// One class.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ClassPlan {
    pub(super) spec: ClassSpec,
    /// Streams in all; `None`: the weights of the accounts are numbers of streams.
    pub(super) streams: Option<f64>,
    pub(super) accounts: Option<Vec<(String, f64)>>,
    pub(super) outstanding: u32,
    pub(super) think_ms: f64,
    pub(super) hours: Hours,
    pub(super) season: bool,
    pub(super) protected_max: Option<MilliGpu>,
    pub(super) protected_within_share: bool,
    pub(super) gives_up: Option<SimSpan>,
    pub(super) conduct: Conduct,
}

/// A behaviour with what it takes.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Conduct {
    Honest,
    Burst(Burst),
    Session(Session),
    Inflate(Inflate),
    Longest(Longest),
    Squat(Squat),
}

impl Conduct {
    pub(super) fn behaviour(&self) -> Behaviour {
        match self {
            Conduct::Honest => Behaviour::Honest,
            Conduct::Burst(_) => Behaviour::Burst,
            Conduct::Session(_) => Behaviour::Session,
            Conduct::Inflate(_) => Behaviour::Inflate,
            Conduct::Longest(_) => Behaviour::Longest,
            Conduct::Squat(_) => Behaviour::Squat,
        }
    }
}

impl Spec {
    /// Users from checked values of [`super::KNOBS`] and, a class each, of [`CLASS_KNOBS`] (none: one class of defaults).
    ///
    /// - Errors: every knob whose text cannot be used.
    pub fn new(knobs: &Knobs, classes: &[Knobs]) -> Result<Spec, Vec<KnobFault>> {
        let mut faults = Vec::new();
        let mut fault = |class, knob, expected: &str| faults.push(KnobFault { class, knob, expected: expected.into() });
        let accounts = listed(knobs, "accounts", ACCOUNTS, &mut |knob, text| fault(None, knob, text));
        let users = listed(knobs, "users", "numbers of users such as `a/a1:12 b:8`", &mut |knob, text| fault(None, knob, text));
        let seasons = Seasons::read(knobs);
        if seasons.is_none() {
            fault(None, "season_max", "at least `season_min`");
        }
        let defaults = [Knobs::defaults(CLASS_KNOBS)];
        let tables = if classes.is_empty() { &defaults[..] } else { classes };
        let starts_on = usize::try_from(knobs.int("starts_on")).unwrap_or(0);
        let mut plans = Vec::new();
        let mut labels: BTreeSet<String> = BTreeSet::new();
        for (row, knobs) in tables.iter().enumerate() {
            let plan = ClassPlan::read(knobs, starts_on, &mut |knob, text| fault(Some(row), knob, text));
            if !labels.insert(knobs.text("name").to_owned()) {
                fault(Some(row), "name", "a label that no other class has");
            }
            if knobs.text("behaviour") == Behaviour::Squat.name() && !labels.insert(knobs.text("hold_class").to_owned()) {
                fault(Some(row), "hold_class", "a label that no class has");
            }
            plans.push(plan);
        }
        let plans: Option<Vec<ClassPlan>> = plans.into_iter().collect();
        match (accounts, users, seasons, plans) {
            (Ok(accounts), Ok(users), Some(seasons), Some(classes)) if faults.is_empty() => Ok(Spec {
                span: knobs.opt_span("span"),
                behave: knobs.flag("behave"),
                accounts,
                users_per_account: u32::try_from(knobs.int("users_per_account")).unwrap_or(1),
                users: users.unwrap_or_default(),
                per_task: u8::try_from(knobs.int("max_gpus_per_task")).unwrap_or(8),
                allocated: knobs.float("allocated"),
                filler: knobs.float("filler"),
                seasons,
                classes,
            }),
            _ => Err(faults),
        }
    }

    /// Every account that is named.
    pub fn account_names(&self) -> impl Iterator<Item = &str> {
        let of_classes = self.classes.iter().filter_map(|class| class.accounts.as_ref());
        let lists = self.accounts.iter().chain([&self.users]).chain(of_classes);
        lists.flatten().map(|(name, _)| name.as_str())
    }
}

/// The accounts in the value of a knob that lists them; none if it cannot be read.
pub fn accounts_in(text: &str) -> Vec<String> {
    let list = weighted(text, |text| Some(text.to_owned())).unwrap_or_default();
    list.into_iter().map(|(name, _)| name).collect()
}

impl ClassPlan {
    fn read(knobs: &Knobs, starts_on: usize, fault: &mut dyn FnMut(&'static str, &str)) -> Option<ClassPlan> {
        let spec = ClassSpec::read(knobs, fault);
        let accounts = listed(knobs, "accounts", ACCOUNTS, fault);
        let streams = knobs.opt_float("streams");
        if streams.is_none() && accounts == Ok(None) {
            fault("streams", "`streams`, or `accounts` with a number of streams each");
        }
        let hours = Hours::parse(knobs.text("hours"), knobs.text("weekdays"), starts_on, fault);
        let outstanding = u32::try_from(knobs.int("outstanding")).unwrap_or(1);
        let behaviour = Behaviour::named(knobs.text("behaviour")).unwrap_or_default();
        if behaviour == Behaviour::Squat && outstanding != 1 {
            fault("outstanding", "1 with behaviour = squat: one person does one task after the other");
        }
        let conduct = match behaviour {
            Behaviour::Honest => Some(Conduct::Honest),
            Behaviour::Burst => Some(Conduct::Burst(Burst::read(knobs))),
            Behaviour::Session => Session::read(knobs, fault).map(Conduct::Session),
            Behaviour::Inflate => Inflate::read(knobs, fault).map(Conduct::Inflate),
            Behaviour::Longest => Some(Conduct::Longest(Longest::read(knobs))),
            Behaviour::Squat => Some(Conduct::Squat(Squat::read(knobs))),
        };
        Some(ClassPlan {
            spec: spec?,
            streams,
            accounts: accounts.ok()?,
            outstanding,
            think_ms: mean_ms(knobs.span("think")),
            hours: hours?,
            season: knobs.flag("season"),
            protected_max: knobs.opt_int("protected_gpus_max").map(|gpus| MilliGpu::from_gpus(gpus as u64)),
            protected_within_share: knobs.flag("protected_within_share"),
            gives_up: knobs.opt_span("gives_up"),
            conduct: conduct?,
        })
    }
}

/// Accounts with numbers, if the knob is set.
///
/// - Errors: nothing more than that `fault` has heard of it.
fn listed(
    knobs: &Knobs,
    knob: &'static str,
    expected: &str,
    fault: &mut dyn FnMut(&'static str, &str),
) -> Result<Option<Vec<(String, f64)>>, ()> {
    let Some(text) = knobs.opt_text(knob) else { return Ok(None) };
    match weighted(text, |text| Some(text.to_owned())).filter(|list| list.iter().any(|(_, number)| 0.0 < *number)) {
        Some(list) => Ok(Some(list)),
        None => {
            fault(knob, expected);
            Err(())
        }
    }
}

/// A range of spans.
pub(super) fn range(knobs: &Knobs, knob: &'static str, fault: &mut dyn FnMut(&'static str, &str)) -> Option<SpanRange> {
    let range = SpanRange::parse(knobs.text(knob));
    if range.is_none() {
        fault(knob, "a duration, or a range such as `20m..90m`");
    }
    range
}

/// A mean for exponential draws.
pub(super) fn mean_ms(span: SimSpan) -> f64 {
    span.as_millis() as f64
}
