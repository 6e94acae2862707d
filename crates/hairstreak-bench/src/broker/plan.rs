//! Scenarios to measure: the targets' table, by default, with `--quick` and with filters.

use std::fmt;
use std::net::SocketAddr;

use clap::{Args, ValueEnum, value_parser};

use super::backlog::{Backlog, CONNECTION_COUNT};
use super::server::RABBITMQ_PROGRAM;
use super::task::Flow;
use crate::frame::{Common, chosen};

const LOOP_COUNTS: [u32; 3] = [1, 2, 4];
/// The most bytes of bodies that a broker must keep: in queues without a consumer, and in queues whose consumers may
/// lag behind.
const KEPT_BYTES_MAX: u64 = 512 << 20;
const LAGGING_BYTES_MAX: u64 = 2 << 30;

/// Options of `hairstreak-bench broker`.
#[derive(Clone, Debug, Args)]
pub struct Settings {
    /// Options of every study.
    #[command(flatten)]
    pub common: Common,
    /// Messages that survive: durable queues, persistent messages, confirms after a sync
    #[arg(long, conflicts_with_all = ["node", "loop_counts", "connection_count"])]
    pub durable: bool,
    /// Each sync of our node and of the limit takes so much longer, such as 5ms; without RabbitMQ and starts
    #[arg(long, value_name = "TIME", value_parser = milliseconds, requires = "durable")]
    pub sync_delay: Option<u64>,
    /// Messages of the cases recovery and paging, in tens [default: 100000 and 300000; with --quick a tenth]
    #[arg(long = "messages", value_name = "COUNT", value_parser = value_parser!(u64).range(1..=1_000_000_000))]
    pub message_count: Option<u64>,
    /// RabbitMQ in the case paging, too, which takes many minutes with 10000000 messages
    #[arg(long, requires = "durable", conflicts_with = "no_rival")]
    pub rivals: bool,
    /// Only these cases [default: all but hot-queue; with --durable the durable ones]
    #[arg(long = "case", value_enum, value_delimiter = ',')]
    pub cases: Vec<CaseName>,
    /// Only these sizes of bodies in bytes, 8 at least [default: those of each case, from 16 to 131072]
    #[arg(long = "size", value_delimiter = ',', value_parser = value_parser!(u32).range(8..=16_777_216))]
    pub sizes: Vec<u32>,
    /// Time in which a producer publishes in a sample, in milliseconds [default: 1000; with --quick 250]
    #[arg(long, value_name = "MS", value_parser = value_parser!(u64).range(10..=600_000))]
    pub sample_ms: Option<u64>,
    /// Idle connections [default: 10000; with --quick 1000]
    #[arg(long = "connections", value_name = "COUNT", value_parser = value_parser!(u32).range(1..=1_000_000))]
    pub connection_count: Option<u32>,
    /// Event loops of the case hot-queue, which needs at least twice as many cores [default: 1,2,4]
    #[arg(long = "loops", value_name = "COUNT", value_delimiter = ',', value_parser = value_parser!(u32).range(1..=64))]
    pub loop_counts: Vec<u32>,
    /// A node that runs already, such as tcp://127.0.0.1:5672 [default: `hairstreak serve` is started for the run]
    #[arg(long, value_name = "ENDPOINT", value_parser = tcp_address)]
    pub node: Option<SocketAddr>,
    /// The process of that node; without it the report has nothing about its consumption
    #[arg(long, value_name = "ID", requires = "node")]
    pub node_process: Option<u32>,
    /// Leave our node out
    #[arg(long, conflicts_with = "node")]
    pub no_node: bool,
    /// Leave RabbitMQ out
    #[arg(long)]
    pub no_rival: bool,
    /// The script that starts RabbitMQ
    #[arg(long, value_name = "PROGRAM", default_value = RABBITMQ_PROGRAM)]
    pub rabbitmq: String,
}

fn milliseconds(time: &str) -> Result<u64, String> {
    let number = time.strip_suffix("ms").and_then(|number| number.parse().ok());
    number
        .filter(|number| (1..=10_000).contains(number))
        .ok_or_else(|| "a time from 1ms to 10000ms".to_owned())
}

