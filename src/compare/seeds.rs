//! Which runs are pairs.

/// A run, as far as pairing goes.
pub trait Seeded {
    /// Its seed: runs that share one share their draws.
    fn seed(&self) -> u64;
    /// Hash of its ledger: equal where the same happened.
    fn ledger_hash(&self) -> &str;
}

/// Runs of one seed, base first, in the order of `own`. Where two seeds gave the same two runs they are one pair: a run that is made again
/// is no evidence.
pub fn by_seed<'b, 'o, B: Seeded, O: Seeded>(
    base: impl Iterator<Item = &'b B> + Clone,
    own: impl Iterator<Item = &'o O>,
) -> Vec<(&'b B, &'o O)> {
    let mut pairs: Vec<(&B, &O)> = Vec::new();
    for own in own {
        let Some(base) = base.clone().find(|it| it.seed() == own.seed()) else { continue };
        let same = |it: &(&B, &O)| it.0.ledger_hash() == base.ledger_hash() && it.1.ledger_hash() == own.ledger_hash();
        if !pairs.iter().any(same) {
            pairs.push((base, own));
        }
    }
    pairs
}
