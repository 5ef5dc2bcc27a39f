//! Placement on the best of a few candidates, by a weighted sum of what a task does to the spread of loads (or to fragmentation), to
//! power, and to hotspots: `gfgd`, `gfgd-x` and `fa`.
//!
//! The summary of the paper states the three terms, 8 candidates of extremes and random ones, one set of weights for low, mid and high
//! utilisation, and no what-if simulation. How exactly is our choice (see `docs/gfgd.md`): candidates are GPUs for tasks of one GPU or a
//! share, nodes for tasks of several; the anchors are the emptiest, the tightest, the one of least risk and the one of least power;
//! terms are spread from 0 to 1 over the candidates; ties go to the lowest row.

mod foresight;
mod index;
mod loads;
mod regime;

use super::best::candidate;
use super::fall::{Fall, Falls};
use super::watts::{ACTIVATION_WATTS, Milliwatts, curve, power};
use super::{Ask, Place};
use crate::cluster::{Buckets, Cluster, Preference, TaskGroup, WHOLE, bits, lowest};
use crate::engine::Case;
use crate::facts::Fact;
use crate::ids::{ModelId, NodeId};
use crate::registry::{Kind, Knob, Knobs};
use crate::units::SimTime;
use foresight::Foresight;
use index::{Index, Rooms};
use loads::{Hotspot, Loads};
pub(super) use regime::Regimes;

/// Draws before all candidates that fit are listed instead.
const PROBES: u64 = 32;
/// Decisions from which the scale is taken where it is fixed.
const WARM_UP: usize = 256;
/// Differences below are none.
const FLAT: f64 = 1e-12;

const WEIGHT: Kind = Kind::Float { min: -1.0, max: 1.0 };

const fn weight(name: &'static str, about: &'static str, default: &'static str) -> Knob {
    Knob::new(name, about, WEIGHT, default).unit("weight").tunable()
}

/// How candidates are found.
pub(super) const MODE: Knob = Knob::new(
    "mode",
    "extremes by index (a few steps whatever the size of the cluster), or by a look at every GPU (slow; the oracle of tests)",
    Kind::Choice(&["index", "scan"]),
    "index",
);
pub(super) const K: Knob = Knob::new("k", "candidates of a decision; 0: all that fit", Kind::Int { min: 0, max: 64 }, "8");
pub(super) const HOTSPOT: Knob = Knob::new(
    "hotspot",
    "what the risk of failures grows with: the mean of load^3 (cube), the power mean of exponent 8 (power-mean), or the mean of the \
     highest 5 % (tail), each load times the failure rate that is believed of its model",
    Kind::Choice(&["cube", "power-mean", "tail"]),
    "cube",
);
pub(super) const POWER: Knob = power("activation");

/// Knobs of `gfgd` and `gfgd-x`.
pub(super) const KNOBS: &[Knob] = &[
    MODE,
    K,
    Knob::new(
        "candidates",
        "extremes and random ones (both), or only one of these (for ablations)",
        Kind::Choice(&["both", "anchors", "random"]),
        "both",
    ),
    Knob::new(
        "scale",
        "each term from 0 to 1 over the candidates (minmax), or over the 95th percentile of its size in the first 256 decisions (fixed)",
        Kind::Choice(&["minmax", "fixed"]),
        "minmax",
    ),
    Knob::new("signed", "whether weights may be negative: to seek what a term counts", Kind::Bool, "false"),
    HOTSPOT,
    POWER,
    ACTIVATION_WATTS,
    Knob::new("regimes", "weights by mean load (low, mid, high), or the same at any", Kind::Bool, "true"),
    Knob::new("mid_from", "mean load from which `mid` holds", Kind::FRACTION, "0.35"),
    Knob::new("high_from", "mean load from which `high` holds", Kind::FRACTION, "0.7"),
    Knob::new("hysteresis", "how far below its threshold a regime is left", Kind::FRACTION, "0.02"),
    Knob::new(
        "predictor",
        "a file that `schedlab predict` wrote: `high` holds whatever the load while refusals are expected within a minute; empty: none",
        Kind::Path,
        "",
    ),
    Knob::new("predictor_from", "probability of a refusal above which it does", Kind::FRACTION, "0.5"),
    weight("frag", "without regimes: what the rise of the first term counts", "0.25"),
    weight("pwr", "without regimes: what the rise of power counts", "0.25"),
    weight("fail", "without regimes: what the rise of risk counts", "0.5"),
    weight("low_frag", "the same at low load", "0.25"),
    weight("low_pwr", "the same at low load", "0.25"),
    weight("low_fail", "the same at low load", "0.5"),
    weight("mid_frag", "the same at middle load", "0.25"),
    weight("mid_pwr", "the same at middle load", "0.25"),
    weight("mid_fail", "the same at middle load", "0.5"),
    weight("high_frag", "the same at high load", "0.25"),
    weight("high_pwr", "the same at high load", "0.25"),
    weight("high_fail", "the same at high load", "0.5"),
];

