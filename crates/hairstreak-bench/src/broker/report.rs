//! The tables of rates, costs and latencies, made of the samples of all contenders.

use super::plan::{Scenario, size_text};
use super::sample::{BROKER, DiskUse, Sample};
use super::server::ServerKind;
use super::timing::PERCENTILES;
use crate::frame::disk::DiskSpeed;
use crate::frame::usage::Usage;
use crate::frame::{Row, Spread, Table, Value, rate, short};

const US_PER_S: f64 = 1e6;

/// The samples of a contender in a scenario.
#[derive(Debug)]
pub struct Evidence {
    /// Case, size and loops.
    pub scenario: Scenario,
    /// The contender.
    pub kind: ServerKind,
    /// The samples, in the order in which they were taken.
    pub samples: Vec<Sample>,
    /// System calls of the broker for each message, from the sample that counted them.
    pub system_calls: Option<f64>,
}

impl Evidence {
    /// Returns the rates.
    pub fn rate(&self) -> Option<Spread> {
        Spread::of(self.samples.iter().map(Sample::rate))
    }

    /// Returns the microseconds of processor time that the broker takes for a message.
    pub fn broker_cpu_us(&self) -> Option<Spread> {
        self.cost(BROKER, |used| used.cpu_s * US_PER_S)
    }

    /// Returns the bytes that the device writes for each byte of a publish.
    pub fn written_per_byte(&self) -> Option<Spread> {
        let ratio = |disk: DiskUse| Some(disk.device_bytes? as f64 / disk.wire_bytes as f64);
        Spread::of(self.samples.iter().filter_map(|sample| ratio(sample.disk?)))
    }

    /// Returns the cost of a message in the processes of a role.
    fn cost(&self, role: &str, of: impl Fn(&Usage) -> f64) -> Option<Spread> {
        Spread::of(self.samples.iter().filter(|sample| sample.count > 0).filter_map(|sample| {
            let (_, used) = sample.processes.iter().find(|(other, _)| *other == role)?;
            Some(of(used).max(0.0) / sample.count as f64)
        }))
    }
}

/// Returns the median of a figure of a contender in a scenario.
pub fn median(
    evidence: &[Evidence],
    scenario: Scenario,
    kind: ServerKind,
    figure: fn(&Evidence) -> Option<Spread>,
) -> Option<f64> {
    let is_it = |evidence: &&Evidence| evidence.scenario == scenario && evidence.kind == kind;
    Some(figure(evidence.iter().find(is_it)?)?.median)
}

/// Returns the rate of ours over that of another contender, of the medians.
pub fn ratio(evidence: &[Evidence], scenario: Scenario, kind: ServerKind) -> Option<f64> {
    let rate = |kind| median(evidence, scenario, kind, Evidence::rate);
    Some(rate(ServerKind::Node)? / rate(kind)?)
}

/// Returns the tables of `evidence`, which has the contenders of a scenario one after the other.
pub fn tables(evidence: &[Evidence], system_calls_counted_by: Option<&'static str>) -> [Table; 4] {
    let scenarios = evidence.chunk_by(|one, other| one.scenario == other.scenario);
    let rates = scenarios.map(|contenders| rates(contenders[0].scenario, contenders)).collect();
    let counted_by = Value::other(system_calls_counted_by, "");
    let costs = evidence.iter().flat_map(costs);
    let costs = costs.map(|row| row.keep("system_calls_counted_by", counted_by.clone())).collect();
    let latencies = evidence.iter().filter_map(latencies).collect();
    [
        Table { key: "cases", title: "Rates (median [min-max])", rows: rates, legend: "" },
        Table {
            key: "costs",
            title: "Costs of a message (medians, user and system time in us)",
            rows: costs,
            legend: "A message of fan-out is a delivery, and one of round trip a round trip. Wake-ups are voluntary context switches.",
        },
        Table {
            key: "latencies",
            title: "Times that messages take, from when they were due to when they were read (us, median [min-max])",
            rows: latencies,
            legend: "",
        },
        Table {
            key: "disk",
            title: "The disk (median [min-max])",
            rows: evidence.iter().filter_map(disk).collect(),
            legend: "Wire: bytes of publishes. Device: bytes that its driver wrote, for all processes and the journal of the file system. Sync: \
                     512 bytes and fdatasync. Files cached: in the page cache of this system.",
        },
    ]
}

fn subject(scenario: Scenario) -> Row {
    let Scenario { case, size, loop_count } = scenario;
    let loops = loop_count.map_or_else(String::new, |count| format!(", loops: {count}"));
    Row::default()
        .show("case", "case", Value::other(case.text(), format!("{}{loops}", case.text())))
        .show("size", "size", Value::other(size, size_text(size)))
        .keep("loops", Value::other(loop_count, ""))
}

fn of_contender(evidence: &Evidence) -> Row {
    subject(evidence.scenario).show("contender", "whose", Value::text(evidence.kind.text()))
}

fn rates(scenario: Scenario, contenders: &[Evidence]) -> Row {
    let rate_of = |kind| {
        let contender = contenders.iter().find(|evidence| evidence.kind == kind);
        Value::spread(contender.and_then(Evidence::rate), rate)
    };
    let ratio = |kind| ratio(contenders, scenario, kind);
    let (flow, n) = (scenario.flow(1.0, None), contenders.first().map_or(0, |first| first.samples.len()));
    subject(scenario)
        .keep("queues", Value::count(flow.queue_count))
        .show("n", "n", Value::count(n))
        .show("unit", "unit", Value::text(scenario.case.unit()))
        .show("hairstreak", "hairstreak", rate_of(ServerKind::Node))
        .show("RabbitMQ", "RabbitMQ", rate_of(ServerKind::RabbitMq))
        .show("limit", "limit", rate_of(ServerKind::Limit))
        .show("ratio", "ratio", Value::figure(ratio(ServerKind::RabbitMq), |ratio| format!("{ratio:.1}x")))
        .show(
            "percent_of_limit",
            "of limit",
            Value::percent(ratio(ServerKind::Limit).map(|share| 100.0 * share)),
        )
}

