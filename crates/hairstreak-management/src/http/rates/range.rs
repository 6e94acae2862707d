//! `Range`: the samples that a client asks for, by parameters such as `lengths_age=60&lengths_incr=5`.

use crate::http::error::ApiError;
use crate::http::request::Query;

/// The most samples of a range, less one.
const SAMPLE_COUNT_MAX: i64 = 500;

/// A range of samples that ends now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Range {
    age_ms: u64,
    step_ms: u64,
}

/// The ranges of a request, for each kind of counter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Ranges {
    /// Messages in queues.
    pub(crate) lengths: Option<Range>,
    /// Messages that were published, delivered and so on.
    pub(crate) messages: Option<Range>,
    /// Bytes of connections.
    pub(crate) data: Option<Range>,
    /// Figures of the node.
    pub(crate) node: Option<Range>,
}

impl Ranges {
    /// Reads the parameters. One that is no number counts as missing, as in RabbitMQ.
    ///
    /// # Errors
    ///
    /// 400: an age or a step is not above 0, or the range has more than 501 samples.
    pub(crate) fn parse(query: &Query) -> Result<Ranges, ApiError> {
        Ok(Ranges {
            lengths: range(query, "lengths")?,
            messages: range(query, "msg_rates")?,
            data: range(query, "data_rates")?,
            node: range(query, "node_stats")?,
        })
    }
}

fn range(query: &Query, prefix: &str) -> Result<Option<Range>, ApiError> {
    let number = |suffix| query.get(&format!("{prefix}_{suffix}"))?.parse::<i64>().ok();
    let (Some(age), Some(step)) = (number("age"), number("incr")) else { return Ok(None) };
    if age <= 0 || step <= 0 || age / step > SAMPLE_COUNT_MAX {
        let reason = format!("Invalid range parameters: age {age}, incr {step}");
        return Err(ApiError::bad_parameters("invalid_range_parameters", reason));
    }
    Ok(Some(Range { age_ms: (age as u64).saturating_mul(1000), step_ms: (step as u64).saturating_mul(1000) }))
}

impl Range {
    /// The times of the samples, the latest first: multiples of the step up to `now_ms`.
    pub(super) fn times(self, now_ms: u64) -> impl Iterator<Item = u64> {
        let last = now_ms - now_ms % self.step_ms;
        (0..=self.age_ms / self.step_ms).map(move |index| last.saturating_sub(index * self.step_ms))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_has_a_sample_at_each_multiple_of_its_step() {
        let ranges =
            Ranges::parse(&Query::parse("lengths_age=20&lengths_incr=5&msg_rates_age=x&msg_rates_incr=5"));
        let ranges = ranges.unwrap();
        let times: Vec<u64> = ranges.lengths.unwrap().times(1_000_003_999).collect();
        assert_eq!(times, [1_000_000_000, 999_995_000, 999_990_000, 999_985_000, 999_980_000]);
        assert_eq!((ranges.messages, ranges.data, ranges.node), (None, None, None));
    }

    #[test]
    fn a_range_out_of_bounds_is_refused() {
        for (age, step) in [(60, 0), (0, 5), (-1, 5), (5, -1), (5010, 10)] {
            let query = Query::parse(&format!("lengths_age={age}&lengths_incr={step}"));
            let expected = format!("Invalid range parameters: age {age}, incr {step}");
            let expected = ApiError::bad_parameters("invalid_range_parameters", expected);
            assert_eq!(Ranges::parse(&query), Err(expected));
        }
        assert!(Ranges::parse(&Query::parse("lengths_age=5000&lengths_incr=10")).unwrap().lengths.is_some());
    }
}