/// Why its knobs do not go together.
pub(super) fn conflict(knobs: &Knobs) -> Option<String> {
    if let Some(reason) = foresight::conflict(knobs) {
        return Some(reason);
    }
    if knobs.float("high_from") <= knobs.float("mid_from") {
        return Some("`place.high_from` has to be above `place.mid_from`".into());
    }
    let negative = knobs.iter().find(|(_, value)| matches!(value, crate::registry::Value::Float(it) if *it < 0.0));
    let (name, _) = negative.filter(|_| !knobs.flag("signed"))?;
    Some(format!("`place.{name}` is negative, which only `place.signed = true` allows"))
}

/// Which candidates are looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Among {
    Both,
    Anchors,
    Random,
}

/// What each term is divided by.
enum Scale {
    /// Its range over the candidates.
    MinMax,
    /// Sizes seen so far; the range until there are enough.
    WarmUp { decisions: usize, sizes: [Vec<f64>; 3] },
    /// That.
    Fixed([f64; 3]),
}

/// One place that a task may go to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Spot {
    /// Row of its GPU, or of its node for a task of several GPUs.
    row: u32,
    node: NodeId,
    gpus: u64,
    model: ModelId,
    /// Load of each of its GPUs before.
    used: u16,
    /// Free thousandths of its GPU, or idle GPUs of its node.
    room: u32,
}

/// Placement by weighted terms.
pub(super) struct Weigh {
    scan: bool,
    k: usize,
    among: Among,
    scale: Scale,
    regimes: Regimes,
    foresight: Option<Foresight>,
    /// Fragmentation in place of the spread of loads.
    falls: Option<Falls>,
    watts: Milliwatts,
    loads: Loads,
    index: Index,
    /// For tasks without GPUs.
    plain: Buckets,
    seed: u64,
    visits: u64,
    spots: Vec<Spot>,
    terms: Vec<[f64; 3]>,
}

impl Weigh {
    /// As the knobs [`MODE`], [`K`], [`HOTSPOT`] and those of power say; all else as in `fa`.
    pub(super) fn new(knobs: &Knobs, case: &Case, regimes: Regimes) -> Weigh {
        let hotspot = match knobs.text("hotspot") {
            "power-mean" => Hotspot::PowerMean,
            "tail" => Hotspot::Tail,
            _ => Hotspot::Cube,
        };
        let models = &case.cluster.models;
        Weigh {
            scan: knobs.text("mode") == "scan",
            k: usize::try_from(knobs.int("k")).ok().filter(|&k| 0 < k).unwrap_or(usize::MAX),
            among: Among::Both,
            scale: Scale::MinMax,
            regimes,
            foresight: None,
            falls: None,
            watts: Milliwatts::new(curve(knobs), models),
            loads: Loads::new(hotspot, models),
            index: Index::default(),
            plain: Buckets::default(),
            seed: case.seed,
            visits: 0,
            spots: Vec::new(),
            terms: Vec::new(),
        }
    }
    /// The same with the knobs that `gfgd` and `gfgd-x` have beyond those.
    pub(super) fn tuned(mut self, knobs: &Knobs, case: &Case) -> Weigh {
        self.foresight = Foresight::of(knobs, case);
        self.among = match knobs.text("candidates") {
            "anchors" => Among::Anchors,
            "random" => Among::Random,
            _ => Among::Both,
        };
        if knobs.text("scale") == "fixed" {
            self.scale = Scale::WarmUp { decisions: 0, sizes: Default::default() };
        }
        self
    }
    /// The same with fragmentation as the first term.
    pub(super) fn with_falls(mut self, falls: Option<Falls>) -> Weigh {
        self.falls = falls;
        self
    }

