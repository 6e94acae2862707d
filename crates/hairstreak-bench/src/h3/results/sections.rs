//! The sections of the report: words and tables, the same ones for a terminal and for HTML.

use hairstreak_transport::vortex::FabricFacts;

use super::figures::{differences, gains, nodes, number, whole};
use super::paper::{self, FLAWS, TABLE_2};
use super::record::{HEADINGS, Record};
use super::report::Report;
use crate::frame::{Row, Value};
use crate::h3::data::Time;
use crate::h3::plan::VORTEX_SCALE;

/// A section: heading, sentences, and tables with their titles.
#[derive(Debug)]
pub struct Section {
    /// The heading.
    pub title: &'static str,
    /// Sentences.
    pub notes: Vec<String>,
    /// Titles and rows. Tables without rows are not shown.
    pub tables: Vec<(String, Vec<Row>)>,
}

impl Section {
    fn new<const N: usize>(title: &'static str, note: &str, tables: [(&str, Vec<Row>); N]) -> Section {
        let tables = tables.map(|(title, rows)| (title.to_owned(), rows)).into();
        Section { title, notes: vec![note.to_owned()], tables }
    }
}

/// Returns all sections, in their order.
pub fn sections(report: &Report) -> Vec<Section> {
    let records = &report.records;
    let table_2 = TABLE_2.map(|(name, mean, std)| {
        let row = Row::default().show("name", "", Value::text(name));
        row.show("mean", "mean", Value::figure(mean, number)).show("std", "std", Value::figure(std, number))
    });
    let mut sections = vec![
        setting(report),
        scale(report),
        statistics(report),
        Section::new(
            "Table 2: transport against queue",
            "The rate across a transport, and the rate into the queues behind it. Across vortex and from there into Hairstreak's queues rates are in the fabric's time, all others in the host's.",
            [
                ("Ours, messages/s, mean ± deviation", differences(records)),
                ("The paper's, messages/s, as printed", table_2.into()),
            ],
        ),
        Section::new(
            "Gains",
            "tcp and shm are in the host's time, vortex is in the fabric's. The paper's claims come from upper percentiles.",
            [("Rate across the transport, in times of tcp's", gains(records))],
        ),
    ];
    if report.fabric.is_some() {
        sections.push(Section::new(
            "The Data Vortex in both times",
            "The fabric's time is slots that have passed, times their length. It stands while no cell is under way, so that work of the host takes no fabric time then. \
             The host's time is how long the simulation took.",
            [("Messages/s", both_times(records))],
        ));
    }
    sections.push(Section::new(
        "Reference lines",
        "43,404 messages/s and node: the benchmark of 30 nodes that the paper refers to. 60,000: what the paper says it sustains over InfiniBand.",
        [("Messages/s and node into queues, mean", nodes(records))],
    ));
    let flaws = FLAWS.map(str::to_owned).into();
    sections.push(Section { title: "Known flaws of the paper's figures", notes: flaws, tables: Vec::new() });
    sections
}

fn setting(report: &Report) -> Section {
    let (setting, machine) = (&report.setting, &report.setting.machine);
    let controller = format!(
        "hairstreak {}, {}, {} build. Controller: {}, {} cores, {}.",
        setting.version, setting.compiler, setting.profile, machine.cpu, machine.cores, machine.kernel
    );
    let mut section = Section::new("Setting", &controller, [("Agents", report.agents.clone())]);
    section.notes.push(
        "One cluster of two senders sends to one of two receivers: sender A to the .A queue of node A, sender B to the .B queue of node B, \
         through one topic exchange for each transport. Nobody consumes while a run is measured. Afterwards every message is drained, counted and digested, \
         and compared with what was sent."
            .to_owned(),
    );
    section.notes.push(
        "A sample is a window of fixed length, empty windows included, both nodes together. Across a transport a message counts when it lies whole in \
         the receiver's memory; into a queue, when the broker confirms it."
            .to_owned(),
    );
    section.notes.extend(setting.notes.iter().cloned());
    section
}

