//! Which jobs are elastic, may go to loaned nodes, or may lie on several models at once: drawn by hash of the job for any history, so that a recorded
//! one can be asked what it would be like if part of its work were of that kind.
//!
//! All of it is our choice, after what is known of Aryl's workload (shares of jobs and of GPU time). A job's recorded GPUs are the most it can use, and
//! its run time is that with as many: with fewer it takes longer.

use super::elastic::{Curve, Elasticity, Mixing};
use super::job::{Extra, Job};
use super::load::ENDLESS;
use super::tables::{Catalog, Workload};
use crate::cluster::{Loans, Shape, TaskGroup, TaskRequest};
use crate::registry::{Kind, Knob, Knobs};
use crate::seed::{self, Purpose};
use crate::units::SimSpan;

/// The knobs of a scenario's `[workload.flags]` table.
pub const KNOBS: &[Knob] = &[
    Knob::optional(
        "preset",
        "what holds of the knobs below that are not said. basic: 36 % of GPU time elastic, 21 % of jobs fungible; advanced: 10 % of jobs \
         heterogeneous besides; ideal: all jobs all of it, at no loss (after what is recalled of Aryl's scenarios, not verified)",
        Kind::Choice(&["basic", "advanced", "ideal"]),
    ),
    Knob::optional("elastic", "share of the jobs of two GPUs and more that are elastic", Kind::FRACTION),
    Knob::optional(
        "elastic_gpu_time",
        "or: elastic jobs are drawn from the large and long ones, shorter and smaller ones sooner, until they make up this share of GPU time",
        Kind::FRACTION,
    ),
    Knob::new("elastic_gpus_min", "with elastic_gpu_time: least GPUs of an elastic job", Kind::Int { min: 2, max: 1 << 24 }, "8")
        .unit("GPUs"),
    Knob::new("elastic_run_min", "with elastic_gpu_time: least run time of an elastic job", Kind::SPAN, "1h"),
    Knob::new(
        "elastic_base",
        "least workers of an elastic job, as a part of its most",
        Kind::Float { min: 0.01, max: 1.0 },
        "0.5",
    ),
    Knob::optional(
        "worker_gpus",
        "GPUs of a worker of an elastic job; unset: half of the job's, at most those of a node",
        Kind::Int { min: 1, max: 64 },
    )
    .unit("GPUs"),
    Knob::new("curve", "what workers yield together: `linear`, `power:A`, `loss:L` or `table:1=1 2=1.9`", Kind::Text, "linear"),
    Knob::optional("fungible", "share of the jobs that may go to loaned nodes; unset: 0, or by the preset", Kind::FRACTION),
    Knob::optional(
        "fungible_gpus_max",
        "most GPUs of such a job; unset: 16, but none with preset = ideal",
        Kind::Int { min: 1, max: 1 << 24 },
    )
    .unit("GPUs"),
    Knob::new("elastic_fungible", "whether all elastic jobs may", Kind::Bool, "true"),
    Knob::optional(
        "hetero",
        "share of the jobs that may, and whose gang may lie on several models at once; unset: 0, or by the preset",
        Kind::FRACTION,
    ),
    Knob::optional(
        "hetero_efficiency",
        "part of its speed that such a gang keeps on several models; unset: 0.7, but 1 with preset = ideal",
        Kind::Float { min: 0.01, max: 1.0 },
    ),
];

/// Which jobs are what.
#[derive(Clone, Debug, PartialEq)]
pub struct Flags {
    elastic: Option<f64>,
    gpu_time: Option<f64>,
    gpus_min: u32,
    run_min: SimSpan,
    base: f64,
    worker: Option<u8>,
    curve: Curve,
    fungible: f64,
    fungible_max: u32,
    elastic_fungible: bool,
    hetero: f64,
    efficiency: f64,
}

