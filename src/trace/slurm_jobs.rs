//! From what a Slurm job asked for to the gang that is replayed: what the readers of Slurm's formats share.

use super::intake::Intake;
use crate::cluster::{IdSet, TaskRequest};
use crate::ids::ShapeId;
use crate::registry::{Kind, Knob, Knobs};
use crate::units::SimSpan;

/// What counts as a GPU.
pub const GPUS: Knob = Knob::new(
    "gpus",
    "what counts as a GPU: a gres/gpu, or on a cluster of CPUs each CPU or each node",
    Kind::Choice(&["tres", "cpus", "nodes"]),
    "tres",
);
/// How a gang lies.
pub const TASKS: Knob = Knob::new(
    "tasks",
    "how a gang lies: on as many nodes as it names, or cut as if they did not matter",
    Kind::Choice(&["nodes", "cut"]),
    "nodes",
);
/// What the class of a job is.
pub const CLASS: Knob =
    Knob::new("class", "what the class of a job is", Kind::Choice(&["partition", "qos", "none"]), "partition");
/// Which pools a job accepts.
pub const POOLS: Knob = Knob::new(
    "pools",
    "which pools a job accepts: any, or those called like its partitions",
    Kind::Choice(&["any", "partition"]),
    "any",
);
/// What kills a job.
pub const LIMIT: Knob =
    Knob::new("limit", "what kills a job: nothing, or its requested time", Kind::Choice(&["none", "requested"]), "none");
/// Whether memory counts.
pub const MEMORY: Knob = Knob::new("memory", "whether memory counts", Kind::Bool, "true");

/// Most nodes of one job.
pub const NODES_MAX: u32 = 1 << 16;

/// What those knobs say.
pub struct Rules<'k> {
    /// `tres`, `cpus` or `nodes`.
    pub gpus: &'k str,
    /// Whether gangs lie on as many nodes as they name.
    pub by_nodes: bool,
    /// `partition`, `qos` or `none`.
    pub class: &'k str,
    /// Whether partitions are pools.
    pub pools: bool,
    /// Whether the requested time kills.
    pub kills: bool,
    /// Whether memory counts.
    pub memory: bool,
}

impl<'k> Rules<'k> {
    /// Reads the knobs.
    pub fn new(knobs: &'k Knobs) -> Rules<'k> {
        Rules {
            gpus: knobs.text("gpus"),
            by_nodes: knobs.text("tasks") == "nodes",
            class: knobs.text("class"),
            pools: knobs.text("pools") == "partition",
            kills: knobs.text("limit") == "requested",
            memory: knobs.flag("memory"),
        }
    }
    /// What the scheduler is told of a job that asks for `limit`, and what kills it.
    pub fn limits(&self, limit: Option<SimSpan>, work: SimSpan, intake: &mut Intake<'_>) -> (SimSpan, SimSpan) {
        let Some(limit) = limit.filter(|&it| SimSpan::ZERO < it) else {
            intake.report.alter("requested time not known: the estimate is the run time");
            return (work, SimSpan::FOREVER);
        };
        (limit, if self.kills { limit } else { SimSpan::FOREVER })
    }
    /// Says how many of the jobs taken so far have no GPU, if that is what counts.
    pub fn say_without_gpus(&self, intake: &mut Intake<'_>) {
        let (jobs, without) = (intake.len(), intake.without_gpus());
        if without != 0 {
            let text = format!("NO GPU in {without} of {jobs} attempts: they ask for CPUs alone (knob `gpus`)");
            intake.report.assumed.push(text);
        }
    }
}

/// What a job asked for in all.
pub struct Asked<'t> {
    /// GPUs.
    pub gpus: u32,
    /// CPUs.
    pub cpus: u32,
    /// Nodes it names; 0 if none.
    pub nodes: u32,
    /// Memory in MiB.
    pub memory_mib: u32,
    /// GPU models it accepts; none: any.
    pub models: Vec<&'t str>,
}

impl Asked<'_> {
    /// The job's gang; `None` if a table is full, which is a fault. `partition`: as `a,b`, if partitions are pools.
    pub fn shape(mut self, line: u64, rules: &Rules<'_>, partition: Option<&str>, intake: &mut Intake<'_>) -> Option<ShapeId> {
        let (gpus, cpu_milli, memory_mib) = match rules.gpus {
            "tres" => (self.gpus, self.cpus.saturating_mul(1000), self.memory_mib),
            "cpus" => (self.cpus.max(1), 0, self.memory_mib),
            _ => (self.nodes.max(1), 0, 0),
        };
        let mut whole = TaskRequest { cpu_milli, memory_mib, ..TaskRequest::whole(0) };
        if rules.gpus == "tres" && gpus != 0 && !self.models.is_empty() {
            self.models.sort_unstable();
            self.models.dedup();
            if 1 < self.models.len() {
                intake.report.alter("GPUs of several models: any of these models will do for each");
            }
            (whole.models, whole.wording) = intake.models(line, &self.models.join("|"))?;
        }
        whole.pools = match partition {
            Some(names) => intake.pools(line, &names.replace(',', "|"))?,
            None => IdSet::ANY,
        };
        let nodes = if rules.by_nodes { self.nodes } else { 0 };
        Some(intake.shape_on(nodes, gpus, whole))
    }
}
