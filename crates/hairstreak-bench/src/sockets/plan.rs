//! Which scenarios are measured, by default, with `--quick` and with filters.

use clap::ValueEnum;
use serde::{Deserialize, Serialize};

use super::task::{Calls, CaseName};
use crate::arguments::SocketsSettings;

const SIZES: [u32; 6] = [8, 64, 256, 1024, 8192, 131_072];
const SIZES_QUICK: [u32; 4] = [8, 64, 1024, 131_072];
const ROUND_TRIP_SIZE: u32 = 8;
/// The smallest body that is also sent by handle, where that copies nothing.
const HANDLE_SIZE_MIN: u32 = 8192;
const REPEAT_COUNT: u32 = 5;
const REPEAT_COUNT_QUICK: u32 = 3;
const SAMPLE_S: f64 = 0.6;
const SAMPLE_S_QUICK: f64 = 0.15;

/// What the messages travel over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "snake_case")]
pub enum Transport {
    /// TCP on the loopback interface, two processes.
    Tcp,
    /// A unix socket with an abstract name, two processes.
    Ipc,
    /// Shared memory, two processes; libzmq, which has none, over a unix socket.
    Shm,
    /// Between two threads of one process.
    Inproc,
}

impl Transport {
    /// Its name in endpoints, reports and options.
    pub fn text(self) -> &'static str {
        match self {
            Self::Tcp => "tcp",
            Self::Ipc => "ipc",
            Self::Shm => "shm",
            Self::Inproc => "inproc",
        }
    }
}

/// One case over one transport at one size; its contenders are measured in turns.
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    /// What is measured.
    pub case: CaseName,
    /// Over what.
    pub transport: Transport,
    /// Bytes per message.
    pub size: usize,
    /// The ways of calling that get a row each.
    pub calls: Vec<Calls>,
}

impl Scenario {
    /// In words, for progress and errors.
    pub fn text(&self) -> String {
        format!("{} {} {} B", self.case.text(), self.transport.text(), self.size)
    }
}

/// Everything to be measured.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// In the order of the report.
    pub scenarios: Vec<Scenario>,
    /// Samples per contender and way of calling.
    pub repeat_count: u32,
    /// What a sample should take, in seconds.
    pub sample_s: f64,
}

impl Plan {
    /// The plan for `settings`.
    pub fn new(settings: &SocketsSettings) -> Self {
        let (sizes, transports, repeat_count, sample_s): (&[u32], &[Transport], _, _) = if settings.quick {
            (&SIZES_QUICK, &[Transport::Tcp, Transport::Inproc], REPEAT_COUNT_QUICK, SAMPLE_S_QUICK)
        } else {
            (&SIZES, &[Transport::Tcp, Transport::Ipc, Transport::Inproc], REPEAT_COUNT, SAMPLE_S)
        };
        let cases = chosen(&settings.cases, &[CaseName::Throughput, CaseName::RoundTrip]);
        let mut scenarios = Vec::new();
        for &case in cases {
            let case_sizes: &[u32] = match case {
                CaseName::Throughput => sizes,
                CaseName::RoundTrip => &[ROUND_TRIP_SIZE],
            };
            for &transport in chosen(&settings.transports, transports) {
                for &size in chosen(&settings.sizes, case_sizes) {
                    let calls = calls_of(case, transport, size, settings.calls);
                    if !calls.is_empty() {
                        scenarios.push(Scenario { case, transport, size: size as usize, calls });
                    }
                }
            }
        }
        Self { scenarios, repeat_count: settings.repeats.unwrap_or(repeat_count), sample_s }
    }
}

/// A round trip has one message under way, so there is nothing to batch; only between threads does a handle arrive.
fn calls_of(case: CaseName, transport: Transport, size: u32, only: Option<Calls>) -> Vec<Calls> {
    let all: &[Calls] = match (case, transport) {
        (CaseName::RoundTrip, Transport::Ipc | Transport::Shm) => &[Calls::One, Calls::Spin],
        (CaseName::RoundTrip, _) => &[Calls::One],
        (CaseName::Throughput, Transport::Inproc) if size >= HANDLE_SIZE_MIN => {
            &[Calls::One, Calls::Batch, Calls::Handle]
        }
        (CaseName::Throughput, _) => &[Calls::One, Calls::Batch],
    };
    all.iter().copied().filter(|calls| only.is_none_or(|only| only == *calls)).collect()
}

fn chosen<'a, T>(asked: &'a [T], default: &'a [T]) -> &'a [T] {
    if asked.is_empty() { default } else { asked }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::{Plan, Transport};
    use crate::arguments::{Arguments, Benchmark};
    use crate::sockets::task::{Calls, CaseName};

    fn plan(options: &str) -> Plan {
        let line = format!("hairstreak-bench sockets {options}");
        match Arguments::parse_from(line.split_whitespace()).benchmark {
            Benchmark::Sockets(settings) => Plan::new(&settings),
            Benchmark::SocketsWorker { .. } => panic!("not the benchmark: {line}"),
        }
    }

    #[test]
    fn the_full_plan_has_every_size_on_every_transport() {
        let plan = plan("");
        assert_eq!(plan.scenarios.len(), 3 * 6 + 3);
        assert_eq!(plan.repeat_count, 5);
    }

    #[test]
    fn the_quick_plan_stays_within_a_minute() {
        let plan = plan("--quick");
        // Five contenders take turns in a throughput scenario, three in a round trip; a third is added for starting
        // processes, finding message counts and counting system calls.
        let samples: usize = plan.scenarios.iter().map(|scenario| 1 + 2 * scenario.calls.len()).sum();
        let seconds = samples as f64 * f64::from(plan.repeat_count) * plan.sample_s * 4.0 / 3.0;
        assert!(seconds < 55.0, "{seconds} s");
    }

    #[test]
    fn filters_leave_one_row() {
        let plan = plan("--quick --case throughput --transport inproc --size 8 --calls one --repeat 2");
        assert_eq!(plan.scenarios.len(), 1);
        let scenario = &plan.scenarios[0];
        assert_eq!((scenario.case, scenario.transport), (CaseName::Throughput, Transport::Inproc));
        assert_eq!((scenario.size, scenario.calls.as_slice()), (8, [Calls::One].as_slice()));
        assert_eq!(plan.repeat_count, 2);
    }

    #[test]
    fn only_large_bodies_between_threads_go_by_handle() {
        for scenario in plan("").scenarios {
            let expected = (scenario.case, scenario.transport) == (CaseName::Throughput, Transport::Inproc)
                && scenario.size >= 8192;
            assert_eq!(scenario.calls.contains(&Calls::Handle), expected, "{}", scenario.text());
        }
    }

    #[test]
    fn a_round_trip_has_no_batch_row() {
        assert!(plan("--case round_trip --calls batch").scenarios.is_empty());
        assert!(
            plan("--case round_trip")
                .scenarios
                .iter()
                .all(|scenario| !scenario.calls.contains(&Calls::Batch))
        );
    }
}
