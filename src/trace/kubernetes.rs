//! What `kubectl get pods,jobs -A -o json` and `kubectl get workloads -A -o json` (Kueue) print: a list of objects, of kinds in any order.
//!
//! A pod is a job of one task, unless a `Job` (or another controller that runs to completion) owns it: then all pods of that owner are one gang. A batch `Job` of
//! which the list holds no pod is a gang of its parallelism. A Kueue `Workload` is a gang of its pod sets, started when its quota was reserved. What
//! had not ended counts as having run until the last moment that the list names; what had not started is left out. The namespace is the account, or of a
//! `Workload` its queue below it; the priority class is the class. Source: Kubernetes API reference, core/v1, batch/v1; kueue.x-k8s.io/v1beta1.

use super::field;
use super::input::Lines;
use super::intake::Intake;
use super::json::{Element, each};
use super::{Build, ReadOptions};
use crate::cluster::{Shape, TaskGroup, TaskRequest};
use crate::registry::Entry;
use crate::units::{SimSpan, SimTime};
use crate::workload::{Catalog, Extra, Job};
use serde_json::Value;
use std::collections::BTreeMap;

/// The format.
pub const ENTRY: Entry<Build> = Entry {
    name: "kubernetes",
    about: "Kubernetes pods, batch jobs and Kueue workloads as `kubectl get … -o json` prints them",
    source: "Kubernetes API reference (core/v1 Pod, batch/v1 Job); Kueue (kueue.x-k8s.io/v1beta1 Workload)",
    knobs: &[],
    needs: &[],
    provides: &[],
    timed: false,
    build: Build { is: |line| line.starts_with(b"{"), columns: &[], read },
};

const DATE: &str = "a date such as `2024-05-01T12:00:00Z`";
const QUANTITY: &str = "a quantity such as `8`, `500m` or `64Gi`";
/// Owners whose pods are a gang. Those of services (a ReplicaSet, a DaemonSet) come and go one by one.
const GANGS: [&str; 9] = ["Job", "JobSet", "PyTorchJob", "TFJob", "MPIJob", "XGBoostJob", "PaddleJob", "RayJob", "RayCluster"];

/// What one task asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Ask {
    /// Thousandths of a GPU.
    milli_gpu: u64,
    cpu_milli: u64,
    memory_mib: u64,
    models: String,
}

/// A job as the list tells it so far.
#[derive(Clone, Debug)]
struct Found {
    line: u64,
    account: String,
    class: String,
    priority: i64,
    created: i64,
    start: Option<i64>,
    end: Option<i64>,
    /// Whether any of it goes on.
    open: bool,
    tasks: BTreeMap<Ask, u32>,
    /// Whether this is what a `Job` says of itself, which its pods know better.
    own: bool,
}

fn read(lines: Lines, _options: &ReadOptions, intake: &mut Intake<'_>) {
    intake.set_origin(0);
    let mut jobs: BTreeMap<String, Found> = BTreeMap::new();
    let mut last = 0;
    each(lines, "items", intake, &mut |intake, element: Element<'_>| {
        intake.report.rows += 1;
        let kind = element.text("kind").unwrap_or("").to_owned();
        let read = match kind.as_str() {
            "Pod" => pod(&element, intake),
            "Job" => job(&element, intake),
            "Workload" => workload(&element, intake),
            _ => {
                intake.report.drop("of a kind that is no work");
                return;
            }
        };
        let Some((name, found)) = read else { return };
        last = [Some(found.created), found.start, found.end].into_iter().flatten().fold(last, i64::max);
        match jobs.get_mut(&name) {
            None => drop(jobs.insert(name, found)),
            Some(known) => {
                intake.report.drop("a pod of a gang, or what is told of a job twice");
                if known.own != found.own {
                    // Its pods say what it held and when.
                    if known.own {
                        *known = found;
                    }
                    return;
                }
                known.created = known.created.min(found.created);
                known.start = known.start.max(found.start);
                known.end = known.end.max(found.end);
                known.open |= found.open;
                found.tasks.into_iter().for_each(|(ask, count)| *known.tasks.entry(ask).or_default() += count);
            }
        }
    });
    let mut order: Vec<(String, Found)> = jobs.into_iter().collect();
    order.sort_by_key(|(_, found)| (found.created, found.line));
    for (name, found) in order {
        take(&name, &found, last, intake);
    }
    intake.report.assumed.push("what had not ended ran until the last moment that the list names".to_owned());
}

