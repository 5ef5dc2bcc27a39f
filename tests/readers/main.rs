//! The readers of traces: real files with their counts, and files that are wrong in every way that was thought of. None may
//! panic; each is refused with a place, or read by a rule that the report counts.

mod faults;
mod generated;
mod hostile;
mod json;
mod public;
mod real;
mod round_trip;
mod rows;
mod sacct_rows;
mod slurm;

use schedlab::registry::{Knobs, Value};
use schedlab::trace::{self, Import, ReadOptions, TraceError};
use schedlab::workload::Catalog;
use std::io::{Cursor, Write as _};
use std::path::{Path, PathBuf};

/// The shared trace `name`; `None` where there is none, which is an error in continuous integration.
fn shared(name: &str) -> Option<PathBuf> {
    let root = std::env::var_os("SCHEDLAB_SHARED").map(PathBuf::from);
    let root = root.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared"));
    let path = root.join(name);
    if path.exists() {
        return Some(path);
    }
    assert!(std::env::var_os("CI").is_none(), "{} is missing: set SCHEDLAB_SHARED", path.display());
    println!("skipped: {} is missing", path.display());
    None
}

fn read_as(format: Option<&str>, bytes: impl Into<Vec<u8>>, options: &ReadOptions) -> Result<(Import, Catalog), Vec<TraceError>> {
    let mut catalog = Catalog::default();
    let stream = Box::new(Cursor::new(bytes.into()));
    let import = trace::read_from(Path::new("t.csv"), stream, format, options, &mut catalog)?;
    Ok((import, catalog))
}

fn read(bytes: impl Into<Vec<u8>>) -> Result<(Import, Catalog), Vec<TraceError>> {
    read_as(None, bytes, &ReadOptions::default())
}

fn native(rows: &str) -> Result<(Import, Catalog), Vec<TraceError>> {
    read(format!("id,submit,runtime,gpus\n{rows}"))
}

fn messages(result: Result<(Import, Catalog), Vec<TraceError>>) -> String {
    let faults = result.expect_err("a fault");
    faults.iter().map(TraceError::to_string).collect::<Vec<String>>().join("\n")
}

/// The messages with their help.
fn helped(result: Result<(Import, Catalog), Vec<TraceError>>) -> String {
    let shown = |fault: &TraceError| {
        let help = miette::Diagnostic::help(fault).map(|help| format!("\n  help: {help}"));
        format!("{fault}{}", help.unwrap_or_default())
    };
    result.expect_err("a fault").iter().map(shown).collect::<Vec<String>>().join("\n")
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    out.write_all(bytes).unwrap();
    out.finish().unwrap()
}

fn knobs(values: &[(&'static str, Value)]) -> Knobs {
    let mut knobs = Knobs::default();
    for (name, value) in values {
        knobs.set(name, value.clone());
    }
    knobs
}

const PHILLY: &str = "timestamp,duration,num_gpus,gpu_time,cluster\n\
    2017-10-09 07:01:55,66.0,1,66.0,11cb48\n\
    2017-10-09 06:13:03,2951.0,12,35412.0,6214e9\n\
    2017-10-09 06:13:03,1.5,8,12.0,6214e9\n";

const PODS: &str = "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time\n\
    a,12000,16384,1,460,,LS,Running,10,70,20\n\
    b,6000,12288,8,1000,V100M16|V100M32,BE,Pending,12,112,\n\
    c,8000,30517,0,0,,LS,Failed,5,6,5\n";

const SWF: &str = "; Version: 2.2\n; MaxProcs: 128\n; UnixStartTime: 893466664\n\
    1 0 5 100 4 99.21 -1 8 200 -1 1 3 2 -1 1 -1 -1 -1\n\
    2 10 -1 50 4 -1 -1 -1 -1 -1 0 -1 -1 -1 -1 -1 -1 -1\n";

/// An array, a heterogeneous job, an attempt that was preempted and its second, a step, and jobs that never ran.
const SACCT: &str = "JobID|JobIDRaw|User|Account|Partition|State|Submit|Eligible|Start|End|Elapsed|Timelimit|NNodes|NCPUS|ReqTRES|AllocTRES|ReqMem|NodeList|JobName\n\
    10|10|ann|a|gpu|COMPLETED|2023-03-01T00:00:00|2023-03-01T00:00:00|2023-03-01T00:00:10|2023-03-01T01:00:10|01:00:00|02:00:00|2|8|cpu=8,gres/gpu:a100=4,node=2|billing=8,cpu=8,gres/gpu=4,gres/gpu:a100=4,mem=64G,node=2||gpu[01-02]|train\n\
    10.batch|10.batch||||COMPLETED|2023-03-01T00:00:00|2023-03-01T00:00:10|2023-03-01T00:00:10|2023-03-01T01:00:10|01:00:00||1|4||cpu=4||gpu01|batch\n\
    11|11|bob|b|gpu|PREEMPTED|2023-03-01T00:00:00|2023-03-01T00:00:00|2023-03-01T00:00:20|2023-03-01T00:10:20|00:10:00|UNLIMITED|1|4|cpu=4,gres/gpu=1|cpu=4,gres/gpu=1,node=1||gpu03|x\n\
    11|11|bob|b|gpu|TIMEOUT|2023-03-01T00:10:20|2023-03-01T00:10:20|2023-03-01T00:20:20|2023-03-01T00:25:20|00:05:00|UNLIMITED|1|4|cpu=4,gres/gpu=1|cpu=4,gres/gpu=1,node=1||gpu03|x\n\
    12_3|13|bob|b|gpu|RUNNING|2023-03-01T00:00:00|2023-03-01T00:00:00|2023-03-01T00:00:20|Unknown|1-00:10:00|Partition_Limit|1|4|cpu=4,gres/gpu=1|cpu=4,gres/gpu=1,node=1||gpu03|x\n\
    12_[4-9%2]|12|bob|b|gpu|PENDING|2023-03-01T00:00:00|2023-03-01T00:00:00|Unknown|Unknown|00:00:00|UNLIMITED|1|4|cpu=4,gres/gpu=1|||None assigned|x\n\
    14+0|14|bob|b|gpu|COMPLETED|2023-03-01T00:00:00|Unknown|2023-03-01T00:00:20|2023-03-01T00:10:20|00:10:00|UNLIMITED||4|cpu=4,gres/gpu=1||4Gc|gpu03|x\n\
    14+1|15|bob|b|gpu|COMPLETED|2023-03-01T00:00:00|Unknown|2023-03-01T00:00:20|2023-03-01T00:10:30|00:10:10|UNLIMITED||8|cpu=8|||cpu[03-04]|x\n\
    16|16|bob|b|gpu|CANCELLED by 1|2023-03-01T00:00:00|Unknown|2023-03-01T00:00:20|2023-03-01T00:00:20|00:00:00|UNLIMITED|1|4|cpu=4|||None assigned|x\n";
