//! The sections of the report: words and tables, the same ones for a terminal and for HTML.

use super::paper::{COLUMNS, FLAWS, PAPER_PER_NODE, REFERENCE_PER_NODE, TABLE_2};
use super::record::{Record, contender_name};
use super::report::{FabricShape, Report};
use super::table::{Table, number};
use crate::h3::contender::Target;
use crate::h3::data::Time;

/// A section.
#[derive(Debug)]
pub struct Section {
    /// The heading.
    pub title: &'static str,
    /// Sentences.
    pub notes: Vec<String>,
    /// Tables.
    pub tables: Vec<Table>,
}

/// All sections, in their order.
pub fn sections(report: &Report) -> Vec<Section> {
    let mut sections =
        vec![setting(report), scale(report), statistics(report), table_2(report), gains(report)];
    sections.extend(both_times(report));
    sections.extend([nodes(report), flaws()]);
    sections
}

fn setting(report: &Report) -> Section {
    let machine = &report.run.machine;
    let mut notes = vec![
        format!(
            "hairstreak {}, {}, {} build. Controller: {}, {} cores, {}.",
            report.run.version, report.run.compiler, report.run.profile, machine.cpu, machine.cores, machine.kernel
        ),
        "One cluster of two senders sends to one of two receivers: sender A to the .A queue of node A, sender B to the .B queue of node B, \
         through one topic exchange for each transport. Nobody consumes while a run is measured. Afterwards every message is drained, counted and digested, \
         and compared with what was sent."
            .to_owned(),
        "A sample is a window of fixed length, empty windows included, both nodes together. Across a transport a message counts when it lies whole in \
         the receiver's memory; into a queue, when the broker confirms it."
            .to_owned(),
    ];
    notes.extend(report.run.notes.iter().cloned());
    let mut agents = Table::new("Agents", &["agent", "machine"]);
    agents.rows = report.agents.iter().map(|agent| vec![agent.name.clone(), agent.machine.clone()]).collect();
    Section { title: "Setting", notes, tables: vec![agents] }
}

fn scale(report: &Report) -> Section {
    let head =
        ["bytes", "paper's messages", "scale", "planned", "runs", "sent: least", "sent: most", "windows of"];
    let mut table = Table::new("Table 1 as it was run", &head);
    for size in &report.sizes {
        let counts = || report.of_size(size.size).map(|record| record.count as f64);
        table.rows.push(vec![
            number(size.size as f64),
            number(size.paper_count as f64),
            format!("{:.3e}", size.scale),
            number(size.planned_count as f64),
            size.runs.to_string(),
            number(counts().fold(f64::MAX, f64::min)),
            number(counts().fold(0.0, f64::max)),
            windows_of(report, size.size),
        ]);
    }
    let mut notes = vec![format!(
        "Scale {} of the paper's counts, less where {} bytes of messages are too few. A run goes on beyond its count until it has 100 windows, as long as memory lasts.",
        report.scale,
        number(report.memory_bytes as f64)
    )];
    if let Some(fabric) = &report.fabric {
        let FabricShape { heights, angles, networks, slot_ns, scale } = fabric;
        notes.push(format!(
            "Vortex runs have {scale} of these messages: scale {}. They go through a simulated Data Vortex of {heights} heights, {angles} angles and {networks} networks \
             in slots of {slot_ns} ns.",
            report.scale * scale
        ));
    }
    Section { title: "Scale", notes, tables: vec![table] }
}

/// The lengths of windows, in each time once.
pub fn windows_of(report: &Report, size: usize) -> String {
    let mut texts: Vec<String> = Vec::new();
    for record in report.of_size(size) {
        let text = format!("{} ms {}", record.window_ms, record.time.text());
        if !texts.contains(&text) {
            texts.push(text);
        }
    }
    texts.join(", ")
}