/// Makes a job of what was found, or leaves it out.
fn take(name: &str, found: &Found, last: i64, intake: &mut Intake<'_>) {
    let Some(start) = found.start else {
        intake.leave_out("never started", name);
        return;
    };
    let end = match (found.open, found.end) {
        (false, Some(end)) => end,
        _ => {
            intake.report.alter("had not ended: run time up to the last moment of the list");
            last
        }
    };
    if end <= start {
        intake.leave_out("run time not above zero", name);
        return;
    }
    let mut groups: Vec<TaskGroup> = Vec::new();
    for (ask, count) in &found.tasks {
        let Some((models, _)) = intake.models(found.line, &ask.models) else { return };
        let (whole, part) = (ask.milli_gpu / 1000, ask.milli_gpu % 1000);
        let limited = |value: u64| u32::try_from(value).unwrap_or(u32::MAX);
        let mut request = TaskRequest {
            cpu_milli: limited(ask.cpu_milli),
            memory_mib: limited(ask.memory_mib),
            models,
            ..TaskRequest::whole(0)
        };
        match (whole, part) {
            (0, 0) => request.milli = 0,
            (0, part) => (request.gpus, request.milli) = (1, part as u16),
            (whole, part) => {
                if part != 0 {
                    intake.report.alter("whole GPUs and a part of one: the part is left out");
                }
                if 64 < whole {
                    intake.leave_out("more GPUs than a node may have", name);
                    return;
                }
                (request.gpus, request.milli) = (whole as u8, 1000);
            }
        }
        groups.push(TaskGroup { count: *count, request });
    }
    let shape = intake.catalog.shape(&Shape { groups: groups.into() });
    let at = |ms: i64| SimTime::from_millis(ms.max(0) as u64);
    let created = found.created.min(start);
    let (account, user) = (intake.account(&found.account), intake.user(Catalog::USER));
    let Some(class) = intake.class(found.line, &found.class) else { return };
    let priority = found.priority.clamp(i64::from(i32::MIN), i64::from(i32::MAX)) as i32;
    let job =
        Job { account, user, class, priority, ..Job::new(0, at(created), shape, SimSpan::from_millis((end - start) as u64)) };
    let observed_end = (!found.open).then(|| at(end));
    let extra = Extra { observed_start: Some(at(start)), observed_end, ..Extra::default() };
    intake.push(found.line, name, job, Some(extra), "");
}

fn date(text: &str) -> Option<i64> {
    field::date(text.as_bytes())
}

/// Namespace, name and creation, which every object has.
fn meta(element: &Element<'_>, intake: &mut Intake<'_>) -> Option<(String, String, i64)> {
    let word = |text: &str| field::word(text.as_bytes()).map(str::to_owned);
    let name = element.need("metadata.name", "the name of an object", intake, word);
    let namespace = element.parse("metadata.namespace", "the name of a namespace", intake, word);
    let created = element.need("metadata.creationTimestamp", DATE, intake, date);
    Some((namespace.unwrap_or_else(|| "default".into()), name?, created?))
}

fn class(spec: Option<&str>) -> String {
    spec.filter(|name| !name.is_empty()).unwrap_or(Catalog::CLASS).to_owned()
}

