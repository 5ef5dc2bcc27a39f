//! `slurm.conf`: settings, and lines of nodes and partitions.

use super::Lines;
use crate::form::{Fault, Faults, Place, SourceText};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A setting or a word of a line, and where it stands.
#[derive(Clone, Debug, PartialEq)]
pub struct Word {
    /// The value.
    pub value: String,
    /// Where.
    pub at: Place,
}

/// A line of several words, such as that of a node. Keys are in small letters.
pub type Line = BTreeMap<String, Word>;

/// A configuration. Keys are in small letters; of a key that stands twice the last counts, as in Slurm.
#[derive(Clone, Debug, Default)]
pub struct Conf {
    /// Settings.
    pub settings: BTreeMap<String, Word>,
    /// Lines that begin with `NodeName`.
    pub nodes: Vec<Line>,
    /// Lines that begin with `PartitionName`.
    pub partitions: Vec<Line>,
    /// Files that it includes.
    pub includes: Vec<Word>,
}

impl Conf {
    /// Reads a configuration. Comments, continued lines and quoted values are as in slurm.conf(5).
    pub fn read(source: &Arc<SourceText>, faults: &mut Faults) -> Conf {
        let mut conf = Conf::default();
        let lines = Lines::new(source);
        let mut open: Option<Line> = None;
        for (_, line) in lines.iter() {
            let line = uncommented(line).trim();
            let (line, continues) = match line.strip_suffix('\\') {
                Some(rest) => (rest.trim_end(), true),
                None => (line, false),
            };
            let mut words = open.take().unwrap_or_default();
            let mut first = None;
            for word in split(line) {
                let place = lines.place(word);
                if let Some((key, value)) = word.split_once('=') {
                    let key = key.trim().to_lowercase();
                    first.get_or_insert_with(|| key.clone());
                    words.insert(key, Word { value: value.trim_matches('"').to_owned(), at: place });
                } else if first.is_none() && words.is_empty() && word.eq_ignore_ascii_case("include") {
                    first = Some("include".into());
                } else if first.as_deref() == Some("include") {
                    conf.includes.push(Word { value: word.to_owned(), at: place });
                } else {
                    faults.push(Fault::new(format!("`{word}` is no setting")).at(&place, "expected `Key=Value`"));
                }
            }
            if continues {
                open = Some(words);
                continue;
            }
            conf.take(words);
        }
        conf.take(open.unwrap_or_default());
        conf
    }
    fn take(&mut self, words: Line) {
        if words.contains_key("nodename") {
            self.nodes.push(words);
        } else if words.contains_key("partitionname") {
            self.partitions.push(words);
        } else {
            self.settings.extend(words);
        }
    }
    /// A setting.
    pub fn get(&self, key: &str) -> Option<&Word> {
        self.settings.get(key)
    }
    /// A setting in small letters, or a default.
    pub fn text(&self, key: &str, default: &str) -> String {
        self.get(key).map_or_else(|| default.to_owned(), |word| word.value.to_lowercase())
    }
}

/// What stands before a comment; `\#` is no comment.
fn uncommented(line: &str) -> &str {
    let mut before = ' ';
    for (at, sign) in line.char_indices() {
        if sign == '#' && before != '\\' {
            return &line[..at];
        }
        before = sign;
    }
    line
}

/// Words between white space, none within quotes.
fn split(line: &str) -> Vec<&str> {
    let (mut words, mut start, mut quoted) = (Vec::new(), None, false);
    for (at, sign) in line.char_indices() {
        quoted ^= sign == '"';
        if sign.is_whitespace() && !quoted {
            words.extend(start.take().map(|from: usize| &line[from..at]));
        } else {
            start.get_or_insert(at);
        }
    }
    words.extend(start.map(|from| &line[from..]));
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> (Conf, Faults) {
        let mut faults = Faults::new();
        let source = Arc::new(SourceText { name: "slurm.conf".into(), text: text.into() });
        (Conf::read(&source, &mut faults), faults)
    }

    #[test]
    fn comments_continued_lines_and_quotes_are_as_in_slurm() {
        let (conf, faults) = read(
            "# all\nPriorityType=priority/multifactor # that\nSCHEDULERPARAMETERS=\"bf_interval=15,defer\"\n\
             NodeName=n[1-4] CPUs=64 \\\n  Gres=gpu:h100:8 RealMemory=1000\nPartitionName=a Nodes=n[1-4]\ninclude more.conf\nprioritytype=priority/basic\n",
        );
        assert!(faults.is_empty());
        assert_eq!(conf.text("prioritytype", ""), "priority/basic");
        assert_eq!(conf.text("schedulerparameters", ""), "bf_interval=15,defer");
        assert_eq!((conf.nodes.len(), conf.partitions.len()), (1, 1));
        assert_eq!(conf.nodes[0]["gres"].value, "gpu:h100:8");
        assert_eq!(conf.includes[0].value, "more.conf");
    }

    #[test]
    fn what_is_no_setting_is_a_fault() {
        let (_, faults) = read("ClusterName=a\nnonsense here\n");
        assert_eq!(faults.len(), 2);
    }
}
