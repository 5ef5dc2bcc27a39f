//! Values in order of time, of which the n-th smallest over any set of stretches is found without looking at each of them.

/// A wavelet matrix: the bits of the values' ranks, from the most significant, each level partitioned by the bits before it.
///
/// - Cost: a lookup takes stretches x log(values). Memory: about 1.5 bits a value and level.
/// - Source: Claude, Navarro, Ordóñez, "The wavelet matrix", Information Systems 47 (2015).
pub(super) struct Ranks {
    /// Different values, ascending.
    sorted: Vec<f64>,
    levels: Vec<Bits>,
}

/// The bits of one level.
struct Bits {
    words: Vec<u64>,
    /// Ones before each word.
    before: Vec<u32>,
    /// Zeros in all: where those with a one begin on the next level.
    zeros: usize,
}

impl Bits {
    fn of(bits: impl ExactSizeIterator<Item = bool>) -> Bits {
        let mut words = vec![0_u64; bits.len() / 64 + 1];
        let mut ones = 0;
        let length = bits.len();
        for (row, bit) in bits.enumerate() {
            words[row / 64] |= u64::from(bit) << (row % 64);
            ones += usize::from(bit);
        }
        let mut before = Vec::with_capacity(words.len());
        let mut sum = 0;
        for word in &words {
            before.push(sum);
            sum += word.count_ones();
        }
        Bits { words, before, zeros: length - ones }
    }
    /// Ones before a row.
    fn ones(&self, row: usize) -> usize {
        let within = self.words[row / 64] & ((1_u64 << (row % 64)) - 1);
        self.before[row / 64] as usize + within.count_ones() as usize
    }
}

impl Ranks {
    /// Of `values`, none of which is NaN.
    pub(super) fn new(values: &[f64]) -> Ranks {
        let mut sorted = values.to_vec();
        sorted.sort_unstable_by(f64::total_cmp);
        sorted.dedup_by(|a, b| a.total_cmp(b).is_eq());
        let mut ranks: Vec<usize> = values.iter().map(|value| sorted.partition_point(|it| it.total_cmp(value).is_lt())).collect();
        let depth = usize::BITS - sorted.len().saturating_sub(1).leading_zeros();
        let mut levels = Vec::new();
        let mut next = Vec::with_capacity(ranks.len());
        for bit in (0..depth).rev() {
            levels.push(Bits::of(ranks.iter().map(|rank| rank >> bit & 1 == 1)));
            next.clear();
            for one in [0, 1] {
                next.extend(ranks.iter().filter(|rank| **rank >> bit & 1 == one));
            }
            std::mem::swap(&mut ranks, &mut next);
        }
        Ranks { sorted, levels }
    }

    /// The `n`-th smallest value (from 0) of all in `stretches`, rows from and to; a row in two of them counts twice. The stretches are
    /// used up.
    ///
    /// Panics if there are no more than `n`.
    pub(super) fn nth(&self, stretches: &mut [(usize, usize)], mut n: usize) -> f64 {
        let mut rank = 0;
        for level in &self.levels {
            let zeros: usize = stretches.iter().map(|&(from, to)| (to - level.ones(to)) - (from - level.ones(from))).sum();
            let one = zeros <= n;
            rank = rank << 1 | usize::from(one);
            n -= if one { zeros } else { 0 };
            for (from, to) in stretches.iter_mut() {
                let ones = (level.ones(*from), level.ones(*to));
                (*from, *to) = if one { (level.zeros + ones.0, level.zeros + ones.1) } else { (*from - ones.0, *to - ones.1) };
            }
        }
        self.sorted[rank]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seed::{Draws, Purpose};

    #[test]
    fn the_nth_is_that_of_a_sort() {
        let mut draws = Draws::new(3, Purpose::Sample, 0);
        for size in [1, 2, 63, 64, 65, 300] {
            let values: Vec<f64> = (0..size).map(|_| draws.index(40) as f64).collect();
            let ranks = Ranks::new(&values);
            for _ in 0..50 {
                let stretches: Vec<(usize, usize)> = (0..1 + draws.index(4))
                    .map(|_| {
                        let from = draws.index(size);
                        (from, from + 1 + draws.index(size - from))
                    })
                    .collect();
                let mut plain: Vec<f64> = stretches.iter().flat_map(|&(from, to)| &values[from..to]).copied().collect();
                plain.sort_unstable_by(f64::total_cmp);
                let n = draws.index(plain.len());
                assert_eq!(ranks.nth(&mut stretches.clone(), n), plain[n], "{n} of {stretches:?}");
            }
        }
    }
}
