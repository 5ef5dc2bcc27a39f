//! One binary for the tests that run whole cases, so that the library is linked once.

#[path = "suite/bench.rs"]
mod bench;
#[path = "suite/drives.rs"]
mod drives;
#[path = "suite/timeline.rs"]
mod timeline;