impl Flags {
    /// Flags from checked values of [`KNOBS`].
    ///
    /// - Errors: the knob whose value does not do, and what does.
    pub fn new(knobs: &Knobs) -> Result<Flags, (&'static str, String)> {
        let (elastic, gpu_time) = (knobs.opt_float("elastic"), knobs.opt_float("elastic_gpu_time"));
        if elastic.is_some() && gpu_time.is_some() {
            return Err(("elastic_gpu_time", "one of `elastic` and `elastic_gpu_time`".into()));
        }
        let preset = knobs.opt_text("preset");
        let ideal = preset == Some("ideal");
        let said = elastic.is_some() || gpu_time.is_some();
        Ok(Flags {
            elastic: elastic.or((ideal && !said).then_some(1.0)),
            gpu_time: gpu_time.or((preset.is_some() && !ideal && !said).then_some(0.36)),
            gpus_min: knobs.int("elastic_gpus_min") as u32,
            run_min: knobs.span("elastic_run_min"),
            base: knobs.float("elastic_base"),
            worker: knobs.opt_int("worker_gpus").map(|gpus| gpus as u8),
            curve: knobs.text("curve").parse().map_err(|()| ("curve", Curve::EXPECTED.to_owned()))?,
            fungible: knobs.opt_float("fungible").unwrap_or(match preset {
                None => 0.0,
                Some(_) if ideal => 1.0,
                Some(_) => 0.21,
            }),
            fungible_max: knobs.opt_int("fungible_gpus_max").map_or(if ideal { u32::MAX } else { 16 }, |gpus| gpus as u32),
            elastic_fungible: knobs.flag("elastic_fungible"),
            hetero: knobs.opt_float("hetero").unwrap_or(match preset {
                Some("advanced") => 0.1,
                Some("ideal") => 1.0,
                _ => 0.0,
            }),
            efficiency: knobs.opt_float("hetero_efficiency").unwrap_or(if ideal { 1.0 } else { 0.7 }),
        })
    }
}

/// Which draw of a job is for what.
const ELASTIC: u64 = 100;
const FUNGIBLE: u64 = 101;
const HETERO: u64 = 102;

/// Draws which jobs of a history are what. `per_task`: GPUs of a node at most; `loans`: which nodes may be lent, if any, and their
/// speed.
///
/// Only nodes on loan are open to work from elsewhere: no job is left a request that names the pool that lends.
pub fn apply(
    flags: &Flags,
    mut workload: Workload,
    per_task: u8,
    (loans, slow): (Option<Loans>, f64),
    seed: u64,
    catalog: &mut Catalog,
) -> Workload {
    let elastic = elastic_jobs(flags, &workload, seed, catalog);
    for (row, is_elastic) in elastic.into_iter().enumerate() {
        let job = workload.jobs[row];
        let shape = catalog.shapes.rows()[job.shape.index()].clone();
        let gpus = shape.gpus();
        let draw = |what| seed::unit(seed, Purpose::Request, row as u64, what);
        let (shape, elasticity) = if is_elastic { flags.stretch(shape, per_task) } else { (shape, None) };
        let hetero = draw(HETERO) < flags.hetero;
        let drawn = draw(FUNGIBLE) < flags.fungible && gpus <= flags.fungible_max;
        let fungible = drawn || hetero || (elasticity.is_some() && flags.elastic_fungible);
        let mixing = match (loans.is_some() && fungible, hetero) {
            (true, true) => Mixing::At(flags.efficiency),
            (true, false) => Mixing::Never,
            (false, _) => Mixing::Slowest,
        };
        let shape = match loans {
            Some(loans) => keep_out(&shape, loans, Some(fungible)),
            None => shape,
        };
        workload.jobs[row].shape = catalog.shape(&shape);
        // A limit on the run time with all workers would kill a job that runs with fewer, or on slower GPUs.
        let base = elasticity.map_or(1.0, |elastic| elastic.rate(elastic.base));
        let slowest = base * if fungible && loans.is_some() { slow } else { 1.0 };
        if job.limit != SimSpan::FOREVER && slowest < 1.0 {
            workload.jobs[row].limit = SimSpan::from_millis(libm::ceil(job.limit.as_millis() as f64 / slowest) as u64);
        }
        if elasticity.is_some() || mixing != Mixing::Slowest {
            let extra = extra(&mut workload, row);
            // What a history states of a job stands.
            let stated = extra.mixing != Mixing::Slowest;
            (extra.elastic, extra.mixing) =
                (elasticity.map(Box::new).or(extra.elastic.take()), if stated { extra.mixing } else { mixing });
        }
    }
    workload
}

/// The same work where nothing is drawn: nobody goes to the pool that lends but onto nodes on loan.
pub fn keep_to_loans(mut workload: Workload, loans: Loans, catalog: &mut Catalog) -> Workload {
    let shapes: Vec<_> = catalog.shapes.rows().to_vec();
    let kept: Vec<_> = shapes.iter().map(|shape| catalog.shape(&keep_out(shape, loans, None))).collect();
    for job in &mut workload.jobs {
        job.shape = kept[job.shape.index()];
    }
    workload
}

fn extra(workload: &mut Workload, row: usize) -> &mut Extra {
    if workload.jobs[row].extra == Job::PLAIN {
        workload.jobs[row].extra = workload.extras.len() as u32;
        workload.extras.push(Extra::default());
    }
    &mut workload.extras[workload.jobs[row].extra as usize]
}

