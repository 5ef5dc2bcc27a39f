//! Randomness by hash of (seed, purpose, entity, ordinal), never by order of use, so that two policies under one seed see
//! the same arrivals, durations and failures whatever they do.

/// What a draw is for: draws of different purposes are independent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub enum Purpose {
    /// When jobs arrive.
    Arrival = 1,
    /// How long they run.
    Duration = 2,
    /// What they ask for.
    Request = 3,
    /// How wrong an estimate is.
    Estimate = 4,
    /// Which jobs a downsample keeps, and a shuffle's order.
    Sample = 5,
    /// A policy's own random choice.
    Policy = 6,
    /// Failures and repairs.
    Failure = 7,
    /// What users do.
    Behaviour = 8,
    /// Order of nodes.
    NodeOrder = 9,
    /// What a bootstrap draws again.
    Resample = 10,
    /// Which value of a range a sampled grid takes.
    Hypercube = 11,
    /// What an inference service needs.
    Demand = 12,
    /// How a population evolves.
    Evolution = 20,
}

/// SplitMix64's finaliser (Steele, Lea, Flood 2014): a bijection of 64 bits that passes avalanche tests.
const fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// 64 random bits of (seed, purpose, entity, ordinal).
pub const fn draw(seed: u64, purpose: Purpose, entity: u64, ordinal: u64) -> u64 {
    const GAMMA: u64 = 0x9e37_79b9_7f4a_7c15;
    let a = mix(seed.wrapping_add(GAMMA));
    let b = mix(a ^ (purpose as u64).wrapping_mul(GAMMA));
    let c = mix(b.wrapping_add(entity.wrapping_mul(0xd1b5_4a32_d192_ed03)).wrapping_add(GAMMA));
    mix(c ^ ordinal.wrapping_mul(0xaef1_7502_b3e9_d5a7).wrapping_add(GAMMA))
}

/// 64 bits of a name (FNV-1a, finished), for entities that are known by name rather than by number.
pub const fn text(name: &str) -> u64 {
    let bytes = name.as_bytes();
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    let mut at = 0;
    while at < bytes.len() {
        hash = (hash ^ bytes[at] as u64).wrapping_mul(0x0000_0100_0000_01b3);
        at += 1;
    }
    mix(hash)
}

/// A uniform number in [0, 1) with 53 random bits.
pub fn unit(seed: u64, purpose: Purpose, entity: u64, ordinal: u64) -> f64 {
    (draw(seed, purpose, entity, ordinal) >> 11) as f64 / (1_u64 << 53) as f64
}

/// A uniform index in `0..n` (multiply-shift; bias below n / 2^64).
///
/// Panics if `n` is zero.
pub fn index(seed: u64, purpose: Purpose, entity: u64, ordinal: u64, n: usize) -> usize {
    assert!(0 < n, "an index into nothing");
    ((u128::from(draw(seed, purpose, entity, ordinal)) * n as u128) >> 64) as usize
}

/// A standard normal number (Box-Muller, the cosine half).
pub fn normal(seed: u64, purpose: Purpose, entity: u64, ordinal: u64) -> f64 {
    let (a, b) = (unit(seed, purpose, entity, ordinal.wrapping_mul(2)), unit(seed, purpose, entity, ordinal.wrapping_mul(2) + 1));
    libm::sqrt(-2.0 * libm::log1p(-a)) * libm::cos(2.0 * std::f64::consts::PI * b)
}

/// A generator seeded by (seed, purpose, entity), for library code that wants `rand`'s interface.
pub struct Draws {
    seed: u64,
    purpose: Purpose,
    entity: u64,
    ordinal: u64,
}

impl Draws {
    /// The stream of draws of one entity, starting at ordinal 0.
    pub fn new(seed: u64, purpose: Purpose, entity: u64) -> Draws {
        Draws { seed, purpose, entity, ordinal: 0 }
    }
    /// The next 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.ordinal += 1;
        draw(self.seed, self.purpose, self.entity, self.ordinal - 1)
    }
    /// The next uniform number in [0, 1).
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1_u64 << 53) as f64
    }
    /// The next uniform index in `0..n`; panics if `n` is zero.
    pub fn index(&mut self, n: usize) -> usize {
        assert!(0 < n, "an index into nothing");
        ((u128::from(self.bits()) * n as u128) >> 64) as usize
    }
    /// An exponential variate with the given mean.
    pub fn exponential(&mut self, mean: f64) -> f64 {
        -mean * libm::log1p(-self.unit())
    }
    /// A standard normal variate (Box-Muller, the cosine half: two draws each).
    pub fn normal(&mut self) -> f64 {
        let radius = libm::sqrt(-2.0 * libm::log1p(-self.unit()));
        radius * libm::cos(2.0 * std::f64::consts::PI * self.unit())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_do_not_depend_on_order_and_fill_the_unit_interval() {
        let forward: Vec<u64> = (0..100).map(|n| draw(1, Purpose::Arrival, 7, n)).collect();
        let mut backward: Vec<u64> = (0..100).rev().map(|n| draw(1, Purpose::Arrival, 7, n)).collect();
        backward.reverse();
        assert_eq!(forward, backward);
        let mean: f64 = (0..10_000).map(|n| unit(3, Purpose::Duration, n, 0)).sum::<f64>() / 10_000.0;
        assert!((mean - 0.5).abs() < 0.01, "{mean}");
        assert_ne!(draw(1, Purpose::Arrival, 7, 0), draw(1, Purpose::Duration, 7, 0));
        assert_ne!(draw(1, Purpose::Arrival, 7, 1), draw(1, Purpose::Arrival, 8, 0));
    }
}
