//! A trained model: trees, what they were trained on, and the file that holds both.
//!
//! Differs from the file of the library that grows the trees: only what a prediction needs is kept, sums are taken in the order of the
//! file and the logistic function is `libm`'s, so that a file says the same on every machine.

use super::score::Scores;
use super::watch::{FEATURES, Features};
use serde::{Deserialize, Serialize};

/// What a file says of itself first.
const FORMAT: &str = "schedlab predictor 1";
/// Most trees and nodes of a tree that are read (our choice: far above what is trained).
const TREES_MAX: usize = 10_000;
const NODES_MAX: usize = 1 << 16;

/// One node of a tree.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Node {
    /// Feature, threshold, the node for values below it, and the node for all others. Both come later in the tree.
    Split(usize, f64, usize, usize),
    /// What the tree adds.
    Leaf(f64),
}

/// Where a model comes from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Provenance {
    /// The version of this program.
    pub schedlab: String,
    /// The scenario.
    pub scenario: String,
    /// Hash of all inputs of its cases.
    pub inputs: String,
    /// What was set besides.
    pub settings: Vec<String>,
    /// The policy that made the decisions.
    pub policy: String,
    /// Hash of all its knobs.
    pub policy_hash: String,
    /// The seeds.
    pub seeds: Vec<u64>,
    /// How far ahead is asked, in seconds.
    pub ahead_s: u64,
}

/// A model: the log-odds of a refusal are `base` and what each tree adds.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Model {
    format: String,
    /// Where it comes from.
    pub provenance: Provenance,
    /// How good it was on the last part of each run.
    pub scores: Scores,
    features: Vec<String>,
    base: f64,
    trees: Vec<Vec<Node>>,
}

/// All of a model but its trees, which a file has a line each of.
#[derive(Serialize)]
struct Head<'a> {
    format: &'a str,
    provenance: &'a Provenance,
    scores: &'a Scores,
    features: &'a [String],
    base: f64,
}

/// Why a text is no model that can be used.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum Foreign {
    /// It is not of this form.
    #[error("it is not the file of a predictor: {0}")]
    Form(String),
    /// Another version wrote it.
    #[error("it says `{0}`, and `{FORMAT}` is expected")]
    Format(String),
    /// Its features are not those that are computed.
    #[error("it goes by other features than this version computes")]
    Features,
    /// A tree is not a tree over the features.
    #[error("its tree {0} leads nowhere")]
    Tree(usize),
}

impl Model {
    /// A model of trees that were just grown.
    ///
    /// - Errors: [`Foreign::Tree`] if they are none.
    pub fn new(base: f64, trees: Vec<Vec<Node>>, provenance: Provenance, scores: Scores) -> Result<Model, Foreign> {
        let features = FEATURES.map(String::from).to_vec();
        Model { format: FORMAT.into(), provenance, scores, features, base, trees }.checked()
    }
    /// Reads the text of a file.
    ///
    /// - Errors: why it is no model that can be used here.
    pub fn read(text: &str) -> Result<Model, Foreign> {
        let model: Model = serde_json::from_str(text).map_err(|error| Foreign::Form(error.to_string()))?;
        model.checked()
    }
    /// The text of its file.
    pub fn text(&self) -> String {
        let Model { format, provenance, scores, features, base, trees } = self;
        let head = Head { format, provenance, scores, features, base: *base };
        let head = serde_json::to_string_pretty(&head).expect("models hold finite numbers and text keys");
        let lines: Vec<String> =
            trees.iter().map(|tree| serde_json::to_string(tree).expect("trees hold finite numbers")).collect();
        format!("{},\n  \"trees\": [\n    {}\n  ]\n}}\n", head.trim_end_matches("\n}"), lines.join(",\n    "))
    }
    /// The probability of a refusal, 0 to 1.
    pub fn probability(&self, features: &Features) -> f64 {
        let sum = self.trees.iter().fold(self.base, |sum, tree| sum + value(tree, features));
        1.0 / (1.0 + libm::exp(-sum))
    }
    /// How many trees.
    pub fn trees(&self) -> usize {
        self.trees.len()
    }