/// A shape kept out of the pool that lends and, unless it is fungible, off nodes on loan; `None`: as it says itself.
fn keep_out(shape: &Shape, loans: Loans, fungible: Option<bool>) -> Shape {
    let narrow = |group: &TaskGroup| {
        let home = group.request.pools.without(loans.from.index());
        let pools = match fungible {
            // Who says where it goes, and does not name nodes on loan, may go there if it is fungible.
            Some(true) => home.with(loans.to.index()),
            Some(false) => home.without(loans.to.index()),
            None => home,
        };
        TaskGroup { count: group.count, request: TaskRequest { pools, ..group.request } }
    };
    Shape { groups: shape.groups.iter().map(narrow).collect() }
}

impl Flags {
    /// A job's base gang and its elasticity, if it has two workers at least.
    fn stretch(&self, shape: Shape, per_task: u8) -> (Shape, Option<Elasticity>) {
        let gpus = shape.gpus();
        let worker = self.worker.map_or((gpus / 2).min(u32::from(per_task)), u32::from).max(1);
        let most = gpus / worker;
        let base = (libm::round(f64::from(most) * self.base) as u32).clamp(1, most.max(1));
        let request = shape.groups[0].request;
        if gpus == 0 || most < 2 || request.is_share() || worker * most != gpus {
            return (shape, None);
        }
        // What a GPU comes with goes with it.
        let per_gpu = |all: u32| (u64::from(all) * u64::from(worker)).div_ceil(u64::from(request.gpus).max(1)) as u32;
        let request = TaskRequest {
            gpus: worker as u8,
            cpu_milli: per_gpu(request.cpu_milli),
            memory_mib: per_gpu(request.memory_mib),
            ..request
        };
        (Shape::of(base, request), Some(Elasticity { base, max: most, reference: most, curve: self.curve }))
    }
}

