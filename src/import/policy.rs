//! A policy file from `slurm.conf`: priority, backfilling and preemption as far as there are stages for them, and a list of what there is none for.
//!
//! Source: slurm.conf(5), with its defaults, of Slurm 22.05.

use super::Conf;
use super::conf::Word;
use crate::form::{Fault, Faults};
use crate::trace::slurm::span;
use crate::units::SimSpan;
use std::fmt::Write as _;

/// A policy file, and what of the configuration is not in it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PolicyText {
    /// The file.
    pub text: String,
    /// What could not be carried over, or was assumed, a sentence each.
    pub notes: Vec<String>,
}

/// Weights of priority that have no counterpart here.
const WEIGHTS_LEFT: [&str; 3] = ["priorityweightassoc", "priorityweightpartition", "priorityweighttres"];
/// Parameters of scheduling that are carried over.
const CARRIED: [&str; 3] = ["bf_interval", "bf_max_job_test", "batch_sched_delay"];

/// Writes the policy. `started`: when the scheduler started, relative to the first submission, if that is known: its periods count from there.
pub fn policy(conf: &Conf, started: Option<i64>, faults: &mut Faults) -> PolicyText {
    let mut made = PolicyText::default();
    let order = order(conf, started, &mut made.notes, faults);
    let fill = fill(conf, started, &mut made.notes, faults);
    preemption(conf, &mut made.notes);
    let select = conf.text("selecttypeparameters", "");
    let place = if select.contains("cr_lln") { "worst-fit" } else { "best-fit" };
    let mut text = String::from("about = \"What slurm.conf says, as far as there are stages for it\"\n\n");
    if !made.notes.is_empty() {
        text += "# Not carried over, or assumed:\n";
        for note in &made.notes {
            let _ = writeln!(text, "# - {note}");
        }
        text.push('\n');
    }
    let _ = write!(text, "place = \"{place}\"   # SelectTypeParameters\nevict = \"nobody\"\n\n{order}\n{fill}");
    PolicyText { text, ..made }
}

/// A whole number of a setting; a fault if it is none.
fn whole(word: Option<&Word>, default: u64, faults: &mut Faults) -> u64 {
    let Some(word) = word else { return default };
    word.value.trim().parse().unwrap_or_else(|_| {
        faults.push(Fault::new(format!("`{}` is no number", word.value)).at(&word.at, "expected a whole number from 0"));
        default
    })
}

/// A span as slurm.conf writes it: `minutes`, `minutes:seconds`, `days-hours` and so on; a fault if it is none.
fn duration(word: Option<&Word>, default: &str, faults: &mut Faults) -> SimSpan {
    let text = word.map_or(default, |word| word.value.trim());
    if text == "0" {
        return SimSpan::ZERO;
    }
    // A bare number is minutes here, where sacct's spans are seconds.
    let found = match text.parse::<u64>() {
        Ok(minutes) => Some(SimSpan::from_secs(minutes.saturating_mul(60))),
        Err(_) => span(text.as_bytes()),
    };
    found.unwrap_or_else(|| {
        if let Some(word) = word {
            faults.push(
                Fault::new(format!("`{text}` is no span")).at(&word.at, "expected one such as `7-0`, `1-12:00:00` or `30`"),
            );
        }
        SimSpan::ZERO
    })
}

