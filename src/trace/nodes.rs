//! Node lists: ours, those of the openb traces, and that of Alibaba's spot GPUs; told by the header.

use super::Faults;
use super::error::{Location, TraceError};
use super::field;
use super::input::Lines;
use super::table::{Column, Table, is_header_of};
use crate::cluster::{ClusterSpec, NodeSpec};
use crate::workload::Catalog;
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::Path;

const NAME: usize = 0;
const GPUS: usize = 1;
const MODEL: usize = 2;
const CPU: usize = 3;
const MEMORY: usize = 4;
const POOL: usize = 5;
const DOMAIN: usize = 6;
static COLUMNS: [Column; 7] = [
    Column::needed("name").or("sn"),
    Column::needed("gpus").or("gpu"),
    Column::optional("model"),
    Column::optional("cpu_milli"),
    Column::optional("memory_mib"),
    Column::optional("pool"),
    Column::optional("domain"),
];

/// The list of Alibaba's spot GPUs, in the same order; its CPUs are whole cores.
static SPOT: [Column; 7] = [
    Column::needed("node_name"),
    Column::needed("gpu_capacity_num"),
    Column::needed("gpu_model"),
    Column::needed("cpu_num"),
    Column::optional("memory_mib"),
    Column::optional("pool"),
    Column::optional("domain"),
];

/// CPU (milli-cores) and memory (MiB) of a node whose list does not say: more than any task asks for.
const AMPLE: u64 = 1 << 40;

/// Reads a node list: `name,gpus` and, if they are there, `model,cpu_milli,memory_mib,pool,domain`; or the openb header
/// `sn,cpu_milli,memory_mib,gpu,model`; or that of Alibaba's spot GPUs, `gpu_model,gpu_capacity_num,cpu_num,node_name`. CPU or memory that is not stated is ample.
///
/// - Errors: every fault of the file.
pub fn read_nodes(path: &Path, catalog: &mut Catalog) -> Result<Vec<NodeSpec>, Vec<TraceError>> {
    let lines = Lines::open(path).map_err(|fault| vec![fault])?;
    read_nodes_from(lines, path, catalog)
}

fn read_nodes_from(lines: Lines, path: &Path, catalog: &mut Catalog) -> Result<Vec<NodeSpec>, Vec<TraceError>> {
    let mut faults = Faults::default();
    let mut nodes = Vec::new();
    let mut seen: BTreeMap<String, u64> = BTreeMap::new();
    let header = lines.head().split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii).find(|line| !line.is_empty());
    let is_spot = header.is_some_and(|line| is_header_of(line, &SPOT));
    let (columns, cpu_unit) = if is_spot { (&SPOT, 1000) } else { (&COLUMNS, 1) };
    if let Some(mut table) = Table::with_header(lines, columns, &mut faults) {
        while let Some(mut row) = table.next(&mut faults, None, &mut |_| ()) {
            let line = row.line();
            let most = u64::from(ClusterSpec::GPUS_MAX);
            let name = row.need(NAME, "a name", field::word);
            let gpus = row.need(GPUS, "a whole number of GPUs, at most 64", |text| field::uint(text, most));
            let model = row.parse(MODEL, "the name of a GPU model", field::word);
            let cpu = row.parse(
                CPU,
                if is_spot { "CPU in cores, a whole number" } else { "CPU in milli-cores, a whole number" },
                |text| field::uint(text, AMPLE / cpu_unit).map(|n| n * cpu_unit),
            );
            let memory = row.parse(MEMORY, "memory in MiB, a whole number", |text| field::uint(text, AMPLE));
            let pool = row.parse(POOL, "the name of a pool", field::word);
            let domain = row.parse(DOMAIN, "the number of a rack or switch", |text| field::uint(text, u64::from(u32::MAX)));
            if !row.finish(&mut faults) {
                continue;
            }
            let (Some(name), Some(gpus)) = (name, gpus) else { continue };
            let at = || Location { file: path.into(), line, columns: None };
            if let Some(&first) = seen.get(name) {
                faults.push(TraceError::DoubleId { at: at(), what: "node", name: name.to_owned(), first });
                continue;
            }
            seen.insert(name.to_owned(), line);
            let (model, pool) = (model.unwrap_or_default(), pool.unwrap_or("main"));
            let full =
                |table: &crate::workload::Table<String>, word: &str| table.len() == Catalog::SET_MAX && table.row(word).is_none();
            let most = Catalog::SET_MAX as u64;
            if full(&catalog.models, model) {
                faults.push(TraceError::TooMany { at: at(), what: "GPU models", most });
                continue;
            }
            if full(&catalog.pools, pool) {
                faults.push(TraceError::TooMany { at: at(), what: "pools", most });
                continue;
            }
            nodes.push(NodeSpec {
                name: name.to_owned(),
                pool: catalog.pool(pool),
                model: catalog.model(model),
                gpus: gpus as u8,
                cpu_milli: cpu.unwrap_or(AMPLE),
                memory_mib: memory.unwrap_or(AMPLE),
                domain: domain.unwrap_or(0) as u32,
            });
        }
        if faults.is_empty() && nodes.is_empty() {
            faults.push(TraceError::Lacks { file: path.to_owned(), message: "the list names no node".into(), help: None });
        }
    }
    faults.into_result(path).map(|()| nodes)
}

/// Writes a node list that [`read_nodes`] reads back.
///
/// - Errors: the writer's.
pub fn write_nodes(nodes: &[NodeSpec], catalog: &Catalog, out: &mut dyn Write) -> io::Result<()> {
    let mut csv = csv::Writer::from_writer(out);
    csv.write_record(COLUMNS.iter().map(|column| column.name))?;
    for node in nodes {
        let numbers = [u64::from(node.gpus), node.cpu_milli, node.memory_mib, u64::from(node.domain)].map(|n| n.to_string());
        let [gpus, cpu, memory, domain] = &numbers;
        let (model, pool) = (&catalog.models.rows()[node.model.index()], &catalog.pools.rows()[node.pool.index()]);
        csv.write_record([&node.name, gpus, model, cpu, memory, pool, domain])?;
    }
    csv.flush()
}
