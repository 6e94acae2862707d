//! The statistics that the paper prints: those of `describe` in pandas.
//!
//! The deviation is that of a sample (divided by one less than the count); percentiles lie on the line between the two
//! samples around them.

use serde::Serialize;

/// The percentiles of the paper's tables.
pub const PERCENTILES: [f64; 6] = [25.0, 50.0, 75.0, 90.0, 95.0, 99.0];

/// A description of samples.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Description {
    /// How many samples.
    pub count: usize,
    /// Their mean.
    pub mean: f64,
    /// Their deviation; 0 for fewer than two.
    pub std: f64,
    /// The least.
    pub min: f64,
    /// The 25th percentile.
    pub p25: f64,
    /// The median.
    pub p50: f64,
    /// The 75th percentile.
    pub p75: f64,
    /// The 90th percentile.
    pub p90: f64,
    /// The 95th percentile.
    pub p95: f64,
    /// The 99th percentile.
    pub p99: f64,
    /// The most.
    pub max: f64,
}

impl Description {
    /// Describes `samples`; `None` for none.
    pub fn of(samples: &[f64]) -> Option<Description> {
        let mut sorted = samples.to_vec();
        sorted.sort_by(f64::total_cmp);
        let (&min, &max) = (sorted.first()?, sorted.last()?);
        let count = sorted.len();
        let mean = sorted.iter().sum::<f64>() / count as f64;
        let squares: f64 = sorted.iter().map(|sample| (sample - mean).powi(2)).sum();
        let std = if count > 1 { (squares / (count - 1) as f64).sqrt() } else { 0.0 };
        let [p25, p50, p75, p90, p95, p99] = PERCENTILES.map(|percent| percentile(&sorted, percent));
        Some(Description { count, mean, std, min, p25, p50, p75, p90, p95, p99, max })
    }

    /// The rows of the paper's tables: name and value.
    pub fn rows(&self) -> [(&'static str, f64); 11] {
        [
            ("count", self.count as f64),
            ("mean", self.mean),
            ("std", self.std),
            ("min", self.min),
            ("25%", self.p25),
            ("50%", self.p50),
            ("75%", self.p75),
            ("90%", self.p90),
            ("95%", self.p95),
            ("99%", self.p99),
            ("max", self.max),
        ]
    }
}

fn percentile(sorted: &[f64], percent: f64) -> f64 {
    let place = percent / 100.0 * (sorted.len() - 1) as f64;
    let (below, above) = (sorted[place.floor() as usize], sorted[place.ceil() as usize]);
    below + (above - below) * place.fract()
}

#[cfg(test)]
mod tests {
    use super::Description;

    /// The values that pandas 3.1 prints for `Series([1, 2, 3, 4, 10]).describe(percentiles=[.25, .5, .75, .9, .95, .99])`.
    #[test]
    fn a_description_is_the_one_of_pandas() {
        let found = Description::of(&[10.0, 1.0, 3.0, 2.0, 4.0]).unwrap();
        let expected = [5.0, 4.0, 3.535534, 1.0, 2.0, 3.0, 4.0, 7.6, 8.8, 9.76, 10.0];
        for ((name, value), expected) in found.rows().into_iter().zip(expected) {
            assert!((value - expected).abs() < 1e-6, "{name}: {value}, not {expected}");
        }
    }

    #[test]
    fn one_sample_has_no_deviation_and_none_no_description() {
        let found = Description::of(&[7.0]).unwrap();
        assert_eq!((found.count, found.mean, found.std, found.p99), (1, 7.0, 0.0, 7.0));
        assert_eq!(Description::of(&[]), None);
    }
}
