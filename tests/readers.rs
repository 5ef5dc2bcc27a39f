//! The readers of traces: real files with their counts, and files that are wrong in every way that was thought of. None may
//! panic; each is refused with a place, or read by a rule that the report counts.

use proptest::prelude::*;
use schedlab::cluster::{IdSet, NodeSpec, Shape, TaskGroup, TaskRequest};
use schedlab::ids::{ModelId, PoolId};
use schedlab::registry::{Knobs, Value};
use schedlab::trace::{self, Faults, Import, ReadOptions, TraceError};
use schedlab::units::{MilliGpu, SimSpan, SimTime};
use schedlab::workload::load::offered_load;
use schedlab::workload::{Catalog, Curve, Elasticity, Extra, Job, Workload, inflate, shape, synth};
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

#[test]
fn philly_reads_whole() {
    let Some(path) = shared("traces/philly/philly_sia.csv.gz") else { return };
    let mut catalog = Catalog::default();
    let Import { workload, report } = trace::read(&path, None, &ReadOptions::default(), &mut catalog).unwrap();
    assert_eq!((report.rows, report.kept, workload.jobs.len()), (82_247, 82_247, 82_247));
    assert_eq!((report.format.as_str(), report.origin.as_deref()), ("philly", Some("2017-09-04T10:30:41Z")));
    assert_eq!((catalog.accounts.len(), report.unknown_columns.len()), (15, 0));
    assert!(workload.jobs.is_sorted_by_key(|job| job.submit));
    assert_eq!(workload.jobs[0].submit, SimTime::ZERO);
    let load = offered_load(&workload, &catalog, MilliGpu::from_gpus(512));
    assert!((load - 0.73).abs() < 0.005, "{load}");

    let first = ReadOptions { first: Some(3000), max_gpus_per_task: 1, ..ReadOptions::default() };
    let part = trace::read(&path, Some("philly"), &first, &mut catalog).unwrap().workload;
    assert_eq!(part.jobs.len(), 3000);
    for (one, whole) in part.jobs.iter().zip(&workload.jobs) {
        assert_eq!((one.submit, one.work), (whole.submit, whole.work));
        let (one, whole) = (&catalog.shapes.rows()[one.shape.index()], &catalog.shapes.rows()[whole.shape.index()]);
        assert_eq!((one.gpus(), one.tasks()), (whole.gpus(), whole.gpus()));
    }
}

#[test]
fn pods_and_nodes_of_openb_read_whole() {
    let traces = "traces/alibaba-gpu-v2023";
    let Some(all) = shared(&format!("{traces}/openb_node_list_all_node.csv.gz")) else { return };
    let mut catalog = Catalog::default();
    let nodes = trace::read_nodes(&all, &mut catalog).unwrap();
    assert_eq!((nodes.len(), nodes.iter().map(|node| u32::from(node.gpus)).sum::<u32>()), (1523, 6212));
    let Some(gpu) = shared(&format!("{traces}/openb_node_list_gpu_node.csv.gz")) else { return };
    let gpu = trace::read_nodes(&gpu, &mut catalog).unwrap();
    assert_eq!((gpu.len(), gpu.iter().map(|node| u32::from(node.gpus)).sum::<u32>()), (1213, 6212));
    let t4: u32 =
        gpu.iter().filter(|node| catalog.models.rows()[node.model.index()] == "T4").map(|node| u32::from(node.gpus)).sum();
    assert_eq!((t4, gpu[0].cpu_milli, gpu[0].memory_mib), (842, 64_000, 262_144));

    for (name, pods) in [("default", 8152), ("cpu050", 7439), ("gpushare40", 8152), ("gpuspec10", 8152)] {
        let Some(path) = shared(&format!("{traces}/openb_pod_list_{name}.csv.gz")) else { return };
        let Import { workload, mut report } = trace::read(&path, None, &ReadOptions::default(), &mut catalog).unwrap();
        assert_eq!(
            (report.format.as_str(), report.rows, workload.jobs.len()),
            ("alibaba-gpu-2023", pods, pods as usize),
            "{name}"
        );
        report.against(&workload, &catalog, &gpu);
        assert!(report.load.is_some_and(|load| 0.0 < load && load < 0.1), "{:?}", report.load);
        assert!(report.models.iter().any(|row| row.models == "any"));
    }
    // The variants without times are refused, unless their pods never leave or a run time is given.
    let Some(path) = shared(&format!("{traces}/openb_pod_list_multigpu20.csv.gz")) else { return };
    let refused = trace::read(&path, None, &ReadOptions::default(), &mut catalog).unwrap_err();
    assert!(matches!(refused[..], [TraceError::Lacks { .. }]), "{refused:?}");
    let endless = ReadOptions { endless: true, ..ReadOptions::default() };
    assert_eq!(trace::read(&path, None, &endless, &mut catalog).unwrap().workload.jobs.len(), 8324);
    let hour = knobs(&[("runtime_missing", Value::Span(SimSpan::HOUR))]);
    let given = trace::read(&path, None, &ReadOptions { knobs: hour, ..ReadOptions::default() }, &mut catalog).unwrap();
    assert!(given.workload.jobs.iter().all(|job| job.work == SimSpan::HOUR && job.submit == SimTime::ZERO));
}