fn pod(element: &Element<'_>, intake: &mut Intake<'_>) -> Option<(String, Found)> {
    let (namespace, name, created) = meta(element, intake)?;
    let owner = element
        .list("metadata.ownerReferences")
        .iter()
        .find(|owner| owner.get("kind").and_then(Value::as_str).is_some_and(|kind| GANGS.contains(&kind)));
    let owner = owner.and_then(|owner| owner.get("name")).and_then(Value::as_str);
    let name = format!("{namespace}/{}", owner.unwrap_or(&name));
    let ask = ask(element, "spec", intake)?;
    let start = element.parse("status.startTime", DATE, intake, date);
    let phase = element.text("status.phase").unwrap_or("");
    let ended = matches!(phase, "Succeeded" | "Failed");
    let ends = element.list("status.containerStatuses").iter().filter_map(|container| {
        let ended = container.get("state")?.get("terminated")?.get("finishedAt")?;
        date(ended.as_str()?)
    });
    let end = ends.max().filter(|_| ended);
    // A pod gets a start time when its node takes it up.
    let start = start.filter(|_| phase != "Pending");
    let priority = element.at("spec.priority").and_then(Value::as_i64).unwrap_or(0);
    let class = class(element.text("spec.priorityClassName"));
    let tasks = BTreeMap::from([(ask, 1)]);
    Some((
        name,
        Found { line: element.line, account: namespace, class, priority, created, start, end, open: !ended, tasks, own: false },
    ))
}

fn job(element: &Element<'_>, intake: &mut Intake<'_>) -> Option<(String, Found)> {
    let (namespace, name, created) = meta(element, intake)?;
    let ask = ask(element, "spec.template.spec", intake)?;
    let count = element.at("spec.parallelism").and_then(Value::as_u64).unwrap_or(1).clamp(1, 1 << 16) as u32;
    let start = element.parse("status.startTime", DATE, intake, date);
    let mut end = element.parse("status.completionTime", DATE, intake, date);
    if end.is_none() {
        let failed = element.list("status.conditions").iter().find(|it| it.get("type").and_then(Value::as_str) == Some("Failed"));
        end = failed.and_then(|it| it.get("lastTransitionTime")).and_then(Value::as_str).and_then(date);
    }
    let class = class(element.text("spec.template.spec.priorityClassName"));
    let tasks = BTreeMap::from([(ask, count)]);
    let found = Found {
        line: element.line,
        account: namespace.clone(),
        class,
        priority: 0,
        created,
        start,
        end,
        open: end.is_none(),
        tasks,
        own: true,
    };
    Some((format!("{namespace}/{name}"), found))
}

fn workload(element: &Element<'_>, intake: &mut Intake<'_>) -> Option<(String, Found)> {
    let (namespace, name, created) = meta(element, intake)?;
    let mut tasks: BTreeMap<Ask, u32> = BTreeMap::new();
    for (row, set) in element.list("spec.podSets").iter().enumerate() {
        let count = set.get("count").and_then(Value::as_u64).unwrap_or(1).clamp(1, 1 << 16) as u32;
        let spec = set.get("template").and_then(|template| template.get("spec")).unwrap_or(&Value::Null);
        *tasks.entry(asked(element, spec, &format!("spec.podSets[{row}].template.spec"), intake)?).or_default() += count;
    }
    if tasks.is_empty() {
        element.fault("spec.podSets", &Value::Null, "a list of pod sets", intake);
        return None;
    }
    let condition = |kind: &str| {
        let all = element.list("status.conditions").iter();
        let mut of_kind = all.filter(|it| it.get("type").and_then(Value::as_str) == Some(kind));
        let holds = of_kind.find(|it| it.get("status").and_then(Value::as_str) == Some("True"))?;
        date(holds.get("lastTransitionTime")?.as_str()?)
    };
    let (start, end) = (condition("Admitted").or_else(|| condition("QuotaReserved")), condition("Finished"));
    let account = element.text("spec.queueName").map_or_else(|| namespace.clone(), |queue| format!("{namespace}/{queue}"));
    let class = class(element.text("spec.priorityClassName"));
    let priority = element.at("spec.priority").and_then(Value::as_i64).unwrap_or(0);
    let found =
        Found { line: element.line, account, class, priority, created, start, end, open: end.is_none(), tasks, own: false };
    Some((format!("{namespace}/{name}"), found))
}

