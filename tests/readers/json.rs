//! Formats in JSON: what Philly's raw log and Kubernetes say, and what is wrong with them, by line and path.

use super::{read, read_as};
use schedlab::trace::{Import, ReadOptions};
use schedlab::units::SimTime;
use schedlab::workload::Catalog;

/// Samples of our own to the published schemas.
pub const JSON: [(&str, &str); 2] = [("philly-json", PHILLY_LOG), ("kubernetes", PODS)];

const PHILLY_LOG: &str = r#"[
  {"status": "Pass", "vc": "6214e9", "jobid": "application_1", "submitted_time": "2017-10-07 01:11:39", "user": "ce2f41",
   "attempts": [
     {"start_time": "2017-10-07 01:12:00", "end_time": "2017-10-07 01:20:00", "detail": [{"ip": "m1", "gpus": ["gpu0"]}]},
     {"start_time": "2017-10-07 01:21:00", "end_time": "2017-10-07 02:21:00",
      "detail": [{"ip": "m1", "gpus": ["gpu0", "gpu1", "gpu2", "gpu3"]}, {"ip": "m2", "gpus": ["gpu0", "gpu1", "gpu2", "gpu3"]}]}]},
  {"status": "Killed", "vc": "ee9e8c", "jobid": "application_2", "submitted_time": "2017-10-07 01:15:00", "user": "a",
   "attempts": [{"start_time": "2017-10-07 01:15:30", "end_time": null, "detail": [{"ip": "m3", "gpus": ["gpu0"]}]}]},
  {"status": "Failed", "vc": "ee9e8c", "jobid": "application_3", "submitted_time": "2017-10-07 01:16:00", "user": "a", "attempts": []}
]
"#;

const PODS: &str = r#"{"apiVersion": "v1", "kind": "List", "items": [
  {"kind": "Pod", "metadata": {"name": "train-0", "namespace": "nlp", "creationTimestamp": "2024-05-01T12:00:00Z",
     "ownerReferences": [{"kind": "PyTorchJob", "name": "train"}]},
   "spec": {"priorityClassName": "high", "priority": 100, "nodeSelector": {"nvidia.com/gpu.product": "H100"},
     "containers": [{"resources": {"limits": {"nvidia.com/gpu": "8"}, "requests": {"cpu": "64", "memory": "512Gi", "nvidia.com/gpu": "8"}}}]},
   "status": {"phase": "Succeeded", "startTime": "2024-05-01T12:05:00Z",
     "containerStatuses": [{"state": {"terminated": {"finishedAt": "2024-05-01T14:05:00Z"}}}]}},
  {"kind": "Pod", "metadata": {"name": "train-1", "namespace": "nlp", "creationTimestamp": "2024-05-01T12:00:00Z",
     "ownerReferences": [{"kind": "PyTorchJob", "name": "train"}]},
   "spec": {"priorityClassName": "high", "priority": 100, "nodeSelector": {"nvidia.com/gpu.product": "H100"},
     "containers": [{"resources": {"limits": {"nvidia.com/gpu": "8"}, "requests": {"cpu": "64", "memory": "512Gi"}}}]},
   "status": {"phase": "Succeeded", "startTime": "2024-05-01T12:06:00Z",
     "containerStatuses": [{"state": {"terminated": {"finishedAt": "2024-05-01T14:06:00Z"}}}]}},
  {"kind": "Pod", "metadata": {"name": "slice", "namespace": "vision", "creationTimestamp": "2024-05-01T13:00:00Z"},
   "spec": {"containers": [{"resources": {"limits": {"nvidia.com/mig-3g.20gb": 1}, "requests": {"cpu": "500m", "memory": "1Gi"}}}]},
   "status": {"phase": "Running", "startTime": "2024-05-01T13:00:00Z"}},
  {"kind": "Pod", "metadata": {"name": "waits", "namespace": "vision", "creationTimestamp": "2024-05-01T13:10:00Z"},
   "spec": {"containers": [{}]}, "status": {"phase": "Pending"}},
  {"kind": "Job", "metadata": {"name": "batch", "namespace": "vision", "creationTimestamp": "2024-05-01T12:30:00Z"},
   "spec": {"parallelism": 4, "template": {"spec": {"containers": [{"resources": {"limits": {"amd.com/gpu": "1"}}}]}}},
   "status": {"startTime": "2024-05-01T12:30:01Z", "completionTime": "2024-05-01T12:40:01Z"}},
  {"kind": "Workload", "metadata": {"name": "kueued", "namespace": "nlp", "creationTimestamp": "2024-05-01T12:00:30Z"},
   "spec": {"queueName": "team-a", "priority": 5, "podSets": [
     {"count": 1, "template": {"spec": {"containers": [{"resources": {"requests": {"cpu": "2"}}}]}}},
     {"count": 2, "template": {"spec": {"containers": [{"resources": {"requests": {"nvidia.com/gpu": "4"}}}]}}}]},
   "status": {"conditions": [{"type": "QuotaReserved", "status": "True", "lastTransitionTime": "2024-05-01T12:20:30Z"},
     {"type": "Admitted", "status": "True", "lastTransitionTime": "2024-05-01T12:20:31Z"},
     {"type": "Finished", "status": "True", "lastTransitionTime": "2024-05-01T13:20:31Z"}]}},
  {"kind": "Service", "metadata": {"name": "s"}}
]}
"#;

