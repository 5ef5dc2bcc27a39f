//! Public traces as CSV: small files of their schemas, and the real ones where they are there.

use super::{messages, read, read_as, shared};
use schedlab::trace::{self, ReadOptions};
use schedlab::units::{SimSpan, SimTime};
use schedlab::workload::Catalog;

/// A file of each schema, of two jobs.
pub const PUBLIC: [(&str, &str); 7] = [
    (
        "helios",
        "job_id,user,vc,gpu_num,cpu_num,node_num,state,submit_time,start_time,end_time,duration,queue\n\
         1,u1,vcA,16,64,2,COMPLETED,2020-06-09 18:41:01,2020-06-09 18:42:01,2020-06-09 19:42:01,3600,60\n\
         2,u2,vcB,0,4,1,FAILED,2020-06-09 18:42:00,2020-06-09 18:42:00,2020-06-09 18:42:30,30,0\n",
    ),
    (
        "acme",
        "job_id,user,node_num,gpu_num,cpu_num,mem_per_pod_GB,type,state,submit_time,start_time,end_time,duration,queue,gpu_time\n\
         a,u1,4,32,128,100,Pretrain,COMPLETED,2023-03-01 00:18:22+08:00,2023-03-01 00:19:22+08:00,2023-03-01 01:19:22+08:00,3600,60,1\n\
         b,u1,1,1,8,,Evaluation,CANCELLED,2023-03-01 00:18:23+08:00,2023-03-01 00:18:23+08:00,2023-03-01 00:18:33+08:00,10,0,1\n",
    ),
    (
        "alibaba-gpu-2020",
        "job_id,user,group,num_gpu,num_cpu,num_inst,submit_time,duration,gpu_type,user_dur,group_dur,group_gpu_dur\n\
         1,u1,g,0.5,6.0,1,0,600,T4,500,,\n2,u2,g,8.0,24.0,4,10,60.5,CPU,,,\n",
    ),
    (
        "alibaba-spot-2026",
        "job_name,organization,gpu_model,cpu_request,gpu_request,worker_num,submit_time,duration,job_type\n\
         239255,13,A10,20,1,1,0,2764799,HP\n437260,57,A100-SXM4-80GB,15,1,16,9589663,41060,Spot\n",
    ),
    (
        "alibaba-dlrm-2025",
        "instance_sn,role,app_name,cpu_request,gpu_request,memory_request,creation_time,scheduled_time,deletion_time\n\
         i0,HN,app_0,12,1,120.0,,,900\ni1,CN,app_1,96,0,480.0,100,160,\n",
    ),
    (
        "muri",
        "job_id,num_gpu,submit_time,iterations,model_name,batch_size,duration,interval,iteration_time\n\
         0,1,0,10,dqn,128,2868294000,0,490\n1,12,201694000,10,vgg16,16,1500,201694000,509\n",
    ),
    (
        "chronus",
        "job_id,user,num_gpu,submit_time,duration,expect_time_list,expect_value_list,best_effort,job_type\n\
         0,vcA,1,5601,96,159-189-229-289,10-8-5-2,0,soft\n1,vcB,4,7505,106,7505,10,1,best\n",
    ),
];

#[test]
fn every_schema_is_told_by_its_header_and_read_whole() {
    for (format, text) in PUBLIC {
        let (import, _) = read(text).unwrap_or_else(|faults| panic!("{format}: {faults:?}"));
        assert_eq!((import.report.format.as_str(), import.report.kept), (format, 2));
        assert!(import.report.unknown_columns.is_empty(), "{format}: {:?}", import.report.unknown_columns);
    }
}

#[test]
fn units_tasks_and_contracts_are_those_of_the_schema() {
    let sample = |format: &str| read(PUBLIC.iter().find(|it| it.0 == format).unwrap().1).unwrap();
    let tasks = |format: &str, job: usize| {
        let (import, catalog) = sample(format);
        let group = catalog.shapes.rows()[import.workload.jobs[job].shape.index()].groups[0];
        (group.count, group.request.gpus, group.request.milli, group.request.cpu_milli)
    };
    assert_eq!(tasks("helios", 0), (2, 8, 1000, 32_000));
    assert_eq!(tasks("alibaba-gpu-2020", 0), (1, 1, 500, 6000));
    assert_eq!(tasks("alibaba-gpu-2020", 1), (4, 2, 1000, 6000));
    assert_eq!(tasks("alibaba-spot-2026", 1), (16, 1, 1000, 15_000));
    let (spot, _) = sample("alibaba-spot-2026");
    let declared: Vec<Option<SimSpan>> = spot.workload.jobs.iter().map(|job| job.min_runtime).collect();
    assert_eq!(declared, [Some(SimSpan::from_secs(2_764_799)), Some(SimSpan::ZERO)]);
    let (muri, _) = sample("muri");
    assert_eq!(
        (muri.workload.jobs[1].submit, muri.workload.jobs[1].work),
        (SimTime::from_secs(201_694), SimSpan::from_millis(1500))
    );
    let (chronus, _) = sample("chronus");
    let deadlines: Vec<Option<SimTime>> = chronus.workload.extras.iter().map(|extra| extra.start_deadline).collect();
    assert_eq!(deadlines, [Some(SimTime::from_secs((289 - 96) * 60))]);
    assert_eq!(sample("helios").0.report.origin.as_deref(), Some("2020-06-09T10:41:01Z"));
    assert_eq!(sample("acme").0.report.origin.as_deref(), Some("2023-02-28T16:18:22Z"));
}

