//! Rows to measure: those of the targets' table, by default, with `--quick` and with filters.

use super::case::CaseName;
use super::server::ServerKind;
use super::task::Flow;
use crate::arguments::BrokerSettings;

const SAMPLE_S: f64 = 1.0;
const QUICK_SAMPLE_S: f64 = 0.25;
const REPEAT_COUNT: u32 = 5;
const QUICK_REPEAT_COUNT: u32 = 3;
const CONNECTION_COUNT: u32 = 10_000;
const QUICK_CONNECTION_COUNT: u32 = 1000;
const LOOP_COUNTS: [u32; 3] = [1, 2, 4];
/// Bodies that a broker has to keep at most: those that nobody consumes, and those that may lag behind.
const KEPT_BYTES_MAX: u64 = 512 << 20;
const LAGGING_BYTES_MAX: u64 = 2 << 30;

/// The cases and their sizes, in the order of the targets' table. What is compared with another row comes behind it.
const ROWS: [(CaseName, &[u32]); 8] = [
    (CaseName::Publish, &[16, 1024, 131_072]),
    (CaseName::InOut, &[16, 1024]),
    (CaseName::Confirms, &[16]),
    (CaseName::FanOut, &[64]),
    (CaseName::RoundTrip, &[16]),
    (CaseName::Queues, &[16]),
    (CaseName::Latency, &[16, 1024]),
    (CaseName::HotQueue, &[16]),
];

/// A row: the parameters that all contenders share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// The case.
    pub case: CaseName,
    /// Bytes of a body.
    pub size: u32,
    /// Event loops of the node, where they are what is compared.
    pub loop_count: Option<u32>,
}

impl Row {
    /// In words, for progress and conclusions.
    pub fn text(self) -> String {
        let (case, size) = (self.case.text(), size_text(self.size));
        match self.loop_count {
            Some(1) => format!("{case} {size}, 1 loop"),
            Some(count) => format!("{case} {size}, {count} loops"),
            None => format!("{case} {size}"),
        }
    }

    /// The contenders of the row, if all are installed.
    pub fn contenders(self) -> &'static [ServerKind] {
        match self.case {
            CaseName::HotQueue => &[ServerKind::Node],
            _ => &[ServerKind::Node, ServerKind::RabbitMq, ServerKind::Limit],
        }
    }

    /// The flow of messages for `duration_s`, at `rate_per_s` if there is a rate.
    pub fn flow(self, duration_s: f64, rate_per_s: Option<f64>) -> Flow {
        let shape = self.case.shape();
        let bytes_max = if shape.consumer_count == 0 { KEPT_BYTES_MAX } else { LAGGING_BYTES_MAX };
        Flow {
            body_size: self.size,
            queue_count: shape.queue_count,
            is_fanout: shape.is_fanout,
            producer_count: shape.producer_count,
            consumer_count: shape.consumer_count,
            confirm_window: shape.confirm_window,
            ack_each: shape.ack_each,
            rate_per_s,
            duration_s,
            message_count_max: (bytes_max / u64::from(self.size * shape.producer_count)).max(1),
        }
    }
}

/// A number of bytes for people.
pub fn size_text(size: u32) -> String {
    if size >= 1024 && size.is_multiple_of(1024) {
        format!("{} KiB", size / 1024)
    } else {
        format!("{size} B")
    }
}

/// Everything to be measured.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// In the order of the targets' table.
    pub rows: Vec<Row>,
    /// Samples of each row, per contender.
    pub repeat_count: u32,
    /// For how long a producer publishes in a sample.
    pub sample_s: f64,
    /// Idle connections; `None`: not measured.
    pub connection_count: Option<u32>,
    /// Idle connections of a hostile load; `None`: no such load.
    pub hostile_count: Option<u32>,
}

