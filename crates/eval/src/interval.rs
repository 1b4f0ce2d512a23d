//! How sure a share is: intervals for a proportion of independent cases.
//!
//! Cases of a suite are not drawn at random and share tools and authors, so that an interval is a lower bound on the doubt.
//! Sources: E. B. Wilson, JASA 22 (1927) 209; C. J. Clopper and E. S. Pearson, Biometrika 26 (1934) 404.

/// The quantile of the normal distribution for two-sided 95 %.
const Z: f64 = 1.959_963_984_540_054;

/// The Wilson score interval, two-sided 95 %, of `count` out of `of`. Nothing is known about no cases.
pub(crate) fn wilson(count: u64, of: u64) -> (f64, f64) {
    if of == 0 {
        return (0.0, 1.0);
    }
    let (n, p) = (real(of), real(count) / real(of));
    let scale = 1.0 + Z * Z / n;
    let centre = (p + Z * Z / (2.0 * n)) / scale;
    let half = Z * (p * (1.0 - p) / n + Z * Z / (4.0 * n * n)).sqrt() / scale;
    // The ends are exact where nothing or everything was counted.
    let low = if count == 0 { 0.0 } else { (centre - half).max(0.0) };
    let high = if count == of { 1.0 } else { (centre + half).min(1.0) };
    (low, high)
}

/// The one-sided 95 % upper bound of Clopper and Pearson: the share at which `count` or fewer out of `of` happen in one of
/// twenty samples.
pub(crate) fn upper(count: u64, of: u64) -> f64 {
    if count >= of {
        return 1.0;
    }
    let (mut low, mut high) = (0.0_f64, 1.0_f64);
    // 60 halvings are finer than a double near 1.
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if at_most(count, of, middle) > 0.05 { low = middle } else { high = middle }
    }
    high
}

/// The chance that at most `count` of `of` independent cases happen, each with chance `p`. Linear in `count`.
fn at_most(count: u64, of: u64, p: f64) -> f64 {
    if p <= 0.0 {
        return 1.0;
    }
    if p >= 1.0 {
        return if count >= of { 1.0 } else { 0.0 };
    }
    let odds = (p / (1.0 - p)).ln();
    let mut term = real(of) * (-p).ln_1p();
    let mut sum = term.exp();
    for k in 0..count {
        term += odds + (real(of - k) / real(k + 1)).ln();
        sum += term.exp();
    }
    sum.min(1.0)
}

/// Counts of cases are far below 2^53.
#[expect(clippy::cast_precision_loss, reason = "counts of cases are far below 2^53")]
pub(crate) const fn real(count: u64) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{at_most, upper, wilson};

    fn near(a: f64, b: f64) -> bool {
        (a - b).abs() < 5e-5
    }

    /// Wilson as `prop.test(x, n, correct = FALSE)` of R; Clopper and Pearson by halving over exact binomial sums in Python.
    #[test]
    fn the_intervals_are_those_of_the_textbooks() {
        assert!(near(upper(0, 100), 0.029_513), "{}", upper(0, 100));
        assert!(near(upper(1, 100), 0.046_560), "{}", upper(1, 100));
        assert!(near(upper(5, 50), 0.198_833), "{}", upper(5, 50));
        let (low, high) = wilson(8, 10);
        assert!(near(low, 0.490_162) && near(high, 0.943_318), "{low} {high}");
        let (low, high) = wilson(0, 10);
        assert!(near(low, 0.0) && near(high, 0.277_533), "{low} {high}");
    }

    #[test]
    fn no_cases_prove_nothing() {
        assert_eq!((wilson(0, 0), upper(0, 0)), ((0.0, 1.0), 1.0));
        assert!(near(upper(7, 7), 1.0));
    }

    proptest! {
        #[test]
        fn an_interval_holds_its_share_and_narrows_with_more_cases(of in 1_u64..3000, part in 0.0_f64..=1.0) {
            let count = ((of as f64) * part) as u64;
            let share = count as f64 / of as f64;
            let (low, high) = wilson(count, of);
            prop_assert!((0.0..=1.0).contains(&low) && (0.0..=1.0).contains(&high));
            prop_assert!(low <= share + 1e-12 && share <= high + 1e-12);
            let bound = upper(count, of);
            prop_assert!(share <= bound + 1e-9);
            prop_assert!(count >= of || (at_most(count, of, bound) - 0.05).abs() < 1e-6);
            prop_assert!(upper(count * 2, of * 2) <= bound + 1e-9);
        }
    }
}