/// One field or header of each sample broken.
#[test]
fn broken_files_say_where() {
    let edits = [
        ("helios", "2020-06-09 18:42:01", "yesterday"),
        ("helios", ",16,", ",-16,"),
        ("acme", "+08:00,2023-03-01 00:19:22", "+8,2023-03-01 00:19:22"),
        ("acme", ",128,100,", ",128,lots,"),
        ("alibaba-gpu-2020", "0.5", "half"),
        ("alibaba-gpu-2020", ",4,10", ",0,10"),
        ("alibaba-spot-2026", ",HP", ",High"),
        ("alibaba-spot-2026", "20,1,1", "20,1.5,1"),
        ("alibaba-dlrm-2025", "i1,CN", "i1,XN"),
        ("alibaba-dlrm-2025", "i1,CN", "i0,CN"),
        ("muri", "2868294000", "2868294.5"),
        ("muri", ",duration", ",duratoin"),
        ("chronus", "159-189", "159--189"),
    ];
    let shown = edits.map(|(format, from, to)| {
        let text = PUBLIC.iter().find(|it| it.0 == format).unwrap().1.replacen(from, to, 1);
        messages(read_as(Some(format), text, &ReadOptions::default()))
    });
    insta::assert_snapshot!(shown.join("\n"), @r#"
    t.csv:2:48: `start_time` is `yesterday`, expected a date such as `2020-06-09 18:41:01`
    t.csv:2:10: `gpu_num` is `-16`, expected a whole number of GPUs, at most 65536
    t.csv:2:38: `submit_time` is `2023-03-01 00:18:22+8`, expected a date such as `2020-06-09 18:41:01`
    t.csv:2:15: `mem_per_pod_GB` is `lots`, expected memory in GB, at most 1048576
    t.csv:2:8: `num_gpu` is `half`, expected GPUs, a number from 0 to 65536
    t.csv:3:17: `num_inst` is `0`, expected a whole number of instances, 1 to 65536
    t.csv:2:32: `job_type` is `High`, expected HP or Spot
    t.csv:2:18: `gpu_request` is `1.5`, expected a part of one GPU, or whole GPUs
    t.csv:3:4: `role` is `XN`, expected HN or CN
    t.csv:3: the id `i0` was already used at line 2
    t.csv:2:18: `duration` is `2868294.5`, expected a whole number of milliseconds
    t.csv:1: the column `duration` is missing
    t.csv:2:17: `expect_time_list` is `159--189-229-289`, expected minutes from submission, as `159-189-229`
    "#);
}

#[test]
fn real_files_are_accounted_for() {
    for (format, path, rows) in [
        ("muri", "philly/muri_trace1", 1494),
        ("chronus", "philly/chronus_philly_mix2", 30_940),
        ("alibaba-dlrm-2025", "alibaba-gpu-v2025/disaggregated_DLRM_trace", 23_871),
    ] {
        let Some(path) = shared(&format!("traces/{path}.csv.gz")) else { return };
        let import = trace::read(&path, None, &ReadOptions::default(), &mut Catalog::default()).unwrap();
        let dropped: u64 = import.report.dropped.values().sum();
        assert_eq!((import.report.format.as_str(), import.report.rows), (format, rows));
        assert_eq!((import.report.kept + dropped, import.report.unknown_columns.len()), (rows, 0));
    }
    let Some(path) = shared("traces/alibaba-gpu-v2025/disaggregated_DLRM_trace.csv.gz") else { return };
    let series = trace::read_series(&path).unwrap();
    assert_eq!(series.len(), 8926);
    assert!(series.iter().all(|&(_, gpus)| (3000.0..7386.0).contains(&gpus)));
    let Some(path) = shared("traces/alibaba-v2026-spot-gpu/node_info_df.csv.gz") else { return };
    let nodes = trace::read_nodes(&path, &mut Catalog::default()).unwrap();
    assert_eq!((nodes.len(), nodes.iter().map(|node| u32::from(node.gpus)).sum::<u32>()), (4278, 10_412));
    assert_eq!(nodes[0].cpu_milli, 192_000);
}
