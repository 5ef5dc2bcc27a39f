//! Elastic work: how many workers a job may hold, what they yield together, and on what they may lie.

/// How an elastic job's rate grows with its workers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Curve {
    /// phi(w) = w.
    Linear,
    /// phi(w) = base * (w / base)^alpha.
    Power {
        /// The exponent, 0 to 1.
        alpha: f64,
    },
    /// phi(w) = base + lambda * (w - base).
    Loss {
        /// What a worker beyond the base yields of a full one, 0 to 1.
        lambda: f64,
    },
    /// phi by points, straight between them, level beyond the last.
    Table(Points),
}

/// Points of a curve: workers, which rise, and what so many yield together, which does not fall. At least one, at most eight.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Points {
    rows: [(u32, f64); 8],
    len: u8,
}

impl Points {
    /// Most points of a curve.
    pub const MOST: usize = 8;

    /// Points whose workers rise from at least 1 and whose yields rise, or at least do not fall, from above 0; `None` otherwise.
    pub fn new(points: &[(u32, f64)]) -> Option<Points> {
        let first = points.first()?;
        let rises = points.windows(2).all(|pair| pair[0].0 < pair[1].0 && pair[0].1 <= pair[1].1);
        // Beyond that rates lose their meaning: a job that yields nearly nothing never ends.
        let bounded = |yields: &f64| (1e-6..=1e6).contains(yields);
        let sound = 1 <= first.0 && points.iter().all(|point| bounded(&point.1) && bounded(&(point.1 / first.1)));
        if Points::MOST < points.len() || !rises || !sound {
            return None;
        }
        let mut rows = [*first; 8];
        rows[..points.len()].copy_from_slice(points);
        Some(Points { rows, len: points.len() as u8 })
    }
    /// The points.
    pub fn rows(&self) -> &[(u32, f64)] {
        &self.rows[..usize::from(self.len)]
    }
    /// What so many workers yield. Below the first point in proportion to it.
    fn at(&self, workers: u32) -> f64 {
        let rows = self.rows();
        let next = rows.partition_point(|row| row.0 < workers);
        let (w, last) = (f64::from(workers), rows[rows.len() - 1]);
        match (next.checked_sub(1).map(|at| rows[at]), rows.get(next)) {
            (None, Some(first)) => first.1 * w / f64::from(first.0),
            (Some(low), Some(high)) => low.1 + (high.1 - low.1) * (w - f64::from(low.0)) / f64::from(high.0 - low.0),
            (_, None) => last.1,
        }
    }
}

impl std::fmt::Display for Points {
    /// As files state them: `1=1 2=1.9 4=3.5`.
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (at, (workers, yields)) in self.rows().iter().enumerate() {
            let gap = if at == 0 { "" } else { " " };
            write!(out, "{gap}{workers}={yields}")?;
        }
        Ok(())
    }
}

impl std::str::FromStr for Points {
    type Err = ();

    fn from_str(text: &str) -> Result<Points, ()> {
        let point = |text: &str| {
            let (workers, yields) = text.split_once('=')?;
            workers.parse().ok().zip(yields.parse().ok())
        };
        let points: Option<Vec<(u32, f64)>> = text.split_whitespace().map(point).collect();
        points.and_then(|points| Points::new(&points)).ok_or(())
    }
}

/// What a gang does on GPUs of more than one model.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Mixing {
    /// It may, and runs at the speed of its slowest GPU.
    #[default]
    Slowest,
    /// It may not.
    Never,
    /// It may, and each GPU counts at its own speed, times this part of what they would do on one model.
    At(f64),
}

impl std::fmt::Display for Curve {
    /// As files state it: `linear`, `power:0.8`, `loss:0.5`, `table:1=1 2=1.9 4=3.5`.
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Curve::Linear => out.write_str("linear"),
            Curve::Power { alpha } => write!(out, "power:{alpha}"),
            Curve::Loss { lambda } => write!(out, "loss:{lambda}"),
            Curve::Table(points) => write!(out, "table:{points}"),
        }
    }
}

impl std::str::FromStr for Curve {
    type Err = ();

