//! The report: what was measured where, as a value that becomes JSON or a table.
//!
//! Field names are an interface: programs read them. A field that could not be measured is null.

use serde::Serialize;

use crate::comparison::Comparison;
use crate::run::Run;
use crate::sample::{Calls, CaseName, Sample, Scenario, Transport};
use crate::statistics::Spread;

/// Everything one run of the benchmark has to say.
#[derive(Debug, Serialize)]
pub struct Report {
    /// Always `sockets`.
    pub benchmark: &'static str,
    /// What ran where.
    #[serde(flatten)]
    pub run: Run,
    /// What counted the system calls: `perf`, `strace` or null.
    pub system_calls_counted_by: Option<&'static str>,
    /// The rows.
    pub cases: Vec<Case>,
}

/// One row: a scenario and a way of calling.
#[derive(Debug, Serialize)]
pub struct Case {
    /// What was measured.
    pub case: CaseName,
    /// Over what.
    pub transport: Transport,
    /// Bytes per message.
    pub size: usize,
    /// How ours and the limit program are called; the rival has one message per call always.
    pub calls: Calls,
    /// What the rates count.
    pub unit: &'static str,
    /// Repeats of each contender.
    pub n: usize,
    /// Messages, or round trips, in one sample of ours.
    pub messages: u64,
    /// Ours and the rival.
    #[serde(flatten)]
    pub rates: Comparison,
    /// Median rate of the limit program.
    pub limit: f64,
    /// Slowest repeat.
    pub limit_min: f64,
    /// Fastest repeat.
    pub limit_max: f64,
    /// What the limit program does.
    pub limit_name: &'static str,
    /// `100 * ours / limit`.
    pub percent_of_limit: f64,
    /// User and system seconds of all processes per million messages, median, ours.
    pub cpu_s_per_million: f64,
    /// The same of the rival.
    pub rival_cpu_s_per_million: Option<f64>,
    /// Of ours, both ends, without those of start and end.
    pub system_calls_per_message: Option<f64>,
    /// Of ours, both ends.
    pub allocations_per_message: f64,
    /// Voluntary context switches of ours, both ends.
    pub wake_ups_per_message: f64,
    /// The same of the rival.
    pub rival_wake_ups_per_message: Option<f64>,
}

/// The samples of one row and what was counted for it.
#[derive(Debug, Default)]
pub struct Evidence {
    /// Of ours.
    pub ours: Vec<Sample>,
    /// Of the rival, if it takes part.
    pub rival: Vec<Sample>,
    /// Of the limit program.
    pub limit: Vec<Sample>,
    /// Of ours; null without a tracer.
    pub system_calls_per_message: Option<f64>,
    /// Of ours.
    pub allocations_per_message: f64,
}

impl Case {
    /// The row that `evidence` supports; `None` without a sample of ours and of the limit.
    pub fn new(scenario: &Scenario, calls: Calls, evidence: &Evidence) -> Option<Self> {
        let rates = |samples: &[Sample]| Spread::of(samples.iter().map(Sample::rate));
        let median = |samples: &[Sample], of: fn(&Sample) -> f64| {
            Spread::of(samples.iter().map(of)).map(|spread| spread.median)
        };
        let ours = rates(&evidence.ours)?;
        let limit = rates(&evidence.limit)?;
        let rival = rates(&evidence.rival);
        Some(Self {
            case: scenario.case,
            transport: scenario.transport,
            size: scenario.size,
            calls,
            unit: scenario.case.unit(),
            n: evidence.ours.len(),
            messages: evidence.ours.first()?.message_count,
            rates: Comparison::new(ours, rival),
            limit: limit.median,
            limit_min: limit.min,
            limit_max: limit.max,
            limit_name: limit_name(scenario, calls),
            percent_of_limit: 100.0 * ours.median / limit.median,
            cpu_s_per_million: median(&evidence.ours, Sample::cpu_s_per_million)?,
            rival_cpu_s_per_million: median(&evidence.rival, Sample::cpu_s_per_million),
            system_calls_per_message: evidence.system_calls_per_message,
            allocations_per_message: evidence.allocations_per_message,
            wake_ups_per_message: median(&evidence.ours, Sample::wake_ups)?,
            rival_wake_ups_per_message: median(&evidence.rival, Sample::wake_ups),
        })
    }
}

