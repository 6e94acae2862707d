//! `Limit`: a limit of one service or of all services, as typed after `serve --limit`.

use std::ops::RangeInclusive;
use std::str::FromStr;
use std::time::Duration;

use hairstreak_node::{ServiceLimits, ServiceOptions};

use crate::numbers::bounded;

/// The largest size of a service's name, in bytes.
const NAME_SIZES: RangeInclusive<usize> = 1..=255;
/// The longest limit of a time.
const TIME_MAX: Duration = Duration::from_secs(7 * 24 * 3600);

/// `[SERVICE:]NAME=VALUE`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limit {
    /// The service. `None`: all services without a limit of their own.
    service: Option<String>,
    value: Value,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Value {
    QueueCount(usize),
    QueueBytes(usize),
    QueueAge(u32),
    Processing(u32),
    Deliveries(u16),
    PlainCapacity(u16),
}

impl FromStr for Limit {
    type Err = String;

    fn from_str(text: &str) -> Result<Limit, String> {
        let (place, value) = text.rsplit_once('=').ok_or("a limit is [SERVICE:]NAME=VALUE")?;
        let (service, name) = match place.rsplit_once(':') {
            Some((service, name)) if NAME_SIZES.contains(&service.len()) => (Some(service.to_owned()), name),
            Some(_) => return Err("a service's name has 1 to 255 bytes".to_owned()),
            None => (None, place),
        };
        let value = match name {
            "queue-count" => Value::QueueCount(number(value)?),
            "queue-bytes" => Value::QueueBytes(number(value)?),
            "queue-age" => Value::QueueAge(milliseconds(value)?),
            "processing" => Value::Processing(milliseconds(value)?),
            "deliveries" => Value::Deliveries(number(value)?),
            "plain-capacity" => Value::PlainCapacity(number(value)?),
            _ => {
                let names = "queue-count, queue-bytes, queue-age, processing, deliveries and plain-capacity";
                return Err(format!("no limit is called {name:?}: there are {names}"));
            }
        };
        Ok(Limit { service, value })
    }
}

fn number<T: FromStr + TryFrom<u8> + PartialOrd>(text: &str) -> Result<T, String> {
    let number = text.parse().map_err(|_| format!("{text:?} is no number that this limit can have"))?;
    let is_one = T::try_from(1).is_ok_and(|one| number >= one);
    if is_one { Ok(number) } else { Err("the least is 1".to_owned()) }
}

fn milliseconds(text: &str) -> Result<u32, String> {
    let time = bounded(text, "a limit of time", TIME_MAX)?;
    u32::try_from(time.as_millis()).map_err(|error| error.to_string())
}

/// The options of a broker with these limits. The last of several equal limits counts.
pub fn service_options(limits: &[Limit]) -> ServiceOptions {
    let mut options = ServiceOptions::default();
    // General limits come first: a service has them unless it has its own.
    for limit in limits.iter().filter(|limit| limit.service.is_none()) {
        limit.value.apply(&mut options.limits);
    }
    for limit in limits {
        let Some(service) = &limit.service else { continue };
        let of_all = options.limits.clone();
        limit.value.apply(options.named.entry(service.clone().into_bytes()).or_insert(of_all));
    }
    options
}

impl Value {
    fn apply(self, limits: &mut ServiceLimits) {
        match self {
            Value::QueueCount(count) => limits.queue_count_max = count,
            Value::QueueBytes(bytes) => limits.queue_bytes_max = bytes,
            Value::QueueAge(ms) => limits.queue_age_max_ms = ms,
            Value::Processing(ms) => limits.processing_max_ms = ms,
            Value::Deliveries(count) => limits.deliveries_max = count,
            Value::PlainCapacity(count) => limits.plain_capacity = count,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_service_has_the_limits_of_all_but_for_its_own() {
        let typed = [
            "slow:processing=120m",
            "queue-age=5s",
            "a:b:deliveries=2",
            "slow:queue-count=7",
            "slow:plain-capacity=16",
        ];
        let limits: Vec<Limit> = typed.iter().map(|text| text.parse().unwrap()).collect();
        let options = service_options(&limits);
        let of_all = ServiceLimits { queue_age_max_ms: 5_000, ..ServiceLimits::default() };
        assert_eq!(options.limits, of_all);
        let slow = ServiceLimits {
            processing_max_ms: 7_200_000,
            queue_count_max: 7,
            plain_capacity: 16,
            ..of_all.clone()
        };
        assert_eq!(options.named[&b"slow"[..]], slow);
        assert_eq!(options.named[&b"a:b"[..]], ServiceLimits { deliveries_max: 2, ..of_all });
        assert_eq!(options.named.len(), 2);
    }

    #[test]
    fn what_makes_no_sense_names_the_culprit() {
        for (text, culprit) in [
            ("processing", "[SERVICE:]NAME=VALUE"),
            ("processing=", "duration"),
            ("processing=0s", "between 1ms"),
            ("processing=90000m", "between 1ms"),
            ("deliveries=70000", "70000"),
            ("deliveries=0", "the least is 1"),
            ("plain-capacity=0", "the least is 1"),
            ("plain-capacity=65536", "65536"),
            ("queue-bytes=-1", "-1"),
            (":deliveries=1", "1 to 255"),
            ("shout:size=1", "size"),
        ] {
            let error = text.parse::<Limit>().unwrap_err();
            assert!(error.contains(culprit), "{text}: {error}");
        }
    }
}
