//! Which weights hold: by the mean load of the GPUs, with hysteresis.

use crate::registry::Knobs;

/// What each term counts: fragmentation, power, failures.
pub(in crate::policy::place) type Weights = [f64; 3];

/// The weights of each regime, and the regime that holds.
pub(in crate::policy::place) struct Regimes {
    weights: Vec<Weights>,
    /// A mean load from which the next regime holds.
    from: Vec<f64>,
    hysteresis: f64,
    at: usize,
}

impl Regimes {
    /// The same weights at any load.
    pub(in crate::policy::place) fn one(weights: Weights) -> Regimes {
        Regimes { weights: vec![weights], from: Vec::new(), hysteresis: 0.0, at: 0 }
    }
    /// As the knobs of `gfgd` say.
    pub(in crate::policy::place) fn of(knobs: &Knobs) -> Regimes {
        let weights = |regime: &str| ["frag", "pwr", "fail"].map(|term| knobs.float(&format!("{regime}{term}")));
        if !knobs.flag("regimes") {
            return Regimes::one(weights(""));
        }
        Regimes {
            weights: ["low_", "mid_", "high_"].map(weights).into(),
            from: vec![knobs.float("mid_from"), knobs.float("high_from")],
            hysteresis: knobs.float("hysteresis"),
            at: 0,
        }
    }
    /// The weights of the highest regime.
    pub(super) fn highest(&self) -> Weights {
        self.weights[self.weights.len() - 1]
    }
    /// The weights at that mean load: a regime holds from its threshold up, and until the load is below that by the hysteresis.
    pub(super) fn weights(&mut self, load: f64) -> Weights {
        while self.at < self.from.len() && self.from[self.at] <= load {
            self.at += 1;
        }
        while 0 < self.at && load < self.from[self.at - 1] - self.hysteresis {
            self.at -= 1;
        }
        self.weights[self.at]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_regime_is_left_later_than_it_is_entered() {
        let weights = [0.0, 1.0, 2.0].map(|n| [n, 0.0, 0.0]).into();
        let mut regimes = Regimes { weights, from: vec![0.35, 0.70], hysteresis: 0.02, at: 0 };
        let loads = [0.34, 0.35, 0.34, 0.329, 0.8, 0.69, 0.67, 0.1];
        assert_eq!(loads.map(|load| regimes.weights(load)[0]), [0.0, 1.0, 1.0, 0.0, 2.0, 2.0, 1.0, 0.0]);
    }
}
