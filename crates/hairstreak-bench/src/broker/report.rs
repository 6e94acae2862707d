//! The report: what was measured where, as a value that becomes JSON or tables.
//!
//! Field names are an interface: programs read them. A field that could not be measured is null.

use serde::Serialize;

use super::hostile::HostileRow;
use super::idle::IdleRow;
use super::plan::Row;
use super::sample::Sample;
use super::server::ServerKind;
use crate::run::Run;
use crate::statistics::Spread;

const US_PER_S: f64 = 1e6;

/// Everything one run of the benchmark has to say.
#[derive(Debug, Serialize)]
pub struct Report {
    /// Always `broker`.
    pub benchmark: &'static str,
    /// The machine and the build.
    #[serde(flatten)]
    pub run: Run,
    /// `perf` or `strace`.
    pub system_calls_counted_by: Option<&'static str>,
    /// The rows.
    pub cases: Vec<Case>,
    /// Idle connections, by contender.
    pub connections: Vec<IdleRow>,
    /// Messages in and out beside a hostile load, by contender.
    pub hostile: Vec<HostileRow>,
    /// Targets reached and missed, in sentences.
    pub conclusion: Vec<String>,
}

/// One row.
#[derive(Debug, Serialize)]
pub struct Case {
    /// The case.
    pub case: &'static str,
    /// Bytes of a body.
    pub size: u32,
    /// Queues.
    pub queues: u32,
    /// Event loops of the node, where they are what is compared.
    pub loops: Option<u32>,
    /// The unit of the rates, and of "per message".
    pub unit: &'static str,
    /// Repeats of each contender.
    pub n: usize,
    /// The measured contenders.
    pub contenders: Vec<Figures>,
    /// Rate of ours over that of the rival, of the medians.
    pub ratio: Option<f64>,
    /// Rate of ours in per cent of the limit's, of the medians.
    pub percent_of_limit: Option<f64>,
    /// The row.
    #[serde(skip)]
    pub row: Row,
}

/// Figures of a contender.
#[derive(Debug, Serialize)]
pub struct Figures {
    /// `hairstreak`, `RabbitMQ` or `limit`.
    pub contender: &'static str,
    /// In a second.
    pub rate: Spread,
    /// Messages of the sample that had most.
    pub messages_max: u64,
    /// Use of its processes for each message: broker first.
    pub processes: Vec<Consumption>,
    /// System calls of the broker for each message, in a sample of its own.
    pub broker_system_calls: Option<f64>,
    /// How long messages took, in microseconds.
    pub latency_us: Option<Latencies>,
    /// Whose they are.
    #[serde(skip)]
    pub kind: ServerKind,
}

/// Use of a process for each message.
#[derive(Debug, Serialize)]
pub struct Consumption {
    /// `broker`, `producer`, `consumer` or `client`.
    pub role: &'static str,
    /// User time, in microseconds.
    pub user_us: Spread,
    /// System time, in microseconds.
    pub system_us: Spread,
    /// Both.
    pub cpu_us: Spread,
    /// Voluntary context switches.
    pub wake_ups: Spread,
}

/// Percentiles of latencies, each of its own sample, in microseconds.
#[derive(Debug, Serialize)]
pub struct Latencies {
    /// Half of the messages at most.
    pub p50: Spread,
    /// 99 of 100 at most.
    pub p99: Spread,
    /// 999 of 1000 at most.
    pub p999: Spread,
}

/// The samples of a contender in a row.
#[derive(Debug)]
pub struct Evidence {
    /// Whose.
    pub kind: ServerKind,
    /// In the order in which they were made.
    pub samples: Vec<Sample>,
    /// System calls of the broker for each message, from the sample that counted them.
    pub system_calls: Option<f64>,
}

impl Case {
    /// The row that `evidence` supports; `None` without any.
    pub fn new(row: Row, evidence: &[Evidence]) -> Option<Case> {
        let contenders: Vec<Figures> = evidence.iter().filter_map(Figures::new).collect();
        let rate_of =
            |kind| contenders.iter().find(|figures| figures.kind == kind).map(|figures| figures.rate.median);
        let ours_over = |kind| rate_of(ServerKind::Node).zip(rate_of(kind)).map(|(ours, other)| ours / other);
        Some(Case {
            case: row.case.text(),
            size: row.size,
            queues: row.case.shape().queue_count,
            loops: row.loop_count,
            unit: row.case.unit(),
            n: evidence.iter().map(|evidence| evidence.samples.len()).max().filter(|&n| n > 0)?,
            ratio: ours_over(ServerKind::RabbitMq),
            percent_of_limit: ours_over(ServerKind::Limit).map(|share| 100.0 * share),
            contenders,
            row,
        })
    }

    /// Figures of a contender in this row.
    pub fn of(&self, kind: ServerKind) -> Option<&Figures> {
        self.contenders.iter().find(|figures| figures.kind == kind)
    }
}

