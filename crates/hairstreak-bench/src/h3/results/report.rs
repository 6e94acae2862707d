//! `Results`: everything that a benchmark has shown, and its report: tables with notes, and the paper's figures beside ours.

use std::fmt::Write as _;

use hairstreak_transport::vortex::FabricFacts;

use super::figures::{differences, distinct, gains, nodes, number, whole};
use super::paper::{self, FLAWS, TABLE_2};
use super::record::{HEADINGS, MARKS, Record};
use crate::frame::{Report, Row, Setting, Table, Value, name};
use crate::h3::data::Time;
use crate::h3::plan::{Plan, Row as PlanRow, VORTEX_SCALE};

const CSV_HEADING: &str = "transport,target,size,run,time,window,start_s,node_a,node_b,messages_per_s\n";
const MS_PER_S: f64 = 1e3;
const ARRANGEMENT: &str = "One cluster of two senders sends to one of two receivers: sender A to the .A queue of node A, sender B to the .B queue of node B, through one topic exchange for each transport. Nobody consumes while a run is measured. Afterwards every message is drained, counted and digested, and compared with what was sent. A sample is a window of fixed length, empty windows included, both nodes together. Across a transport a message counts when it lies whole in the receiver's memory; into a queue, when the broker confirms it.";
const STATISTICS: &str = "r1 and so on are runs. The paper's rows: IB is TCP over InfiniBand into RabbitMQ, DV is the Data Vortex into memory.";
const DIFFERENCES_TITLE: &str = "Table 2, transport against queue: messages/s, mean ± deviation";
const DIFFERENCES: &str = "The rate across a transport, and the rate into the queues behind it. Across vortex and from there into Hairstreak's queues rates are in the fabric's time, all others in the host's.";
const GAINS: &str = "tcp and shm are in the host's time, vortex is in the fabric's. The paper's claims come from upper percentiles.";
const BOTH_TIMES: &str = "The fabric's time is slots that have passed, times their length. It stands while no cell is under way, so that work of the host takes no fabric time then. The host's time is how long the simulation took.";
const REFERENCES: &str = "43,404 messages/s and node: the benchmark of 30 nodes that the paper refers to. 60,000: what the paper says it sustains over InfiniBand.";

/// Everything that a benchmark has shown.
#[derive(Debug)]
pub struct Results {
    /// The plan of the runs.
    pub plan: Plan,
    /// The agents and their machines.
    pub agents: Vec<Row>,
    /// The simulated Data Vortex, if one was measured.
    pub fabric: Option<FabricFacts>,
    /// All runs.
    pub records: Vec<Record>,
}

impl Results {
    /// The records of a size.
    pub fn of_size(&self, size: usize) -> impl Iterator<Item = &Record> {
        self.records.iter().filter(move |record| record.size == size)
    }

    /// The lengths of windows, in each time once.
    pub fn windows_of(&self, size: usize) -> String {
        let text = |record: &Record| format!("{} ms {}", record.window_ms, name(&record.time));
        distinct(self.of_size(size).map(text)).join(", ")
    }