fn order(conf: &Conf, started: Option<i64>, notes: &mut Vec<String>, faults: &mut Faults) -> String {
    let kind = conf.text("prioritytype", "priority/basic");
    if kind == "priority/basic" {
        return "order = \"fifo\"   # PriorityType=priority/basic\n".into();
    }
    if kind != "priority/multifactor" {
        notes.push(format!("PriorityType={kind} is taken for priority/multifactor"));
    }
    let flags = conf.text("priorityflags", "");
    let has = |flag: &str| flags.split(',').any(|it| it.trim() == flag);
    for flag in flags.split(',').map(str::trim).filter(|it| !matches!(*it, "" | "no_fair_tree" | "fair_tree")) {
        notes.push(format!("PriorityFlags={flag}"));
    }
    let weight = |key: &str, faults: &mut Faults| whole(conf.get(key), 0, faults);
    let [age, fairshare, size, qos] =
        ["priorityweightage", "priorityweightfairshare", "priorityweightjobsize", "priorityweightqos"]
            .map(|key| weight(key, faults));
    for key in WEIGHTS_LEFT {
        if let Some(word) = conf.get(key).filter(|word| word.value != "0" && !word.value.is_empty()) {
            notes.push(format!("{key} = {}", word.value));
        }
    }
    if qos != 0 {
        notes.push("PriorityWeightQOS counts a job's priority; the dump has none unless `priority` of its format is set".into());
    }
    if size != 0 {
        notes.push("PriorityWeightJobSize counts GPUs, where Slurm counts nodes and CPUs".into());
    }
    let half_life = duration(conf.get("prioritydecayhalflife"), "7-0", faults);
    let reset = conf.text("priorityusageresetperiod", "none");
    let calc = duration(conf.get("prioritycalcperiod"), "5", faults);
    let max_age = duration(conf.get("prioritymaxage"), "7-0", faults);
    let kernel = match (half_life, reset.as_str()) {
        (SimSpan::ZERO, "daily") => "kernel = \"tumbling\"\nlookback = \"1d\"    # PriorityUsageResetPeriod\n".to_owned(),
        (SimSpan::ZERO, "weekly") => "kernel = \"tumbling\"\nlookback = \"7d\"    # PriorityUsageResetPeriod\n".to_owned(),
        (SimSpan::ZERO, "monthly") => "kernel = \"tumbling\"\nlookback = \"30d\"   # PriorityUsageResetPeriod\n".to_owned(),
        (SimSpan::ZERO, other) => {
            if !matches!(other, "none" | "now") {
                notes.push(format!("PriorityUsageResetPeriod={other}"));
            }
            "kernel = \"sliding\"\nlookback = \"unlimited\"   # PriorityDecayHalfLife=0\n".to_owned()
        }
        (span, other) => {
            if other != "none" {
                notes.push(format!("PriorityUsageResetPeriod={other}, beside a half life"));
            }
            format!("half_life = \"{}\"   # PriorityDecayHalfLife\n", spelt(span))
        }
    };
    if conf.get("priorityusageresetperiod").is_none() {
        notes.push("usage begins at nothing: what was used before the first job of the dump is not known".into());
    }
    let factor = if has("no_fair_tree") { "classic" } else { "fair-tree" };
    let mut text = String::from("[order]\nname = \"multifactor\"\n");
    let _ = writeln!(text, "fairshare = \"{factor}\"   # PriorityFlags");
    let _ = writeln!(text, "weight_fairshare = {fairshare}   # PriorityWeightFairshare");
    let _ = writeln!(text, "weight_age = {age}   # PriorityWeightAge");
    let _ = writeln!(text, "weight_size = {size}   # PriorityWeightJobSize");
    let _ = writeln!(text, "weight_qos = {qos}   # PriorityWeightQOS");
    let _ = writeln!(text, "max_age = \"{}\"   # PriorityMaxAge", spelt(max_age));
    if conf.text("priorityfavorsmall", "no") == "yes" {
        text += "favor_small = true   # PriorityFavorSmall\n";
    }
    let _ = writeln!(text, "calc_period = \"{}\"   # PriorityCalcPeriod", spelt(calc));
    text += &offset("calc_offset", started, calc);
    if calc != SimSpan::ZERO && half_life != SimSpan::ZERO {
        text += "charge_at_calc = true\n";
    }
    if let Some(word) = conf.get("fairsharedampeningfactor") {
        let _ = writeln!(text, "dampening = {}", whole(Some(word), 1, faults));
    }
    text + &kernel
}

