//! What one row of each format becomes, however the file is packed and its columns are ordered.

use super::{PHILLY, PODS, SWF, gzip, knobs, read, read_as};
use schedlab::cluster::{IdSet, NodeSpec, TaskRequest};
use schedlab::ids::{ModelId, PoolId};
use schedlab::registry::Value;
use schedlab::trace::{self, ReadOptions};
use schedlab::units::{SimSpan, SimTime};
use schedlab::workload::{Catalog, Job};
use std::io::Cursor;
use std::path::Path;

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
fn logs_behind_each_other_are_parts() {
    // The second log begins an hour later and numbers its jobs anew; the third goes on with the numbers of the first.
    let row = |id: u32, submit: u32, before: i32| format!("{id} {submit} 0 60 4 -1 -1 4 60 -1 1 3 2 -1 1 -1 {before} -1 99 7\n");
    let head = |start: u32, procs: u32| format!("; UnixStartTime: {start}\n; MaxProcs: {procs}\n; TimeZoneString: US/Pacific\n");
    let text = [
        head(893_466_664, 8) + &row(1, 0, -1) + &row(7, 50, 1),
        head(893_470_264, 2) + &row(1, 5, -1) + &row(2, 6, 1),
        "; Computer: again\n".to_owned() + &row(8, 9, -1),
    ];
    let linked = knobs(&[("dependencies", Value::Bool(true))]);
    let (import, _) = read_as(Some("swf"), text.concat(), &ReadOptions { knobs: linked, ..ReadOptions::default() }).unwrap();
    let shown = |job: &Job| {
        let after = import.workload.extra(job).map_or(0, |extra| extra.after.len());
        (import.workload.names.get(job.name).to_owned(), job.submit.as_millis() / 1000, after)
    };
    let jobs: Vec<_> = import.workload.jobs.iter().map(shown).collect();
    let named = |name: &str, at, after| (name.to_owned(), at, after);
    let all = [named("1", 0, 0), named("7", 50, 1), named("2:1", 3605, 0), named("2:2", 3606, 1), named("8", 3609, 0)];
    assert_eq!(jobs, all);
    insta::assert_snapshot!(import.report.to_string(), @r"
    t.csv (swf)
      rows read       5
      jobs kept       5
      altered                 5  fields past the 18th are not read
      header          Computer: again
      header          MaxProcs: 8
      header          TimeZoneString: US/Pacific
      header          UnixStartTime: 893466664
      assumed         3 logs, one behind the other: each begins with a header of its own
      time 0          1998-04-25T01:11:04Z
                      there 1998-04-24T18:11:04 (US/Pacific)
      span            0.04 days
      GPU hours       0.3
      offered load    0.0416 of 8 GPUs
    ");
    // Without a header between them, a number that comes again is a fault.
    assert!(read(row(1, 0, -1) + &row(1, 5, -1)).is_err());
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

#[test]
fn the_report_accounts_for_every_row() {
    let text =
        format!("{SWF}3 20 -1 0 4 -1 -1 4 60 -1 0 -1 -1 -1 -1 -1 -1 -1 99\n4 30 -1 60 4 -1 -1 4 60 -1 3 -1 -1 -1 -1 -1 -1 -1\n");
    let (mut import, catalog) = read(text).unwrap();
    let node =
        NodeSpec { name: "n".into(), pool: PoolId(0), model: ModelId(0), gpus: 64, cpu_milli: 0, memory_mib: 0, domain: 0 };
    import.report.against(&import.workload, &catalog, &[node]);
    insta::assert_snapshot!(import.report.to_string(), @r"
    t.csv (swf)
      rows read       4
      jobs kept       2
      altered                 1  fields past the 18th are not read
      altered                 1  requested processors not known: those allocated count
      altered                 1  requested time not known: the estimate is the run time
      dropped                 1  a part of a job that is told whole in another line (status 2 to 4)
      dropped                 1  run time not above zero
      header          MaxProcs: 128
      header          UnixStartTime: 893466664
      time 0          1998-04-25T01:11:04Z
      span            0.00 days
      GPU hours       0.3
      offered load    1.5625 of 64 GPUs
                      any: 2 jobs, 0.3 GPU hours, 64 GPUs, load 1.5625
    ");
}