    /// The report. `notes` are remarks that a reader needs.
    pub fn report(&self, mut notes: Vec<String>) -> Report {
        let (scale, memory) = (self.plan.scale, number(self.plan.memory_bytes as f64));
        notes.push(format!(
            "Scale {scale} of the paper's counts, less where {memory} bytes of messages are too few. A run goes on beyond its count until it has 100 windows, as long as memory lasts."
        ));
        notes.extend(self.records.iter().filter_map(doubts));
        let table = |key, title, rows, legend| Table { key, title, rows, legend };
        let table_2 = TABLE_2.map(|(name, mean, std)| {
            let row = Row::default().show("name", "", Value::text(name));
            row.show("mean", "mean", Value::figure(mean, number)).show(
                "std",
                "std",
                Value::figure(std, number),
            )
        });
        let (records, sizes) = (&self.records, &self.plan.rows);
        let mut tables = vec![
            table("agents", "Agents", self.agents.clone(), ARRANGEMENT),
            table("", "The simulated Data Vortex", self.fabric_row().into_iter().collect(), ""),
            table(
                "sizes",
                "Table 1 as it was run",
                sizes.iter().map(|row| self.size_row(row)).collect(),
                STATISTICS,
            ),
        ];
        tables.extend(sizes.iter().map(|row| self.statistics(row.size)));
        tables.extend([
            table("differences", DIFFERENCES_TITLE, differences(records), DIFFERENCES),
            table("", "Table 2 of the paper: messages/s, as printed", table_2.into(), ""),
            table("gains", "Gains: rate across the transport, in times of tcp's", gains(records), GAINS),
            table("", "The Data Vortex in both times: messages/s", both_times(records), BOTH_TIMES),
            table(
                "nodes",
                "Reference lines: messages/s and node into queues, mean",
                nodes(records),
                REFERENCES,
            ),
        ]);
        let flaws = ["Known flaws of the paper's figures:"].into_iter().chain(FLAWS);
        Report {
            study: "h3",
            setting: Setting::new(Vec::new(), notes),
            about: format!("H3 at scale {scale}"),
            tables,
            conclusion: flaws.map(str::to_owned).collect(),
            charts: Vec::new(),
        }
    }

    /// The sizes of the simulated Data Vortex, and the part of the others' messages that its runs have.
    pub fn fabric_row(&self) -> Option<Row> {
        let FabricFacts { heights, angles, networks, slot_picoseconds, .. } = self.fabric?;
        let row = Row::default()
            .show("heights", "heights", Value::count(heights))
            .show("angles", "angles", Value::count(angles))
            .show("networks", "networks", Value::count(networks))
            .show("slot_ns", "ns of a slot", Value::figure(slot_picoseconds as f64 / 1e3, number))
            .show("scale", "part of the messages", Value::figure(VORTEX_SCALE, |scale| scale.to_string()));
        Some(row)
    }

    /// A row of Table 1 as it was run.
    fn size_row(&self, row: &PlanRow) -> Row {
        let counts = || self.of_size(row.size).map(|record| record.count);
        Row::default()
            .show("size", "bytes", whole(row.size as u64))
            .show("paper_count", "paper's messages", whole(row.paper_count))
            .show("scale", "scale", Value::figure(row.scale, |scale| format!("{scale:.3e}")))
            .show("planned_count", "planned", whole(row.count))
            .show("runs", "runs", Value::count(row.runs))
            .show("count_min", "sent: least", whole(counts().min().unwrap_or(0)))
            .show("count_max", "sent: most", whole(counts().max().unwrap_or(0)))
            .show("windows", "windows of", Value::text(self.windows_of(row.size)))
    }

    /// The table of a size: a row for each run, and the paper's rows below ours.
    fn statistics(&self, size: usize) -> Table {
        let row = |name: String, values: Vec<Option<f64>>| {
            let row = Row::default().show("run", "", Value::text(name));
            let values = HEADINGS.into_iter().zip(values);
            values.fold(row, |row, (name, value)| row.show(name, name, Value::figure(value, number)))
        };
        let ours = |record: &Record| {
            let star = if record.marks.is_empty() { "" } else { " *" };
            let name = format!("{} r{}{star}", record.contender.name(), record.run);
            row(name, record.statistics.values().map(Some).into())
        };
        let papers = paper::columns(size).map(|(name, values)| row(name, values));
        // The few titles live as long as the program, which ends after the report.
        let title = format!("{} B, messages/s", number(size as f64)).leak();
        Table {
            key: "",
            title,
            rows: self.of_size(size).map(ours).chain(papers).collect(),
            legend: STATISTICS,
        }
    }

