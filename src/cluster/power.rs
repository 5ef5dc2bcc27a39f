//! What GPUs and CPU packages draw.

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
        if used == 0 { idle } else { self.watts_busy(idle, full, f64::from(used) / 1000.0) }
    }
    /// Watts of a GPU that has a task and of which `part`, 0 to 1, is in use.
    pub fn watts_busy(self, idle: f64, full: f64, part: f64) -> f64 {
        match self {
            PowerCurve::Step => full,
            PowerCurve::Linear => idle + (full - idle) * part,
            PowerCurve::Activation { watts } => idle + watts + (full - idle - watts).max(0.0) * part,
        }
    }
}

/// What counts as the use of a GPU, for its power and its failures.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum GpuLoad {
    /// What is claimed of it, whatever its jobs do with it.
    #[default]
    Claim,
    /// What is claimed times what the devices of each job did over what they held, where the trace says; else what is claimed.
    Use,
}

impl GpuLoad {
    /// Thousandths of its claims that a job uses, given what the trace says of it.
    pub fn share(self, utilization: Option<f64>) -> u32 {
        match (self, utilization) {
            (GpuLoad::Claim, _) | (GpuLoad::Use, None) => 1000,
            (GpuLoad::Use, Some(part)) => libm::round(part.clamp(0.0, 1.0) * 1000.0) as u32,
        }
    }
}

/// How the energy of a run is reckoned.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PowerSpec {
    /// Watts by use.
    pub curve: PowerCurve,
    /// What counts as use.
    pub load: GpuLoad,
}

impl Default for PowerSpec {
    fn default() -> Self {
        PowerSpec { curve: PowerCurve::Activation { watts: 40.0 }, load: GpuLoad::Claim }
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