fn scale(report: &Report) -> Section {
    let (scale, memory) = (report.plan.scale, number(report.plan.memory_bytes as f64));
    let note = format!(
        "Scale {scale} of the paper's counts, less where {memory} bytes of messages are too few. A run goes on beyond its count until it has 100 windows, as long as memory lasts."
    );
    let mut section = Section::new("Scale", &note, [("Table 1 as it was run", report.sizes())]);
    if let Some(FabricFacts { heights, angles, networks, slot_picoseconds, .. }) = report.fabric {
        section.notes.push(format!(
            "Vortex runs have {VORTEX_SCALE} of these messages: scale {}. They go through a simulated Data Vortex of {heights} heights, {angles} angles and {networks} networks \
             in slots of {} ns.",
            scale * VORTEX_SCALE,
            slot_picoseconds as f64 / 1e3
        ));
    }
    section
}

/// A table for each size: a row for each run, and the paper's rows below ours.
fn statistics(report: &Report) -> Section {
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
    let tables = report.plan.rows.iter().map(|plan| {
        let papers = paper::columns(plan.size).map(|(name, values)| row(name, values));
        let title = format!("{} B, messages/s", number(plan.size as f64));
        (title, report.of_size(plan.size).map(ours).chain(papers).collect())
    });
    let marked = report.records.iter().filter(|record| !record.marks.is_empty());
    let notes = marked.map(|record| {
        let reasons = record.marks.iter().map(|mark| mark.text()).collect::<Vec<_>>().join(", ");
        format!("* {}, {} B, r{}: {reasons}.", record.contender.name(), record.size, record.run)
    });
    let note = "r1 and so on are runs. The paper's rows: IB is TCP over InfiniBand into RabbitMQ, DV is the Data Vortex into memory.";
    let mut section = Section::new("Statistics", note, []);
    section.notes.extend(notes);
    section.tables = tables.collect();
    section
}

/// The Data Vortex in its own time and in the host's, side by side and never mixed.
fn both_times(records: &[Record]) -> Vec<Row> {
    let row = |record: &Record| {
        let row = Row::default().show("size", "bytes", whole(record.size as u64));
        let row = row.show("contender", "contender", Value::text(record.contender.name()));
        let row = row.show("run", "run", Value::count(record.run));
        let row = row.show("fabric", "fabric's time", Value::figure(record.statistics.mean, number));
        row.show("wall", "host's time", Value::figure(record.wall_messages_per_s, number))
    };
    records.iter().filter(|record| record.time == Time::Fabric).map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::super::record::tests::record;
    use super::*;
    use crate::frame::Setting;
    use crate::h3::contender::{Target, Transport};
    use crate::h3::plan::Plan;

    fn statistics_of(windows: &[u64]) -> Section {
        let records = vec![record(Transport::Tcp, Target::Across, 8192, windows)];
        let (setting, plan) = (Setting::new(Vec::new(), Vec::new()), Plan::new(0.001, 1 << 30, &[8192]));
        statistics(&Report { setting, plan, agents: Vec::new(), fabric: None, records })
    }

    fn cells(row: &Row) -> Vec<&str> {
        row.shown().map(|(_, text)| text).collect()
    }

    #[test]
    fn a_marked_run_has_a_star_and_its_reason_and_a_whole_run_has_neither() {
        let check = |windows: &[u64], name: &str, reasons: &[&str]| {
            let section = statistics_of(windows);
            assert_eq!(cells(&section.tables[0].1[0])[0], name);
            assert_eq!(section.notes[1..], *reasons);
        };
        check(&[7; 99], "tcp r1 *", &["* tcp, 8192 B, r1: fewer than 100 windows."]);
        check(&[7; 100], "tcp r1", &[]);
    }

    #[test]
    fn the_papers_rows_stand_below_ours_in_the_same_columns() {
        let (title, rows) = statistics_of(&[4; 100]).tables.remove(0);
        let names: Vec<&str> = rows.iter().map(|row| cells(row)[0]).collect();
        assert_eq!(names, ["tcp r1", "paper IB r1", "paper IB r2", "paper DV r1", "paper DV r2"]);
        // Two nodes, windows of 2 ms.
        let means: Vec<&str> = rows.iter().map(|row| cells(row)[2]).collect();
        assert_eq!(
            (&*title, means),
            ("8,192 B, messages/s", vec!["4,000", "70,737", "74,661", "120,149", "111,743"])
        );
        assert_eq!([cells(&rows[0])[10], cells(&rows[1])[10]], ["4,000", "-"]);
    }
}