    /// The samples as CSV: a row for each window of each run. `node_a` and `node_b` are messages of the window.
    ///
    /// With pandas: `read_csv("h3.csv").groupby(["size", "transport", "target", "run"]).messages_per_s.describe()`.
    pub fn csv(&self) -> String {
        let mut text = CSV_HEADING.to_owned();
        for Record { contender, size, run, time, window_ms, windows: [a, b], samples, .. } in &self.records {
            let (transport, target, time) = (name(&contender.transport), name(&contender.target), name(time));
            for (index, (rate, (a, b))) in samples.iter().zip(a.iter().zip(b)).enumerate() {
                let start_s = index as f64 * window_ms / MS_PER_S;
                // Formatting into a string cannot fail.
                let _ = write!(text, "{transport},{target},{size},{run},{time},{index},");
                let _ = writeln!(text, "{start_s:.6},{a},{b},{rate:.1}");
            }
        }
        text
    }
}

/// The reasons to doubt a run, if there are any.
fn doubts(record: &Record) -> Option<String> {
    let reasons: Vec<&str> =
        MARKS.iter().filter(|mark| record.marks.contains(&mark.0)).map(|mark| mark.1).collect();
    let run = format!("* {}, {} B, r{}", record.contender.name(), record.size, record.run);
    (!reasons.is_empty()).then(|| format!("{run}: {}.", reasons.join(", ")))
}

/// The Data Vortex in its own time and in the host's, side by side and never mixed.
fn both_times(records: &[Record]) -> Vec<Row> {
    let row = |record: &Record| {
        Row::default()
            .show("size", "bytes", whole(record.size as u64))
            .show("contender", "contender", Value::text(record.contender.name()))
            .show("run", "run", Value::count(record.run))
            .show("fabric", "fabric's time", Value::figure(record.statistics.mean, number))
            .show("wall", "host's time", Value::figure(record.wall_messages_per_s, number))
    };
    records.iter().filter(|record| record.time == Time::Fabric).map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::super::record::tests::record;
    use super::*;
    use crate::h3::contender::{Target, Transport};

    fn results_of(windows: &[u64]) -> Results {
        let records = vec![record(Transport::Tcp, Target::Across, 8192, windows)];
        Results { plan: Plan::new(0.001, 1 << 30, &[8192]), agents: Vec::new(), fabric: None, records }
    }

    fn cells(row: &Row) -> Vec<&str> {
        row.shown().map(|(_, text)| text).collect()
    }

    #[test]
    fn a_marked_run_has_a_star_and_its_reason_and_a_whole_run_has_neither() {
        let check = |windows: &[u64], name: &str, reasons: &[&str]| {
            let results = results_of(windows);
            assert_eq!(cells(&results.statistics(8192).rows[0])[0], name);
            let notes = results.report(Vec::new()).setting.notes;
            let marks: Vec<&String> = notes.iter().filter(|note| note.starts_with('*')).collect();
            assert_eq!(marks, *reasons);
        };
        check(&[7; 99], "tcp r1 *", &["* tcp, 8192 B, r1: fewer than 100 windows."]);
        check(&[7; 100], "tcp r1", &[]);
    }

    #[test]
    fn the_papers_rows_stand_below_ours_in_the_same_columns() {
        let Table { title, rows, .. } = results_of(&[4; 100]).statistics(8192);
        let names: Vec<&str> = rows.iter().map(|row| cells(row)[0]).collect();
        assert_eq!(names, ["tcp r1", "paper IB r1", "paper IB r2", "paper DV r1", "paper DV r2"]);
        // Two nodes, windows of 2 ms.
        let means: Vec<&str> = rows.iter().map(|row| cells(row)[2]).collect();
        assert_eq!(
            (title, means),
            ("8,192 B, messages/s", vec!["4,000", "70,737", "74,661", "120,149", "111,743"])
        );
        assert_eq!([cells(&rows[0])[10], cells(&rows[1])[10]], ["4,000", "-"]);
    }
}
