//! The options of the study, and its scenarios: by default, with `--quick`, and with filters.

use clap::{Args, ValueEnum as _};

use crate::frame::{Common, RivalOptions, chosen};
use crate::sample::{Calls, CaseName, ContenderName, Subject, Transport};

/// The options of `hairstreak-bench sockets`.
#[derive(Clone, Debug, Args)]
pub struct Settings {
    /// Only these cases [default: all]
    #[arg(long = "case", value_enum, value_delimiter = ',')]
    pub cases: Vec<CaseName>,
    /// Only these transports [default: tcp, ipc and inproc, those that the case has rows for]
    #[arg(long = "transport", value_enum, value_delimiter = ',')]
    pub transports: Vec<Transport>,
    /// Only these message sizes in bytes [default: those of each case, from 8 to 131072]
    #[arg(long = "size", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=16_777_216))]
    pub sizes: Vec<u32>,
    /// Only this way of calling [default: all that the case has]
    #[arg(long, value_enum)]
    pub calls: Option<Calls>,
    /// Sampling and output.
    #[command(flatten)]
    pub common: Common,
    /// The rival.
    #[command(flatten)]
    pub rival: RivalOptions,
}

/// The smallest body that is also sent by handle, where that copies nothing.
const HANDLE_SIZE_MIN: u32 = 8192;
/// The fewest messages of a sample.
pub const MESSAGE_COUNT_MIN: u64 = 200;
const REPEAT_COUNT: u32 = 5;
const REPEAT_COUNT_QUICK: u32 = 3;
const SAMPLE_S: f64 = 0.6;
const SAMPLE_S_QUICK: f64 = 0.06;

/// One case over one transport at one size. Its contenders are measured in turns.
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    /// Ours, with as many messages as take a few hundredths of a second on a slow machine.
    pub subject: Subject,
    /// The ways of calling that get a row each.
    pub calls: Vec<Calls>,
}

/// Everything to be measured.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// In the order of the report.
    pub scenarios: Vec<Scenario>,
    /// Samples per contender and way of calling.
    pub repeat_count: u32,
    /// The wanted time of a sample, in seconds.
    pub sample_s: f64,
}

impl Plan {
    /// The plan for `settings`.
    pub fn new(settings: &Settings) -> Self {
        let mut scenarios = Vec::new();
        for &case in chosen(&settings.cases, CaseName::value_variants()) {
            for &transport in chosen(&settings.transports, transports_of(case, settings.common.quick)) {
                for &size in chosen(&settings.sizes, sizes_of(case, transport, settings.common.quick)) {
                    let calls = calls_of(case, transport, size, settings.calls);
                    if !calls.is_empty() {
                        let subject = subject(case, transport, size as usize, &settings.rival.libzmq);
                        scenarios.push(Scenario { subject, calls });
                    }
                }
            }
        }
        Self {
            scenarios,
            repeat_count: settings.common.repeat_count(REPEAT_COUNT, REPEAT_COUNT_QUICK),
            sample_s: if settings.common.quick { SAMPLE_S_QUICK } else { SAMPLE_S },
        }
    }

    /// Remarks that a reader of some rows needs.
    pub fn notes(&self) -> Vec<&'static str> {
        let inproc =
            || self.scenarios.iter().filter(|scenario| scenario.subject.transport == Transport::Inproc);
        let mut notes = Vec::new();
        if inproc().next().is_some() {
            notes.push("the threads of an inproc sample keep to a core each, for all contenders");
        }
        if inproc().any(|scenario| scenario.calls.contains(&Calls::Handle)) {
            notes
                .push("by handle, 1000 messages may be under way, as libzmq's own mark has it at either end");
        }
        if inproc().any(|scenario| scenario.subject.case == CaseName::RoundTrip) {
            notes.push("inproc: a sender looks for the answer for some 30 us while that pays, then sleeps");
        }
        notes
    }
}

fn subject(case: CaseName, transport: Transport, size: usize, libzmq: &str) -> Subject {
    let message_count = match case {
        CaseName::RoundTrip => 500,
        _ => (50_000_000 / (500 + size as u64)).max(MESSAGE_COUNT_MIN),
    };
    let (calls, contender, libzmq) = (Calls::One, ContenderName::Ours, libzmq.to_owned());
    Subject { case, transport, size, calls, contender, stream_count: 1, message_count, libzmq }
}

/// The transports of a case.
fn transports_of(case: CaseName, is_quick: bool) -> &'static [Transport] {
    match case {
        CaseName::Curve => &[Transport::Tcp],
        CaseName::PubSub | CaseName::Echo if is_quick => &[Transport::Tcp],
        _ => &[Transport::Tcp, Transport::Ipc, Transport::Inproc],
    }
}

/// The sizes of a case.
fn sizes_of(case: CaseName, transport: Transport, is_quick: bool) -> &'static [u32] {
    match (case, transport) {
        (CaseName::Throughput, Transport::Tcp) if is_quick => &[8, 64, 1024, 131_072],
        (CaseName::Throughput, Transport::Inproc) if is_quick => &[8, 131_072],
        (CaseName::Throughput, _) if is_quick => &[8, 8192],
        (CaseName::Throughput, _) => &[8, 64, 256, 1024, 8192, 131_072],
        (CaseName::Curve, _) => &[64, 8192],
        (CaseName::PubSub | CaseName::Echo, _) => &[64],
        (CaseName::RoundTrip, _) => &[8],
    }
}

