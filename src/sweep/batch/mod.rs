//! A sweep on many machines: what a batch system is given to run. Each shard is this program with the same arguments and a number of
//! its own, and a last job merges what they left.
//!
//! It makes texts and submits nothing; what a text holds has been checked by then, both the sweep and the words of its command.

mod kubernetes;
mod quote;
#[cfg(test)]
mod schema;
mod slurm;
mod yaml;

pub use kubernetes::{Kubernetes, manifest};
pub use slurm::{Slurm, job_id};

use crate::form::{Fault, Faults};

/// What every shard has in common.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Batch {
    /// Name of the scenario, for names of jobs.
    pub name: String,
    /// The program: a path, or a name that is looked up where it runs.
    pub program: String,
    /// Arguments of `sweep`, but for the shard, threads and the folder.
    pub arguments: Vec<String>,
    /// Where relative names among them are looked up.
    pub directory: String,
    /// The folder of the sweep.
    pub out: String,
    /// How many shards there are.
    pub shards: usize,
    /// Those that have something to run, from 1, ascending.
    pub missing: Vec<usize>,
    /// Cores, and runs at a time, of each.
    pub cpus: u16,
}

impl Batch {
    /// The shards that have something to run: row `r` belongs to shard `r % shards + 1`.
    pub fn shards_of(rows: &[usize], shards: usize) -> Vec<usize> {
        let mut own: Vec<usize> = rows.iter().map(|row| row % shards + 1).collect();
        own.sort_unstable();
        own.dedup();
        own
    }

    /// Refuses words that cannot stand in a script or manifest: those with line breaks or other control characters.
    pub fn check(&self, faults: &mut Faults) {
        let own = [&self.name, &self.program, &self.directory, &self.out];
        for word in own.into_iter().chain(&self.arguments) {
            check_word(word, faults);
        }
    }
}

/// Refuses a word that holds a line break or another control character.
fn check_word(word: &str, faults: &mut Faults) {
    if word.chars().any(char::is_control) {
        let fault = Fault::new(format!("`{}` holds a control character", word.escape_debug()));
        faults.push(fault.help("words of a batch job stand on one line; give files and folders plain names"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) fn batch() -> Batch {
        Batch {
            name: "quickstart".into(),
            program: "/opt/schedlab".into(),
            arguments: vec!["/data/quickstart.toml".into(), "--over=order.lookback=1d,7d".into()],
            directory: "/data".into(),
            out: "/data/out".into(),
            shards: 4,
            missing: vec![1, 2, 3, 4],
            cpus: 2,
        }
    }

    #[test]
    fn a_row_belongs_to_one_shard() {
        assert_eq!(Batch::shards_of(&[0, 4, 6], 4), [1, 3]);
        assert_eq!(Batch::shards_of(&(0..9).collect::<Vec<_>>(), 4), [1, 2, 3, 4]);
        assert_eq!(Batch::shards_of(&[], 4), [0; 0]);
    }

    #[test]
    fn control_characters_are_refused_all_at_once() {
        let hostile = Batch {
            arguments: vec!["--over=a\n#SBATCH --wrap=x".into(), "--set=a\u{7f}".into(), "--set=b c$d'e\"f".into()],
            out: "/out\r".into(),
            ..batch()
        };
        let mut faults = Faults::new();
        hostile.check(&mut faults);
        let said: Vec<String> = faults.into_sorted().iter().map(ToString::to_string).collect();
        assert_eq!(said.len(), 3, "{said:?}");
        assert!(said.contains(&"`--over=a\\n#SBATCH --wrap=x` holds a control character".into()), "{said:?}");
    }
}
