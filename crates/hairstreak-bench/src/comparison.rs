//! Ours beside the rival in a row of a report: the fields that every benchmark has.

use serde::Serialize;

use crate::rival::RIVAL_NAME;
use crate::statistics::Spread;

/// Rates of a row, flattened into it.
#[derive(Clone, Debug, Serialize)]
pub struct Comparison {
    /// Rate of ours: the median, or the mean where the benchmark averages.
    pub ours: f64,
    /// Slowest repeat.
    pub ours_min: f64,
    /// Fastest repeat.
    pub ours_max: f64,
    /// Rate of the rival.
    pub rival: Option<f64>,
    /// Slowest repeat.
    pub rival_min: Option<f64>,
    /// Fastest repeat.
    pub rival_max: Option<f64>,
    /// Who that is.
    pub rival_name: Option<&'static str>,
    /// `ours / rival`.
    pub ratio: Option<f64>,
}

impl Comparison {
    /// Of the medians; who averages gives the means in their place.
    pub fn new(ours: Spread, rival: Option<Spread>) -> Self {
        Self {
            ours: ours.median,
            ours_min: ours.min,
            ours_max: ours.max,
            rival: rival.map(|rival| rival.median),
            rival_min: rival.map(|rival| rival.min),
            rival_max: rival.map(|rival| rival.max),
            rival_name: rival.map(|_| RIVAL_NAME),
            ratio: rival.map(|rival| ours.median / rival.median),
        }
    }
}
