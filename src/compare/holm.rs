//! Holm's correction: of many comparisons some look significant by chance.

/// p values corrected for being looked at together, in the order given: with the i-th smallest of m, the largest of (m - j + 1) p(j) over
/// j ≤ i, at most 1. Below 0.05 the chance that any of the differences so found is none stays below 5 %, however they depend.
///
/// - Source: Holm, "A Simple Sequentially Rejective Multiple Test Procedure", Scandinavian Journal of Statistics 6 (1979).
pub fn holm(p: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|&a, &b| p[a].total_cmp(&p[b]));
    let mut adjusted = vec![1.0; p.len()];
    let mut most: f64 = 0.0;
    for (rank, &row) in order.iter().enumerate() {
        most = most.max((p.len() - rank) as f64 * p[row]).min(1.0);
        adjusted[row] = most;
    }
    adjusted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_multiplied_by_how_many_are_left() {
        let found = holm(&[0.01, 0.04, 0.03, 0.005]);
        for (found, expected) in found.iter().zip([0.03, 0.06, 0.06, 0.02]) {
            assert!((found - expected).abs() < 1e-12, "{found} for {expected}");
        }
        assert_eq!(holm(&[0.6, 0.7]), [1.0, 1.0]);
        assert_eq!(holm(&[]), Vec::<f64>::new());
    }
}
