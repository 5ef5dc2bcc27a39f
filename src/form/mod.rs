//! Files read by form: a [`Form`] lists the keys and tables of a TOML file once, and the reader, `--set`, the JSON Schema
//! and the help all work from it.
//!
//! Reading never stops at a fault: it collects them, each with the place in its file, what was expected, and the nearest
//! valid name. It knows nothing of schedulers or clusters.

mod describe;
mod fault;
mod place;
mod read;
mod reference;
mod schema;
mod set;
mod tree;

pub use describe::{Form, Part};
pub use fault::{Fault, Faults};
pub use place::{Place, SourceText};
pub use read::{Filled, check, read_value};
pub use reference::reference;
pub use schema::{describe_values, schema};
pub use set::Setting;
pub use tree::{Node, Tree};