    fn from_str(text: &str) -> Result<Curve, ()> {
        let share = |text: &str| text.parse().ok().filter(|share| (0.0..=1.0).contains(share)).ok_or(());
        match text.split_once(':') {
            None if text == "linear" => Ok(Curve::Linear),
            Some(("power", alpha)) => share(alpha).map(|alpha| Curve::Power { alpha }),
            Some(("loss", lambda)) => share(lambda).map(|lambda| Curve::Loss { lambda }),
            Some(("table", points)) => points.parse().map(Curve::Table),
            _ => Err(()),
        }
    }
}

impl Curve {
    /// What files may say.
    pub const EXPECTED: &str = "`linear`, `power:0.8` or `loss:0.5`, the number from 0 to 1, or points as in `table:1=1 2=1.9 4=3.5`, \
                                at most eight, workers rising and yields not falling, between 0.000001 and 1000000";
}

impl std::fmt::Display for Mixing {
    /// As files state it: `slowest`, `never`, or the part of the speed that is left, such as `0.7`.
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Mixing::Slowest => out.write_str("slowest"),
            Mixing::Never => out.write_str("never"),
            Mixing::At(part) => write!(out, "{part}"),
        }
    }
}

impl std::str::FromStr for Mixing {
    type Err = ();

    fn from_str(text: &str) -> Result<Mixing, ()> {
        match text {
            "slowest" => Ok(Mixing::Slowest),
            "never" => Ok(Mixing::Never),
            part => part.parse().ok().filter(|part| 0.0 < *part && *part <= 1.0).map(Mixing::At).ok_or(()),
        }
    }
}

impl Mixing {
    /// What files may say.
    pub const EXPECTED: &str =
        "`slowest`, `never`, or the part of the speed that a gang on several models keeps, above 0 and at most 1";
}

/// How many workers (tasks of the first group) a job may hold.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Elasticity {
    /// Workers it starts with at least: the first group's count.
    pub base: u32,
    /// Most workers it can use.
    pub max: u32,
    /// Workers for which `work` is stated.
    pub reference: u32,
    /// How its rate grows.
    pub curve: Curve,
}

impl Elasticity {
    /// Rate at `workers`, relative to the reference size.
    pub fn rate(&self, workers: u32) -> f64 {
        self.phi(workers) / self.phi(self.reference)
    }
    fn phi(&self, workers: u32) -> f64 {
        let (w, base) = (f64::from(workers), f64::from(self.base));
        match self.curve {
            Curve::Linear => w,
            Curve::Power { alpha } => base * libm::pow(w / base, alpha),
            Curve::Loss { lambda } => base + lambda * (w - base),
            Curve::Table(points) => points.at(workers),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rate(curve: &str, workers: u32) -> f64 {
        let curve = curve.parse().expect("a curve");
        Elasticity { base: 2, max: 8, reference: 2, curve }.rate(workers)
    }

    #[test]
    fn curves_yield_what_they_state() {
        assert_eq!([2, 4, 8].map(|workers| rate("linear", workers)), [1.0, 2.0, 4.0]);
        assert_eq!([2, 4, 8].map(|workers| rate("loss:0.5", workers)), [1.0, 1.5, 2.5]);
        assert_eq!([2, 8].map(|workers| rate("power:0.5", workers)), [1.0, 2.0]);
        let table = "table:1=1 2=2 4=3";
        assert_eq!([1, 2, 3, 4, 8].map(|workers| rate(table, workers)), [0.5, 1.0, 1.25, 1.5, 1.5]);
    }

    #[test]
    fn text_and_curve_say_the_same() {
        for text in ["linear", "power:0.8", "loss:0.25", "table:1=1 2=1.9 4=3.5"] {
            let curve: Curve = text.parse().expect("a curve");
            assert_eq!(curve.to_string(), text);
        }
        for wrong in [
            "",
            "linear:1",
            "power",
            "power:2",
            "loss:x",
            "table:",
            "table:0=1",
            "table:1=0",
            "table:2=1 1=2",
            "table:1=2 2=1",
            "table:1=NaN",
            "table:1=1 2=1e12",
            "table:1=1e-9",
        ] {
            assert_eq!(wrong.parse::<Curve>(), Err(()), "{wrong}");
        }
        let nine: Vec<String> = (1..=9).map(|n| format!("{n}={n}")).collect();
        assert_eq!(format!("table:{}", nine.join(" ")).parse::<Curve>(), Err(()));
    }
}
