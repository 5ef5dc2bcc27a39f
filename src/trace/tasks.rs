//! The `tasks` column of native traces: `2x8;1x4` is two tasks of 8 GPUs and one of 4. Each group may say more of each of its
//! tasks: `1x8:cpu=32000:memory=65536:models=A100|H100:pools=main`, and `4x1@500` is four tasks of half a GPU.

use super::field;
use crate::cluster::{ClusterSpec, IdSet, Shape, TaskGroup, TaskRequest};
use crate::workload::Catalog;
use crate::workload::load::spell_models;
use std::fmt::Write as _;

/// What a group says; `None` where it leaves it to the row.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Group<'a> {
    count: u32,
    gpus: u8,
    milli: Option<u16>,
    cpu: Option<u32>,
    memory: Option<u32>,
    models: Option<&'a str>,
    pools: Option<&'a str>,
}

/// What a field of `tasks` should be.
pub const EXPECTED: &str = "task groups such as `2x8;1x4` (count x GPUs, at most 64 groups and 64 GPUs a task)";

/// Reads the column; `None` if it is not of that form.
pub fn parse(bytes: &[u8]) -> Option<Vec<Group<'_>>> {
    let text = std::str::from_utf8(bytes).ok()?;
    let groups: Option<Vec<Group<'_>>> = text.split(';').map(|part| group(part.trim())).collect();
    groups.filter(|groups| groups.len() <= 64)
}

fn group(text: &str) -> Option<Group<'_>> {
    let mut parts = text.split(':');
    let (count, gpus) = parts.next()?.split_once('x')?;
    let mut group = Group { count: field::uint(count.as_bytes(), 1 << 16)? as u32, ..Group::default() };
    let gpus = match gpus.split_once('@') {
        Some((gpus, milli)) => {
            group.milli = Some(field::uint(milli.as_bytes(), 1000).filter(|&milli| 0 < milli)? as u16);
            gpus
        }
        None => gpus,
    };
    group.gpus = field::uint(gpus.as_bytes(), u64::from(ClusterSpec::GPUS_MAX))? as u8;
    for part in parts {
        let number = |text: &str| field::uint(text.as_bytes(), u64::from(u32::MAX)).map(|n| n as u32);
        match part.split_once('=')? {
            ("cpu", value) => group.cpu = Some(number(value)?),
            ("memory", value) => group.memory = Some(number(value)?),
            ("models", value) => group.models = Some(field::word(value.as_bytes())?),
            ("pools", value) => group.pools = Some(field::word(value.as_bytes())?),
            _ => return None,
        }
    }
    let shared = group.milli.is_some_and(|milli| milli < 1000);
    (0 < group.count && !(shared && group.gpus != 1)).then_some(group)
}

/// GPUs of all groups.
pub fn gpus(groups: &[Group<'_>]) -> u32 {
    groups.iter().map(|group| group.count * u32::from(group.gpus)).sum()
}

/// The shape of a gang. `whole` is what the row says of the job in all ([`Shape::cut`]): what a group leaves open comes from there,
/// CPU and memory by its part of the GPUs (of the tasks, for a job without GPUs). `sets` reads names of models
/// (with their wording) and of pools.
pub fn shape(
    groups: &[Group<'_>],
    whole: TaskRequest,
    mut sets: impl FnMut(&str, bool) -> Option<(IdSet, u32)>,
) -> Option<Shape> {
    let all = gpus(groups);
    let tasks: u32 = groups.iter().map(|group| group.count).sum();
    let mut out = Vec::with_capacity(groups.len());
    for group in groups {
        let (n, of) = if all == 0 { (1, tasks) } else { (u32::from(group.gpus), all) };
        let part = |amount: u32| (u64::from(amount) * u64::from(n)).div_ceil(u64::from(of)) as u32;
        let milli = match group.gpus {
            0 => 0,
            1 => group.milli.unwrap_or(whole.milli),
            _ => 1000,
        };
        let (models, wording) = group.models.map_or(Some((whole.models, whole.wording)), |names| sets(names, true))?;
        let (pools, _) = group.pools.map_or(Some((whole.pools, 0)), |names| sets(names, false))?;
        let (cpu_milli, memory_mib) =
            (group.cpu.unwrap_or(part(whole.cpu_milli)), group.memory.unwrap_or(part(whole.memory_mib)));
        let request = TaskRequest { gpus: group.gpus, milli, cpu_milli, memory_mib, models, pools, wording };
        out.push(TaskGroup { count: group.count, request });
    }
    Some(Shape { groups: out.into() })
}

/// The column for a shape, everything stated, so that it reads back as it is whatever the row says besides.
pub fn show(shape: &Shape, catalog: &Catalog) -> String {
    let mut out = String::new();
    for group in &shape.groups {
        let request = &group.request;
        if !out.is_empty() {
            out.push(';');
        }
        let _ = write!(out, "{}x{}", group.count, request.gpus);
        if request.gpus == 1 {
            let _ = write!(out, "@{}", request.milli);
        }
        let _ = write!(out, ":cpu={}:memory={}", request.cpu_milli, request.memory_mib);
        if !request.models.is_any() {
            let _ = write!(out, ":models={}", spell_models(request, catalog));
        }
        if !request.pools.is_any() {
            let _ = write!(out, ":pools={}", show_pools(request.pools, catalog));
        }
    }
    out
}

/// The names of a set of pools as `a|b`.
pub fn show_pools(pools: IdSet, catalog: &Catalog) -> String {
    let rows = catalog.pools.rows().iter().enumerate();
    let named = rows.filter(|(row, _)| pools.has(*row)).map(|(_, name)| name.as_str());
    named.collect::<Vec<&str>>().join("|")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, whole: TaskRequest) -> Option<Shape> {
        shape(&parse(text.as_bytes())?, whole, |_, _| Some((IdSet::NONE.with(1), 0)))
    }

    #[test]
    fn groups_share_what_the_row_states() {
        let whole = TaskRequest { cpu_milli: 24_001, memory_mib: 1200, ..TaskRequest::whole(0) };
        let shape = read("1x8;1x4", whole).unwrap();
        let shown: Vec<(u32, u8, u32, u32)> =
            shape.groups.iter().map(|it| (it.count, it.request.gpus, it.request.cpu_milli, it.request.memory_mib)).collect();
        assert_eq!(shown, [(1, 8, 16_001, 800), (1, 4, 8001, 400)]);
        let shape = read("3x0;1x1@250:cpu=7:models=A", whole).unwrap();
        assert_eq!(shape.groups[0].request, TaskRequest { gpus: 0, milli: 0, cpu_milli: 0, memory_mib: 0, ..whole });
        assert_eq!((shape.groups[1].request.milli, shape.groups[1].request.cpu_milli), (250, 7));
        assert_eq!(shape.groups[1].request.models, IdSet::NONE.with(1));
    }

    #[test]
    fn other_forms_are_refused() {
        for text in [
            "",
            "8",
            "x8",
            "2x",
            "0x8",
            "2x65",
            "2x8@500",
            "1x1@0",
            "1x1@2000",
            "2x8:",
            "2x8:cpu",
            "2x8:gpu=1",
            "2x8;;1x4",
            "-1x4",
        ] {
            assert_eq!(parse(text.as_bytes()), None, "{text}");
        }
    }
}