/// A table for each size: a column for each run, and the paper's columns beside ours.
fn statistics(report: &Report) -> Section {
    let tables = report.sizes.iter().map(|size| {
        let records: Vec<&Record> = report.of_size(size.size).collect();
        let papers = || COLUMNS.iter().filter(|column| column.size == size.size);
        let mut table = Table::new(format!("{} B, messages/s", number(size.size as f64)), &[""]);
        let name = |record: &&Record| match record.marks.is_empty() {
            true => format!("{} r{}", record.contender(), record.run),
            false => format!("{} r{} *", record.contender(), record.run),
        };
        table.head.extend(records.iter().map(name));
        table.head.extend(papers().map(|column| column.name.to_owned()));
        let names = records.first().map(|record| record.statistics.rows()).into_iter().flatten();
        for (index, (name, _)) in names.enumerate() {
            let ours = records.iter().map(|record| number(record.statistics.rows()[index].1));
            let theirs = papers().map(|column| column.values[index].map_or("-".to_owned(), number));
            table.rows.push([name.to_owned()].into_iter().chain(ours).chain(theirs).collect());
        }
        table
    });
    let mut notes = vec![
        "r1 and so on are runs. The paper's columns: IB is TCP over InfiniBand into RabbitMQ, DV is the Data Vortex into memory.".to_owned(),
    ];
    let marked = report.records.iter().filter(|record| !record.marks.is_empty());
    notes.extend(marked.map(|record| {
        let reasons: Vec<&str> = record.marks.iter().map(|mark| mark.text()).collect();
        format!("* {}, {} B, r{}: {}.", record.contender(), record.size, record.run, reasons.join(", "))
    }));
    Section { title: "Statistics", notes, tables: tables.collect() }
}

fn table_2(report: &Report) -> Section {
    let head = [
        "bytes",
        "transport",
        "across",
        "std",
        "> hairstreak",
        "std",
        "difference",
        "> rabbitmq",
        "std",
        "> tcp > rabbitmq",
        "std",
        "difference",
    ];
    let mut ours = Table::new("Ours, messages/s, mean and deviation", &head);
    for row in &report.differences {
        let mut cells = vec![number(row.size as f64), row.transport.text().to_owned()];
        cells.extend([number(row.across.mean), number(row.across.std)]);
        let rates = [(row.hairstreak, true), (row.rabbitmq, false), (row.rabbitmq_loopback, true)];
        for (rate, has_difference) in rates {
            let cell = |value: Option<f64>| value.map_or("-".to_owned(), number);
            cells.extend([cell(rate.map(|rate| rate.mean)), cell(rate.map(|rate| rate.std))]);
            if has_difference {
                // Rates in different times have no difference.
                let rate = rate.filter(|rate| rate.time == row.across.time);
                cells.push(cell(rate.map(|rate| row.across.mean - rate.mean)));
            }
        }
        ours.rows.push(cells);
    }
    let mut theirs = Table::new("The paper's, messages/s, as printed", &["", "mean", "std"]);
    theirs.rows =
        TABLE_2.iter().map(|&(name, mean, std)| vec![name.to_owned(), number(mean), number(std)]).collect();
    let notes = vec![
        "The rate across a transport, and the rate into the queues behind it. Across vortex and from there into Hairstreak's queues rates are in the fabric's time, all others in the host's."
            .to_owned(),
    ];
    Section { title: "Table 2: transport against queue", notes, tables: vec![ours, theirs] }
}

fn gains(report: &Report) -> Section {
    let mut table = Table::new(
        "Rate across the transport, in times of tcp's",
        &["bytes", "transport", "time", "by means", "by medians", "paper's claim (DV to IB)"],
    );
    table.rows = report
        .gains
        .iter()
        .map(|gain| {
            let paper = gain.paper.map_or("-".to_owned(), |paper| format!("{paper}x"));
            vec![
                number(gain.size as f64),
                gain.transport.text().to_owned(),
                gain.time.text().to_owned(),
                format!("{:.2}x", gain.ratio),
                gain.median_ratio.map_or("-".to_owned(), |ratio| format!("{ratio:.2}x")),
                paper,
            ]
        })
        .collect();
    let notes = vec![
        "tcp and shm are in the host's time, vortex is in the fabric's. The paper's claims come from upper percentiles.".to_owned(),
    ];
    Section { title: "Gains", notes, tables: vec![table] }
}

