//! The tables of the study.

use hairstreak_fabric::vortex::LIMIT;

use super::experiments::{
    LanesRow, LoadRow, OneAngleRow, PatternRow, SaturationRow, ScalingRow, Study, Times,
};
use crate::output::table;

/// All tables. The title above each table is the question that the table answers.
pub fn describe(study: &Study) -> String {
    let parts = [
        saturation(&study.saturation),
        one_angle(&study.one_angle),
        scaling(&study.scaling),
        loads(&study.loads),
        patterns(&study.patterns),
        lanes(&study.lanes),
    ];
    parts.join("\n")
}

fn part<T>(title: &str, header: &[&str], rows: &[T], cells: impl Fn(&T) -> Vec<String>) -> String {
    let header = header.iter().map(|cell| (*cell).to_owned()).collect();
    let lines: Vec<Vec<String>> = std::iter::once(header).chain(rows.iter().map(cells)).collect();
    format!("{title}\n\n{}", table(&lines))
}

fn saturation(rows: &[SaturationRow]) -> String {
    let title = format!(
        "Packets a port and slot at saturation, uniform traffic. Simulated: the patent's permutation, and the one that flips a bit. The\n\
         equations have the limit 2/9 = {LIMIT:.4} for up to four angles and heights without end; deflections that depend on each other keep a\n\
         switch below them."
    );
    let header = ["heights", "angles", "patent", "flip", "equations", "patent", "flip"];
    part(&title, &header, rows, |row| {
        vec![
            row.heights.to_string(),
            row.angles.to_string(),
            rate(row.patent),
            rate(row.flip),
            rate(row.equations),
            difference(row.patent, row.equations),
            difference(row.flip, row.equations),
        ]
    })
}

fn one_angle(rows: &[OneAngleRow]) -> String {
    let title = "Packets accepted at half load, where all enter and leave at one angle and are lost if they find no room. Published: more than\n\
         99% with five routing angles for one, no gain above six (Hawkins and Wills, 2006); twice an unbuffered omega network of as many ports\n\
         (Hawkins, Small, Wills and Bergman, 2007).";
    part(title, &["heights", "angles", "accepted", "omega", "ratio"], rows, |row| {
        vec![
            row.heights.to_string(),
            row.angles.to_string(),
            percent(row.accepted),
            percent(row.omega),
            format!("{:.2}", row.accepted / row.omega),
        ]
    })
}

fn scaling(rows: &[ScalingRow]) -> String {
    let title = "Packets carried a port and slot at saturation, uniform traffic, and how far ports differ: the standard deviation of their packets,\n\
         beside that of ports that take packets by chance. An omega network loses the others, a tree (64 packets of room at each input) and a\n\
         Data Vortex keep them waiting.";
    part(title, &["ports", "network", "carried", "deviation", "by chance"], rows, |row| {
        vec![
            row.ports.to_string(),
            row.network.to_string(),
            rate(row.carried),
            percent(row.deviation),
            percent(row.chance),
        ]
    })
}

fn loads(rows: &[LoadRow]) -> String {
    let title = "Uniform traffic by load, in slots: from entering to leaving, waiting to enter, and waiting for earlier packets of the flow.";
    let header =
        ["network", "load", "carried", "deflections", "latency", "99%", "entry", "99%", "order", "99%"];
    part(title, &header, rows, |row| {
        let deflections = row.deflections.map_or_else(String::new, |count| format!("{count:.2}"));
        let start = vec![row.network.to_string(), format!("{:.2}", row.load), rate(row.carried), deflections];
        [start, times([row.latency, row.waiting, row.resequencing])].concat()
    })
}

fn patterns(rows: &[PatternRow]) -> String {
    let title = "Traffic of other kinds, a tenth of a packet a port and slot: what is carried, the ports that send least and most, and slots.";
    let header =
        ["network", "traffic", "carried", "least", "most", "latency", "99%", "entry", "99%", "order", "99%"];
    part(title, &header, rows, |row| {
        let start = vec![
            row.network.to_string(),
            row.traffic.to_owned(),
            rate(row.carried),
            percent(row.least),
            percent(row.most),
        ];
        [start, times([row.latency, row.waiting, row.resequencing])].concat()
    })
}

fn lanes(rows: &[LanesRow]) -> String {
    let title = "Data Vortices side by side, 256 ports, saturated: packets a port and slot, as a part of as many single ones.";
    part(title, &["count", "carried", "efficiency"], rows, |row| {
        vec![row.count.to_string(), rate(row.carried), percent(row.efficiency)]
    })
}

/// The mean and the 99th percentile of each.
fn times<const N: usize>(all: [Times; N]) -> Vec<String> {
    all.iter().flat_map(|times| [format!("{:.1}", times.mean), times.p99.to_string()]).collect()
}

fn rate(rate: f64) -> String {
    format!("{rate:.4}")
}

fn percent(part: f64) -> String {
    format!("{:.1}%", 100.0 * part)
}

fn difference(found: f64, expected: f64) -> String {
    format!("{:+.1}%", 100.0 * (found / expected - 1.0))
}
