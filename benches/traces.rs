//! Reading of traces, in bytes of text a second: plain and compressed, at a small and a full size.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use schedlab::registry::{Knobs, Value};
use schedlab::trace::{self, ReadOptions};
use schedlab::units::MilliGpu;
use schedlab::workload::{Catalog, synth};
use std::hint::black_box;
use std::io::{Cursor, Read, Write};
use std::path::Path;
use std::sync::Arc;

/// A generated history of `jobs` jobs in the native format.
fn history(jobs: i64) -> Vec<u8> {
    let mut table = Knobs::defaults(synth::KNOBS);
    table.set("jobs", Value::Int(jobs));
    table.set("accounts", Value::Text("a/a1:3 a/a2:2 b:1".into()));
    let mut class = Knobs::defaults(synth::CLASS_KNOBS);
    class.set("gpus", Value::Text("1:6 4:2 8:1 16:1".into()));
    class.set("estimate_over", Value::Float(3.0));
    let synth = synth::Synth::new(&table, &[class]).expect("the knobs fit");
    let mut catalog = Catalog::default();
    let workload = synth::generate(&synth, MilliGpu::from_gpus(1024), 1, &mut catalog).expect("jobs are counted");
    let mut text = Vec::new();
    trace::write_native(&workload, &catalog, &mut text).expect("names fit the format");
    text
}

fn read(bytes: &Arc<[u8]>) -> usize {
    let stream = Box::new(Cursor::new(bytes.clone()));
    let mut catalog = Catalog::default();
    let import = trace::read_from(Path::new("bench.csv"), stream, None, &ReadOptions::default(), &mut catalog);
    import.expect("it was written by us").workload.jobs.len()
}

#[path = "../tests/readers/sacct_rows.rs"]
mod sacct_rows;

/// A dump of `sacct` in a zone whose clock is put forward and back.
fn read_sacct(bytes: &Arc<[u8]>) -> usize {
    let stream = Box::new(Cursor::new(bytes.clone()));
    let mut knobs = Knobs::default();
    knobs.set("zone", Value::Text("Europe/Berlin".into()));
    let options = ReadOptions { knobs, ..ReadOptions::default() };
    let import = trace::read_from(Path::new("bench.txt"), stream, None, &options, &mut Catalog::default());
    import.expect("it was written by us").workload.jobs.len()
}

fn sacct(c: &mut Criterion) {
    let mut group = c.benchmark_group("read sacct");
    group.sample_size(10);
    for rows in [10_000, 1_000_000] {
        let mut text = Vec::new();
        sacct_rows::Dump::new(rows).read_to_end(&mut text).expect("memory does not fail");
        group.throughput(Throughput::Bytes(text.len() as u64));
        let bytes: Arc<[u8]> = text.into();
        group.bench_function(format!("{rows} rows"), |b| b.iter(|| read_sacct(black_box(&bytes))));
    }
    group.finish();
}

fn traces(c: &mut Criterion) {
    let mut group = c.benchmark_group("read native");
    group.sample_size(10);
    for jobs in [10_000, 1_000_000] {
        let plain = history(jobs);
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        gzip.write_all(&plain).expect("memory does not fail");
        let gzip = gzip.finish().expect("memory does not fail");
        let zstd = zstd::stream::encode_all(plain.as_slice(), 3).expect("memory does not fail");
        group.throughput(Throughput::Bytes(plain.len() as u64));
        for (name, bytes) in [("plain", plain), ("gzip", gzip), ("zstd", zstd)] {
            let bytes: Arc<[u8]> = bytes.into();
            group.bench_function(format!("{name}, {jobs} jobs"), |b| b.iter(|| read(black_box(&bytes))));
        }
    }
    group.finish();
}

criterion_group!(benches, traces, sacct);
criterion_main!(benches);