fn told(text: &str) -> (Import, Catalog) {
    read(text).unwrap_or_else(|faults| panic!("{faults:?}"))
}

/// A line a job: name, account, class, submit, start, run time, GPUs, tasks.
fn rows((import, catalog): &(Import, Catalog)) -> Vec<String> {
    let jobs = import.workload.jobs.iter().map(|job| {
        let shape = &catalog.shapes.rows()[job.shape.index()];
        let start = import.workload.extra(job).and_then(|extra| extra.observed_start).map_or(0.0, SimTime::as_secs_f64);
        let (account, class) = (&catalog.accounts.rows()[job.account.index()], &catalog.classes.rows()[job.class.index()]);
        let name = import.workload.names.get(job.name);
        let (submit, work) = (job.submit.as_secs_f64(), job.work.as_secs_f64());
        format!(
            "{name} {account} {class} p{} {submit} {start} {work} {} GPUs in {}",
            job.priority,
            shape.capacity().as_gpus_f64(),
            shape.tasks()
        )
    });
    jobs.collect()
}

#[test]
fn phillys_log_has_attempts_and_hosts() {
    let found = told(PHILLY_LOG);
    assert_eq!(rows(&found), ["application_1 6214e9 5-8 p0 0 21 4080 8 GPUs in 2"]);
    let report = &found.0.report;
    assert_eq!((report.format.as_str(), report.rows, report.kept), ("philly-json", 3, 1));
    assert_eq!(report.dropped.values().sum::<u64>(), 2);
}

#[test]
fn kubernetes_lists_hold_pods_jobs_and_workloads() {
    let found = told(PODS);
    assert_eq!(
        rows(&found),
        [
            "nlp/train nlp high p100 0 360 7200 16 GPUs in 2",
            "nlp/kueued nlp/team-a all p5 30 1231 3600 8 GPUs in 3",
            "vision/batch vision all p0 1800 1801 600 4 GPUs in 4",
            "vision/slice vision all p0 3600 3600 3960 0.428 GPUs in 1",
        ]
    );
    let report = &found.0.report;
    assert_eq!((report.rows, report.kept, report.dropped.values().sum::<u64>()), (7, 4, 3));
    assert!(report.assumed.iter().any(|it| it.contains("last moment")), "{report}");
}

fn faults(format: Option<&str>, text: &str) -> String {
    let faults = read_as(format, text.as_bytes().to_vec(), &ReadOptions::default()).expect_err("it is wrong");
    faults.iter().map(|fault| format!("{fault}\n")).collect()
}

#[test]
fn what_is_wrong_is_said_by_line_and_path() {
    let cases = [
        ("cut short", faults(None, &PHILLY_LOG[..300])),
        ("no JSON", faults(Some("philly-json"), "{]\n")),
        ("no list", faults(Some("kubernetes"), "{\"kind\": \"List\"}\n")),
        ("a number", faults(Some("kubernetes"), "17\n")),
        (
            "fields",
            faults(
                None,
                &PHILLY_LOG
                    .replace("2017-10-07 01:11:39", "soon")
                    .replace("\"6214e9\"", "17")
                    .replace("2017-10-07 02:21:00", "later"),
            ),
        ),
        (
            "objects",
            faults(
                None,
                &PODS.replace("\"8\"", "\"eight\"").replace("2024-05-01T12:30:00Z", "noon").replace("\"name\": \"slice\",", ""),
            ),
        ),
        ("after the end", faults(Some("philly-json"), &format!("{PHILLY_LOG} more"))),
        ("nothing", faults(Some("philly-json"), "[]\n")),
        ("deep", faults(Some("philly-json"), &"[".repeat(100_000))),
        (
            "no workload",
            faults(
                None,
                r#"{"items": [{"kind": "Workload", "metadata": {"name": "w", "creationTimestamp": "2024-05-01T12:00:30Z"}, "spec": {}}]}"#,
            ),
        ),
    ];
    let text: String = cases.iter().map(|(what, found)| format!("== {what}\n{found}")).collect();
    insta::assert_snapshot!(text);
}