    /// The spot of a row, if the task may go there.
    fn spot(&self, ask: &Ask<'_>, row: u32) -> Option<Spot> {
        let several = 1 < ask.request.gpus;
        let (node, gpu) = if several { (NodeId(row), 0) } else { self.index.gpu(row) };
        if !ask.accepts(node) {
            return None;
        }
        let (usable, state) = (ask.usable(node), ask.cluster.node(node));
        if several {
            let gpus = lowest(usable, ask.request.gpus);
            return Some(Spot { row, node, gpus, model: state.model, used: 0, room: state.idle.count_ones() });
        }
        let free = ask.cluster.gpu_free(node)[usize::from(gpu)];
        let spot = Spot { row, node, gpus: 1 << gpu, model: state.model, used: WHOLE.saturating_sub(free), room: free.into() };
        (usable >> gpu & 1 == 1).then_some(spot)
    }
    /// Room that a spot must have.
    fn least(ask: &Ask<'_>) -> u32 {
        if 1 < ask.request.gpus { u32::from(ask.request.gpus) } else { u32::from(ask.request.milli) }
    }
    /// Sets of rows that may have room for the task.
    fn rooms<'a>(&'a self, ask: &'a Ask<'_>) -> impl Iterator<Item = &'a Rooms> + 'a {
        let groups = self.index.ordered().filter(|group| ask.request.allows(group.model, group.pool));
        groups.map(|group| if 1 < ask.request.gpus { &group.nodes } else { &group.gpus })
    }
    /// All rows with room enough, in order of model, pool, room and number, by a look at each.
    fn looked_up(&mut self, ask: &Ask<'_>) -> Vec<u32> {
        self.visits += ask.cluster.len() as u64;
        let several = 1 < ask.request.gpus;
        let mut rows = Vec::new();
        for (at, node) in ask.cluster.nodes().iter().enumerate() {
            if !node.is_open() || !ask.request.allows(node.model, node.pool) {
                continue;
            }
            let mut put = |room: u32, row: u32| {
                if Weigh::least(ask) <= room {
                    rows.push((node.model, node.pool, room, row));
                }
            };
            if several {
                put(node.idle.count_ones(), at as u32);
                continue;
            }
            let id = NodeId::from_index(at);
            let free = ask.cluster.gpu_free(id);
            bits(node.healthy).for_each(|gpu| put(free[usize::from(gpu)].into(), self.index.first(id) + u32::from(gpu)));
        }
        rows.sort_unstable();
        rows.into_iter().map(|(_, _, _, row)| row).collect()
    }
    /// The candidates, in order of row.
    fn candidates(&mut self, ask: &Ask<'_>) -> Vec<Spot> {
        let least = Weigh::least(ask);
        let listed = if self.scan || self.k == usize::MAX { Some(self.looked_up(ask)) } else { None };
        let count = listed.as_ref().map_or_else(|| self.rooms(ask).map(|rooms| rooms.count(least)).sum(), Vec::len);
        if count <= self.k {
            let rows = listed.unwrap_or_else(|| self.rooms(ask).flat_map(|rooms| rooms.rising(least)).collect());
            self.visits += rows.len() as u64;
            return sorted(rows.into_iter().filter_map(|row| self.spot(ask, row)).collect());
        }
        let mut picked = Vec::with_capacity(self.k);
        if self.among != Among::Random {
            let spots = match &listed {
                Some(rows) => rows.iter().filter_map(|&row| self.spot(ask, row)).collect(),
                None => self.ends(ask),
            };
            if spots.is_empty() {
                return spots;
            }
            for spot in self.anchors(ask, &spots) {
                if picked.len() < self.k && !picked.contains(&spot) {
                    picked.push(spot);
                }
            }
        }
        if self.among != Among::Anchors {
            let nth = |it: &Weigh, mut n: usize| match &listed {
                Some(rows) => rows.get(n).copied(),
                None => it.rooms(ask).find_map(|rooms| {
                    let here = rooms.count(least);
                    let found = if n < here { rooms.nth(least, n) } else { None };
                    n = n.wrapping_sub(here);
                    found
                }),
            };
            self.draw(ask, &mut picked, count, nth);
        }
        sorted(picked)
    }
    /// The emptiest and the tightest spot of each model and pool.
    fn ends(&mut self, ask: &Ask<'_>) -> Vec<Spot> {
        let (least, mut visits, mut spots) = (Weigh::least(ask), 0, Vec::new());
        for rooms in self.rooms(ask) {
            for rows in [rooms.rising(least), rooms.falling(least)] {
                spots.extend(rows.inspect(|_| visits += 1).find_map(|row| self.spot(ask, row)));
            }
        }
        self.visits += visits;
        spots
    }
    /// The extremes among `spots`: the emptiest, the tightest, that of least risk, that of least power. For spots of one model with
    /// room to spare, the emptiest and the tightest are enough to find them all.
    fn anchors(&mut self, ask: &Ask<'_>, spots: &[Spot]) -> [Spot; 4] {
        let (milli, count) = (ask.request.milli, u64::from(ask.request.gpus));
        let emptiest = spots.iter().min_by_key(|spot| (u32::MAX - spot.room, spot.row));
        let tightest = spots.iter().min_by_key(|spot| (spot.room, spot.row));
        let least_power =
            spots.iter().min_by_key(|spot| (self.watts.rise(spot.model.index(), spot.used, milli), spot.room, spot.row));
        let loads = &mut self.loads;
        let mut risk = |spot: &Spot| loads.risk_rise(spot.model, spot.used, milli, count);
        let rated = spots.iter().map(|spot| (risk(spot), spot));
        let less = |a: &(f64, &Spot), b: &(f64, &Spot)| {
            a.0.total_cmp(&b.0).then((u32::MAX - a.1.room, a.1.row).cmp(&(u32::MAX - b.1.room, b.1.row)))
        };
        let least_risk = rated.min_by(less).map(|(_, spot)| spot);
        [emptiest, tightest, least_risk, least_power].map(|spot| *spot.expect("there are spots"))
    }
    /// Adds random spots until there are `k`: of the `count` rows with room enough, of which `nth` tells each; and where too many of them do
    /// not fit for another reason, from a list of all that do.
    fn draw(&mut self, ask: &Ask<'_>, picked: &mut Vec<Spot>, count: usize, nth: impl Fn(&Weigh, usize) -> Option<u32>) {
        for n in 0..PROBES {
            if picked.len() == self.k {
                return;
            }
            self.visits += 1;
            let Some(row) = nth(self, ask.draw(self.seed, n, count)) else { continue };
            if !picked.iter().any(|spot| spot.row == row)
                && let Some(spot) = self.spot(ask, row)
            {
                picked.push(spot);
            }
        }
        if picked.len() == self.k {
            return;
        }
        let rows = self.looked_up(ask);
        let mut rest: Vec<Spot> = rows.into_iter().filter_map(|row| self.spot(ask, row)).collect();
        rest.retain(|spot| !picked.contains(spot));
        for at in 0..(self.k - picked.len()).min(rest.len()) {
            let other = at + ask.draw(self.seed, PROBES + at as u64, rest.len() - at);
            rest.swap(at, other);
            picked.push(rest[at]);
        }
    }
    /// What the task does on each candidate: to the spread of loads or fragmentation, to power, to risk.
    fn weigh(&mut self, ask: &Ask<'_>) {
        let (milli, count) = (ask.request.milli, u64::from(ask.request.gpus));
        if let Some(falls) = &mut self.falls {
            falls.sync(ask.cluster);
        }
        let before = self.loads.spread();
        self.terms.clear();
        for spot in &self.spots {
            let frag = match &mut self.falls {
                Some(falls) => match falls.of(&candidate(ask, spot.node), spot.gpus) {
                    Fall::Exact(fall) => -fall as f64 / falls.total() as f64,
                    Fall::Published(fall) => -fall,
                },
                None => self.loads.spread_rise(before, spot.used, milli, count),
            };
            let watts = self.watts.rise(spot.model.index(), spot.used, milli) * count as i64;
            self.terms.push([frag, watts as f64 / 1000.0, self.loads.risk_rise(spot.model, spot.used, milli, count)]);
        }
    }
    /// The candidate of the lowest weighted sum, the first of equal ones.
    fn choose(&mut self, ask: &Ask<'_>) -> Option<Spot> {
        let by_load = self.regimes.weights(self.loads.mean());
        let expects = self.foresight.as_mut().is_some_and(|it| it.expects_refusals(ask.view));
        let weights = if expects { self.regimes.highest() } else { by_load };
        let terms = &self.terms;
        let range = |term: usize| {
            let of = || terms.iter().map(|terms| terms[term]);
            let (low, high) = (of().fold(f64::INFINITY, f64::min), of().fold(f64::NEG_INFINITY, f64::max));
            if high - low < FLAT { (0.0, f64::INFINITY) } else { (low, high - low) }
        };
        let ranges = match &self.scale {
            Scale::MinMax | Scale::WarmUp { .. } => [0, 1, 2].map(range),
            Scale::Fixed(sizes) => sizes.map(|size| (0.0, size)),
        };
        let sum = |terms: &[f64; 3]| -> f64 {
            (0..3).map(|term| weights[term] * ((terms[term] - ranges[term].0) / ranges[term].1)).sum()
        };
        let mut best: Option<(f64, Spot)> = None;
        for (spot, terms) in self.spots.iter().zip(terms) {
            let sum = sum(terms);
            if best.is_none_or(|(found, _)| sum < found) {
                best = Some((sum, *spot));
            }
        }
        self.scale.learn(terms);
        best.map(|(_, spot)| spot)
    }
}