/// A round trip has one message under way, so there is nothing to batch; only between threads does a handle arrive;
/// mechanisms are for streams.
fn calls_of(case: CaseName, transport: Transport, size: u32, only: Option<Calls>) -> Vec<Calls> {
    let all: &[Calls] = match (case, transport) {
        (CaseName::Curve, Transport::Shm | Transport::Inproc) => &[],
        (CaseName::RoundTrip, _) => &[Calls::One, Calls::Spin],
        (CaseName::Throughput, Transport::Inproc) if size >= HANDLE_SIZE_MIN => {
            &[Calls::One, Calls::Batch, Calls::Handle]
        }
        _ => &[Calls::One, Calls::Batch],
    };
    all.iter().copied().filter(|calls| only.is_none_or(|only| only == *calls)).collect()
}

#[cfg(test)]
mod tests {
    use clap::ValueEnum as _;

    use super::Plan;
    use crate::frame::parse;
    use crate::sample::{Calls, CaseName, Transport};

    fn plan(options: &str) -> Plan {
        Plan::new(&parse(options))
    }

    #[test]
    fn the_full_plan_has_every_case_on_every_transport() {
        let plan = plan("");
        assert_eq!(plan.scenarios.len(), 3 * 6 + 2 + 3 + 3 + 3);
        assert_eq!(plan.repeat_count, 5);
    }

    #[test]
    fn the_quick_plan_has_every_case_and_stays_within_a_minute() {
        let plan = plan("--quick");
        for &case in CaseName::value_variants() {
            assert!(plan.scenarios.iter().any(|scenario| scenario.subject.case == case), "{case:?}");
        }
        // Besides ours, the rival and the limit in turns there is about one sample each to find its count, and four to
        // count system calls; starting and ending two processes takes about 40 ms.
        let samples = plan.scenarios.iter().map(|scenario| {
            let subjects = 1 + 2 * scenario.calls.len();
            subjects * (plan.repeat_count as usize + 1) + 2 * scenario.calls.len()
        });
        let seconds = samples.sum::<usize>() as f64 * (plan.sample_s + 0.04);
        assert!(seconds < 50.0, "{seconds} s");
    }

    #[test]
    fn filters_leave_one_row() {
        let plan = plan("--quick --case throughput --transport inproc --size 8 --calls one --repeat 2");
        assert_eq!(plan.scenarios.len(), 1);
        let scenario = &plan.scenarios[0];
        assert_eq!(
            (scenario.subject.case, scenario.subject.transport),
            (CaseName::Throughput, Transport::Inproc)
        );
        assert_eq!((scenario.subject.size, scenario.calls.as_slice()), (8, [Calls::One].as_slice()));
        assert_eq!(plan.repeat_count, 2);
    }

    #[test]
    fn filters_reach_every_case() {
        for (options, case, transport, size) in [
            ("--case curve --transport ipc --size 100", CaseName::Curve, Transport::Ipc, 100),
            ("--case pub_sub --transport inproc --size 8", CaseName::PubSub, Transport::Inproc, 8),
            ("--case echo --transport shm --size 1024", CaseName::Echo, Transport::Shm, 1024),
        ] {
            let plan = plan(&format!("{options} --calls batch"));
            let [scenario] = plan.scenarios.as_slice() else { panic!("{options}: {plan:?}") };
            assert_eq!(
                (scenario.subject.case, scenario.subject.transport, scenario.subject.size),
                (case, transport, size)
            );
            assert_eq!(scenario.calls, [Calls::Batch]);
        }
    }

    #[test]
    fn only_large_bodies_between_threads_go_by_handle() {
        for scenario in plan("").scenarios {
            let expected = (scenario.subject.case, scenario.subject.transport)
                == (CaseName::Throughput, Transport::Inproc)
                && scenario.subject.size >= 8192;
            assert_eq!(scenario.calls.contains(&Calls::Handle), expected, "{scenario:?}");
        }
    }

    #[test]
    fn rows_that_need_a_word_get_it() {
        let cores = "the threads of an inproc sample keep to a core each, for all contenders";
        let by_handle =
            "by handle, 1000 messages may be under way, as libzmq's own mark has it at either end";
        assert!(plan("--transport tcp").notes().is_empty());
        assert_eq!(plan("--case throughput --size 8").notes(), [cores]);
        assert_eq!(plan("--case throughput").notes(), [cores, by_handle]);
        assert_eq!(plan("").notes().len(), 3);
    }

    #[test]
    fn a_round_trip_has_no_batch_row() {
        assert!(plan("--case round_trip --calls batch").scenarios.is_empty());
        let mut trips = plan("--case round_trip").scenarios.into_iter();
        assert!(trips.all(|scenario| !scenario.calls.contains(&Calls::Batch)));
    }

    #[test]
    fn mechanisms_are_for_streams() {
        assert!(plan("--case curve --transport inproc,shm").scenarios.is_empty());
    }
}
