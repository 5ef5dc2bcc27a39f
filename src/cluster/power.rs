//! What GPUs and CPU packages draw, and what is known of models.

/// How the power of a GPU grows with its use.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PowerCurve {
    /// Idle power without a task, full power with any (Lettich et al., CCGrid 2025).
    Step,
    /// In proportion to its use.
    Linear,
    /// A part for being in use at all, the rest in proportion (ours; measured contexts of data-centre GPUs draw 26 to 50 W).
    Activation {
        /// That part, in watts.
        watts: f64,
    },
}

impl PowerCurve {
    /// Watts of a GPU of which `used` thousandths are in use.
    pub fn watts(self, idle: f64, full: f64, used: u16) -> f64 {
        let part = f64::from(used) / 1000.0;
        match self {
            _ if used == 0 => idle,
            PowerCurve::Step => full,
            PowerCurve::Linear => idle + (full - idle) * part,
            PowerCurve::Activation { watts } => idle + watts + (full - idle - watts).max(0.0) * part,
        }
    }
}

/// CPU packages of a node: each idle, or in full use as soon as a core of it is (Lettich et al., CCGrid 2025).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Packages {
    /// Watts when idle.
    pub idle: f64,
    /// Watts in use.
    pub full: f64,
    /// Physical cores; each is two CPUs of a request.
    pub cores: u64,
}

impl Packages {
    /// Watts above all-idle of `busy` milli-cores asked for.
    pub fn watts(&self, busy: u64) -> f64 {
        busy.div_ceil(2000 * self.cores) as f64 * (self.full - self.idle)
    }
}

/// Idle and full watts of well-known models, for scenarios that state none. T4 to A100: as in the artifact of Lettich et al. (CCGrid 2025),
/// `G2` and `G3` of openb read as A10 and A100 by its authors' guess. Later models: full watts from data sheets, idle watts our estimate.
pub fn known_watts(model: &str) -> Option<(f64, f64)> {
    model.split([' ', '-', '_']).find_map(known_word)
}

/// The same of one word of a name: "NVIDIA A100-SXM4-80GB" is an A100.
fn known_word(word: &str) -> Option<(f64, f64)> {
    Some(match word.to_ascii_uppercase().as_str() {
        "T4" => (10.0, 70.0),
        "A10" | "G2" => (30.0, 150.0),
        "P100" => (25.0, 250.0),
        "V100" | "V100M16" | "V100M32" => (30.0, 300.0),
        "A100" | "G3" => (50.0, 400.0),
        "H100" => (70.0, 700.0),
        "H200" => (75.0, 700.0),
        "B200" => (140.0, 1000.0),
        "B300" => (150.0, 1100.0),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn curves_begin_at_idle_and_end_at_full() {
        for curve in [PowerCurve::Step, PowerCurve::Linear, PowerCurve::Activation { watts: 40.0 }] {
            assert_eq!((curve.watts(30.0, 150.0, 0), curve.watts(30.0, 150.0, 1000)), (30.0, 150.0));
        }
        assert_eq!(PowerCurve::Linear.watts(30.0, 150.0, 500), 90.0);
        assert_eq!(PowerCurve::Activation { watts: 40.0 }.watts(30.0, 150.0, 500), 110.0);
    }

    #[test]
    fn a_package_is_in_use_with_its_first_core() {
        let packages = Packages { idle: 20.0, full: 165.0, cores: 24 };
        assert_eq!([0, 1, 48_000, 48_001].map(|busy| packages.watts(busy)), [0.0, 145.0, 145.0, 290.0]);
    }
}