fn ask(element: &Element<'_>, path: &str, intake: &mut Intake<'_>) -> Option<Ask> {
    let null = Value::Null;
    asked(element, element.at(path).unwrap_or(&null), path, intake)
}

/// What the containers of a pod ask for: GPUs of any vendor, MIG slices as parts of a GPU by their number of compute slices of seven.
fn asked(element: &Element<'_>, spec: &Value, path: &str, intake: &mut Intake<'_>) -> Option<Ask> {
    let mut ask = Ask::default();
    let containers = spec.get("containers").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let mut sound = true;
    for (row, container) in containers.iter().enumerate() {
        let resources = container.get("resources");
        let of = |key: &str| resources.and_then(|it| it.get(key)).and_then(Value::as_object);
        // GPUs are asked for by limits, which requests then equal.
        let both = of("limits").into_iter().chain(of("requests"));
        let mut seen: BTreeMap<&str, &Value> = BTreeMap::new();
        seen.extend(both.flatten().map(|(name, value)| (name.as_str(), value)));
        for (name, value) in seen {
            let text = match value {
                Value::String(text) => text.clone(),
                other => other.to_string(),
            };
            let mut milli = || {
                quantity(&text).or_else(|| {
                    element.fault(&format!("{path}.containers[{row}].resources.{name}"), value, QUANTITY, intake);
                    sound = false;
                    None
                })
            };
            if name == "cpu" {
                ask.cpu_milli += milli().unwrap_or(0);
            } else if name == "memory" {
                ask.memory_mib += milli().unwrap_or(0).div_ceil(1000 << 20);
            } else if let Some(slices) =
                name.split_once("/mig-").and_then(|(_, rest)| rest.split_once("g.")?.0.parse::<u64>().ok())
            {
                ask.milli_gpu += (milli().unwrap_or(0) * slices.min(7)) / 7;
            } else if name.ends_with("/gpu") {
                ask.milli_gpu += milli().unwrap_or(0);
            }
        }
    }
    let selector = spec.get("nodeSelector").and_then(Value::as_object);
    let product = selector.and_then(|it| it.iter().find(|(key, _)| key.ends_with("gpu.product"))).and_then(|(_, it)| it.as_str());
    ask.models = product.and_then(|name| field::word(name.as_bytes())).unwrap_or("").replace('|', "_");
    sound.then_some(ask)
}

/// A Kubernetes quantity in thousandths: `500m`, `2`, `1.5`, `64Gi`, `1e3`.
fn quantity(text: &str) -> Option<u64> {
    const UNITS: [(&str, f64); 13] = [
        ("Ki", 1024.0),
        ("Mi", 1_048_576.0),
        ("Gi", 1_073_741_824.0),
        ("Ti", 1_099_511_627_776.0),
        ("Pi", 1_125_899_906_842_624.0),
        ("Ei", 1_152_921_504_606_846_976.0),
        ("m", 1e-3),
        ("k", 1e3),
        ("M", 1e6),
        ("G", 1e9),
        ("T", 1e12),
        ("P", 1e15),
        ("E", 1e18),
    ];
    let unit = UNITS.iter().find(|(unit, _)| text.ends_with(unit) && text.len() > unit.len());
    let (digits, factor) = unit.map_or((text, 1.0), |(unit, factor)| (&text[..text.len() - unit.len()], *factor));
    let number: f64 = digits.parse().ok().filter(|it: &f64| it.is_finite() && 0.0 <= *it)?;
    let milli = libm::ceil(number * factor * 1000.0);
    (milli < 9e18).then_some(milli as u64)
}

#[cfg(test)]
mod tests {
    use super::quantity;

    #[test]
    fn quantities_are_those_of_kubernetes() {
        let read = ["2", "500m", "1.5", "1e3", "64Gi", "3k", "0"].map(|text| quantity(text).unwrap());
        assert_eq!(read, [2000, 500, 1500, 1_000_000, 64 * (1 << 30) * 1000, 3_000_000, 0]);
        assert!(["", "x", "-1", "m", "1 Gi", "inf", "1e300E"].iter().all(|text| quantity(text).is_none()));
    }
}
