//! Damaged and hostile files: never a panic, always a workload or faults that say where.

use super::json::JSON;
use super::public::PUBLIC;
use super::slurm::EVENTS;
use super::{PHILLY, PODS, SACCT, SWF, gzip, read, read_as};
use proptest::prelude::*;
use schedlab::trace::{Faults, ReadOptions};
use schedlab::units::{SimSpan, SimTime};

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

const SAMPLES: [(&str, &str); 6] = [
    ("philly", PHILLY),
    ("alibaba-gpu-2023", PODS),
    ("swf", SWF),
    ("sacct", SACCT),
    ("slurm-sim", EVENTS),
    (
        "native",
        "id,submit,runtime,gpus,tasks,models,after,array,workers_max,curve,estimate,observed_start\n\
         a,0,10,12,1x8;1x4:cpu=5,A|B,,7:3,,,unlimited,3\nb,1.5,8h,2,,,a,,4,power:0.8,1h30m,2\n",
    ),
];

#[test]
fn cut_at_any_byte_nothing_panics() {
    for (format, text) in samples() {
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

/// Samples of all formats.
fn samples() -> Vec<(&'static str, &'static str)> {
    SAMPLES.into_iter().chain(PUBLIC).chain(JSON).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    /// Fields replaced by hostile ones, rows and columns moved and doubled, bytes flipped: never a panic.
    #[test]
    fn hostile_fields_are_refused_or_ruled_on(
        which in 0..samples().len(),
        edits in prop::collection::vec((0..40_usize, 0..40_usize, 0..HOSTILE.len()), 1..4),
        double in prop::option::of(0..4_usize),
        flip in prop::option::of((0..400_usize, any::<u8>())),
        forced in any::<bool>(),
    ) {
        let (format, text) = samples()[which];
        let comma = match format {
            "swf" | "slurm-sim" => ' ',
            "sacct" => '|',
            _ => ',',
        };
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
    fn any_bytes_are_refused_or_read(bytes in prop::collection::vec(any::<u8>(), 0..300), which in 0..=samples().len()) {
        check_bytes(samples().get(which).map(|sample| sample.0), bytes.clone());
        let mut packed = vec![0x1f, 0x8b];
        packed.extend(&bytes);
        check_bytes(None, packed);
    }
}

const HOSTILE: [&str; 36] = [
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
    "12_[1-4294967295%1]",
    "12+4294967296",
    "gres/gpu=1048576,gres/gpu:a=1048576,gres/gpu:b=1",
    "n[1-999999999]",
    "99999999-23:59:59",
    "CANCELLED by 99999999999999999999",
];
