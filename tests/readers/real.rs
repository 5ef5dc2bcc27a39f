//! Public traces, where they are there: every row is accounted for.

use super::{knobs, shared};
use schedlab::cluster::demand::{Day, bursts_of, day_of};
use schedlab::registry::Value;
use schedlab::trace::{self, Import, ReadOptions, TraceError};
use schedlab::units::{MilliGpu, SimSpan, SimTime};
use schedlab::workload::load::offered_load;
use schedlab::workload::{Catalog, inflate, shape};
use std::io::Read as _;
use std::path::Path;

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
    let (workload, _) = shape::inflate(&shaping, import.workload, Some(&orders), gpus, 1, &catalog).unwrap();
    assert_eq!(workload.jobs.len(), 10_866);
    let asked: u64 = workload.jobs.iter().map(|job| catalog.shapes.rows()[job.shape.index()].capacity().as_milli()).sum();
    assert!((1.299..=1.3).contains(&(asked as f64 / 6_212_000.0)), "{asked}");
    assert!(workload.jobs.iter().all(inflate::is_endless));
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
fn histories_of_slurm_read_whole() {
    let Some(path) = shared("traces/xdmod-slurm/phillips.log.gz") else { return };
    let mut catalog = Catalog::default();
    let Import { workload, report } = trace::read(&path, None, &ReadOptions::default(), &mut catalog).unwrap();
    assert_eq!((report.format.as_str(), report.rows, report.kept), ("sacct", 4285, 4046));
    assert_eq!(report.dropped.iter().collect::<Vec<_>>(), [(&"ended before it started", &239)]);
    assert_eq!(report.origin.as_deref(), Some("2016-12-22T07:15:12Z"));
    // Two jobs of GPUs, of 12 CPUs and 31,000 MiB on one node each.
    let shapes: Vec<_> = workload.jobs.iter().map(|job| &catalog.shapes.rows()[job.shape.index()].groups[0].request).collect();
    let gpus: Vec<_> = shapes.iter().filter(|it| it.gpus == 2).map(|it| (it.cpu_milli, it.memory_mib)).collect();
    assert_eq!(gpus, [(12_000, 31_000); 2]);
    assert!(workload.extras.iter().all(|extra| extra.observed_start.is_some() && extra.observed_end.is_some()));

    let Some(path) = shared("traces/slurm-sim/workload_week.events.gz") else { return };
    let Import { workload, report } = trace::read(&path, None, &ReadOptions::default(), &mut catalog).unwrap();
    assert_eq!((report.format.as_str(), report.rows, workload.jobs.len()), ("slurm-sim", 19_579, 19_552));
    assert_eq!(report.dropped.iter().collect::<Vec<_>>(), [(&"run time not above zero", &27)]);
    assert!(report.unknown_columns.is_empty(), "{:?}", report.unknown_columns);
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

/// What an order names must be there, each node once: faults tell the line.
#[test]
fn orders_of_what_is_not_there_are_refused_line_by_line() {
    let dir = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = dir.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    };
    let twice = file("twice.csv", "kind,name\nnode,a\nnode,b\nnode,a\n");
    let faults = trace::read_orders(&twice).unwrap_err();
    assert_eq!(faults.len(), 1);
    assert!(faults[0].to_string().contains("twice.csv:4"), "{}", faults[0]);
    let path = file("order.csv", "kind,name\nnode,a\nnode,zz\npod,p\npod,q\npod,p\n");
    let orders = trace::read_orders(&path).unwrap();
    let mut faults = trace::check_node_order(&orders, &path, ["a", "b"].into_iter()).unwrap_err();
    faults.extend(trace::check_job_order(&orders, &path, ["p"].into_iter()).unwrap_err());
    let told: Vec<String> = faults.iter().map(|fault| fault.to_string()).collect();
    assert_eq!(told.len(), 2);
    assert!(told[0].contains("order.csv:3: the order names a node `zz`"), "{told:?}");
    assert!(told[1].contains("order.csv:5: the order names a pod `q`"), "{told:?}");
}

/// The file in an archive of one file: its header says how long it is (POSIX ustar).
fn untarred(bytes: &[u8]) -> Vec<u8> {
    let mut tar = Vec::new();
    flate2::read::GzDecoder::new(bytes).read_to_end(&mut tar).expect("a gzip file");
    let mut at = 0;
    loop {
        let header = &tar[at..at + 512];
        let size = std::str::from_utf8(&header[124..135]).expect("octal digits").trim_matches(['\0', ' ']);
        let size = usize::from_str_radix(size, 8).expect("octal digits");
        // Entries that hold something else than a file (long names, times) come before it.
        if matches!(header[156], b'0' | 0) {
            return tar[at + 512..at + 512 + size].to_vec();
        }
        at += 512 + size.div_ceil(512) * 512;
    }
}

/// A day of image generation at Alibaba: most of it in thirteen half hours, then hardly any; and an hour of requests to language models at Azure.
#[test]
fn requests_of_inference_are_a_day_and_an_hour() {
    let (Some(genai), Some(azure)) =
        (shared("traces/alibaba-v2026-genai/qps.tar.gz"), shared("traces/azure-llm-2023/AzureLLMInferenceTrace_conv.csv.gz"))
    else {
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("qps.csv");
    std::fs::write(&file, untarred(&std::fs::read(genai).expect("the archive"))).expect("a file");
    let rows = schedlab::trace::read_series(&file).expect("a series");
    assert_eq!(rows.len(), 23_513, "the requests that generate");
    let Some(Day::Points(points)) = day_of(&rows) else { panic!("a day with a shape") };
    let busy = points.iter().filter(|point| 0.6 < **point).count();
    let calm = points.iter().filter(|point| **point < 0.05).count();
    assert!((12..=14).contains(&busy), "{busy} half hours above 60 % of the most");
    assert!(15 <= calm, "{calm} half hours below 5 %");
    let rows = schedlab::trace::read_series(&azure).expect("a series");
    assert_eq!(rows.len(), 19_366, "a request each");
    let bursts = bursts_of(&rows).expect("an hour of requests");
    let (low, high) = bursts.iter().fold((9.0_f64, 0.0_f64), |(low, high), it| (low.min(*it), high.max(*it)));
    assert!(low < 0.95 && 1.05 < high, "{bursts:?}");
}
