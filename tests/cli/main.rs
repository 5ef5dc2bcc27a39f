//! The command line as a user meets it: help, lists and schemas, every message about wrong input, and runs from end to end.

mod batch;
mod book;
mod check;
mod evolve;
mod import;
mod messages;
mod predict;
mod readme;
mod runs;
mod schema;
mod smallest;
mod sweep;
mod traces;

// So that the example in the README is compiled here as it would stand in the library.
use schedlab::{engine, ids, policy, registry};

/// Command lines with their output, in `tests/cmd`.
#[test]
fn commands_print_what_they_should() {
    trycmd::TestCases::new().case("tests/cmd/*.trycmd");
}
