//! `Distribution`: the variation of a stage's processing time from message to message.
//!
//! A distribution gives factors with a mean of 1, by which the mean time of the stage is multiplied. A factor depends only on the
//! seed, the stage and the message. Two pipelines with one difference draw the same factors, so that this difference alone
//! explains their results.

use std::fmt;
use std::str::FromStr;

use fastrand::Rng;
use thiserror::Error;

/// The largest relative deviation of [`Distribution::LogNormal`].
pub const DEVIATION_MAX: f64 = 10.0;

/// The variation of processing times around their mean.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Distribution {
    /// All times are equal.
    #[default]
    Constant,
    /// Uniform from zero to twice the mean.
    Uniform,
    /// Many short times and few long ones, without memory: the standard deviation equals the mean.
    Exponential,
    /// The logarithm of the time is normal: most times are near the mean, some far above.
    LogNormal {
        /// The standard deviation as a part of the mean, above 0 and at most [`DEVIATION_MAX`].
        deviation: f64,
    },
}

/// A text that is the name of no distribution.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "\"{0}\" is no distribution; there are constant, uniform, exponential and log-normal D, with D above 0 and at most {DEVIATION_MAX}"
)]
pub struct DistributionError(String);

/// Parses `constant`, `uniform`, `exponential`, or `log-normal` and a deviation, such as `log-normal 0.5`.
impl FromStr for Distribution {
    type Err = DistributionError;

    fn from_str(text: &str) -> Result<Distribution, DistributionError> {
        let words: Vec<&str> = text.split_whitespace().collect();
        let deviation = |text: &str| {
            let deviation = text.parse().ok();
            deviation.filter(|deviation| *deviation > 0.0 && *deviation <= DEVIATION_MAX)
        };
        let found = match words.as_slice() {
            ["constant"] => Some(Distribution::Constant),
            ["uniform"] => Some(Distribution::Uniform),
            ["exponential"] => Some(Distribution::Exponential),
            ["log-normal", text] => deviation(text).map(|deviation| Distribution::LogNormal { deviation }),
            _ => None,
        };
        found.ok_or_else(|| DistributionError(text.escape_debug().to_string()))
    }
}

impl fmt::Display for Distribution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Distribution::Constant => f.write_str("constant"),
            Distribution::Uniform => f.write_str("uniform"),
            Distribution::Exponential => f.write_str("exponential"),
            Distribution::LogNormal { deviation } => write!(f, "log-normal {deviation}"),
        }
    }
}

impl Distribution {
    /// The next random factor.
    ///
    /// ```
    /// use hairstreak_model::Distribution;
    ///
    /// let mut rng = fastrand::Rng::with_seed(1);
    /// let sum: f64 = (0..100_000).map(|_| Distribution::Exponential.draw(&mut rng)).sum();
    /// assert!((sum / 100_000.0 - 1.0).abs() < 0.02);
    /// assert_eq!(Distribution::Constant.draw(&mut rng), 1.0);
    /// ```
    pub fn draw(self, rng: &mut Rng) -> f64 {
        // `rng.f64()` is at least 0 and below 1.
        match self {
            Distribution::Constant => 1.0,
            Distribution::Uniform => 2.0 * rng.f64(),
            Distribution::Exponential => -(1.0 - rng.f64()).ln(),
            Distribution::LogNormal { deviation } => {
                let variance = (1.0 + deviation * deviation).ln();
                (normal(rng) * variance.sqrt() - variance / 2.0).exp()
            }
        }
    }

    /// The factor of one message in one stage.
    pub(crate) fn factor(self, seed: u64, stage: usize, message: u64) -> f64 {
        match self {
            Distribution::Constant => 1.0,
            _ => self.draw(&mut Rng::with_seed(mix(seed, stage as u64, message))),
        }
    }
}

/// A standard normal number, by Box and Muller.
fn normal(rng: &mut Rng) -> f64 {
    let radius = (-2.0 * (1.0 - rng.f64()).ln()).sqrt();
    radius * (std::f64::consts::TAU * rng.f64()).cos()
}

/// Hashes three numbers to one seed, spread over all bits (the finalizer of splitmix64).
pub(crate) fn mix(seed: u64, first: u64, second: u64) -> u64 {
    [first, second].into_iter().fold(seed, |mixed, number| {
        let mut bits = mixed ^ number.wrapping_add(0x9E37_79B9_7F4A_7C15);
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        bits ^ (bits >> 31)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Mean and standard deviation of the factors of many messages.
    fn moments(distribution: Distribution) -> (f64, f64) {
        const COUNT: u64 = 200_000;
        let factors: Vec<f64> = (0..COUNT).map(|message| distribution.factor(7, 3, message)).collect();
        let mean = factors.iter().sum::<f64>() / COUNT as f64;
        let squares: f64 = factors.iter().map(|factor| (factor - mean).powi(2)).sum();
        (mean, (squares / COUNT as f64).sqrt())
    }

    fn check(distribution: Distribution, deviation: f64) {
        let found = moments(distribution);
        assert!((found.0 - 1.0).abs() < 0.01, "{distribution:?} has the mean {}", found.0);
        assert!((found.1 - deviation).abs() < 0.02 * deviation.max(1.0), "{distribution:?}: {}", found.1);
    }

    #[test]
    fn factors_have_the_mean_one_and_the_deviation_of_their_kind() {
        check(Distribution::Constant, 0.0);
        check(Distribution::Uniform, 1.0 / 3f64.sqrt());
        check(Distribution::Exponential, 1.0);
        check(Distribution::LogNormal { deviation: 0.5 }, 0.5);
    }

    #[test]
    fn a_distribution_survives_its_text_and_nothing_else_is_one() {
        for text in ["constant", "uniform", "exponential", "log-normal 0.5"] {
            assert_eq!(text.parse::<Distribution>().unwrap().to_string(), text);
        }
        for text in ["", "normal", "log-normal", "log-normal 0", "log-normal 11", "log-normal x", "uniform 1"]
        {
            let refusal = text.parse::<Distribution>().unwrap_err().to_string();
            assert!(refusal.starts_with(&format!("\"{text}\" is no distribution")), "{refusal}");
        }
    }

    #[test]
    fn a_factor_depends_on_the_seed_the_stage_and_the_message() {
        let factor = |seed, stage, message| Distribution::Exponential.factor(seed, stage, message);
        assert_eq!(factor(1, 2, 3), factor(1, 2, 3));
        let others = [factor(2, 2, 3), factor(1, 3, 3), factor(1, 2, 4), factor(1, 3, 2)];
        assert!(others.iter().all(|other| *other != factor(1, 2, 3)), "{others:?}");
    }
}
