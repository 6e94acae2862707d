//! The report as text for people.

use super::report::{Case, Report};
use crate::figures::{push_rows, rate, short};

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
    let headings = HEADINGS.map(str::to_owned).to_vec();
    let rows: Vec<_> =
        std::iter::once(headings).chain(report.cases.iter().map(|case| row(case).to_vec())).collect();
    let n = report.cases.first().map_or(0, |case| case.n);
    let mut text = report.run.heading(&format!("n = {n}"));
    push_rows(&mut text, &rows);
    text.push_str(
        "\nPer message, or per round trip: rates are medians; \"limit\" is ours in percent of the limit program's \
         rate; cpu s/M is user and system seconds of all processes per million, ours and the rival's; calls are \
         system calls, wakes voluntary context switches of both ends together.\n",
    );
    text
}

fn row(case: &Case) -> [String; HEADINGS.len()] {
    let missing = || "-".to_owned();
    let rival = match (case.rates.rival, case.rates.rival_min, case.rates.rival_max) {
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
        spread(case.rates.ours, case.rates.ours_min, case.rates.ours_max),
        rival,
        case.rates.ratio.map_or_else(missing, |ratio| format!("{ratio:.2}x")),
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
