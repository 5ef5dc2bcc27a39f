//! The arithmetic of the published artifact, to the last bit: true differences of zero come out as tiny ones there and decide some
//! placements. Seven sums in the order of the typical tasks, then six of them added in order.

use super::gauge::{Free, FreeClass, Need, Reach, class};
use super::mix::Typical;

/// Weights of the typical tasks: (count / all) / (kept / all), or count / all if none was left out.
#[derive(Clone, Debug)]
pub(super) struct Weights(Vec<f64>);

impl Weights {
    pub(super) fn new(typical: &Typical) -> Weights {
        let all = typical.all as f64;
        let kept = typical.total as f64 / all;
        let weight = |count: u64| if typical.total == typical.all { count as f64 / all } else { count as f64 / all / kept };
        Weights(typical.pods.iter().map(|pod| weight(pod.count)).collect())
    }
    pub(super) fn fragment(&self, needs: &[Need], free: &Free<'_>, idle: u64, reach: &[Reach]) -> f64 {
        let mut sums = [0.0; 7];
        for (need, weight) in needs.iter().zip(&self.0) {
            let (class, rest) = class(need, free, idle, reach);
            if class == FreeClass::Q3 {
                sums[FreeClass::Q2 as usize] += weight * rest as f64;
            }
            sums[class as usize] += weight * (idle - rest) as f64;
        }
        let fragment = FreeClass::ALL.into_iter().filter(|class| *class != FreeClass::Q3);
        fragment.fold(0.0, |sum, class| sum + sums[class as usize])
    }
}
