//! Figures out of records: rates averaged over runs, and comparisons between contenders.
//!
//! Other transports stand beside tcp, each transport beside the queues behind it, and queues beside the paper's reference lines.

use serde::Serialize;

use super::paper::{PAPER_PER_NODE, REFERENCE_PER_NODE, claimed_gain};
use super::record::{Record, Statistics};
use crate::frame::{Row, Value, name};
use crate::h3::contender::{Contender, Target, Transport};
use crate::h3::data::Time;

/// Writes a number in groups of three digits, with decimals below 100.
pub fn number(value: f64) -> String {
    if value.abs() < 100.0 && value.fract() != 0.0 {
        return format!("{value:.2}");
    }
    let digits = format!("{:.0}", value.abs());
    let mut text = if value < 0.0 { "-".to_owned() } else { String::new() };
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A whole number.
pub fn whole(count: u64) -> Value {
    Value::other(count, number(count as f64))
}

/// Returns the different ones of `values`, in their order.
pub fn distinct<T: PartialEq>(values: impl Iterator<Item = T>) -> Vec<T> {
    values.fold(Vec::new(), |mut distinct, value| {
        if !distinct.contains(&value) {
            distinct.push(value);
        }
        distinct
    })
}

/// Messages a second of one contender at one size: mean, deviation and median, averaged over the runs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Rate {
    /// The mean.
    pub mean: f64,
    std: f64,
    median: f64,
    time: Time,
}

impl Rate {
    /// The rate, if the contender was measured.
    pub fn of(records: &[Record], size: usize, contender: Contender) -> Option<Rate> {
        let runs = records.iter().filter(|run| (run.size, run.contender) == (size, contender));
        let runs: Vec<Statistics> = runs.map(|run| run.statistics).collect();
        let mean = |value: fn(&Statistics) -> f64| runs.iter().map(value).sum::<f64>() / runs.len() as f64;
        (!runs.is_empty()).then(|| Rate {
            mean: mean(|run| run.mean),
            std: mean(|run| run.std),
            median: mean(|run| run.p50),
            time: contender.time(),
        })
    }

    fn value(rate: Option<Rate>) -> Value {
        let text = |rate: Rate| format!("{} ± {}", number(rate.mean), number(rate.std));
        Value::other(rate, rate.map_or("-".to_owned(), text))
    }
}

fn pairs(records: &[Record]) -> Vec<(usize, Transport)> {
    distinct(records.iter().map(|record| (record.size, record.contender.transport)))
}

fn row(size: usize, transport: Transport) -> Row {
    let row = Row::default().show("size", "bytes", whole(size as u64));
    row.show("transport", "transport", Value::text(name(&transport)))
}

/// Transports beside tcp, by size, all across the transport alone.
pub fn gains(records: &[Record]) -> Vec<Row> {
    let gain = |(size, transport)| {
        let rate = |transport| Rate::of(records, size, Contender { transport, target: Target::Across });
        let (ours, tcp) = (rate(transport)?, rate(Transport::Tcp)?);
        let median_ratio = (tcp.median > 0.0).then(|| ours.median / tcp.median);
        let paper = Value::figure(claimed_gain(size), |gain| format!("{gain}x"));
        let row = row(size, transport).show("time", "time", Value::text(name(&ours.time)));
        let row = row.show("ratio", "by means", Value::ratio(ours.mean / tcp.mean));
        let row = row.show("median_ratio", "by medians", Value::ratio(median_ratio));
        Some(row.show("paper", "paper's claim (DV to IB)", paper))
    };
    pairs(records).into_iter().filter(|pair| pair.1 != Transport::Tcp).filter_map(gain).collect()
}

/// Rates across each transport and into the queues behind it, by size.
pub fn differences(records: &[Record]) -> Vec<Row> {
    let row = |(size, transport)| {
        let rate = |target| Rate::of(records, size, Contender { transport, target });
        let across = rate(Target::Across)?;
        let value = |target| Rate::value(rate(target));
        // Rates in different times have no difference.
        let difference = |target| {
            let rate = rate(target).filter(|rate| rate.time == across.time);
            Value::figure(rate.map(|rate| across.mean - rate.mean), number)
        };
        let row = row(size, transport).show("across", "across", value(Target::Across));
        let row = row.show("hairstreak", "> hairstreak", value(Target::Hairstreak));
        let row = row.show("hairstreak_difference", "difference", difference(Target::Hairstreak));
        let row = row.show("rabbitmq", "> rabbitmq", value(Target::Rabbitmq));
        let row = row.show("rabbitmq_loopback", "> tcp > rabbitmq", value(Target::RabbitmqLoopback));
        Some(row.show("rabbitmq_loopback_difference", "difference", difference(Target::RabbitmqLoopback)))
    };
    pairs(records).into_iter().filter_map(row).collect()
}

/// Mean rates into queues, by node, beside the paper's reference lines.
pub fn nodes(records: &[Record]) -> Vec<Row> {
    let queues = records.iter().filter(|record| record.contender.target != Target::Across);
    let row = |(size, contender): (usize, Contender)| {
        let node = Rate::of(records, size, contender)?.mean / 2.0;
        let row = Row::default().show("size", "bytes", whole(size as u64));
        let row = row.show("contender", "contender", Value::text(contender.name()));
        let row = row.show("node", "a node", Value::figure(node, number));
        let row = row.show("reference_ratio", "in times of 43,404", Value::ratio(node / REFERENCE_PER_NODE));
        Some(row.show("paper_ratio", "in times of 60,000", Value::ratio(node / PAPER_PER_NODE)))
    };
    distinct(queues.map(|record| (record.size, record.contender))).into_iter().filter_map(row).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::record::tests::record;
    use super::*;

    #[test]
    fn numbers_have_groups_and_small_ones_decimals() {
        let texts = [0.0, 7.25, 100.0, 999.6, 1_234_567.0, -43_404.0].map(number);
        assert_eq!(texts, ["0", "7.25", "100", "1,000", "1,234,567", "-43,404"]);
    }

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
        let gain = |size, ratio, paper| json!({"size": size, "transport": "shm", "time": "wall", "ratio": ratio, "median_ratio": ratio, "paper": paper});
        let found: Vec<_> = gains(&records).iter().map(Row::json).collect();
        assert_eq!(found, [gain(8, 2.0, Some(5.0)), gain(16, 1.0, None)]);
    }

    #[test]
    fn a_difference_has_the_mean_of_the_runs_of_each_target() {
        let records = [
            record(Transport::Tcp, Target::Across, 8, &[1, 1]),
            record(Transport::Tcp, Target::Across, 8, &[3, 3]),
            record(Transport::Tcp, Target::Rabbitmq, 8, &[1]),
        ];
        let [found] = &differences(&records)[..] else { panic!("one size and transport") };
        // Two nodes, windows of 2 ms.
        let rate = |mean| json!({"mean": mean, "std": 0.0, "median": mean, "time": "wall"});
        assert_eq!(found.json()["across"], rate(2000.0));
        assert_eq!(found.json()["rabbitmq"], rate(1000.0));
        assert!(found.json()["hairstreak"].is_null());
    }
}