impl Plan {
    /// The plan for `settings`.
    pub fn new(settings: &BrokerSettings) -> Self {
        let is_asked = |case| match case {
            CaseName::HotQueue => settings.cases.contains(&case),
            _ => settings.cases.is_empty() || settings.cases.contains(&case),
        };
        let mut rows = Vec::new();
        for (case, sizes) in ROWS.into_iter().filter(|(case, _)| is_asked(*case)) {
            let sizes = if settings.sizes.is_empty() { sizes } else { &settings.sizes[..] };
            for &size in sizes {
                match case {
                    CaseName::HotQueue => {
                        let counts = &settings.loop_counts[..];
                        let counts = if counts.is_empty() { &LOOP_COUNTS } else { counts };
                        rows.extend(counts.iter().map(|&count| Row { case, size, loop_count: Some(count) }));
                    }
                    _ => rows.push(Row { case, size, loop_count: None }),
                }
            }
        }
        // The cost of several queues is compared with the cost of one.
        let is_one = |row: &Row| row.case == CaseName::InOut;
        let several: Vec<Row> = rows.iter().filter(|row| row.case == CaseName::Queues).copied().collect();
        if !rows.iter().any(is_one) {
            rows.splice(0..0, several.into_iter().map(|row| Row { case: CaseName::InOut, ..row }));
        }
        let connection_count = if settings.quick { QUICK_CONNECTION_COUNT } else { CONNECTION_COUNT };
        let connection_count = settings.connection_count.unwrap_or(connection_count);
        let sample_s = if settings.quick { QUICK_SAMPLE_S } else { SAMPLE_S };
        let repeat_count = if settings.quick { QUICK_REPEAT_COUNT } else { REPEAT_COUNT };
        Self {
            rows,
            repeat_count: settings.repeats.unwrap_or(repeat_count),
            sample_s: settings.sample_ms.map_or(sample_s, |ms| ms as f64 / 1e3),
            connection_count: is_asked(CaseName::Connections).then_some(connection_count),
            hostile_count: is_asked(CaseName::Hostile).then_some(connection_count),
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::{CaseName, Plan};
    use crate::arguments::{Arguments, Benchmark};

    fn plan(options: &str) -> Plan {
        let line = format!("hairstreak-bench broker {options}");
        match Arguments::parse_from(line.split_whitespace()).benchmark {
            Benchmark::Broker(settings) => Plan::new(&settings),
            other => panic!("not the benchmark: {other:?}"),
        }
    }

    fn texts(plan: &Plan) -> Vec<String> {
        plan.rows.iter().map(|row| row.text()).collect()
    }

    #[test]
    fn the_full_plan_has_the_rows_of_the_targets() {
        let plan = plan("");
        let expected = [
            "publish 16 B",
            "publish 1 KiB",
            "publish 128 KiB",
            "in and out 16 B",
            "in and out 1 KiB",
            "confirms 16 B",
            "fan-out 64 B",
            "round trip 16 B",
            "4 queues 16 B",
            "half of the peak 16 B",
            "half of the peak 1 KiB",
        ];
        assert_eq!(texts(&plan), expected);
        assert_eq!((plan.repeat_count, plan.sample_s, plan.connection_count), (5, 1.0, Some(10_000)));
        let quick = self::plan("--quick");
        assert_eq!((quick.rows, quick.connection_count), (plan.rows, Some(1000)));
    }

    #[test]
    fn filters_choose_rows_and_counts() {
        let plan = plan("--case in-out,connections --size 64,100 --repeat 2 --sample-ms 50 --connections 7");
        assert_eq!(texts(&plan), ["in and out 64 B", "in and out 100 B"]);
        assert_eq!((plan.repeat_count, plan.sample_s, plan.connection_count), (2, 0.05, Some(7)));
        let hot = self::plan("--case hot-queue --loops 1,3");
        assert_eq!(texts(&hot), ["hot queue 16 B, 1 loop", "hot queue 16 B, 3 loops"]);
        assert_eq!(hot.connection_count, None);
    }

    #[test]
    fn several_queues_are_never_without_the_one_to_compare_with() {
        assert_eq!(texts(&plan("--case queues --size 64")), ["in and out 64 B", "4 queues 64 B"]);
    }

    #[test]
    fn what_a_broker_has_to_keep_is_bounded() {
        let counts = plan("").rows.into_iter().map(|row| (row, row.flow(1.0, None).message_count_max));
        for (row, count) in counts {
            let bytes = count * u64::from(row.size * row.flow(1.0, None).producer_count);
            assert!(bytes <= if row.case == CaseName::Publish { 512 << 20 } else { 2 << 30 }, "{row:?}");
        }
    }
}