fn fill(conf: &Conf, started: Option<i64>, notes: &mut Vec<String>, faults: &mut Faults) -> String {
    let kind = conf.text("schedulertype", "sched/backfill");
    if kind == "sched/builtin" {
        return "fill = \"strict\"   # SchedulerType=sched/builtin\n".into();
    }
    let parameters = conf.get("schedulerparameters");
    let value = |key: &str, default: u64, faults: &mut Faults| {
        let Some(word) = parameters else { return default };
        let found = word.value.split(',').filter_map(|part| part.trim().split_once('=')).find(|(name, _)| name.trim() == key);
        found.map_or(default, |(_, text)| {
            let own = Word { value: text.trim().to_owned(), at: word.at.clone() };
            whole(Some(&own), default, faults)
        })
    };
    for part in parameters.map_or("", |word| word.value.as_str()).split(',').map(str::trim).filter(|it| !it.is_empty()) {
        let key = part.split('=').next().unwrap_or(part);
        if !CARRIED.contains(&key) {
            notes.push(format!("SchedulerParameters: {part}"));
        }
    }
    let (interval, depth) = (value("bf_interval", 30, faults), value("bf_max_job_test", 500, faults).max(1));
    let delay = value("batch_sched_delay", 3, faults);
    let phase = offset("bf_offset", started, SimSpan::from_secs(interval));
    format!(
        "[fill]\nname = \"slurm\"\nbf_interval = \"{interval}s\"   # SchedulerParameters\n{phase}bf_max_job_test = {depth}\nbatch_sched_delay = \"{delay}s\"\n"
    )
}

/// The line of an offset by which periods count from when the scheduler started; nothing if that is not known.
fn offset(knob: &str, started: Option<i64>, every: SimSpan) -> String {
    let every = (every.as_millis() / 1000) as i64;
    match started {
        Some(started) if 0 < every => {
            format!("{knob} = \"{}s\"   # counted from when the scheduler started\n", started.rem_euclid(every))
        }
        _ => String::new(),
    }
}

fn preemption(conf: &Conf, notes: &mut Vec<String>) {
    let kind = conf.text("preempttype", "preempt/none");
    if kind != "preempt/none" {
        notes.push(format!(
            "PreemptType={kind}: nobody is stopped here (`evict = \"priority\"` comes nearest, with priorities of the jobs)"
        ));
    }
    for (key, none) in [("fairshare", ""), ("overtimelimit", "0"), ("jobsubmitplugins", ""), ("federationparameters", "")] {
        if let Some(word) = conf.get(key).filter(|word| word.value != none) {
            notes.push(format!("{key}={}", word.value));
        }
    }
}

fn spelt(span: SimSpan) -> String {
    let seconds = span.as_millis() / 1000;
    match seconds {
        0 => "0".into(),
        s if s % 86_400 == 0 => format!("{}d", s / 86_400),
        s if s % 3600 == 0 => format!("{}h", s / 3600),
        s if s % 60 == 0 => format!("{}m", s / 60),
        s => format!("{s}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::form::SourceText;
    use std::sync::Arc;

    fn of(text: &str) -> (PolicyText, Faults) {
        let mut faults = Faults::new();
        let source = Arc::new(SourceText { name: "slurm.conf".into(), text: text.into() });
        let conf = Conf::read(&source, &mut faults);
        (policy(&conf, Some(-11), &mut faults), faults)
    }

    #[test]
    fn a_plain_configuration() {
        let (made, faults) = of("ClusterName=a\n");
        assert!(faults.is_empty() && made.notes.is_empty());
        insta::assert_snapshot!(made.text);
    }

    #[test]
    fn priorities_and_backfilling() {
        let (made, faults) = of(
            "PriorityType=priority/multifactor\nPriorityWeightFairshare=100000\nPriorityWeightAge=1000\nPriorityWeightPartition=5\n\
             PriorityDecayHalfLife=14-0\nPriorityCalcPeriod=1\nPriorityFlags=NO_FAIR_TREE,ACCRUE_ALWAYS\nPriorityMaxAge=1-12:00:00\n\
             SchedulerParameters=bf_interval=60,bf_continue,bf_max_job_test=1000,defer\nPreemptType=preempt/qos\nSelectTypeParameters=CR_Core,CR_LLN\n",
        );
        assert!(faults.is_empty(), "{faults:?}");
        insta::assert_snapshot!(made.text);
    }

    #[test]
    fn values_that_say_nothing_are_faults() {
        let (_, faults) = of(
            "PriorityType=priority/multifactor\nPriorityWeightAge=much\nPriorityMaxAge=soon\nSchedulerParameters=bf_interval=x\n",
        );
        assert_eq!(faults.len(), 3);
    }
}
