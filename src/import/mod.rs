//! What a real cluster says of itself, read: its nodes, its account tree, its scheduler's configuration. Of it a scenario and a policy are written, which the
//! program reads like any other; nothing else here knows how they are run.
//!
//! Sources: scontrol(1), sinfo(1), sshare(1), sacctmgr(1), slurm.conf(5), of Slurm 20.11 to 24.05; tried on 22.05.

mod conf;
mod kind;
mod nodes;
mod policy;
mod scenario;
mod tree;

pub use conf::{Conf, Line};
pub use kind::{Kind, kind_of};
pub use nodes::{Machine, scontrol, sinfo};
pub use policy::{PolicyText, policy};
pub use scenario::{Imported, Partitions, Shape, charge, inferred, scenario};
pub use tree::{Differs, Tree, TreeRow, assoc, sshare};

use crate::form::{Place, SourceText};
use std::sync::Arc;

/// A text with its lines, so that what is wrong can be shown where it stands.
struct Lines<'s> {
    source: &'s Arc<SourceText>,
}

impl<'s> Lines<'s> {
    fn new(source: &'s Arc<SourceText>) -> Lines<'s> {
        Lines { source }
    }
    /// Every line with its first byte.
    fn iter(&self) -> impl Iterator<Item = (usize, &'s str)> {
        let text = &self.source.text;
        text.split_inclusive('\n').scan(0, |at, line| {
            let start = *at;
            *at += line.len();
            Some((start, line.trim_end_matches(['\n', '\r'])))
        })
    }
    /// Where a part of the text stands.
    fn place(&self, part: &str) -> Place {
        let start = (part.as_ptr() as usize).saturating_sub(self.source.text.as_ptr() as usize).min(self.source.text.len());
        Place { source: self.source.clone(), start, end: (start + part.len()).min(self.source.text.len()) }
    }
}
