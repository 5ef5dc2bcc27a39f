//! What `sacct` prints and what the Slurm simulator is fed: rows, rules, and files that are wrong.

use super::sacct_rows::Dump;
use super::{SACCT, helped, knobs, messages, read, read_as};
use schedlab::registry::Value;
use schedlab::trace::{self, Import, ReadOptions, TraceError};
use schedlab::units::SimSpan;
use schedlab::workload::Catalog;

fn with(format: &str, text: &str, values: &[(&'static str, &str)]) -> Result<(Import, Catalog), Vec<TraceError>> {
    let values: Vec<(&'static str, Value)> = values
        .iter()
        .map(|&(name, value)| (name, value.parse().map_or_else(|_| Value::Text(value.into()), Value::Bool)))
        .collect();
    read_as(Some(format), text, &ReadOptions { knobs: knobs(&values), ..ReadOptions::default() })
}

/// Each job on a line: name, account, submit, start and end, run time, estimate, and its groups as count x GPUs @ milli-cores / MiB.
fn jobs((import, catalog): &(Import, Catalog)) -> String {
    let seconds = |at: Option<schedlab::units::SimTime>| at.map_or("?".into(), |at| at.as_secs_f64().to_string());
    let line = |job: &schedlab::workload::Job| {
        let extra = import.workload.extra(job).cloned().unwrap_or_default();
        let groups = catalog.shapes.rows()[job.shape.index()].groups.iter().map(|group| {
            let request = group.request;
            format!("{}x{}@{}/{}", group.count, request.gpus, request.cpu_milli, request.memory_mib)
        });
        let estimate = if job.estimate == SimSpan::FOREVER { "?".into() } else { job.estimate.as_secs_f64().to_string() };
        format!(
            "{} {} at {} from {} to {}, runs {} of {estimate}: {}",
            import.workload.names.get(job.name),
            catalog.accounts.rows()[job.account.index()],
            seconds(Some(job.submit)),
            seconds(extra.observed_start),
            seconds(extra.observed_end),
            job.work.as_secs_f64(),
            groups.collect::<Vec<String>>().join(" ")
        )
    };
    import.workload.jobs.iter().map(line).collect::<Vec<String>>().join("\n")
}

fn sacct(header: &str, rows: &[&str]) -> String {
    format!("{header}\n{}\n", rows.join("\n"))
}

const SHORT: &str = "JobID|Submit|Start|Elapsed|State|AllocTRES";

#[test]
fn a_dump_becomes_jobs() {
    let found = read(SACCT).unwrap();
    insta::assert_snapshot!(jobs(&found), @r"
    10 a at 0 from 10 to 3610, runs 3600 of 7200: 2x2@4000/32768
    11 b at 0 from 20 to 1520, runs 300 of ?: 1x1@4000/0
    12_3 b at 0 from 20 to ?, runs 87000 of ?: 1x1@4000/0
    14 b at 0 from 20 to 620, runs 610 of ?: 1x1@4000/16384 2x0@4000/0
    ");
    insta::assert_snapshot!(found.0.report.to_string(), @r"
    t.csv (sacct)
      rows read       9
      jobs kept       4
      altered                 1  still running when the dump was made: run time is what it had run
      dropped                 1  a component of a heterogeneous job: its tasks are in the job's gang
      dropped                 1  a step, whose job has a row of its own
      dropped                 1  an attempt of a job before its last
      dropped                 1  ended before it started
      dropped                 1  the part of an array that had not begun
      assumed         dates without a zone are of the zone UTC (knob `zone`)
      assumed         a GPU is a gres/gpu of AllocTRES, else of ReqTRES, AllocGRES, ReqGRES (knob `gpus`)
      assumed         6 tasks of arrays had not begun and are left out
      time 0          2023-03-01T00:00:00Z
      span            0.00 days
      GPU hours       28.4
    ");
}

#[test]
fn any_delimiter_case_and_order_reads_alike() {
    let plain = jobs(&read(SACCT).unwrap());
    for delimiter in [";", "\t", "^", "::", "|~|"] {
        assert_eq!(jobs(&read(SACCT.replace('|', delimiter)).unwrap()), plain, "{delimiter:?}");
    }
    assert_eq!(jobs(&with("sacct", &SACCT.replace('|', "x0x"), &[("delimiter", "x0x")]).unwrap()), plain);
    assert_eq!(jobs(&read(SACCT.replace('\n', "|\n")).unwrap()), plain, "as `sacct -p` prints it");
    let (header, rows) = SACCT.split_once('\n').unwrap();
    assert_eq!(jobs(&read(format!("{}\n{rows}", header.to_lowercase())).unwrap()), plain);
    assert_eq!(jobs(&with("sacct", rows, &[("columns", header)]).unwrap()), plain);
    let turned: Vec<String> = SACCT.lines().map(|row| row.split('|').rev().collect::<Vec<_>>().join("|")).collect();
    assert_eq!(jobs(&read(turned.join("\n")).unwrap()), plain);
}

#[test]
fn a_delimiter_in_a_job_name_is_the_names() {
    let header = "JobID|JobName|Submit|Start|Elapsed|AllocTRES";
    let text = sacct(header, &["1|a|b|c|0|10|00:01:00|gres/gpu=1"]);
    let (import, _) = read(text.clone()).unwrap();
    assert_eq!(import.report.altered.get("fields to spare: the delimiter stands in its job name"), Some(&1));
    let comment = text.replace("AllocTRES", "AllocTRES|Comment").replace("gpu=1", "gpu=1|");
    assert_eq!(messages(read(comment)), "t.csv:2: the row has 9 fields, expected 7 fields");
}

#[test]
fn clocks_are_those_of_the_zone() {
    let header = "JobID|Submit|Start|End|AllocTRES";
    let rows = ["1|2016-11-05T12:00:00|2016-11-05T12:00:00|2016-11-06T12:00:00|gres/gpu=1"];
    let text = sacct(header, &rows);
    let run = |zone| with("sacct", &text, &[("zone", zone)]).unwrap().0.workload.jobs[0].work;
    assert_eq!((run("UTC"), run("America/New_York")), (SimSpan::HOUR * 24, SimSpan::HOUR * 25));
    let text = sacct(header, &["1|1478361600|1478361600|2016-11-05T16:00:00-0100|gres/gpu=1"]);
    let (import, _) = with("sacct", &text, &[("zone", "Asia/Kathmandu")]).unwrap();
    assert_eq!((import.workload.jobs[0].work, import.report.origin.as_deref()), (SimSpan::HOUR, Some("2016-11-05T16:00:00Z")));
    let wrong = messages(with("sacct", &text, &[("zone", "Mars/Base")]));
    assert_eq!(wrong, "`t.csv`: knob `zone` is `Mars/Base`, expected the IANA name of a time zone, such as `Europe/Berlin`");
}

#[test]
fn cpus_and_nodes_can_count_as_gpus() {
    let header = "JobID|Submit|Start|Elapsed|NNodes|NCPUS|ReqMem|ReqGRES|QOS|Partition";
    let text = sacct(header, &["1|0|5|00:01:00|2|24|4Gc|gpu:2|high|long,short", "2|0|5|00:01:00|1|8||(null)|low|short"]);
    let shown = |values: &[(&'static str, &str)]| jobs(&with("sacct", &text, values).unwrap());
    insta::assert_snapshot!(
        [
            shown(&[]),
            shown(&[("gpus", "cpus")]),
            shown(&[("gpus", "nodes")]),
            shown(&[("gpus", "cpus"), ("tasks", "cut"), ("memory", "false")]),
        ]
        .join("\n"),
        @r"
    1 all at 0 from 5 to 65, runs 60 of 60: 2x1@12000/49152
    2 all at 0 from 5 to 65, runs 60 of 60: 1x0@8000/0
    1 all at 0 from 5 to 65, runs 60 of 60: 2x8@0/32768 2x4@0/16384
    2 all at 0 from 5 to 65, runs 60 of 60: 1x8@0/0
    1 all at 0 from 5 to 65, runs 60 of 60: 2x1@0/0
    2 all at 0 from 5 to 65, runs 60 of 60: 1x1@0/0
    1 all at 0 from 5 to 65, runs 60 of 60: 3x8@0/0
    2 all at 0 from 5 to 65, runs 60 of 60: 1x8@0/0
    ");
    let (import, catalog) = with("sacct", &text, &[("pools", "partition"), ("class", "qos")]).unwrap();
    let job = import.workload.jobs[0];
    assert_eq!(catalog.classes.rows()[job.class.index()], "high");
    let pools = catalog.shapes.rows()[job.shape.index()].groups[0].request.pools;
    let of = |name: &str| pools.has(catalog.pools.row(name).unwrap() as usize);
    assert!(of("long") && of("short") && !of("main"));
}

#[test]
fn jobs_that_had_not_ended_have_a_rule() {
    let header = "JobID|Submit|Start|End|Elapsed|State|Timelimit|NodeList|ReqTRES";
    let text = sacct(
        header,
        &[
            "1|0|5|Unknown|00:01:00|RUNNING|01:00:00|n1|gres/gpu=1",
            "2|0|Unknown|Unknown|00:00:00|PENDING|01:00:00|None assigned|gres/gpu=1",
            "3|0|9|9|00:00:00|CANCELLED by 7|01:00:00|None assigned|gres/gpu=1",
            "4|0|9|9|00:00:00|FAILED|01:00:00|n1|gres/gpu=1",
            "5|0|9|19|INVALID|NODE_FAIL|Partition_Limit|n1|gres/gpu=1",
            "6|9|3|19|00:00:16|COMPLETED|UNLIMITED|n1|gres/gpu=1",
            "7|0|9|19|00:00:10|REVOKED||n1|gres/gpu=1",
        ],
    );
    let found = |running| with("sacct", &text, &[("running", running)]).unwrap();
    insta::assert_snapshot!(jobs(&found("elapsed")), @r"
    1 all at 0 from 5 to ?, runs 60 of 3600: 1x1@0/0
    4 all at 0 from 9 to 9, runs 1 of 3600: 1x1@0/0
    5 all at 0 from 9 to 19, runs 10 of ?: 1x1@0/0
    6 all at 3 from 3 to 19, runs 16 of ?: 1x1@0/0
    ");
    insta::assert_snapshot!(found("limit").0.report.to_string(), @r"
    t.csv (sacct)
      rows read       7
      jobs kept       4
      altered                 1  ended within its first second: run time 1 s
      altered                 1  started before it was submitted: submitted when it started
      altered                 1  still running when the dump was made: run time is the time limit
      dropped                 1  ended before it started
      dropped                 1  revoked: another cluster of the federation ran it
      dropped                 1  still pending when the dump was made
      assumed         dates without a zone are of the zone UTC (knob `zone`)
      assumed         a GPU is a gres/gpu of AllocTRES, else of ReqTRES, AllocGRES, ReqGRES (knob `gpus`)
      time 0          1970-01-01T00:00:00Z
      span            0.00 days
      GPU hours       1.0
    ");
    assert_eq!(found("drop").0.report.kept, 3);
}

#[test]
fn attempts_and_clusters_are_told_apart() {
    let header = "JobID|Cluster|User|Submit|Start|Elapsed|State|ReqTRES";
    let text = sacct(
        header,
        &[
            "1|a|ann|0|10|00:01:00|NODE_FAIL|gres/gpu=1",
            "1|b|bob|0|20|00:02:00|COMPLETED|gres/gpu=1",
            "1|a|ann|70|100|00:05:00|COMPLETED|gres/gpu=1",
            "1|a|ann|70|100|00:05:00|COMPLETED|gres/gpu=1",
            "2|a|ann|0|300|00:05:00|PREEMPTED|gres/gpu=1",
            "2|a|ann|0|100|00:03:00|PREEMPTED|gres/gpu=1",
        ],
    );
    let found = read(text).unwrap();
    insta::assert_snapshot!(jobs(&found), @r"
    b:1 all at 0 from 20 to 140, runs 120 of 120: 1x1@0/0
    1 all at 0 from 10 to 400, runs 300 of 300: 1x1@0/0
    2 all at 0 from 100 to 600, runs 300 of 300: 1x1@0/0
    ");
    let dropped: Vec<(&str, u64)> = found.0.report.dropped.iter().map(|(rule, n)| (*rule, *n)).collect();
    assert_eq!(dropped, [("an attempt of a job before its last", 2), ("the same attempt of a job told again", 1)]);
}

#[test]
fn wrong_dumps_say_where_and_what_was_expected() {
    let shown = |header: &str, row: &str| helped(with("sacct", &sacct(header, &[row]), &[]));
    let row = |row: &str| messages(with("sacct", &sacct(SHORT, &[row]), &[]));
    let found = [
        shown("JobID         Start", "1 2"),
        helped(read("JobID   Submit      Start    State\n----- ------ -----\n")),
        messages(with("sacct", "1|0\n", &[("columns", "jobid,submit,elapsed,reqtres")])),
        messages(with("sacct", "1|0\n", &[("columns", "jobid,submit,Submit,start,elapsed,reqtres")])),
        messages(with("sacct", "1|0|0|90|\n", &[("columns", "jobid,submit,start,elapsed,reqtres")])),
        shown("Submit|Start|Elapsed|AllocTRES", "0|0|00:01:00|gres/gpu=1"),
        shown("JobID|Submit|Strt|Elapsed|AllocTRES", "1|0|0|00:01:00|gres/gpu=1"),
        shown("JobID|Submit|Start|AllocTRES", "1|0|0|gres/gpu=1"),
        shown("JobID|Submit|Start|Elapsed|NCPUS", "1|0|0|00:01:00|1"),
        shown("JobID|Submit|Start|submit|Elapsed|AllocTRES", "1|0|0|0|00:01:00|gres/gpu=1"),
        row("x1|0|0|00:01:00|COMPLETED|gres/gpu=1"),
        row("1_|0|0|00:01:00|COMPLETED|gres/gpu=1"),
        row("1|2023-02-30T00:00:00|0|00:01:00|COMPLETED|gres/gpu=1"),
        row("1|Unknown|Tomorrow|00:01:00|COMPLETED|gres/gpu=1"),
        row("1|0|0|90|COMPLETE|gres/gpu=two"),
        row("1|0|0|00:01:00|COMPLETED"),
        row("1|0|0|00:01:00|COMPLETED|gres/gpu=1|more"),
        shown("JobID|Submit|Start|End|AllocTRES", "1|0|50|40|gres/gpu=1"),
        shown("JobID|Submit|Start|Elapsed|NodeList|ReqGRES", "1|0|0|00:01:00|n[1-999999999]|gpu:1:2:3"),
        shown("JobID|Submit|Start|Elapsed|NodeList|ReqTRES|Timelimit|NCPUS", "1|0|0|00:01:00|n[3-1]|cpu|forever|-1"),
        messages(with(
            "sacct",
            &sacct("JobID|User|Submit|Start|Elapsed|ReqTRES", &["1|a|0|0|00:01:00|", "1|b|0|0|00:01:00|"]),
            &[],
        )),
        messages(with("sacct", &sacct(SHORT, &["2|0|Unknown|00:00:00|PENDING|"]), &[])),
    ];
    insta::assert_snapshot!(found.join("\n"), @r"
    t.csv:1: the header has no delimiter, expected what `sacct -P` prints, or the knob `delimiter`
    t.csv:1: the header has no delimiter, expected what `sacct -P` prints, or the knob `delimiter`
    `t.csv`: knob `columns` is `jobid,submit,elapsed,reqtres`, expected names of columns, each once, with `Submit` and `Start` among them
    `t.csv`: knob `columns` is `jobid,submit,Submit,start,elapsed,reqtres`, expected names of columns, each once, with `Submit` and `Start` among them
    t.csv:1:7: `Elapsed` is `90`, expected a span such as `1-02:03:04`
    t.csv:1: the column `JobID` is missing
      help: expected one of JobID, JobIDRaw
    t.csv:1: the column `Start` is missing
      help: is it `Strt`? needed: Submit, Start
    t.csv:1: the column `Elapsed` is missing
      help: expected one of Elapsed, ElapsedRaw, End
    t.csv:1: the column `AllocTRES` is missing
      help: expected one of AllocTRES, ReqTRES, AllocGRES, ReqGRES, or a knob `gpus` that counts CPUs or nodes
    t.csv:1:20: the column `submit` stands twice in the header
    t.csv:2:1: `JobID` is `x1`, expected the id of a job, such as `12`, `12_3`, `12_[5-9]`, `12+1` or `12.batch`
    t.csv:2:1: `JobID` is `1_`, expected the id of a job, such as `12`, `12_3`, `12_[5-9]`, `12+1` or `12.batch`
    t.csv:2:3: `Submit` is `2023-02-30T00:00:00`, expected a date such as `2023-03-01T00:18:22`, or seconds since 1970
    t.csv:2:3: `Submit` is `Unknown`, expected a date such as `2023-03-01T00:18:22`, or seconds since 1970
    t.csv:2:11: `Start` is `Tomorrow`, expected a date such as `2023-03-01T00:18:22`, or seconds since 1970
    t.csv:2:19: `AllocTRES` is `gres/gpu=two`, expected resources such as `cpu=12,gres/gpu:a100=2,mem=31000M,node=1`
    t.csv:2:7: `Elapsed` is `90`, expected a span such as `1-02:03:04`
    t.csv:2:10: `State` is `COMPLETE`, expected a job state such as `COMPLETED` or `CANCELLED by 123`
    t.csv:2: the row has 5 fields, expected 6 fields
    t.csv:2: the row has 7 fields, expected 6 fields
    t.csv:2:8: `End` is `40`, expected an instant not before `Start`
      help: traces/README.md describes the columns of each format
    t.csv:2:31: `ReqGRES` is `gpu:1:2:3`, expected resources such as `gpu:2` or `gpu:a100:2`
      help: traces/README.md describes the columns of each format
    t.csv:2:16: `NodeList` is `n[1-999999999]`, expected a list of at most 65536 hosts, such as `gpu[01-03,7],login1`
      help: traces/README.md describes the columns of each format
    t.csv:2:23: `ReqTRES` is `cpu`, expected resources such as `cpu=12,gres/gpu:a100=2,mem=31000M,node=1`
      help: traces/README.md describes the columns of each format
    t.csv:2:35: `NCPUS` is `-1`, expected a whole number up to 1048576
      help: traces/README.md describes the columns of each format
    t.csv:2:16: `NodeList` is `n[3-1]`, expected a list of at most 65536 hosts, such as `gpu[01-03,7],login1`
      help: traces/README.md describes the columns of each format
    t.csv:2:27: `Timelimit` is `forever`, expected a span such as `1-02:03:04`, `UNLIMITED` or `Partition_Limit`
      help: traces/README.md describes the columns of each format
    t.csv:3: the id `1` was already used at line 2
    `t.csv` holds no job to replay: 1 dropped (still pending when the dump was made)
    ");
}

pub const EVENTS: &str = "-dt 10.50 -e submit_batch_job | -sim-walltime 84805.00 --uid=user001 -J jobid_00001 -N 2 -n 32 -t 3-00:00:00 -q high -p long --mem=500G pseudo.job\n\
    # a remark\n\
    -dt 11 -e submit_batch_job | -sim-walltime 6.00 --uid user042 -A lab -N1 -n4 -c 2 -t 01:00:00 -q debug -p debug --gres=gpu:1 --gres=gpu:a100:2 --mem-per-cpu=2G --exclusive --nice pseudo.job -x 1\n\
    -dt 12 -e submit_batch_job | -sim-walltime -1 --uid=user042 -G 3 -t 30 pseudo.job\n\
    -dt 13 -e submit_batch_job | -sim-walltime 0 --uid=user042 -n 1 -t 30 pseudo.job\n\
    -dt 14 -e cancel_job | -jid 3\n";

#[test]
fn events_become_jobs() {
    let found = read(EVENTS).unwrap();
    insta::assert_snapshot!(jobs(&found), @r"
    1 all at 0 from ? to ?, runs 84805 of 259200: 2x0@16000/512000
    2 lab at 0.5 from ? to ?, runs 6 of 3600: 1x2@8000/16384
    3 all at 1.5 from ? to ?, runs 1800 of 1800: 1x3@1000/0
    ");
    insta::assert_snapshot!(found.0.report.to_string(), @r"
    t.csv (slurm-sim)
      rows read       5
      jobs kept       3
      altered                 1  no -sim-walltime, or below zero: it runs for its requested time
      dropped                 1  an event that submits no job
      dropped                 1  run time not above zero
      unknown columns --nice
      assumed         NO GPU in 1 of 3 attempts: they ask for CPUs alone (knob `gpus`)
      span            0.00 days
      GPU hours       1.5
    ");
    let cores = with("slurm-sim", EVENTS, &[("gpus", "cpus"), ("memory", "false")]).unwrap();
    insta::assert_snapshot!(jobs(&cores), @r"
    1 all at 0 from ? to ?, runs 84805 of 259200: 4x8@0/0
    2 lab at 0.5 from ? to ?, runs 6 of 3600: 1x8@0/0
    3 all at 1.5 from ? to ?, runs 1800 of 1800: 1x1@0/0
    ");
}

#[test]
fn wrong_events_say_where_and_what_was_expected() {
    let event = "-e submit_batch_job | -sim-walltime 10 -n 1 -t 30";
    let text = [
        format!("-dt ten {event}"),
        format!("{event} job.sh"),
        format!("-dt 1 {event} -N 2x -n 0 -t soon --gres=gpu:a:b"),
        "-dt 1 -e submit_batch_job | -sim-walltime long --mem=lots -G many".into(),
        "-dt 1 -e submit_batch_job | -n".into(),
        "-dt 1 | -n 1".into(),
        format!("-dt 1 {event} --uid="),
        format!("-dt -1 {event}"),
    ];
    insta::assert_snapshot!(messages(with("slurm-sim", &text.join("\n"), &[])), @r"
    t.csv:1:5: `-dt` is `ten`, expected a number of seconds from 0
    t.csv:2: `-dt` is not there, expected a number of seconds from 0
    t.csv:3:71: `-t` is `soon`, expected a span such as `1-02:03:04`, `02:03:04` or `2-03`
    t.csv:3:60: `-N` is `2x`, expected a number of nodes from 1 to 65536, or `2-4`
    t.csv:3:66: `-n` is `0`, expected a whole number from 1 to 1048576
    t.csv:3:83: `--gres` is `gpu:a:b`, expected resources such as `gpu:2` or `gpu:a100:2`
    t.csv:4:43: `-sim-walltime` is `long`, expected a number of seconds
    t.csv:4:54: `--mem` is `lots`, expected memory such as `187000M` or `500G`
    t.csv:4:62: `-G` is `many`, expected a number of GPUs, as `2` or `a100:2`
    t.csv:5:29: `-n` has no value, expected a whole number from 1 to 1048576
    t.csv:6: `-e` is not there, expected a name
    t.csv:7:57: `--uid` has no value, expected a name
    t.csv:8:5: `-dt` is `-1`, expected a number of seconds from 0
    ");
}

/// How much memory a dump of ten million rows takes, streamed: `cargo test --release --test readers ten_million -- --ignored --nocapture`.
#[test]
#[ignore = "takes half a minute, and says how much memory was used"]
fn ten_million_rows_take_the_memory_of_their_jobs() {
    let rows = 10_000_000;
    let dump = Box::new(Dump::new(rows));
    let import = trace::read_from("big.txt".as_ref(), dump, Some("sacct"), &ReadOptions::default(), &mut Catalog::default());
    assert_eq!(import.expect("it was written by us").report.rows, rows);
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    println!("{}", status.lines().find(|line| line.starts_with("VmHWM")).unwrap_or("no /proc here"));
}

/// The generator of long dumps makes rows that are read whole.
#[test]
fn long_dumps_read_whole() {
    let dump = Box::new(Dump::new(3000));
    let import = trace::read_from("big.txt".as_ref(), dump, None, &ReadOptions::default(), &mut Catalog::default()).unwrap();
    assert_eq!((import.report.format.as_str(), import.report.kept), ("sacct", 3000));
    assert!(import.report.altered.is_empty() && import.report.unknown_columns.is_empty(), "{}", import.report);
}