    fn checked(self) -> Result<Model, Foreign> {
        if self.format != FORMAT {
            return Err(Foreign::Format(self.format));
        }
        if self.features != FEATURES {
            return Err(Foreign::Features);
        }
        if TREES_MAX < self.trees.len() || !self.base.is_finite() {
            return Err(Foreign::Tree(TREES_MAX.min(self.trees.len())));
        }
        match self.trees.iter().position(|tree| !is_tree(tree)) {
            Some(row) => Err(Foreign::Tree(row)),
            None => Ok(self),
        }
    }
}

/// Whether every way through it ends at a leaf.
fn is_tree(tree: &[Node]) -> bool {
    let fine = |(row, node): (usize, &Node)| match *node {
        Node::Leaf(value) => value.is_finite(),
        Node::Split(feature, at, below, rest) => {
            let later = |child| row < child && child < tree.len();
            feature < FEATURES.len() && at.is_finite() && later(below) && later(rest)
        }
    };
    !tree.is_empty() && tree.len() <= NODES_MAX && tree.iter().enumerate().all(fine)
}

fn value(tree: &[Node], features: &Features) -> f64 {
    let mut at = 0;
    loop {
        match tree[at] {
            Node::Leaf(value) => return value,
            Node::Split(feature, threshold, below, rest) => at = if features[feature] < threshold { below } else { rest },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::predict::{Counts, watch};

    fn model(trees: Vec<Vec<Node>>) -> Result<Model, Foreign> {
        let provenance = Provenance {
            schedlab: "0".into(),
            scenario: "s".into(),
            inputs: "i".into(),
            settings: Vec::new(),
            policy: "p".into(),
            policy_hash: "h".into(),
            seeds: vec![1],
            ahead_s: 60,
        };
        let counts = Counts { samples: 2, refused: 1 };
        Model::new(0.0, trees, provenance, Scores::of(&[(0.5, 0.1, false), (0.6, 0.2, true)], counts, 0.5))
    }

    #[test]
    fn a_tree_is_walked_to_its_leaf_and_a_file_says_the_same() {
        let tree = vec![Node::Split(watch::LOAD, 0.5, 1, 2), Node::Leaf(-1.0), Node::Leaf(2.0)];
        let model = model(vec![tree.clone(), tree]).unwrap();
        let mut features = [0.0; FEATURES.len()];
        assert_eq!(model.probability(&features), 1.0 / (1.0 + libm::exp(2.0)));
        features[watch::LOAD] = 0.5;
        assert_eq!(model.probability(&features), 1.0 / (1.0 + libm::exp(-4.0)), "a threshold belongs to what is above");
        let again = Model::read(&model.text()).unwrap();
        assert_eq!((again.text(), again), (model.text(), model));
    }

    #[test]
    fn what_is_no_tree_is_refused() {
        let wrong = [
            vec![],
            vec![Node::Leaf(f64::NAN)],
            vec![Node::Split(0, 0.5, 0, 1), Node::Leaf(0.0)],
            vec![Node::Split(0, 0.5, 1, 2), Node::Leaf(0.0)],
            vec![Node::Split(FEATURES.len(), 0.5, 1, 2), Node::Leaf(0.0), Node::Leaf(0.0)],
        ];
        for tree in wrong {
            assert_eq!(model(vec![tree.clone()]).unwrap_err(), Foreign::Tree(0), "{tree:?}");
        }
        let text = model(Vec::new()).unwrap().text();
        assert!(matches!(Model::read(&text.replace("predictor 1", "predictor 2")), Err(Foreign::Format(_))));
        assert_eq!(Model::read(&text.replace("load_mean", "load")), Err(Foreign::Features));
        assert!(matches!(Model::read(&text[..text.len() / 2]), Err(Foreign::Form(_))));
        assert!(matches!(Model::read("{}"), Err(Foreign::Form(_))));
    }
}
