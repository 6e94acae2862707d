//! `Detail`: the rate of a counter, and its samples when a client asks for them.

use serde::ser::{Serialize, SerializeStruct, Serializer};

/// The object behind `x_details`: `{"rate": 2407.0}`, with `samples`, `avg` and `avg_rate` for a range.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Detail {
    /// Per second, over the last two samples.
    pub(super) rate: f64,
    /// Time in milliseconds since 1970 and value, the latest first. `None`: no range was asked for.
    pub(super) samples: Option<Vec<(u64, u64)>>,
}

#[derive(serde::Serialize)]
struct Sample {
    sample: u64,
    timestamp: u64,
}

impl Detail {
    /// A rate without samples.
    #[cfg(test)]
    pub(crate) fn of_rate(rate: f64) -> Detail {
        Detail { rate, samples: None }
    }

    /// Adds that of another object. Both are of the same range, and so have samples of the same times.
    pub(crate) fn add(&mut self, other: Detail) {
        self.rate += other.rate;
        match (&mut self.samples, other.samples) {
            (Some(samples), Some(others)) => {
                samples.iter_mut().zip(others).for_each(|((_, sum), (_, value))| *sum += value);
            }
            (samples @ None, others) => *samples = others,
            (Some(_), None) => {}
        }
    }

    /// The mean of the samples.
    fn mean(samples: &[(u64, u64)]) -> f64 {
        let sum: f64 = samples.iter().map(|(_, value)| *value as f64).sum();
        sum / samples.len().max(1) as f64
    }

    /// The rate from the first sample to the last.
    fn mean_rate(samples: &[(u64, u64)]) -> f64 {
        match (samples.first(), samples.last()) {
            (Some(last), Some(first)) => rate(*first, *last),
            _ => 0.0,
        }
    }
}

/// The growth per second between two samples.
pub(super) fn rate((from, before): (u64, u64), (to, after): (u64, u64)) -> f64 {
    if to <= from {
        return 0.0;
    }
    (after as f64 - before as f64) * 1000.0 / (to - from) as f64
}

impl Serialize for Detail {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("Detail", if self.samples.is_some() { 4 } else { 1 })?;
        fields.serialize_field("rate", &self.rate)?;
        if let Some(samples) = &self.samples {
            let list: Vec<Sample> = samples
                .iter()
                .map(|(timestamp, sample)| Sample { sample: *sample, timestamp: *timestamp })
                .collect();
            fields.serialize_field("samples", &list)?;
            fields.serialize_field("avg", &Detail::mean(samples))?;
            fields.serialize_field("avg_rate", &Detail::mean_rate(samples))?;
        }
        fields.end()
    }
}
