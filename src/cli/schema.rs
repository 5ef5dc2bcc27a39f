//! `schedlab schema`.

use super::args::SchemaOf;
use super::output;
use crate::error::Error;
use crate::form;
use crate::scenario::{POLICY, SCENARIO};

/// Prints the JSON Schema of a kind of file.
pub fn schema(what: SchemaOf) -> Result<(), Error> {
    let schema = match what {
        SchemaOf::Scenario => form::schema("schedlab scenario", &SCENARIO),
        SchemaOf::Policy => form::schema("schedlab policy", &POLICY),
    };
    output::print(&format!("{schema:#}\n"))
}