#[test]
fn recorded_orders_of_arrival_are_followed() {
    let Some(pods) = shared("traces/alibaba-gpu-v2023/openb_pod_list_default.csv.gz") else { return };
    let Some(order) = shared("expected/fgd/orders/default-42.csv.gz") else { return };
    let Some(nodes) = shared("traces/alibaba-gpu-v2023/openb_node_list_gpu_node.csv.gz") else { return };
    let mut catalog = Catalog::default();
    let orders = trace::read_orders(&order).unwrap();
    let mut nodes = trace::read_nodes(&nodes, &mut catalog).unwrap();
    assert_eq!(orders.sort_nodes(&mut nodes), 0);
    assert_eq!(nodes[0].name, "openb-node-0260");
    let import = trace::read(&pods, None, &ReadOptions { endless: true, ..ReadOptions::default() }, &mut catalog).unwrap();
    let shaping = shape::Shaping::default();
    let gpus = MilliGpu::from_gpus(6212);
    let (workload, _) = shape::apply(&shaping, import.workload, Some(&orders), gpus, 1, &catalog).unwrap();
    assert_eq!(workload.jobs.len(), 10_866);
    let asked: u64 = workload.jobs.iter().map(|job| catalog.shapes.rows()[job.shape.index()].capacity().as_milli()).sum();
    assert!((1.299..=1.3).contains(&(asked as f64 / 6_212_000.0)), "{asked}");
    assert!(workload.jobs.iter().all(|job| inflate::is_endless(job)));
}

#[test]
fn archive_logs_read_whole() {
    let Some(path) = shared("traces/pwa/SDSC-SP2-1998-4-derived.swf.gz") else { return };
    let mut catalog = Catalog::default();
    let Import { workload, report } = trace::read(&path, None, &ReadOptions::default(), &mut catalog).unwrap();
    assert_eq!((report.format.as_str(), report.rows, workload.jobs.len()), ("swf", 67_620, 67_620));
    assert_eq!(report.facts.get("MaxProcs").map(String::as_str), Some("128"));
    assert_eq!(report.origin.as_deref(), Some("1998-04-25T01:11:04Z"));
    assert!(workload.jobs.iter().any(|job| job.work < job.estimate));
    assert!((offered_load(&workload, &catalog, MilliGpu::from_gpus(128)) - 0.825).abs() < 0.01);

    let Some(path) = shared("traces/pwa/LCG.swf.gz") else { return };
    let Import { workload, report } = trace::read(&path, None, &ReadOptions::default(), &mut Catalog::default()).unwrap();
    assert_eq!((report.rows, workload.jobs.len()), (188_041, 188_041 - 521));
    assert_eq!(report.dropped.get("run time not above zero"), Some(&521));

    let Some(path) = shared("traces/pwa/HPC2N-first3k-alea.swf.gz") else { return };
    let Import { workload, report } = trace::read(&path, None, &ReadOptions::default(), &mut Catalog::default()).unwrap();
    assert_eq!((report.rows, workload.jobs.len()), (3170, 3145));
    assert!(workload.extras.iter().any(|extra| extra.observed_start.is_some()));
}

#[test]
fn a_philly_row_becomes_a_job() {
    let (import, catalog) = read(PHILLY).unwrap();
    let jobs = &import.workload.jobs;
    let names: Vec<&str> = jobs.iter().map(|job| import.workload.names.get(job.name)).collect();
    assert_eq!(names, ["2", "3", "1"]); // by submit time, ties in the order of the file
    assert_eq!(jobs[1].work, SimSpan::from_millis(1500));
    assert_eq!(jobs[2].submit, SimTime::from_secs(2932));
    let classes: Vec<&str> = jobs.iter().map(|job| catalog.classes.rows()[job.class.index()].as_str()).collect();
    assert_eq!(classes, [">8", "5-8", "1"]);
    let groups = &catalog.shapes.rows()[jobs[0].shape.index()].groups;
    assert_eq!(groups.iter().map(|it| (it.count, it.request.gpus)).collect::<Vec<_>>(), [(1, 8), (1, 4)]);
}

#[test]
fn a_pod_becomes_a_job() {
    let (import, catalog) = read(PODS).unwrap();
    let jobs = &import.workload.jobs;
    assert_eq!(jobs.iter().map(|job| job.submit.as_millis()).collect::<Vec<_>>(), [0, 5000, 7000]);
    assert_eq!(jobs.iter().map(|job| job.work.as_millis()).collect::<Vec<_>>(), [1000, 50_000, 100_000]);
    let shapes: Vec<TaskRequest> = jobs.iter().map(|job| catalog.shapes.rows()[job.shape.index()].groups[0].request).collect();
    assert_eq!((shapes[0].gpus, shapes[0].cpu_milli), (0, 8000));
    assert_eq!((shapes[1].milli, shapes[1].is_share()), (460, true));
    let (v16, v32) = (catalog.models.row("V100M16").unwrap(), catalog.models.row("V100M32").unwrap());
    assert_eq!(shapes[2].models, IdSet::NONE.with(v16 as usize).with(v32 as usize));
    assert_eq!(import.workload.extra(&jobs[1]).unwrap().observed_start, Some(SimTime::from_secs(15)));
    assert_eq!(import.workload.extra(&jobs[2]), None);
    assert_eq!(import.report.altered.get("never scheduled: run time counts from creation"), Some(&1));
}