/// A row for each process of a contender.
fn costs(evidence: &Evidence) -> Vec<Row> {
    let count_max = evidence.samples.iter().map(|sample| sample.count).max().unwrap_or_default();
    let roles = evidence.samples.first().into_iter().flat_map(|sample| &sample.processes);
    let row = |&(role, _): &(&'static str, Usage)| {
        let cost = |of: fn(&Usage) -> f64| {
            let spread = evidence.cost(role, of);
            Value::other(spread, spread.map_or_else(|| "-".to_owned(), |spread| short(spread.median)))
        };
        let calls = evidence.system_calls.filter(|_| role == BROKER);
        of_contender(evidence)
            .show("messages_max", "messages", Value::other(count_max, rate(count_max as f64)))
            .show("role", "process", Value::text(role))
            .show("user_us", "user us", cost(|used| (used.cpu_s - used.system_s) * US_PER_S))
            .show("system_us", "system us", cost(|used| used.system_s * US_PER_S))
            .keep("cpu_us", cost(|used| used.cpu_s * US_PER_S))
            .show("wake_ups", "wake-ups", cost(|used| used.voluntary_switches as f64))
            .show("system_calls", "system calls", Value::figure(calls, short))
    };
    roles.map(row).collect()
}

/// The disk's part of the samples, where messages go there.
fn disk(evidence: &Evidence) -> Option<Row> {
    evidence.samples.first()?.disk?;
    let speeds: Vec<_> = evidence.samples.iter().filter_map(|sample| Some(sample.disk?.speed)).collect();
    let written = Value::spread(evidence.written_per_byte(), |ratio| format!("{ratio:.2}"));
    let row = of_contender(evidence).show("n", "n", Value::count(evidence.samples.len())).show(
        "device_per_wire",
        "device/wire",
        written,
    );
    Some(DiskSpeed::show(&speeds, row, true))
}

fn latencies(evidence: &Evidence) -> Option<Row> {
    let latencies = || evidence.samples.iter().filter_map(|sample| sample.latency);
    latencies().next()?;
    let (unit, rates) = (evidence.scenario.case.unit(), evidence.rate()?);
    let rate = Value::other(rates, format!("{} {unit}", rate(rates.median)));
    let row = of_contender(evidence).show("rate", "rate", rate);
    Some(PERCENTILES.iter().enumerate().fold(row, |row, (index, (key, heading, _))| {
        let spread = Spread::of(latencies().map(|latency| latency[index]));
        row.show(key, heading, Value::spread(spread, short))
    }))
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::plan::CaseName;
    use super::*;

    /// A sample of 1000 messages with this duration and this user time of the broker.
    fn sample(elapsed_s: f64, user_s: f64) -> Sample {
        let broker = Usage { cpu_s: user_s + 0.5, system_s: 0.5, voluntary_switches: 10, allocations: 0 };
        let client = Usage { cpu_s: 1.0, system_s: 0.25, voluntary_switches: 4000, allocations: 0 };
        let latency = Some([1.0, 2.0, 3.0]);
        let processes = vec![(BROKER, broker), ("producer", client), ("consumer", client)];
        Sample { count: 1000, elapsed_s, processes, latency, disk: None }
    }

    /// The case at 16 bytes, its contenders with a sample for each number of seconds.
    pub fn case(case: CaseName, user_s: f64, contenders: &[(ServerKind, &[f64])]) -> Vec<Evidence> {
        let scenario = Scenario { case, size: 16, loop_count: None };
        let evidence = contenders.iter().map(|&(kind, seconds)| {
            let samples = seconds.iter().map(|&seconds| sample(seconds, user_s)).collect();
            Evidence { scenario, kind, samples, system_calls: None }
        });
        evidence.collect()
    }

    #[test]
    fn a_row_compares_medians() {
        let contenders: [(_, &[f64]); 3] = [
            (ServerKind::Node, &[1.0, 4.0, 2.0]),
            (ServerKind::RabbitMq, &[10.0]),
            (ServerKind::Limit, &[1.0]),
        ];
        let case = case(CaseName::InOut, 1.5, &contenders);
        let ratio = |kind| ratio(&case, case[0].scenario, kind);
        assert_eq!((ratio(ServerKind::RabbitMq), ratio(ServerKind::Limit)), (Some(5.0), Some(0.5)));
        assert_eq!(case[0].broker_cpu_us().unwrap().median, 2000.0);
        assert_eq!(case[0].cost(BROKER, |used| used.voluntary_switches as f64).unwrap().median, 0.01);
    }

    #[test]
    fn who_is_alone_is_compared_with_nobody() {
        let case = case(CaseName::InOut, 1.5, &[(ServerKind::RabbitMq, &[1.0])]);
        assert_eq!(ratio(&case, case[0].scenario, ServerKind::RabbitMq), None);
        assert_eq!(ratio(&case, case[0].scenario, ServerKind::Limit), None);
    }

    #[test]
    fn each_process_of_each_contender_has_a_row() {
        let case = case(CaseName::InOut, 1.5, &[(ServerKind::Limit, &[0.001]), (ServerKind::Node, &[1.0])]);
        let counts = tables(&case, None).map(|table| table.rows.len());
        assert_eq!(counts, [1, 6, 2, 0]);
    }
}
