//! Scheduling policies: what they see, what they propose, and the stages most are made of.

mod spec;

pub use spec::{CONTRACT_KNOBS, Choice, PolicySpec, Stage};

use crate::engine::{Case, Policy};
use crate::registry::Info;

pub(crate) fn infos(_stage: Stage) -> Vec<Info> {
    Vec::new()
}
pub(crate) fn build(_spec: &PolicySpec, _case: &Case) -> Result<Box<dyn Policy>, Vec<String>> {
    Err(vec!["in work".into()])
}
pub(crate) fn conflicts(_spec: &PolicySpec) -> Vec<String> {
    Vec::new()
}