impl Scale {
    /// Takes up the terms of one decision.
    fn learn(&mut self, terms: &[[f64; 3]]) {
        let Scale::WarmUp { decisions, sizes } = self else { return };
        for (term, sizes) in sizes.iter_mut().enumerate() {
            sizes.extend(terms.iter().map(|terms| terms[term].abs()));
        }
        *decisions += 1;
        if *decisions == WARM_UP {
            let size = |sizes: &mut Vec<f64>| {
                sizes.sort_unstable_by(f64::total_cmp);
                let size = sizes[(sizes.len() * 19).div_ceil(20) - 1];
                if size < FLAT { f64::INFINITY } else { size }
            };
            let [frag, pwr, fail] = sizes;
            *self = Scale::Fixed([size(frag), size(pwr), size(fail)]);
        }
    }
}

fn sorted(mut spots: Vec<Spot>) -> Vec<Spot> {
    spots.sort_unstable_by_key(|spot| spot.row);
    spots
}

impl Place for Weigh {
    fn find(&mut self, ask: &Ask<'_>) -> Option<(NodeId, u64)> {
        if ask.request.gpus == 0 {
            // No term tells such nodes apart.
            let node = if self.scan {
                self.visits += ask.cluster.len() as u64;
                ask.accepted().next()
            } else {
                self.plain.sync(ask.cluster);
                self.plain.find(ask.request, Preference::First, |node| ask.accepts(node))
            };
            return node.map(|node| (node, 0));
        }
        if self.scan {
            self.index.lay_out(ask.cluster);
            index::count(ask.cluster, &mut self.loads);
        } else {
            self.visits += self.index.sync(ask.cluster, &mut self.loads);
        }
        self.spots = self.candidates(ask);
        if self.spots.is_empty() {
            return None;
        }
        self.visits += self.spots.len() as u64;
        self.weigh(ask);
        self.choose(ask).map(|spot| (spot.node, spot.gpus))
    }
    fn has_room(&mut self, cluster: &Cluster, group: &TaskGroup) -> bool {
        let request = &group.request;
        if self.scan {
            return true;
        }
        if request.gpus == 0 {
            self.plain.sync(cluster);
            return self.plain.room_for(group);
        }
        self.visits += self.index.sync(cluster, &mut self.loads);
        let (mut left, several) = (group.count as usize, 1 < request.gpus);
        for group in self.index.ordered().filter(|group| request.allows(group.model, group.pool)) {
            // A node or GPU may take several tasks, but one that takes any is in the list.
            let rooms = if several { &group.nodes } else { &group.gpus };
            let least = if several { u32::from(request.gpus) } else { u32::from(request.milli) };
            let each = if several { usize::from(64 / request.gpus) } else { usize::from(WHOLE / request.milli) };
            left = left.saturating_sub(each * rooms.count(least));
            if left == 0 {
                return true;
            }
        }
        false
    }
    fn listens(&self) -> bool {
        self.foresight.is_some()
    }
    fn observe(&mut self, at: SimTime, fact: &Fact) {
        if let Some(foresight) = &mut self.foresight {
            foresight.observe(at, fact);
        }
    }
    fn take_visits(&mut self) -> u64 {
        std::mem::take(&mut self.visits) + self.plain.take_visits()
    }
}
