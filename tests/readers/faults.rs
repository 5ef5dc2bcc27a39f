//! Messages: where, what, and what was expected.

use super::{PODS, SWF, gzip, helped, messages, native, read, read_as};
use schedlab::cluster::NodeSpec;
use schedlab::ids::{ModelId, PoolId};
use schedlab::trace::{self, Faults, ReadOptions, TraceError};
use schedlab::workload::Catalog;
use std::path::Path;

#[test]
fn faults_say_where_and_what_was_expected() {
    let text =
        "id,submit,runtime,gpus\na,0,10,1\nb,1,NaN,1\nc,inf,10,1\nd,-5,10,1\ne,4,1e30,1\nf,5,10,x\ng,6,0,1\nh,7,10\na,8,10,1\n";
    insta::assert_snapshot!(messages(read(text)), @r"
    t.csv:3:5: `runtime` is `NaN`, expected seconds above 0, or a duration such as `8h`
    t.csv:4:3: `submit` is `inf`, expected seconds from 0, or a date, as in the rows before
    t.csv:5:3: `submit` is `-5`, expected seconds from 0, or a date, as in the rows before
    t.csv:6:5: `runtime` is `1e30`, expected seconds above 0, or a duration such as `8h`
    t.csv:7:8: `gpus` is `x`, expected a whole number of GPUs, at most 65536
    t.csv:8:5: `runtime` is `0`, expected seconds above 0, or a duration such as `8h`
    t.csv:9: the row has 3 fields, expected 4 fields
    t.csv:10: the id `a` was already used at line 2
    ");
}

#[test]
fn a_fault_is_shown_in_its_line() {
    let faults = native("a,0,10,1\nb,1, 12x ,1\n").unwrap_err();
    let mut out = String::new();
    let theme = miette::GraphicalTheme::unicode_nocolor();
    miette::GraphicalReportHandler::new_themed(theme).with_width(100).render_report(&mut out, &faults[0]).unwrap();
    insta::assert_snapshot!(out.trim(), @r"
    trace::bad_field

      × t.csv:3:6: `runtime` is `12x`, expected seconds above 0, or a duration such as `8h`
       ╭─[t.csv:3:1]
     3 │ b,1, 12x ,1
       ·      ─┬─
       ·       ╰── expected seconds above 0, or a duration such as `8h`
       ╰────
      help: traces/README.md describes the columns of each format
    ");
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
    insta::assert_snapshot!(all.join("\n"), @r"
    t.csv:1: the column `runtime` is missing
      help: is it `run_time`? needed: id, submit, runtime, gpus
    t.csv:1:11: the column `submit` stands twice in the header
    t.csv:1: no known trace format starts like this
      help: the nearest is `native`, which also needs runtime, gpus
    t.csv:1: no known trace format starts like this
      help: the nearest is `native`, which also needs id, submit, runtime, gpus
    `t.csv` holds no job to replay: no rows of data
    `t.csv` is empty, expected a trace
    unknown trace format `natve`, expected one of `native`, `alibaba-gpu-2023`, `philly`, `swf`, `sacct`, `slurm-sim`, `helios`, `acme`, `alibaba-gpu-2020`, `alibaba-spot-2026`, `alibaba-dlrm-2025`, `muri`, `chronus`, `philly-json`, `kubernetes`
      help: did you mean `native`?
    t.csv:2: a quote is not closed on its line, expected quotes in pairs
    ");
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
    insta::assert_snapshot!(messages(read(gzip(text.as_bytes()))), @"t.csv:5000:7: `runtime` is `ten`, expected seconds above 0, or a duration such as `8h`");
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
