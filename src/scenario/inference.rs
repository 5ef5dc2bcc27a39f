//! `[cluster.inference]`: a pool that serves inference and lends the nodes that this does not need.

use super::Folders;
use crate::cluster::demand::{Day, Forecast, Service, bursts_of, day_of};
use crate::cluster::{ClusterSpec, Loans};
use crate::error::Problem;
use crate::form::{Fault, Faults, Filled, Form};
use crate::ids::PoolId;
use crate::registry::{Kind, Knob};
use crate::trace;
use crate::units::{MilliGpu, SimSpan, SimTime};
use crate::workload::Catalog;
use std::collections::BTreeSet;

/// Most samples of need.
const SAMPLES_MAX: u64 = 2_000_000;
const USE: Kind = Kind::FRACTION;
const POSITIVE: Kind = Kind::Span { min: SimSpan::from_secs(1), max: SimSpan::from_secs(1 << 32) };

/// Its form.
pub const INFERENCE: Form = Form::of(
    "a pool that serves inference, what it needs over the days, and that it lends nodes (the shape and its figures are ours)",
    &[
        Knob::new("pool", "the pool of its nodes", Kind::Text, "inference"),
        Knob::new("loaned", "the pool that its nodes are in while they are on loan", Kind::Text, "loaned"),
        Knob::new("trough", "use at the lowest point of a day", USE, "0.35"),
        Knob::new("peak", "use at the highest point of a day", USE, "0.95"),
        Knob::new("sample", "from one sample of need to the next", POSITIVE, "5m"),
        Knob::new("span", "for how long need is drawn; the last sample holds on", POSITIVE, "30d"),
        Knob::optional(
            "day",
            "a recorded series (`at,value`, or a public one) whose day is the shape; unset: two humps, lunch and evening",
            Kind::Path,
        ),
        Knob::optional("bursts", "a recorded series whose first hour is laid over all hours", Kind::Path),
        Knob::new("burst_weight", "how strongly those bursts count", Kind::Float { min: 0.0, max: 10.0 }, "1"),
        Knob::new("noise", "what is added to use at each sample: standard deviation", USE, "0.006"),
        Knob::new("noise_keeps", "how much of that noise stays in the next sample", Kind::FRACTION, "0.97"),
        Knob::new("weekend", "factor on use on the sixth and seventh day of a week", Kind::Float { min: 0.0, max: 10.0 }, "1.05"),
        Knob::new("starts_on", "day of the week of time 0, 0 = Monday", Kind::Int { min: 0, max: 6 }, "0"),
        Knob::new("spikes", "rises by 0.15 for 20 minutes at random, so many a week", Kind::Int { min: 0, max: 500 }, "0"),
        Knob::new(
            "forecast",
            "what is believed of the next sample: the truth, that it is as this one, or the truth with noise",
            Kind::Choice(&["oracle", "last", "noisy"]),
            "oracle",
        ),
        Knob::new(
            "forecast_noise",
            "with forecast = noisy: its standard deviation, as a part of the need",
            Kind::FRACTION,
            "0.05",
        ),
    ],
);