fn tcp_address(endpoint: &str) -> Result<SocketAddr, String> {
    let address = endpoint.strip_prefix("tcp://").and_then(|address| address.parse().ok());
    address.ok_or_else(|| {
        "an endpoint such as tcp://127.0.0.1:5672, with an address instead of a name".to_owned()
    })
}

/// A measured case, in the order of the targets' table. A case that is compared with another one comes behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum CaseName {
    /// Transient messages into a queue without a consumer
    Publish,
    /// In and out, acknowledged by the broker itself
    InOut,
    /// In and out, a window of 500 confirms, each 50 deliveries acknowledged at once
    Confirms,
    /// Each message to 10 queues
    FanOut,
    /// One message at a time through a queue
    RoundTrip,
    /// 4 queues with a producer and a consumer each: the cost of a message against one queue
    Queues,
    /// In and out at half of the peak rate: times that messages take
    Latency,
    /// Idle connections with a channel each
    Connections,
    /// In and out of good clients beside connections that harm the broker as far as it lets them
    Hostile,
    /// One queue with 4 producers and 4 consumers, by event loops of the node; only on demand
    HotQueue,
    /// Durable: in and out, a window of 500 confirms, each 50 deliveries acknowledged at once
    Persistent,
    /// Durable: one confirm at a time
    OneConfirm,
    /// Durable: 100 publishers, one confirm at a time each
    Publishers,
    /// Durable: the same with transient messages
    TransientPublishers,
    /// Durable: 10 publishers into one queue, 10,000 messages in flight altogether
    OneQueue,
    /// Durable: the same into 100 queues
    HundredQueues,
    /// Durable: the same into 1,000 queues
    ThousandQueues,
    /// Durable: start after kill -9 with 5,000 empty queues
    StartQueues,
    /// Durable: start after kill -9 with messages of 1 KiB
    Recovery,
    /// Durable: more messages of 1 KiB than the memory holds, in, start after kill -9, and out, in 1 queue and in 1,000 queues
    Paging,
    /// Durable: a short queue in and out beside a publisher that fills a long queue, on disk and in memory
    BesidePaging,
}

impl CaseName {
    /// Returns the name in reports, the sizes of bodies, and the flow of messages. Six cases have no sizes.
    fn row(self) -> (&'static str, &'static [u32], Flow) {
        let one = Flow { queue_count: 1, producer_count: 1, consumer_count: 1, ..Flow::default() };
        let durable = Flow { is_durable: true, is_persistent: true, consumer_count: 0, ..one };
        let one_by_one = Flow { confirm_window: Some(1), ..durable };
        let in_flight =
            |queue_count| Flow { queue_count, producer_count: 10, confirm_window: Some(1000), ..durable };
        match self {
            Self::Publish => ("publish", &[16, 1024, 131_072], Flow { consumer_count: 0, ..one }),
            Self::InOut => ("in and out", &[16, 1024], one),
            Self::Confirms => {
                ("confirms", &[16], Flow { confirm_window: Some(500), ack_each: Some(50), ..one })
            }
            Self::FanOut => {
                ("fan-out", &[64], Flow { is_fanout: true, queue_count: 10, consumer_count: 10, ..one })
            }
            Self::RoundTrip => ("round trip", &[16], one),
            Self::Queues => {
                ("4 queues", &[16], Flow { queue_count: 4, producer_count: 4, consumer_count: 4, ..one })
            }
            Self::Latency => ("half of the peak", &[16, 1024], one),
            Self::Connections => ("connections", &[], one),
            Self::Hostile => ("hostile load", &[], one),
            Self::HotQueue => ("hot queue", &[16], Flow { producer_count: 4, consumer_count: 4, ..one }),
            Self::Persistent => {
                let windows = Flow { confirm_window: Some(500), ack_each: Some(50), ..durable };
                ("persistent", &[16, 1024], Flow { consumer_count: 1, ..windows })
            }
            Self::OneConfirm => ("one confirm", &[16], one_by_one),
            Self::Publishers => ("100 publishers", &[16], Flow { producer_count: 100, ..one_by_one }),
            Self::TransientPublishers => {
                let transient = Flow { is_persistent: false, ..one_by_one };
                ("100 transient", &[16], Flow { producer_count: 100, ..transient })
            }
            Self::OneQueue => ("1 queue", &[1024], in_flight(1)),
            Self::HundredQueues => ("100 queues", &[1024], in_flight(100)),
            Self::ThousandQueues => ("1000 queues", &[1024], in_flight(1000)),
            Self::StartQueues => ("start", &[], durable),
            Self::Recovery => ("recovery", &[], durable),
            Self::Paging => ("paging", &[], durable),
            Self::BesidePaging => ("beside paging", &[], Flow { confirm_window: Some(500), ..one }),
        }
    }

