//! The report as text for people.

use std::fmt::Write as _;

use super::report::{Case, Report};
use crate::figures::{rate, short};

const HEADINGS: [&str; 12] = [
    "case",
    "over",
    "size",
    "calls",
    "ours [min-max]",
    "rival [min-max]",
    "ratio",
    "limit",
    "cpu s/M",
    "calls/msg",
    "allocs/msg",
    "wakes/msg",
];

/// Renders `report`, one line per case.
pub fn render(report: &Report) -> String {
    let rows: Vec<[String; HEADINGS.len()]> =
        std::iter::once(HEADINGS.map(str::to_owned)).chain(report.cases.iter().map(row)).collect();
    let widths: [usize; HEADINGS.len()] =
        std::array::from_fn(|column| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0));
    let mut text = heading(report);
    for row in &rows {
        let mut line = String::new();
        for (cell, width) in row.iter().zip(widths) {
            // Formatting into a string cannot fail.
            let _ = write!(line, "{cell:<width$}  ");
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text.push_str(
        "\nPer message, or per round trip: rates are medians; \"limit\" is ours in percent of the limit program's \
         rate; cpu s/M is user and system seconds of all processes per million, ours and the rival's; calls are \
         system calls, wakes voluntary context switches of both ends together.\n",
    );
    text
}

fn heading(report: &Report) -> String {
    let rivals: Vec<String> =
        report.rivals.iter().map(|rival| format!("{} {}", rival.name, rival.version)).collect();
    let rivals = if rivals.is_empty() { "no rival".to_owned() } else { rivals.join(", ") };
    let n = report.cases.first().map_or(0, |case| case.n);
    let machine = &report.machine;
    let mut text = format!(
        "hairstreak {} against {rivals}, n = {n}, interleaved in this run\n{}, {} cores, {}, {}, {} build\n",
        report.version, machine.cpu, machine.cores, machine.kernel, report.compiler, report.profile
    );
    for note in &report.notes {
        text.push_str("note: ");
        text.push_str(note);
        text.push('\n');
    }
    text.push('\n');
    text
}

fn row(case: &Case) -> [String; HEADINGS.len()] {
    let missing = || "-".to_owned();
    let rival = match (case.rival, case.rival_min, case.rival_max) {
        (Some(median), Some(min), Some(max)) => spread(median, min, max),
        _ => missing(),
    };
    let cpu = match case.rival_cpu_s_per_million {
        Some(rival) => format!("{} / {}", short(case.cpu_s_per_million), short(rival)),
        None => short(case.cpu_s_per_million),
    };
    [
        case.case.text().to_owned(),
        case.transport.text().to_owned(),
        case.size.to_string(),
        case.calls.text().to_owned(),
        spread(case.ours, case.ours_min, case.ours_max),
        rival,
        case.ratio.map_or_else(missing, |ratio| format!("{ratio:.2}x")),
        format!("{:.0}%", case.percent_of_limit),
        cpu,
        case.system_calls_per_message.map_or_else(missing, short),
        short(case.allocations_per_message),
        short(case.wake_ups_per_message),
    ]
}

fn spread(median: f64, min: f64, max: f64) -> String {
    format!("{}/s [{}-{}]", rate(median), rate(min), rate(max))
}