#[test]
fn a_line_of_swf_becomes_a_job() {
    let (import, catalog) = read(SWF).unwrap();
    let [a, b] = import.workload.jobs[..] else { panic!("two jobs") };
    let gpus = |job: &Job| catalog.shapes.rows()[job.shape.index()].gpus();
    assert_eq!((gpus(&a), a.estimate, a.limit), (8, SimSpan::from_secs(200), SimSpan::FOREVER));
    assert_eq!(import.workload.extra(&a).unwrap().observed_start, Some(SimTime::from_secs(5)));
    assert_eq!((gpus(&b), b.estimate, b.submit), (4, SimSpan::from_secs(50), SimTime::from_secs(10)));
    assert_eq!((catalog.accounts.rows()[a.account.index()].as_str(), catalog.users.rows()[a.user.index()].as_str()), ("2", "3"));
    assert_eq!(import.report.origin.as_deref(), Some("1998-04-25T01:11:04Z"));

    let cores = knobs(&[("processor", Value::Text("core".into())), ("limit", Value::Text("requested".into()))]);
    let (import, catalog) = read_as(Some("swf"), SWF, &ReadOptions { knobs: cores, ..ReadOptions::default() }).unwrap();
    let first = import.workload.jobs[0];
    let group = catalog.shapes.rows()[first.shape.index()].groups[0];
    assert_eq!((group.count, group.request.gpus, group.request.cpu_milli), (8, 0, 1000));
    assert_eq!(first.limit, SimSpan::from_secs(200));
}

#[test]
fn columns_go_by_name_and_unknown_ones_are_reported() {
    let (import, _) = read("colour,gpus,runtime,id,submit,class\nred,2,8h,a,1.5,debug\nblue,1,90,b,0,\n").unwrap();
    assert_eq!(import.report.unknown_columns, ["colour"]);
    assert_eq!(import.workload.jobs.iter().map(|job| job.work.as_millis()).collect::<Vec<_>>(), [90_000, 28_800_000]);
    assert_eq!(import.workload.jobs[1].submit, SimTime::from_millis(1500));
}

#[test]
fn one_text_reads_alike_however_it_is_packed() {
    for text in [PHILLY, PODS, SWF, "id,submit,runtime,gpus\n\"a,b\",0,10,1\n"] {
        let (plain, _) = read(text).unwrap();
        let with_mark = [b"\xef\xbb\xbf".as_slice(), text.as_bytes()].concat();
        let two_members = {
            let (a, b) = text.as_bytes().split_at(text.len() / 2);
            [gzip(a), gzip(b)].concat()
        };
        let packed = [
            text.replace('\n', "\r\n").into_bytes(),
            text.replace('\n', "\n\n").into_bytes(),
            text.trim_end().as_bytes().to_owned(),
            with_mark,
            gzip(text.as_bytes()),
            two_members,
            zstd::stream::encode_all(text.as_bytes(), 3).unwrap(),
        ];
        for (at, bytes) in packed.into_iter().enumerate() {
            let (other, _) = read(bytes).unwrap_or_else(|faults| panic!("{at}: {faults:?}"));
            assert_eq!(other.workload.jobs, plain.workload.jobs, "{at}: {text}");
        }
    }
}

