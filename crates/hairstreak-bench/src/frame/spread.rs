//! `Spread`: the median and the extremes of a few samples.
//!
//! There is no deviation: with five samples on a machine whose speed drifts, a deviation pretends to know more than is known.

use serde::Serialize;

/// Median and extremes of a set of repeats.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Spread {
    /// Middle value, or the mean of the two middle ones.
    pub median: f64,
    /// Smallest value.
    pub min: f64,
    /// Largest value.
    pub max: f64,
}

impl Spread {
    /// Summarises `values`; `None` when there are none.
    pub fn of(values: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mut sorted: Vec<f64> = values.into_iter().collect();
        sorted.sort_by(f64::total_cmp);
        let (&min, &max) = sorted.first().zip(sorted.last())?;
        let median = (sorted[(sorted.len() - 1) / 2] + sorted[sorted.len() / 2]) / 2.0;
        Some(Self { median, min, max })
    }
}

#[cfg(test)]
mod tests {
    use super::Spread;

    fn check(values: &[f64], median: f64, min: f64, max: f64) {
        assert_eq!(Spread::of(values.iter().copied()), Some(Spread { median, min, max }));
    }

    #[test]
    fn an_odd_count_has_its_middle_value_as_median() {
        check(&[9.0, 1.0, 5.0], 5.0, 1.0, 9.0);
    }

    #[test]
    fn an_even_count_has_the_mean_of_the_middle_two_as_median() {
        check(&[4.0, 1.0, 10.0, 2.0], 3.0, 1.0, 10.0);
    }

    #[test]
    fn one_value_is_its_own_spread() {
        check(&[7.5], 7.5, 7.5, 7.5);
    }

    #[test]
    fn one_outlier_leaves_the_median_alone() {
        check(&[5.0, 5.1, 5.2, 4.9, 500.0], 5.1, 4.9, 500.0);
    }

    #[test]
    fn no_value_has_no_spread() {
        assert_eq!(Spread::of([]), None);
    }
}