fn limit_name(scenario: &Scenario, calls: Calls) -> &'static str {
    match (scenario.case, scenario.transport, calls) {
        (CaseName::RoundTrip, Transport::Inproc, Calls::Spin) => "rings between two threads that look",
        (CaseName::RoundTrip, Transport::Inproc, _) => "rings between two threads that sleep on a futex",
        (CaseName::RoundTrip, Transport::Ipc | Transport::Shm, Calls::Spin) => {
            "rings between two processes that look"
        }
        (CaseName::RoundTrip, Transport::Ipc | Transport::Shm, _) => {
            "rings between two processes that sleep on a futex"
        }
        (CaseName::RoundTrip, _, Calls::Spin) => {
            "reads that do not wait, over and over, and writes on two streams"
        }
        (CaseName::RoundTrip, _, _) => "blocking reads and writes on two streams",
        (CaseName::Echo, Transport::Inproc, _) => "two rings",
        (CaseName::Echo, Transport::Ipc | Transport::Shm, _) => "two rings in shared memory",
        (CaseName::Echo, _, _) => "bare framing both ways over one stream",
        (CaseName::Curve, _, _) => "bare framing and the cipher",
        (CaseName::PubSub, Transport::Inproc, _) => "four rings",
        (CaseName::PubSub, Transport::Ipc | Transport::Shm, _) => "four rings in shared memory",
        (CaseName::PubSub, _, _) => "bare framing, the same bytes written to four streams",
        (_, Transport::Inproc, Calls::One | Calls::Spin) => "ring published per message",
        (_, Transport::Inproc, Calls::Handle) => "ring of words published per message",
        (_, Transport::Inproc, Calls::Batch) => "ring published per 64 messages",
        (_, Transport::Ipc | Transport::Shm, Calls::Batch) => {
            "ring in shared memory published per 64 messages"
        }
        (_, Transport::Ipc | Transport::Shm, _) => "ring in shared memory published per message",
        (_, _, Calls::One | Calls::Handle | Calls::Spin) => "bare framing, a lock exchange per message",
        (_, _, Calls::Batch) => "bare framing, a lock exchange per 64 messages",
    }
}

#[cfg(test)]
mod tests {
    use super::{Calls, Case, CaseName, Evidence, Sample, Scenario, Transport};
    use crate::usage::Usage;

    fn sample(elapsed_s: f64) -> Sample {
        let usage = Usage { cpu_s: 0.5, system_s: 0.1, voluntary_switches: 10, allocations: 0 };
        Sample { message_count: 1000, timed_count: 999, elapsed_s, usage, system_calls: None }
    }

    fn case(rival: Vec<Sample>) -> Case {
        let scenario = Scenario {
            case: CaseName::Throughput,
            transport: Transport::Tcp,
            size: 8,
            calls: vec![Calls::One],
            stream_count: 1,
        };
        let evidence = Evidence {
            ours: vec![sample(1.0), sample(2.0), sample(4.0)],
            rival,
            limit: vec![sample(0.5)],
            ..Evidence::default()
        };
        Case::new(&scenario, Calls::One, &evidence).unwrap()
    }

    #[test]
    fn a_ratio_is_that_of_the_medians() {
        let case = case(vec![sample(4.0)]);
        assert_eq!(case.rates.ratio, Some(2.0));
        assert_eq!(case.percent_of_limit, 25.0);
        assert_eq!(
            (case.n, case.messages, case.rates.ours_min, case.rates.ours_max),
            (3, 1000, 249.75, 999.0)
        );
    }

    #[test]
    fn consumption_is_per_message_of_the_whole_sample() {
        let case = case(vec![sample(4.0)]);
        assert_eq!(case.cpu_s_per_million, 500.0);
        assert_eq!(case.wake_ups_per_message, 0.01);
    }

    #[test]
    fn without_a_rival_its_fields_are_null() {
        let json = serde_json::to_value(case(Vec::new())).unwrap();
        for field in ["rival", "rival_min", "rival_max", "rival_name", "ratio", "rival_cpu_s_per_million"] {
            assert!(json[field].is_null(), "{field}");
        }
    }
}