impl Figures {
    fn new(evidence: &Evidence) -> Option<Figures> {
        let samples = &evidence.samples[..];
        let roles = samples.first()?.clients.iter().map(|(role, _)| *role);
        let clients = roles.filter_map(|wanted| {
            Consumption::new(
                wanted.text(),
                samples.iter().filter_map(|sample| {
                    let (_, used) = sample.clients.iter().find(|(role, _)| *role == wanted)?;
                    Some((sample.count, used.cpu_s - used.system_s, used.system_s, used.voluntary_switches))
                }),
            )
        });
        let broker = Consumption::new(
            "broker",
            samples.iter().filter_map(|sample| {
                let used = sample.broker?;
                Some((sample.count, used.user_s, used.system_s, used.voluntary_switches))
            }),
        );
        Some(Figures {
            contender: evidence.kind.text(),
            rate: Spread::of(samples.iter().map(Sample::rate))?,
            messages_max: samples.iter().map(|sample| sample.count).max()?,
            processes: broker.into_iter().chain(clients).collect(),
            broker_system_calls: evidence.system_calls,
            latency_us: Latencies::new(samples),
            kind: evidence.kind,
        })
    }

    /// Use of the broker's processes.
    pub fn broker(&self) -> Option<&Consumption> {
        self.processes.iter().find(|used| used.role == "broker")
    }
}

impl Consumption {
    /// `used`: for each sample its messages, user time, system time and voluntary context switches.
    fn new(role: &'static str, used: impl Iterator<Item = (u64, f64, f64, u64)>) -> Option<Consumption> {
        let used: Vec<_> = used.filter(|(count, ..)| *count > 0).collect();
        let each = |of: fn(&(u64, f64, f64, u64)) -> f64| {
            Spread::of(used.iter().map(|sample| of(sample).max(0.0) / sample.0 as f64))
        };
        Some(Consumption {
            role,
            user_us: each(|sample| sample.1 * US_PER_S)?,
            system_us: each(|sample| sample.2 * US_PER_S)?,
            cpu_us: each(|sample| (sample.1 + sample.2) * US_PER_S)?,
            wake_ups: each(|sample| sample.3 as f64)?,
        })
    }
}

impl Latencies {
    fn new(samples: &[Sample]) -> Option<Latencies> {
        let latencies = || samples.iter().filter_map(|sample| sample.latency);
        Some(Latencies {
            p50: Spread::of(latencies().map(|latency| latency.p50_us))?,
            p99: Spread::of(latencies().map(|latency| latency.p99_us))?,
            p999: Spread::of(latencies().map(|latency| latency.p999_us))?,
        })
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::case::CaseName;
    use super::super::histogram::Latency;
    use super::super::server::ProcessUse;
    use super::super::task::Role;
    use super::{Case, Evidence, Row, Sample, ServerKind};
    use crate::usage::Usage;

    /// A sample of 1000 messages that took so long and cost the broker so much user time.
    fn sample(elapsed_s: f64, user_s: f64) -> Sample {
        let broker = ProcessUse { user_s, system_s: 0.5, voluntary_switches: 10, resident_bytes: 0 };
        let client = Usage { cpu_s: 1.0, system_s: 0.25, voluntary_switches: 4000, allocations: 0 };
        let latency = Some(Latency { p50_us: 1.0, p99_us: 2.0, p999_us: 3.0 });
        let clients = vec![(Role::Producer, client), (Role::Consumer, client)];
        Sample { count: 1000, elapsed_s, broker: Some(broker), clients, latency }
    }

    /// A row of the case at 16 bytes, its contenders with a sample for each number of seconds.
    pub fn case(case: CaseName, user_s: f64, contenders: &[(ServerKind, &[f64])]) -> Case {
        let evidence = contenders.iter().map(|&(kind, seconds)| Evidence {
            kind,
            samples: seconds.iter().map(|&s| sample(s, user_s)).collect(),
            system_calls: None,
        });
        let row = Row { case, size: 16, loop_count: None };
        Case::new(row, &evidence.collect::<Vec<_>>()).unwrap()
    }

    #[test]
    fn a_row_compares_medians() {
        let contenders: [(_, &[f64]); 3] = [
            (ServerKind::Node, &[1.0, 4.0, 2.0]),
            (ServerKind::RabbitMq, &[10.0]),
            (ServerKind::Limit, &[1.0]),
        ];
        let case = case(CaseName::InOut, 1.5, &contenders);
        assert_eq!((case.ratio, case.percent_of_limit, case.n), (Some(5.0), Some(50.0), 3));
        let broker = case.of(ServerKind::Node).unwrap().broker().unwrap();
        assert_eq!((broker.user_us.median, broker.cpu_us.median), (1500.0, 2000.0));
        assert_eq!(broker.wake_ups.median, 0.01);
    }

    #[test]
    fn who_is_alone_is_compared_with_nobody() {
        let case = case(CaseName::InOut, 1.5, &[(ServerKind::RabbitMq, &[1.0])]);
        assert_eq!((case.ratio, case.percent_of_limit), (None, None));
        assert!(Case::new(case.row, &[]).is_none());
    }
}
