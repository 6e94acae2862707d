//! The report as text for people: messages per second, megabits per second, processor time, conclusion.

use std::fmt::Write as _;

use super::report::{Case, Report};
use crate::figures::{push_rows, rate, short};

/// Renders `report`.
pub fn render(report: &Report) -> String {
    let (n, messages) = report.cases.first().map_or((0, 0), |case| (case.n, case.messages));
    let what = format!("streams of {messages} messages over tcp, n = {n}");
    let mut text = report.run.heading(&what);
    text.push_str("Messages per second, all streams together (mean of the repeats)\n");
    push_grid(&mut text, report, |case| [Some(rate(case.rates.ours)), case.rates.rival.map(rate)]);
    text.push_str("\nMegabits per second, bodies only\n");
    push_grid(&mut text, report, |case| [Some(short(case.ours_mbit)), case.rival_mbit.map(short)]);
    text.push_str("\nProcessor time of a message, from the fewest streams to the most\n");
    let mut rows = vec![
        ["whose", "over", "size", "streams", "n", "messages/s", "cpu s/M [min-max]", "kernel", "rise"]
            .map(str::to_owned)
            .to_vec(),
    ];
    rows.extend(report.controls.iter().map(|control| {
        let cpu = [control.cpu_s_per_million, control.cpu_s_per_million_min, control.cpu_s_per_million_max];
        let [median, min, max] = cpu.map(short);
        vec![
            control.contender.to_owned(),
            control.transport.text().to_owned(),
            control.size.to_string(),
            control.streams.to_string(),
            control.n.to_string(),
            rate(control.rate),
            format!("{median} [{min}-{max}]"),
            format!("{:.0}%", control.kernel_percent),
            format!("{:+.1}%", control.rise_percent),
        ]
    }));
    push_rows(&mut text, &rows);
    text.push('\n');
    for sentence in &report.conclusion {
        text.push_str(sentence);
        text.push('\n');
    }
    for chart in &report.charts {
        // Formatting into a string cannot fail.
        let _ = writeln!(text, "chart: {chart}");
    }
    text
}

/// A row per size; columns: ours, the rival's and their ratio, each per number of streams.
fn push_grid(text: &mut String, report: &Report, values: impl Fn(&Case) -> [Option<String>; 2]) {
    let mut counts: Vec<usize> = report.cases.iter().map(|case| case.streams).collect();
    counts.sort_unstable();
    counts.dedup();
    let missing = || "-".to_owned();
    let mut head = vec!["size".to_owned()];
    for what in ["ours", "rival", "ratio"] {
        head.extend(counts.iter().map(|count| format!("{what} x{count}")));
    }
    let mut rows = vec![head];
    for cases in report.cases.chunk_by(|one, other| one.size == other.size) {
        let mut row = vec![cases.first().map_or_else(missing, |case| case.size.to_string())];
        for which in 0..2 {
            row.extend(cases.iter().map(|case| values(case)[which].clone().unwrap_or_else(missing)));
        }
        let ratio = |case: &Case| case.rates.ratio.map_or_else(missing, |ratio| format!("{ratio:.2}x"));
        row.extend(cases.iter().map(ratio));
        rows.push(row);
    }
    push_rows(text, &rows);
}