    /// The name in reports.
    pub fn text(self) -> &'static str {
        self.row().0
    }

    /// Returns true if brokers keep messages on disk.
    pub fn is_durable(self) -> bool {
        self.row().2.is_durable || self == Self::BesidePaging
    }

    /// Returns true if one client publishes and consumes in turns.
    pub fn is_round_trip(self) -> bool {
        matches!(self, Self::RoundTrip | Self::BesidePaging)
    }

    /// The unit of the rates.
    pub fn unit(self) -> &'static str {
        match self {
            Self::FanOut => "deliveries/s",
            Self::RoundTrip => "round trips/s",
            Self::OneConfirm | Self::Publishers | Self::TransientPublishers => "confirms/s",
            _ => "messages/s",
        }
    }
}

/// The parameters that all contenders of a row share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scenario {
    /// The case.
    pub case: CaseName,
    /// Bytes of a body.
    pub size: u32,
    /// Event loops of the node, where they are compared.
    pub loop_count: Option<u32>,
}

impl Scenario {
    /// Returns the flow of messages for `duration_s`, at `rate_per_s` if there is a rate.
    pub fn flow(self, duration_s: f64, rate_per_s: Option<f64>) -> Flow {
        let (.., flow) = self.case.row();
        let bytes_max = if flow.consumer_count == 0 { KEPT_BYTES_MAX } else { LAGGING_BYTES_MAX };
        let message_count_max = (bytes_max / u64::from(self.size * flow.producer_count)).max(1);
        Flow { body_size: self.size, rate_per_s, duration_s, message_count_max, ..flow }
    }
}

impl fmt::Display for Scenario {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} {}", self.case.text(), size_text(self.size))?;
        match self.loop_count {
            Some(1) => write!(out, ", 1 loop"),
            Some(count) => write!(out, ", {count} loops"),
            None => Ok(()),
        }
    }
}

/// Writes a number of bytes for people.
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
    pub scenarios: Vec<Scenario>,
    /// Samples of each scenario and contender.
    pub repeat_count: u32,
    /// Time in which a producer publishes in a sample.
    pub sample_s: f64,
    /// Idle connections; `None`: not measured.
    pub connection_count: Option<u32>,
    /// Idle connections of a hostile load; `None`: no such load.
    pub hostile_count: Option<u32>,
    /// Starts of a broker that was killed.
    pub starts: Vec<Start>,
    /// Backlogs that are larger than the memory.
    pub backlogs: Vec<Backlog>,
    /// A short queue is measured beside a long one.
    pub has_beside: bool,
}

/// The content of a broker that is killed and started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// Empty durable queues.
    Queues(u32),
    /// Messages of 1 KiB.
    Messages(Backlog),
}