#[test]
fn faults_say_where_and_what_was_expected() {
    let text =
        "id,submit,runtime,gpus\na,0,10,1\nb,1,NaN,1\nc,inf,10,1\nd,-5,10,1\ne,4,1e30,1\nf,5,10,x\ng,6,0,1\nh,7,10\na,8,10,1\n";
    insta::assert_snapshot!(messages(read(text)), @r#"
    t.csv:3:5: `runtime` is `NaN`, expected seconds above 0, or a duration such as `8h`
    t.csv:4:3: `submit` is `inf`, expected seconds from 0, or a date, as in the rows before
    t.csv:5:3: `submit` is `-5`, expected seconds from 0, or a date, as in the rows before
    t.csv:6:5: `runtime` is `1e30`, expected seconds above 0, or a duration such as `8h`
    t.csv:7:8: `gpus` is `x`, expected a whole number of GPUs, at most 65536
    t.csv:8:5: `runtime` is `0`, expected seconds above 0, or a duration such as `8h`
    t.csv:9: the row has 3 fields, expected 4 fields
    t.csv:10: the id `a` was already used at line 2
    "#);
}

#[test]
fn a_fault_is_shown_in_its_line() {
    let faults = native("a,0,10,1\nb,1, 12x ,1\n").unwrap_err();
    let mut out = String::new();
    let theme = miette::GraphicalTheme::unicode_nocolor();
    miette::GraphicalReportHandler::new_themed(theme).with_width(100).render_report(&mut out, &faults[0]).unwrap();
    insta::assert_snapshot!(out.trim(), @r#"
    trace::bad_field

      × t.csv:3:6: `runtime` is `12x`, expected seconds above 0, or a duration such as `8h`
       ╭─[t.csv:3:1]
     3 │ b,1, 12x ,1
       ·      ─┬─
       ·       ╰── expected seconds above 0, or a duration such as `8h`
       ╰────
      help: `schedlab list formats` describes each format's columns
    "#);
}

#[test]
fn headers_that_do_not_fit_are_explained() {
    let shown = |bytes: &str, format| helped(read_as(format, bytes, &ReadOptions::default()));
    let mut all = vec![
        shown("id,submit,run_time,gpus\n", Some("native")),
        shown("id,submit,submit,runtime,gpus\n", Some("native")),
        shown("id,submit,duration\n", None),
        shown("job,when\n1,2\n", None),
        shown("id,submit,runtime,gpus\n", None),
        shown("\n \n", None),
        shown("x", Some("natve")),
    ];
    all.push(messages(read_as(None, "id,submit,runtime,gpus\na,0,0x10,\"1\nb,0,1,1\n", &ReadOptions::default())));
    insta::assert_snapshot!(all.join("\n"), @r#"
    t.csv:1: the column `runtime` is missing
      help: is it `run_time`? needed: id, submit, runtime, gpus
    t.csv:1:11: the column `submit` stands twice in the header
    t.csv:1: no known trace format starts like this
      help: the nearest is `native`, which also needs runtime, gpus
    t.csv:1: no known trace format starts like this
      help: the nearest is `native`, which also needs id, submit, runtime, gpus
    `t.csv` holds no job to replay: no rows of data
    `t.csv` is empty, expected a trace
    unknown trace format `natve`, expected one of `native`, `alibaba-gpu-2023`, `philly`, `swf`
      help: did you mean `native`?
    t.csv:2: a quote is not closed on its line, expected quotes in pairs
    "#);
}

#[test]
fn what_is_no_text_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let of = |path: &Path| trace::read(path, None, &ReadOptions::default(), &mut Catalog::default()).unwrap_err().remove(0);
    assert!(matches!(of(dir.path()), TraceError::Directory { .. }));
    assert!(matches!(of(&dir.path().join("none.csv")), TraceError::Open { .. }));
    let empty = dir.path().join("empty.csv");
    std::fs::write(&empty, "").unwrap();
    assert!(matches!(of(&empty), TraceError::Empty { .. }));
    for bytes in [&b"PK\x03\x04abc"[..], b"BZh91AY", b"\xfd7zXZ\0", b"PAR1", b"\xff\xfei\0d\0", b"id,sub\0mit"] {
        assert!(matches!(read(bytes).unwrap_err()[..], [TraceError::NotText { .. }]), "{bytes:?}");
    }
    assert!(matches!(read(gzip(b"")).unwrap_err()[..], [TraceError::Empty { .. }]));
    let long = [b"id,submit,runtime,gpus\n".as_slice(), &vec![b'x'; 2 << 20]].concat();
    assert!(matches!(read(long).unwrap_err()[..], [TraceError::NotText { .. }]));
}

#[test]
fn a_fault_deep_in_a_gzip_file_has_its_line() {
    let mut text = String::from("id,submit,runtime,gpus\r\n");
    for row in 2..=6000 {
        text += &if row == 5000 { "bad,1,ten,1\r\n".into() } else { format!("j{row},{row},10,1\r\n") };
    }
    insta::assert_snapshot!(messages(read(gzip(text.as_bytes()))), @r#"
    t.csv:5000:7: `runtime` is `ten`, expected seconds above 0, or a duration such as `8h`
    "#);
    let mut cut = gzip(text.as_bytes());
    cut.truncate(cut.len() / 2);
    let faults = read(cut).unwrap_err();
    assert!(matches!(faults.last(), Some(TraceError::Read { at, .. }) if 1000 < at.line), "{faults:?}");
}

#[test]
fn many_faults_are_counted() {
    let rows: String = (0..500).map(|row| format!("j{row},0,-1,1\n")).collect();
    let faults = native(&rows).unwrap_err();
    assert_eq!(faults.len(), Faults::SHOWN + 1);
    assert_eq!(faults.last().unwrap().to_string(), "`t.csv`: and 480 more faults like these");
}

#[test]
fn dependencies_are_found_whatever_the_order() {
    let header = "id,submit,runtime,gpus,after\n";
    let (import, _) = read(format!("{header}b,0,10,1,a|c\na,5,10,1,\nc,0,10,1,\n")).unwrap();
    // By submit time: b, c, a.
    let after: Vec<u32> = import.workload.extra(&import.workload.jobs[0]).unwrap().after.iter().map(|job| job.0).collect();
    assert_eq!(after, [2, 1]);
    let unknown = messages(read(format!("{header}a,0,10,1,x\n")));
    assert_eq!(unknown, "t.csv:2: `a` waits for the job `x`, which is not in the trace");
    let circle = messages(read(format!("{header}a,0,10,1,b\nb,0,10,1,c\nc,0,10,1,b\n")));
    assert_eq!(circle, "t.csv:3: `b` waits, through others, for itself");
    assert!(read(format!("{header}a,0,10,1,a\n")).is_err());
}

#[test]
fn doubles_in_any_order_name_both_lines() {
    assert_eq!(messages(native("b,0,1,1\na,0,1,1\nb,0,1,1\n")), "t.csv:4: the id `b` was already used at line 2");
    let swf = format!("{SWF}1 20 5 100 4 99.21 -1 8 200 -1 1 3 2 -1 1 -1 -1 -1\n");
    assert_eq!(messages(read(swf)), "t.csv:6: the id `1` was already used at line 4");
    let pods = format!("{PODS}a,12000,16384,1,460,,LS,Running,10,70,20\n");
    assert_eq!(messages(read(pods)), "t.csv:5: the id `a` was already used at line 2");
}

#[test]
fn node_lists_read_back_as_written() {
    let mut catalog = Catalog::default();
    let model = catalog.model("A100, 80 GB");
    let node = |name: &str, model, gpus, cpu_milli| NodeSpec {
        name: name.into(),
        pool: PoolId(0),
        model,
        gpus,
        cpu_milli,
        memory_mib: 1,
        domain: 7,
    };
    let nodes = vec![node("n1", model, 8, 64_000), node("n2", ModelId(0), 0, 1)];
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("nodes.csv");
    trace::write_nodes(&nodes, &catalog, &mut std::fs::File::create(&path).unwrap()).unwrap();
    assert_eq!(trace::read_nodes(&path, &mut catalog).unwrap(), nodes);
    std::fs::write(&path, "name,gpus\nn1,8\nn2,65\nn1,8\n").unwrap();
    let faults = trace::read_nodes(&path, &mut catalog).unwrap_err();
    let text: Vec<String> =
        faults.iter().map(|fault| fault.to_string().replace(&path.display().to_string(), "nodes.csv")).collect();
    assert_eq!(
        text,
        [
            "nodes.csv:3:4: `gpus` is `65`, expected a whole number of GPUs, at most 64",
            "nodes.csv:4: the id `n1` was already used at line 2"
        ]
    );
}

#[test]
fn samples_in_the_repository_read() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("traces");
    let mut catalog = Catalog::default();
    let day = trace::read(&root.join("sample-day.csv"), None, &ReadOptions::default(), &mut catalog).unwrap();
    assert_eq!(day.report.format, "native");
    assert!(day.report.altered.is_empty() && day.report.unknown_columns.is_empty());
    let nodes = trace::read_nodes(&root.join("sample-nodes.csv"), &mut catalog).unwrap();
    assert_eq!(nodes.iter().map(|node| u32::from(node.gpus)).sum::<u32>(), 64);
    let full = trace::read(&root.join("sample-every-column.csv"), None, &ReadOptions::default(), &mut catalog).unwrap();
    assert_eq!((full.report.kept, full.report.unknown_columns.len()), (5, 0));
}

/// Every text of `texts`, whole or damaged, must give a workload or located faults.
fn check_bytes(format: Option<&str>, bytes: Vec<u8>) {
    match read_as(format, bytes, &ReadOptions::default()) {
        Ok((import, _)) => {
            let workload = &import.workload;
            assert!(!workload.jobs.is_empty());
            assert!(workload.jobs.is_sorted_by_key(|job| job.submit));
            assert!(workload.jobs.iter().all(|job| SimSpan::ZERO < job.work && job.submit <= SimTime::LIMIT));
            assert_eq!(import.report.kept, workload.jobs.len() as u64);
            let dropped: u64 = import.report.dropped.values().sum();
            assert_eq!(import.report.rows, import.report.kept + dropped);
        }
        Err(faults) => assert!(!faults.is_empty() && faults.len() <= Faults::SHOWN + 1),
    }
}

const SAMPLES: [(&str, &str); 4] = [
    ("philly", PHILLY),
    ("alibaba-gpu-2023", PODS),
    ("swf", SWF),
    (
        "native",
        "id,submit,runtime,gpus,tasks,models,after,array,workers_max,curve,estimate,observed_start\n\
         a,0,10,12,1x8;1x4:cpu=5,A|B,,7:3,,,unlimited,3\nb,1.5,8h,2,,,a,,4,power:0.8,1h30m,2\n",
    ),
];

#[test]
fn cut_at_any_byte_nothing_panics() {
    for (format, text) in SAMPLES {
        assert!(read(text).is_ok(), "{format}");
        for end in 0..text.len() {
            check_bytes(None, text.as_bytes()[..end].to_vec());
            check_bytes(Some(format), text.as_bytes()[..end].to_vec());
        }
        for packed in [gzip(text.as_bytes()), zstd::stream::encode_all(text.as_bytes(), 3).unwrap()] {
            for end in 0..packed.len() {
                let cut = read(&packed[..end]);
                assert!(cut.is_err(), "{format} cut at {end} of {}", packed.len());
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    /// Fields replaced by hostile ones, rows and columns moved and doubled, bytes flipped: never a panic.
    #[test]
    fn hostile_fields_are_refused_or_ruled_on(
        which in 0..4_usize,
        edits in prop::collection::vec((0..40_usize, 0..40_usize, 0..HOSTILE.len()), 1..4),
        double in prop::option::of(0..4_usize),
        flip in prop::option::of((0..400_usize, any::<u8>())),
        forced in any::<bool>(),
    ) {
        let (format, text) = SAMPLES[which];
        let comma = if format == "swf" { ' ' } else { ',' };
        let mut rows: Vec<Vec<String>> = text.lines().map(|row| row.split(comma).map(str::to_owned).collect()).collect();
        for (row, column, with) in edits {
            let row = row % rows.len();
            let column = column % rows[row].len();
            rows[row][column] = HOSTILE[with].into();
        }
        if let Some(row) = double {
            let again = rows[row % rows.len()].clone();
            rows.push(again);
        }
        let lines: Vec<String> = rows.iter().map(|row| row.join(&comma.to_string())).collect();
        let mut bytes = lines.join("\n").into_bytes();
        if let Some((at, with)) = flip {
            let at = at % bytes.len();
            bytes[at] = with;
        }
        check_bytes(forced.then_some(format), bytes);
    }

    /// Any bytes at all.
    #[test]
    fn any_bytes_are_refused_or_read(bytes in prop::collection::vec(any::<u8>(), 0..300), which in 0..5_usize) {
        check_bytes(SAMPLES.get(which).map(|sample| sample.0), bytes.clone());
        let mut packed = vec![0x1f, 0x8b];
        packed.extend(&bytes);
        check_bytes(None, packed);
    }

    /// The order of columns and, ties apart, of rows does not matter.
    #[test]
    fn moved_columns_and_rows_read_alike(
        order in Just(vec![0, 1, 2, 3, 4]).prop_shuffle(),
        jobs in prop::collection::btree_map(0..1000_u32, (1..100_u32, 0..20_u32), 1..20).prop_map(|map| map.into_iter().collect::<Vec<_>>()),
        rows in any::<u64>(),
    ) {
        let header = ["id", "submit", "runtime", "gpus", "class"];
        let table = |order: &[usize], jobs: &[(u32, (u32, u32))]| {
            let mut text = order.iter().map(|&at| header[at]).collect::<Vec<_>>().join(",") + "\n";
            for (submit, (runtime, gpus)) in jobs {
                let fields = [format!("j{submit}"), submit.to_string(), runtime.to_string(), gpus.to_string(), format!("c{gpus}")];
                text += &(order.iter().map(|&at| fields[at].as_str()).collect::<Vec<_>>().join(",") + "\n");
            }
            text
        };
        let mut moved = jobs.clone();
        moved.sort_by_key(|job| u64::from(job.0).wrapping_mul(rows | 1));
        let (a, words_a) = read(table(&[0, 1, 2, 3, 4], &jobs)).unwrap();
        let (b, words_b) = read(table(&order, &moved)).unwrap();
        prop_assert_eq!(plain(&a.workload, &words_a), plain(&b.workload, &words_b));
    }

    /// What is written in the native format reads back the same.
    #[test]
    fn native_reads_back_as_written(seed in any::<u64>(), n in 1..30_usize) {
        let mut catalog = Catalog::default();
        let workload = any_workload(seed, n, &mut catalog);
        let mut text = Vec::new();
        trace::write_native(&workload, &catalog, &mut text).unwrap();
        let (back, words) = read(text.clone()).unwrap_or_else(|faults| panic!("{faults:?}\n{}", String::from_utf8_lossy(&text)));
        prop_assert_eq!(plain(&workload, &catalog), plain(&back.workload, &words));
        let mut again = Vec::new();
        trace::write_native(&back.workload, &words, &mut again).unwrap();
        prop_assert_eq!(String::from_utf8_lossy(&text), String::from_utf8_lossy(&again));
    }
}

const HOSTILE: [&str; 30] = [
    "",
    " ",
    "NaN",
    "nan",
    "inf",
    "-inf",
    "-1",
    "-0",
    "0",
    "1e308",
    "1e-308",
    "99999999999999999999999999",
    "9007199254740993",
    "18446744073709551615",
    "4294967296",
    "0x10",
    "1,5",
    "\"",
    "\"\"",
    "\"a\"\"b\"",
    "a;b",
    "\u{feff}",
    "\u{2028}",
    "é",
    "\t",
    "1;2",
    "2017-02-30 00:00:00",
    "9999-12-31 23:59:59",
    "unlimited",
    ";",
];

/// A workload as text, free of table rows.
fn plain(workload: &Workload, catalog: &Catalog) -> Vec<String> {
    let row = |job: &Job| {
        let shape: Vec<String> = catalog.shapes.rows()[job.shape.index()]
            .groups
            .iter()
            .map(|group| {
                let request = &group.request;
                let named = |set: IdSet, rows: &[String]| -> Vec<String> {
                    let rows = rows.iter().enumerate().filter(|(row, _)| !set.is_any() && set.has(*row));
                    let mut names: Vec<String> = rows.map(|(_, name)| name.clone()).collect();
                    names.sort();
                    names
                };
                let (models, pools) = (named(request.models, catalog.models.rows()), named(request.pools, catalog.pools.rows()));
                let bare = TaskRequest { models: IdSet::ANY, pools: IdSet::ANY, ..*request };
                format!("{}x{bare:?}{models:?}{pools:?}", group.count)
            })
            .collect();
        let words = [
            workload.names.get(job.name),
            &catalog.accounts.rows()[job.account.index()],
            &catalog.users.rows()[job.user.index()],
            &catalog.classes.rows()[job.class.index()],
        ];
        let bare = Job {
            name: 0,
            account: Default::default(),
            user: Default::default(),
            class: Default::default(),
            shape: Default::default(),
            extra: Job::PLAIN,
            ..*job
        };
        let extra = workload.extra(job).filter(|extra| **extra != Extra::default());
        format!("{words:?} {bare:?} {extra:?} {shape:?}")
    };
    workload.jobs.iter().map(row).collect()
}

/// A workload that uses every field of the job model somewhere.
fn any_workload(seed: u64, n: usize, catalog: &mut Catalog) -> Workload {
    use schedlab::ids::JobId;
    use schedlab::seed::{Draws, Purpose};
    let mut draws = Draws::new(seed, Purpose::Behaviour, 0);
    let mut workload = Workload::default();
    let (a, b) = (catalog.model("A"), catalog.model("B 80GB"));
    let side = catalog.pool("side");
    let mut submit = 0;
    for row in 0..n {
        let mut maybe = |most: usize| draws.index(most);
        let request = |maybe: &mut dyn FnMut(usize) -> usize, most: usize| {
            let gpus = maybe(most) as u8;
            let milli = match gpus {
                0 => 0,
                1 => [1000, 460, 1][maybe(3)],
                _ => 1000,
            };
            let models = [IdSet::ANY, IdSet::NONE.with(a.index()), IdSet::NONE.with(a.index()).with(b.index())][maybe(3)];
            let pools = [IdSet::ANY, IdSet::NONE.with(side.index())][maybe(2)];
            TaskRequest { gpus, milli, cpu_milli: maybe(50_000) as u32, memory_mib: maybe(9999) as u32, models, pools }
        };
        let groups: Vec<TaskGroup> =
            (0..=maybe(3)).map(|_| TaskGroup { count: 1 + maybe(4) as u32, request: request(&mut maybe, 17) }).collect();
        let shape = match maybe(3) {
            0 => Shape { groups: groups.into() },
            1 => Shape::cut(maybe(40) as u32, 8, TaskRequest { milli: 1000, ..request(&mut maybe, 17) }),
            _ => Shape::of(1, request(&mut maybe, 9)),
        };
        let base = shape.groups[0].count;
        let shape = catalog.shape(&shape);
        submit = if row == 0 { 0 } else { submit + maybe(5000) as u64 };
        let submit = SimTime::from_millis(submit);
        let span = |maybe: &mut dyn FnMut(usize) -> usize| SimSpan::from_millis(1 + maybe(10_000_000) as u64);
        let later = |maybe: &mut dyn FnMut(usize) -> usize| {
            (maybe(3) == 0).then(|| submit.after(SimSpan::from_millis(maybe(99_999) as u64)))
        };
        let after = if row == 0 || maybe(3) != 0 { Vec::new() } else { vec![JobId(maybe(row) as u32)] };
        let extra = Extra {
            after,
            array: (maybe(4) == 0).then(|| (maybe(9) as u32, maybe(9) as u32)),
            elastic: (maybe(3) == 0).then(|| Elasticity {
                base,
                max: base + maybe(5) as u32,
                reference: 1 + maybe(9) as u32,
                curve: [Curve::Linear, Curve::Power { alpha: 0.8 }, Curve::Loss { lambda: 1.0 / 3.0 }][maybe(3)],
            }),
            start_deadline: later(&mut maybe),
            observed_start: later(&mut maybe),
            observed_end: later(&mut maybe),
            utilization: (maybe(3) == 0).then(|| maybe(1001) as f64 / 1000.0),
            running_for: (maybe(5) == 0).then(|| span(&mut maybe)),
        };
        workload.extras.push(extra);
        let word = |stem: &str, n: usize| format!("{stem}, \"{n}\"");
        let work = span(&mut maybe);
        let job = Job {
            account: catalog.account(&word("a/b", maybe(3))),
            user: catalog.user(&word("u", maybe(3))),
            class: catalog.class(["all", "debug"][maybe(2)]),
            not_before: later(&mut maybe).unwrap_or(submit),
            estimate: [work, SimSpan::FOREVER, span(&mut maybe)][maybe(3)],
            limit: [SimSpan::FOREVER, span(&mut maybe)][maybe(2)],
            priority: maybe(5) as i32 - 2,
            min_runtime: [None, Some(SimSpan::ZERO), Some(span(&mut maybe))][maybe(3)],
            resumable: maybe(2) == 0,
            preemptible: maybe(2) == 0,
            checkpoint: [SimSpan::ZERO, span(&mut maybe)][maybe(2)],
            restart_cost: [SimSpan::ZERO, span(&mut maybe)][maybe(2)],
            extra: workload.extras.len() as u32 - 1,
            ..Job::new(workload.names.push(&format!("job {row}")), submit, shape, work)
        };
        workload.jobs.push(job);
    }
    workload
}

#[test]
fn generated_histories_are_seeded_and_have_the_load_asked_for() {
    let class = |edits: &[(&'static str, Value)]| {
        let mut knobs = Knobs::defaults(synth::CLASS_KNOBS);
        edits.iter().for_each(|(name, value)| knobs.set(name, value.clone()));
        knobs
    };
    let text = |text: &str| Value::Text(text.into());
    let classes = [
        class(&[("name", text("debug")), ("weight", Value::Float(3.0)), ("median", Value::Span(SimSpan::from_secs(600)))]),
        class(&[
            ("name", text("train")),
            ("gpus", text("8:3 12:1")),
            ("min_runtime", Value::Span(SimSpan::HOUR)),
            ("resumable", Value::Float(0.5)),
            ("estimate_over", Value::Float(3.0)),
            ("priority", text("0:1 10:1")),
        ]),
    ];
    let mut table = Knobs::defaults(synth::KNOBS);
    table.set("load", Value::Float(0.9));
    table.set("accounts", text("a/a1:3 b:1"));
    let synth = synth::Synth::new(&table, &classes).unwrap();
    let gpus = MilliGpu::from_gpus(1024);
    let mut catalog = Catalog::default();
    let one = synth::generate(&synth, gpus, 7, &mut catalog).unwrap();
    let two = synth::generate(&synth, gpus, 7, &mut catalog).unwrap();
    assert_eq!(plain(&one, &catalog), plain(&two, &catalog));
    let other = synth::generate(&synth, gpus, 8, &mut catalog).unwrap();
    assert_ne!(plain(&one, &catalog), plain(&other, &catalog));
    let load = offered_load(&one, &catalog, gpus);
    assert!((load - 0.9).abs() < 0.01, "{load}");
    let n = one.jobs.len() as f64;
    let share = |is: &dyn Fn(&Job) -> bool| one.jobs.iter().filter(|job| is(job)).count() as f64 / n;
    let debug = catalog.classes.row("debug").unwrap();
    assert!((share(&|job| u32::from(job.class.0) == debug) - 0.75).abs() < 0.01);
    assert!((share(&|job| catalog.accounts.rows()[job.account.index()] == "b") - 0.25).abs() < 0.01);
    assert!((share(&|job| !job.resumable) - 0.125).abs() < 0.01);
    assert!((share(&|job| job.min_runtime.is_some()) - 0.25).abs() < 0.01);
    assert!(one.jobs.iter().all(|job| job.work <= job.estimate && job.estimate <= job.work * 3 + SimSpan::from_millis(1)));
    let mut written = Vec::new();
    trace::write_native(&one, &catalog, &mut written).unwrap();
    let (back, words) = read(written).unwrap();
    // Time 0 of a replay is the first submission.
    assert_eq!((back.workload.jobs.len(), words.classes.len()), (one.jobs.len(), 3));
}

#[test]
fn a_generator_that_cannot_work_says_why() {
    let mut table = Knobs::defaults(synth::KNOBS);
    table.set("hours", Value::List(vec![Value::Float(1.0); 5]));
    table.set("accounts", Value::Text("a:x".into()));
    let mut class = Knobs::defaults(synth::CLASS_KNOBS);
    class.set("gpus", Value::Text("many".into()));
    class.set("duration", Value::Text("empirical".into()));
    let faults = synth::Synth::new(&table, &[class]).unwrap_err();
    insta::assert_snapshot!(faults.iter().map(|fault| fault.to_string()).collect::<Vec<_>>().join("\n"), @r#"
    `jobs`: expected either `jobs` or `load`
    `hours`: expected 24 weights of hours (7 of weekdays), not all of them 0
    `accounts`: expected accounts with their weights, such as `a/a1:3 b:1`
    `gpus` of class 1: expected GPU counts with their weights, such as `1:40 2:20 8:25`
    `durations` of class 1: expected at least one run time with duration = empirical
    "#);
}

#[test]
fn what_was_compressed_is_read_in_pieces() {
    // A reader that gives one byte at a time.
    struct Drip(Cursor<Vec<u8>>);
    impl std::io::Read for Drip {
        fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
            let n = out.len().min(1);
            self.0.read(&mut out[..n])
        }
    }
    let stream = Box::new(Drip(Cursor::new(gzip(PHILLY.as_bytes()))));
    let import = trace::read_from(Path::new("t"), stream, None, &ReadOptions::default(), &mut Catalog::default()).unwrap();
    assert_eq!(import.workload.jobs.len(), 3);
}