/// The Data Vortex in its own time and in the host's, side by side and never mixed.
fn both_times(report: &Report) -> Option<Section> {
    report.fabric.as_ref()?;
    let head = ["bytes", "contender", "run", "fabric's time", "host's time"];
    let mut table = Table::new("Messages/s", &head);
    for record in report.records.iter().filter(|record| record.time == Time::Fabric) {
        table.rows.push(vec![
            number(record.size as f64),
            record.contender(),
            record.run.to_string(),
            number(record.statistics.mean),
            number(record.wall_messages_per_s),
        ]);
    }
    let notes = vec![
        "The fabric's time is slots that have passed, times their length. It stands while no cell is under way, so that work of the host takes no fabric time then. \
         The host's time is how long the simulation took."
            .to_owned(),
    ];
    Some(Section { title: "The Data Vortex in both times", notes, tables: vec![table] })
}

/// The paper's reference lines are rates of one node.
fn nodes(report: &Report) -> Section {
    let head = ["bytes", "contender", "a node", "in times of 43,404", "in times of 60,000"];
    let mut table = Table::new("Messages/s and node into queues, mean", &head);
    for row in &report.differences {
        let rates = [
            (Target::Hairstreak, row.hairstreak),
            (Target::Rabbitmq, row.rabbitmq),
            (Target::RabbitmqLoopback, row.rabbitmq_loopback),
        ];
        for (target, rate) in rates {
            let Some(rate) = rate else { continue };
            let node = rate.mean / 2.0;
            let times = |reference: f64| format!("{:.2}x", node / reference);
            table.rows.push(vec![
                number(row.size as f64),
                contender_name(row.transport, target),
                number(node),
                times(REFERENCE_PER_NODE),
                times(PAPER_PER_NODE),
            ]);
        }
    }
    let notes = vec![
        "43,404 messages/s and node: the benchmark of 30 nodes that the paper refers to. 60,000: what the paper says it sustains over InfiniBand.".to_owned(),
    ];
    Section { title: "Reference lines", notes, tables: vec![table] }
}

fn flaws() -> Section {
    let notes = FLAWS.iter().map(|flaw| (*flaw).to_owned()).collect();
    Section { title: "Known flaws of the paper's figures", notes, tables: Vec::new() }
}

#[cfg(test)]
mod tests {
    use super::super::record::tests::record;
    use super::*;
    use crate::h3::contender::Transport;
    use crate::h3::plan::Plan;
    use crate::run::Run;

    fn report(windows: &[u64]) -> Report {
        let records = vec![record(Transport::Tcp, Target::Across, 8192, windows)];
        let plan = Plan::new(0.001, 1 << 30, &[8192]);
        Report::new(Run::against(Vec::new(), Vec::new()), &plan, 1 << 30, Vec::new(), None, records)
    }

    #[test]
    fn a_marked_run_has_a_star_and_its_reason_and_a_whole_run_has_neither() {
        let check = |windows: &[u64], name: &str, reasons: &[&str]| {
            let section = statistics(&report(windows));
            assert_eq!(section.tables[0].head[1], name);
            assert_eq!(section.notes[1..], *reasons);
        };
        check(&[7; 99], "tcp r1 *", &["* tcp, 8192 B, r1: fewer than 100 windows."]);
        check(&[7; 100], "tcp r1", &[]);
    }

    #[test]
    fn the_papers_columns_stand_beside_ours_in_the_same_rows() {
        let table = statistics(&report(&[4; 100])).tables.remove(0);
        let expected = ["", "tcp r1", "paper IB r1", "paper IB r2", "paper DV r1", "paper DV r2"];
        assert_eq!(table.head, expected);
        // Two nodes, windows of 2 ms.
        assert_eq!(table.rows[1], ["mean", "4,000", "70,737", "74,661", "120,149", "111,743"]);
        assert_eq!(table.rows[9][..3], ["99%", "4,000", "-"]);
    }
}
