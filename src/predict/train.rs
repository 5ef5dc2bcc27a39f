//! Training: the trees are grown by `forust-ml`, on one thread and without sampling, so that the same samples give the same bytes.

use super::model::{Model, Node, Provenance};
use super::score::{Counts, Scores};
use super::table::Split;
use super::watch::{FEATURES, Features, LOAD};
use forust_ml::objective::ObjectiveType;
use forust_ml::{GradientBooster, Matrix};

/// Settings of the trees; all ours.
const TREES: usize = 100;
const DEPTH: usize = 3;
const RATE: f32 = 0.1;
const BINS: u16 = 64;

/// Why nothing can be learned, or judged.
#[derive(Debug, thiserror::Error)]
pub enum OneSided {
    /// All samples of one part are alike.
    #[error("of the {} samples of the {part} part of the runs, {} are followed by a refusal within a minute: there is nothing to tell apart", counts.samples, counts.refused)]
    Part {
        /// The first or the last.
        part: &'static str,
        /// How many there are.
        counts: Counts,
    },
    /// The library does not take them.
    #[error("trees cannot be grown from these samples: {0}")]
    Trees(String),
}

/// Learns from the training part, and judges by the other.
///
/// - Errors: one of the parts has no refusal, or nothing else; or what the library says.
pub fn train(split: &Split, provenance: Provenance) -> Result<Model, OneSided> {
    let (train, test) = (Counts::of(split.train.iter().map(|it| it.refused)), Counts::of(split.test.iter().map(|it| it.refused)));
    for (part, counts) in [("first", train), ("last", test)] {
        if counts.refused == 0 || counts.refused == counts.samples {
            return Err(OneSided::Part { part, counts });
        }
    }
    let rows: Vec<(&Features, bool)> = split.train.iter().map(|it| (&it.features, it.refused)).collect();
    let (base, trees) = grow(&rows)?;
    let wrong = |error: super::Foreign| OneSided::Trees(error.to_string());
    let unscored = Scores::of(&[], train, train.rate());
    let mut model = Model::new(base, trees, provenance, unscored).map_err(wrong)?;
    let judged: Vec<(f64, f64, bool)> =
        split.test.iter().map(|it| (model.probability(&it.features), it.features[LOAD], it.refused)).collect();
    model.scores = Scores::of(&judged, train, train.rate());
    Ok(model)
}

/// The log-odds of all rows together, and trees.
fn grow(rows: &[(&Features, bool)]) -> Result<(f64, Vec<Vec<Node>>), OneSided> {
    let columns: Vec<f64> = (0..FEATURES.len()).flat_map(|column| rows.iter().map(move |(row, _)| row[column])).collect();
    let labels: Vec<f64> = rows.iter().map(|(_, refused)| f64::from(u8::from(*refused))).collect();
    let rate = labels.iter().sum::<f64>() / labels.len() as f64;
    let base = libm::log(rate / (1.0 - rate));
    let mut booster = GradientBooster::default()
        .set_objective_type(ObjectiveType::LogLoss)
        .set_iterations(TREES)
        .set_learning_rate(RATE)
        .set_max_depth(DEPTH)
        .set_max_leaves(1 << DEPTH)
        .set_nbins(BINS)
        .set_initialize_base_score(false)
        .set_base_score(base)
        .set_parallel(false);
    let matrix = Matrix::new(&columns, rows.len(), FEATURES.len());
    booster.fit_unweighted(&matrix, &labels, None).map_err(|error| OneSided::Trees(error.to_string()))?;
    let mut trees = Vec::with_capacity(booster.trees.len());
    for tree in &booster.trees {
        let nodes = tree.nodes.iter().map(|it| match it.is_leaf {
            true => Node::Leaf(f64::from(it.weight_value)),
            false => Node::Split(it.split_feature, it.split_value, it.left_child, it.right_child),
        });
        trees.push(nodes.collect());
    }
    Ok((base, trees))
}