impl Plan {
    /// Returns the plan for `settings`.
    pub fn new(settings: &Settings) -> Self {
        let is_asked = |case| match case {
            CaseName::HotQueue => settings.cases.contains(&case),
            _ if case.is_durable() != settings.durable => false,
            _ if case.row().1.is_empty() && settings.sync_delay.is_some() => false,
            _ => settings.cases.is_empty() || settings.cases.contains(&case),
        };
        let mut scenarios = Vec::new();
        for &case in CaseName::value_variants().iter().filter(|case| is_asked(**case)) {
            let (_, sizes, _) = case.row();
            let sizes = if sizes.is_empty() { sizes } else { chosen(&settings.sizes, sizes) };
            for &size in sizes {
                if case == CaseName::HotQueue {
                    let counts = chosen(&settings.loop_counts, &LOOP_COUNTS).iter();
                    scenarios.extend(counts.map(|&count| Scenario { case, size, loop_count: Some(count) }));
                } else {
                    scenarios.push(Scenario { case, size, loop_count: None });
                }
            }
        }
        // The cost of several queues is compared with the cost of one.
        if !is_asked(CaseName::InOut) {
            let several = scenarios.iter().filter(|scenario| scenario.case == CaseName::Queues);
            let one: Vec<_> = several.map(|&several| Scenario { case: CaseName::InOut, ..several }).collect();
            scenarios.splice(0..0, one);
        }
        let is_quick = settings.common.quick;
        let queues = Start::Queues(if is_quick { 500 } else { 5_000 });
        let backlog = |count: u64, queue_count| {
            let count = settings.message_count.unwrap_or(if is_quick { count / 10 } else { count });
            Backlog { message_count: count.next_multiple_of(CONNECTION_COUNT.into()), queue_count }
        };
        let recovery = Start::Messages(backlog(100_000, 1));
        let starts = [(CaseName::StartQueues, queues), (CaseName::Recovery, recovery)];
        let paged: &[u32] = if is_asked(CaseName::Paging) { &[1, 1_000] } else { &[] };
        let connection_count = settings.connection_count.unwrap_or(if is_quick { 1000 } else { 10_000 });
        let sample_ms = settings.sample_ms.unwrap_or(if is_quick { 250 } else { 1000 });
        Self {
            scenarios,
            repeat_count: settings.common.repeat_count(5, 3),
            sample_s: sample_ms as f64 / 1e3,
            connection_count: is_asked(CaseName::Connections).then_some(connection_count),
            hostile_count: is_asked(CaseName::Hostile).then_some(connection_count),
            starts: starts.into_iter().filter(|(case, _)| is_asked(*case)).map(|(_, start)| start).collect(),
            backlogs: paged.iter().map(|&queue_count| backlog(300_000, queue_count)).collect(),
            has_beside: is_asked(CaseName::BesidePaging),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Backlog, Plan, Start};
    use crate::frame::parse;

    fn plan(options: &str) -> Plan {
        Plan::new(&parse(options))
    }

    fn texts(plan: &Plan) -> Vec<String> {
        plan.scenarios.iter().map(ToString::to_string).collect()
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
        assert_eq!((quick.scenarios, quick.connection_count), (plan.scenarios, Some(1000)));
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
    fn durable_rows_are_those_of_their_targets() {
        let plan = plan("--durable");
        let expected = [
            "persistent 16 B",
            "persistent 1 KiB",
            "one confirm 16 B",
            "100 publishers 16 B",
            "100 transient 16 B",
            "1 queue 1 KiB",
            "100 queues 1 KiB",
            "1000 queues 1 KiB",
        ];
        assert_eq!(texts(&plan), expected);
        assert_eq!((plan.connection_count, plan.hostile_count), (None, None));
        let backlog = |message_count, queue_count| Backlog { message_count, queue_count };
        assert_eq!(plan.starts, [Start::Queues(5_000), Start::Messages(backlog(100_000, 1))]);
        assert_eq!(plan.backlogs, [backlog(300_000, 1), backlog(300_000, 1_000)]);
        let delayed = self::plan("--durable --sync-delay 5ms --case one-queue,recovery,paging,beside-paging");
        assert_eq!((texts(&delayed), delayed.starts), (vec!["1 queue 1 KiB".to_owned()], vec![]));
        assert!(plan.has_beside && !delayed.has_beside && delayed.backlogs.is_empty());
        let recovery = self::plan("--durable --case recovery --messages 7");
        assert_eq!((recovery.starts, recovery.backlogs), (vec![Start::Messages(backlog(10, 1))], vec![]));
    }

    #[test]
    fn several_queues_are_never_without_the_one_to_compare_with() {
        assert_eq!(texts(&plan("--case queues --size 64")), ["in and out 64 B", "4 queues 64 B"]);
    }

    #[test]
    fn what_a_broker_has_to_keep_is_bounded() {
        for scenario in [plan("").scenarios, plan("--durable").scenarios].concat() {
            let flow = scenario.flow(1.0, None);
            let bytes = flow.message_count_max * u64::from(flow.body_size * flow.producer_count);
            assert!(bytes <= if flow.consumer_count == 0 { 512 << 20 } else { 2 << 30 }, "{scenario}");
        }
    }
}