/// Which jobs are elastic, in order of row.
fn elastic_jobs(flags: &Flags, workload: &Workload, seed: u64, catalog: &Catalog) -> Vec<bool> {
    let shapes = catalog.shapes.rows();
    let gpus = |job: &Job| shapes[job.shape.index()].gpus();
    let draw = |row: usize| seed::unit(seed, Purpose::Request, row as u64, ELASTIC);
    let mut chosen = vec![false; workload.jobs.len()];
    if let Some(share) = flags.elastic {
        for (row, job) in workload.jobs.iter().enumerate() {
            chosen[row] = 2 <= gpus(job) && draw(row) < share;
        }
    }
    if let Some(share) = flags.gpu_time {
        let time = |job: &Job| if ENDLESS <= job.work { 0 } else { u128::from(gpus(job)) * u128::from(job.work.as_millis()) };
        let goal = workload.jobs.iter().map(time).sum::<u128>() as f64 * share;
        let eligible = |job: &Job| flags.gpus_min <= gpus(job) && flags.run_min <= job.work && job.work < ENDLESS;
        // Drawn without replacement, each with a weight that falls with the root of its GPU time (Efraimidis and Spirakis, 2006).
        let mut order: Vec<(f64, usize)> = Vec::new();
        for (row, job) in workload.jobs.iter().enumerate().filter(|(_, job)| eligible(job)) {
            order.push((-libm::log1p(-draw(row)) * libm::sqrt(time(job) as f64), row));
        }
        order.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        let mut sum = 0.0;
        for (_, row) in order {
            if goal <= sum {
                break;
            }
            sum += time(&workload.jobs[row]) as f64;
            chosen[row] = true;
        }
    }
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::PoolId;
    use crate::registry::Value;
    use crate::units::SimTime;

    const LOANS: Loans = Loans { from: PoolId(1), to: PoolId(2) };

    fn history(sizes: &[u32], work: u64) -> (Workload, Catalog) {
        let (mut workload, mut catalog) = (Workload::default(), Catalog::default());
        catalog.pool("inference");
        catalog.pool("loaned");
        for (row, &gpus) in sizes.iter().enumerate() {
            let shape = catalog.shape(&Shape::whole_gpus(gpus, 8, TaskRequest::whole(1)));
            let name = workload.names.push(&format!("j{row}"));
            workload.jobs.push(Job::new(name, SimTime::from_secs(row as u64), shape, SimSpan::from_secs(work)));
        }
        (workload, catalog)
    }

    fn flagged(edits: &[(&'static str, Value)], sizes: &[u32], loans: Option<Loans>) -> (Workload, Catalog) {
        let mut knobs = Knobs::defaults(KNOBS);
        edits.iter().for_each(|(name, value)| knobs.set(name, value.clone()));
        let (workload, mut catalog) = history(sizes, 7200);
        let flags = Flags::new(&knobs).expect("flags");
        (apply(&flags, workload, 8, (loans, 0.5), 3, &mut catalog), catalog)
    }

    #[test]
    fn every_job_of_two_gpus_can_be_elastic() {
        let (workload, catalog) = flagged(&[("elastic", Value::Float(1.0))], &[1, 2, 8, 12, 16, 64], Some(LOANS));
        let of = |row: usize| {
            let job = &workload.jobs[row];
            let group = catalog.shapes.rows()[job.shape.index()].groups[0];
            (group.count, group.request.gpus, workload.extra(job).and_then(|it| it.elastic.as_deref()).map(|it| it.max))
        };
        let found: Vec<_> = (0..6).map(of).collect();
        assert_eq!(found, [(1, 1, None), (1, 1, Some(2)), (1, 4, Some(2)), (1, 6, Some(2)), (1, 8, Some(2)), (4, 8, Some(8))]);
        // Elastic jobs may go on loan, and keep to one model; nobody goes to the pool that lends.
        for job in &workload.jobs {
            let pools = catalog.shapes.rows()[job.shape.index()].groups[0].request.pools;
            let elastic = workload.extra(job).is_some_and(|extra| extra.elastic.is_some());
            assert_eq!((pools.has(0), pools.has(1), pools.has(2)), (true, false, elastic));
            assert!(workload.extra(job).is_none_or(|extra| extra.mixing == Mixing::Never));
        }
    }

    #[test]
    fn shares_are_what_was_asked_for() {
        let sizes: Vec<u32> = (0..4000).map(|n| [1, 2, 8, 16, 32][n % 5]).collect();
        let edits = [("elastic_gpu_time", Value::Float(0.36)), ("fungible", Value::Float(0.21)), ("hetero", Value::Float(0.1))];
        let (workload, catalog) = flagged(&edits, &sizes, Some(LOANS));
        let extra = |row: usize| workload.extra(&workload.jobs[row]);
        let elastic: u32 = (0..4000).filter(|&row| extra(row).is_some_and(|it| it.elastic.is_some())).map(|row| sizes[row]).sum();
        let share = f64::from(elastic) / f64::from(sizes.iter().sum::<u32>());
        assert!((share - 0.36).abs() < 0.01, "{share}");
        let hetero = (0..4000).filter(|&row| extra(row).is_some_and(|it| it.mixing == Mixing::At(0.7))).count();
        assert!((300..500).contains(&hetero), "{hetero}");
        let pools = |row: usize| catalog.shapes.rows()[workload.jobs[row].shape.index()].groups[0].request.pools;
        let small = (0..4000).filter(|&row| sizes[row] == 1 && pools(row).has(2)).count() as f64 / 800.0;
        assert!((small - (1.0 - 0.79 * 0.9)).abs() < 0.05, "{small}");
        // Without nodes on loan the flags change nothing but who is elastic.
        let (workload, _) = flagged(&edits, &sizes, None);
        assert!(workload.extras.iter().all(|extra| extra.mixing == Mixing::Slowest && extra.elastic.is_some()));
    }

    #[test]
    fn limits_follow_and_what_is_stated_stands() {
        let (mut workload, mut catalog) = history(&[1, 16], 7200);
        for job in &mut workload.jobs {
            job.limit = SimSpan::from_secs(10_000);
        }
        workload.jobs[0].extra = 0;
        workload.extras.push(Extra { mixing: Mixing::At(0.5), ..Extra::default() });
        let mut knobs = Knobs::defaults(KNOBS);
        knobs.set("preset", Value::Text("ideal".into()));
        let flags = Flags::new(&knobs).expect("flags");
        let workload = apply(&flags, workload, 8, (Some(LOANS), 0.5), 3, &mut catalog);
        let limits: Vec<u64> = workload.jobs.iter().map(|job| job.limit.as_millis() / 1000).collect();
        assert_eq!(limits, [20_000, 40_000], "half the speed, and half of the workers");
        assert_eq!(workload.extra(&workload.jobs[0]).map(|it| it.mixing), Some(Mixing::At(0.5)));
    }

    #[test]
    fn what_does_not_go_together_is_said() {
        let mut knobs = Knobs::defaults(KNOBS);
        knobs.set("curve", Value::Text("steep".into()));
        assert_eq!(Flags::new(&knobs).err().map(|it| it.0), Some("curve"));
        let mut knobs = Knobs::defaults(KNOBS);
        knobs.set("elastic", Value::Float(0.5));
        knobs.set("elastic_gpu_time", Value::Float(0.5));
        assert_eq!(Flags::new(&knobs).err().map(|it| it.0), Some("elastic_gpu_time"));
    }
}