/// Reads the table: what is needed, unless `[[cluster.demand]]` states it, and that nodes are lent. It names the pool of loaned nodes.
///
/// - Errors: put into `faults`, those of files into `problems`.
pub fn read(
    cluster: &Filled,
    spec: &mut ClusterSpec,
    (folders, catalog): (&Folders, &mut Catalog),
    faults: &mut Faults,
    problems: &mut Vec<Problem>,
) -> Option<Service> {
    let table = cluster.part("inference")?;
    let knobs = &table.knobs;
    let pool = catalog.pools.row(knobs.text("pool")).map(|row| PoolId::from_index(row as usize));
    let pool = pool.filter(|pool| spec.nodes.iter().any(|node| node.pool == *pool));
    if pool.is_none() {
        let fault = Fault::new(format!("no node belongs to a pool `{}`", knobs.text("pool")));
        let has_nodes = |(row, _): &(usize, &String)| spec.nodes.iter().any(|node| node.pool.index() == *row);
        let known = catalog.pools.rows().iter().enumerate().filter(has_nodes).map(|(_, name)| name.as_str());
        faults.push(fault.at(table.place("pool"), "expected the pool of a node").nearest(knobs.text("pool"), known));
    }
    let sizes: BTreeSet<u8> = spec.nodes.iter().filter(|node| pool == Some(node.pool)).map(|node| node.gpus).collect();
    if 1 < sizes.len() || sizes.contains(&0) {
        let fault = Fault::new("what inference needs is counted in servers, and these are not alike");
        faults.push(fault.at(table.place("pool"), "expected nodes with as many GPUs each, and at least one"));
    }
    if catalog.pools.row(knobs.text("loaned")).is_none() && catalog.pools.len() == Catalog::SET_MAX {
        let fault = Fault::new(format!("there are {} pools already", Catalog::SET_MAX));
        faults.push(fault.at(table.place("loaned"), "expected a pool less, so that there is one for nodes on loan"));
        return None;
    }
    if SAMPLES_MAX < knobs.span("span").as_millis() / knobs.span("sample").as_millis() {
        let fault = Fault::new(format!("these would be more than {SAMPLES_MAX} samples"));
        faults.push(fault.at(table.place("sample"), "expected a longer time between samples, or a shorter `span`"));
        return None;
    }
    let loaned = knobs.text("loaned");
    let is_taken = catalog.pools.row(loaned).is_some_and(|row| spec.nodes.iter().any(|node| node.pool.index() == row as usize));
    if is_taken {
        let fault = Fault::new(format!("nodes belong to the pool `{loaned}` from the start"));
        faults.push(fault.at(table.place("loaned"), "expected a pool of its own for nodes on loan"));
    }
    if knobs.float("peak") < knobs.float("trough") {
        let fault = Fault::new("a day would have its lowest point above its highest");
        faults.push(fault.at(table.place("peak"), format!("expected at least {}", knobs.float("trough"))));
    }
    let stated = !cluster.parts("demand").is_empty();
    let drawn = INFERENCE.knobs.iter().find(|knob| !["pool", "loaned"].contains(&knob.name) && table.says(knob.name));
    if let (true, Some(knob)) = (stated, drawn) {
        let fault = Fault::new("what inference needs is said twice");
        faults.push(fault.at(table.key_place(knob.name), "expected this, or `[[cluster.demand]]`, not both"));
    }
    let mut series = |knob: &'static str| -> Option<Vec<(SimTime, f64)>> {
        let path = folders.file(knobs.opt_text(knob)?, table.place(knob), faults)?;
        trace::read_series(&path).map_err(|found| problems.extend(super::work::boxed(found))).ok()
    };
    let (day, bursts) = (series("day"), series("bursts"));
    let day = day.map_or(Some(Day::Humps), |rows| day_of(&rows));
    let bursts = bursts.map(|rows| bursts_of(&rows));
    if bursts == Some(None) {
        let fault = Fault::new("this series is shorter than an hour, or says nothing of it");
        faults.push(fault.at(table.place("bursts"), "expected an hour of requests"));
    }
    if day.is_none() {
        let fault = Fault::new("this series is the same all day long, or shorter than half an hour");
        faults.push(fault.at(table.place("day"), "expected a day with a shape"));
    }
    let pool = pool?;
    let loans = Loans { from: pool, to: catalog.pool(loaned) };
    spec.loans = Some(loans);
    if stated {
        return None;
    }
    let gpus = spec.nodes.iter().filter(|node| node.pool == pool).map(|node| u64::from(node.gpus)).sum();
    Some(Service {
        pool,
        capacity: MilliGpu::from_gpus(gpus),
        day: day?,
        trough: knobs.float("trough"),
        peak: knobs.float("peak"),
        sample: knobs.span("sample"),
        span: knobs.span("span"),
        noise: (knobs.float("noise_keeps"), knobs.float("noise")),
        weekend: knobs.float("weekend"),
        starts_on: knobs.int("starts_on") as u64,
        spikes: knobs.int("spikes") as u32,
        bursts: bursts.flatten().map(|points| (points, knobs.float("burst_weight"))),
        forecast: match knobs.text("forecast") {
            "last" => Forecast::Last,
            "noisy" => Forecast::Noisy(knobs.float("forecast_noise")),
            _ => Forecast::Oracle,
        },
    })
}
