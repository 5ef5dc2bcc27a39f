//! Scalars of a scenario: engine, contract, horizon.

use crate::engine::{Case, Contract, EngineSpec, Protection, Undeclared, Unresumable};
use crate::form::{Fault, Faults, Filled};
use crate::registry::{Knobs, Value};
use crate::units::{MilliGpu, SimSpan, SimTime};
use std::sync::Arc;

/// `[engine]`, with the cut of `[run]`.
pub fn engine(table: Option<&Filled>, until: Option<SimSpan>) -> EngineSpec {
    let until = until.map(|span| SimTime::ZERO + span);
    let Some(knobs) = table.map(|table| &table.knobs) else { return EngineSpec { until, ..EngineSpec::default() } };
    EngineSpec {
        startup: knobs.span("startup"),
        eviction_latency: knobs.span("eviction_latency"),
        scale_pause: knobs.span("scale_pause"),
        pass_interval: knobs.span("pass_interval"),
        passes_max: knobs.int("passes_max") as u32,
        unresumable: if knobs.text("unresumable") == "abandon" { Unresumable::Abandon } else { Unresumable::Resubmit },
        retries: knobs.opt_int("retries").map_or(u32::MAX, |it| it as u32),
        repair: knobs.opt_span("repair"),
        human_after: knobs.span("human_after"),
        drop_on_deadline: knobs.flag("drop_on_deadline"),
        until,
    }
}

/// What `knobs` set of a contract; the rest stays.
pub fn contract(knobs: &Knobs, base: Contract) -> Contract {
    Contract {
        protect: match (knobs.opt_text("protection"), knobs.opt_span("exempt_time")) {
            (Some("global"), span) => Protection::Global(span.unwrap_or(SimSpan::ZERO)),
            (Some("queue"), _) => Protection::Queue,
            (Some("none"), _) => Protection::Nothing,
            (Some(_), _) => Protection::Contract,
            (None, Some(span)) if matches!(base.protect, Protection::Global(_)) => Protection::Global(span),
            (None, _) => base.protect,
        },
        max_min_runtime: knobs.opt_span("max_min_runtime").unwrap_or(base.max_min_runtime),
        default_min_runtime: knobs.opt_span("default_min_runtime").unwrap_or(base.default_min_runtime),
        undeclared: match knobs.opt_text("undeclared") {
            Some("allocated") => Undeclared::Allocated,
            Some(_) => Undeclared::Unallocated,
            None => base.undeclared,
        },
        unallocated_max: knobs
            .opt_int("unallocated_gpus_max")
            .map(|gpus| MilliGpu::from_gpus(gpus as u64))
            .or(base.unallocated_max),
    }
}

/// What `[run]` says of metrics: their lookback, and the labels of interactive sessions.
pub fn figures(run: Option<&Filled>) -> (SimSpan, Arc<[String]>) {
    let Some(knobs) = run.map(|run| &run.knobs) else { return (Case::LOOKBACK, Case::session_classes()) };
    let labels = knobs.list("session_classes").iter().filter_map(|value| match value {
        Value::Text(label) => Some(label.clone()),
        _ => None,
    });
    (knobs.span("lookback"), labels.collect())
}

/// The window of submissions that are measured; `None`: all.
#[derive(Clone, Copy, Debug, Default)]
pub struct Measured {
    /// Jobs submitted earlier are not measured.
    pub warm_up: Option<SimSpan>,
    cool_down: Option<SimSpan>,
    until: Option<SimSpan>,
}

impl Measured {
    /// Reads it from `[run]`.
    pub fn read(run: Option<&Filled>, faults: &mut Faults) -> Measured {
        let Some(run) = run else { return Measured::default() };
        let get = |key| run.knobs.opt_span(key);
        let measured = Measured { warm_up: get("warm_up"), cool_down: get("cool_down"), until: get("until") };
        if let (Some(warm_up), Some(until)) = (measured.warm_up, measured.until)
            && until <= warm_up
        {
            let fault = Fault::new("the run is cut before its warm-up ends");
            faults.push(fault.at(run.place("warm_up"), format!("expected less than `until`, {until}")));
        }
        measured
    }
    /// The window over submissions up to `last`.
    pub fn window(&self, last: SimTime) -> Option<(SimTime, SimTime)> {
        if self.warm_up.is_none() && self.cool_down.is_none() {
            return None;
        }
        let end = self.until.map_or(last, |until| last.min(SimTime::ZERO + until));
        let from = SimTime::ZERO + self.warm_up.unwrap_or(SimSpan::ZERO);
        // The end is exclusive: without a cool-down the last submission counts.
        let until = match self.cool_down {
            Some(span) => SimTime::ZERO + end.since(SimTime::ZERO).beyond(span),
            None => end.after(SimSpan::from_millis(1)),
        };
        Some((from, until.max(from)))
    }
}
