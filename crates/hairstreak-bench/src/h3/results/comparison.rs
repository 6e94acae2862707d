//! Comparisons between contenders: other transports beside tcp, and each transport beside the queues behind it.

use serde::Serialize;

use super::paper::claimed_gain;
use super::record::Record;
use crate::h3::contender::{Target, Transport};
use crate::h3::data::Time;

/// A transport beside tcp, at one size, both across the transport alone.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Gain {
    /// Bytes of a message.
    pub size: usize,
    /// The transport.
    pub transport: Transport,
    /// The time of its rate. That of tcp is the host's.
    pub time: Time,
    /// Its mean rate in times of tcp's.
    pub ratio: f64,
    /// Its median rate in times of tcp's; `None` where tcp's is 0.
    pub median_ratio: Option<f64>,
    /// The paper's words on its Data Vortex beside TCP over InfiniBand at this size, if there are any.
    pub paper: Option<f64>,
}

/// Mean rates across a transport and into the queues behind it, at one size.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Difference {
    /// Bytes of a message.
    pub size: usize,
    /// The transport.
    pub transport: Transport,
    /// Across the transport alone.
    pub across: Rate,
    /// Into the queues of our node.
    pub hairstreak: Option<Rate>,
    /// Straight into the queues of RabbitMQ.
    pub rabbitmq: Option<Rate>,
    /// Across, then over loopback tcp into the queues of RabbitMQ.
    pub rabbitmq_loopback: Option<Rate>,
}

/// Messages a second: mean and deviation, averaged over the runs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Rate {
    /// The mean.
    pub mean: f64,
    /// The deviation.
    pub std: f64,
    /// The median.
    pub median: f64,
    /// Its time.
    pub time: Time,
}

impl Rate {
    fn of(records: &[Record], size: usize, transport: Transport, target: Target) -> Option<Rate> {
        let runs: Vec<&Record> = records
            .iter()
            .filter(|record| (record.size, record.transport, record.target) == (size, transport, target))
            .collect();
        let count = runs.len() as f64;
        let mean_of = |value: fn(&Record) -> f64| runs.iter().map(|run| value(run)).sum::<f64>() / count;
        (!runs.is_empty()).then(|| Rate {
            mean: mean_of(|run| run.statistics.mean),
            std: mean_of(|run| run.statistics.std),
            median: mean_of(|run| run.statistics.p50),
            time: transport.time(target),
        })
    }
}

/// Each size and transport that was measured, in the order of the runs.
fn pairs(records: &[Record]) -> Vec<(usize, Transport)> {
    let mut pairs = Vec::new();
    for record in records {
        let pair = (record.size, record.transport);
        if !pairs.contains(&pair) {
            pairs.push(pair);
        }
    }
    pairs
}

impl Gain {
    /// The gains of all transports but tcp.
    pub fn all(records: &[Record]) -> Vec<Gain> {
        let across = |size, transport| Rate::of(records, size, transport, Target::Across);
        let gains = pairs(records).into_iter().filter(|(_, transport)| *transport != Transport::Tcp);
        let gain = |(size, transport)| {
            let (ours, tcp) = (across(size, transport)?, across(size, Transport::Tcp)?);
            Some(Gain {
                size,
                transport,
                time: ours.time,
                ratio: ours.mean / tcp.mean,
                median_ratio: (tcp.median > 0.0).then(|| ours.median / tcp.median),
                paper: claimed_gain(size),
            })
        };
        gains.filter_map(gain).collect()
    }
}

impl Difference {
    /// Those of all sizes and transports.
    pub fn all(records: &[Record]) -> Vec<Difference> {
        let difference = |(size, transport)| {
            let rate = |target| Rate::of(records, size, transport, target);
            Some(Difference {
                size,
                transport,
                across: rate(Target::Across)?,
                hairstreak: rate(Target::Hairstreak),
                rabbitmq: rate(Target::Rabbitmq),
                rabbitmq_loopback: rate(Target::RabbitmqLoopback),
            })
        };
        pairs(records).into_iter().filter_map(difference).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::record::tests::record;
    use super::*;

    #[test]
    fn a_gain_is_the_ratio_of_means_beside_the_papers_words() {
        let records = [
            record(Transport::Tcp, Target::Across, 8, &[1, 3]),
            record(Transport::Shm, Target::Across, 8, &[5, 3]),
            record(Transport::Shm, Target::Hairstreak, 8, &[90]),
            record(Transport::Tcp, Target::Across, 16, &[1]),
            record(Transport::Shm, Target::Across, 16, &[1]),
            record(Transport::Shm, Target::Across, 32, &[1]),
        ];
        let gain = |size, ratio, paper| {
            let (transport, time) = (Transport::Shm, Time::Wall);
            Gain { size, transport, time, ratio, median_ratio: Some(ratio), paper }
        };
        assert_eq!(Gain::all(&records), [gain(8, 2.0, Some(5.0)), gain(16, 1.0, None)]);
    }

    #[test]
    fn a_difference_has_the_mean_of_the_runs_of_each_target() {
        let records = [
            record(Transport::Tcp, Target::Across, 8, &[1, 1]),
            record(Transport::Tcp, Target::Across, 8, &[3, 3]),
            record(Transport::Tcp, Target::Rabbitmq, 8, &[1]),
        ];
        let found = Difference::all(&records);
        // Two nodes, windows of 2 ms.
        let rate = |mean| Rate { mean, std: 0.0, median: mean, time: Time::Wall };
        assert_eq!(found[0].across, rate(2000.0));
        assert_eq!(found[0].rabbitmq, Some(rate(1000.0)));
        assert_eq!((found.len(), found[0].hairstreak), (1, None));
    }
}
