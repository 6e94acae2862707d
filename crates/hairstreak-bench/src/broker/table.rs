//! The report as text for people: rates, what messages cost, how long they take, connections, and conclusions.

use super::hostile::HostileRow;
use super::idle::IdleRow;
use super::plan::size_text;
use super::report::{Case, Consumption, Figures, Latencies, Report};
use super::server::ServerKind;
use crate::figures::{push_rows, rate, short};
use crate::statistics::Spread;

const MIB: f64 = 1_048_576.0;

/// Renders `report`.
pub fn render(report: &Report) -> String {
    let n = report.cases.first().map_or(1, |case| case.n);
    let mut text = report.run.heading(&format!("AMQP 0-9-1 over loopback TCP, n = {n}"));
    if !report.cases.is_empty() {
        push_cases(&mut text, &report.cases);
    }
    if !report.connections.is_empty() {
        text.push_str("Idle connections with a channel each\n");
        let headings = ["whose", "connections", "memory", "each", "opened/s"];
        push_table(&mut text, &headings, report.connections.iter().map(connections));
        text.push('\n');
    }
    if !report.hostile.is_empty() {
        text.push_str("In and out 16 B beside a hostile load, messages a second (median [min-max])\n");
        let headings = ["load", "whose", "alone", "beside", "per cent", "flood/s", "round trip p99.9 ms"];
        push_table(&mut text, &headings, report.hostile.iter().map(hostile));
        text.push('\n');
    }
    for sentence in &report.conclusion {
        text.push_str(sentence);
        text.push('\n');
    }
    text
}

fn push_cases(text: &mut String, cases: &[Case]) {
    text.push_str("Rates (median [min-max])\n");
    let headings = ["case", "size", "unit", "hairstreak", "RabbitMQ", "limit", "ratio", "of limit"];
    push_table(text, &headings, cases.iter().map(rates));
    text.push_str("\nWhat a message costs (medians, user and system time in us)\n");
    let headings =
        ["case", "size", "whose", "messages", "process", "user us", "system us", "wake-ups", "system calls"];
    push_table(text, &headings, cases.iter().flat_map(costs));
    text.push_str(
        "\nA message of fan-out is a delivery, and one of round trip a round trip. Wake-ups are voluntary context switches.\n\n",
    );
    if cases.iter().any(|case| case.contenders.iter().any(|figures| figures.latency_us.is_some())) {
        text.push_str(
            "How long messages take, from when they were due to when they were read (us, median [min-max])\n",
        );
        let headings = ["case", "size", "whose", "rate", "p50 us", "p99 us", "p99.9 us"];
        push_table(text, &headings, cases.iter().flat_map(latencies));
        text.push('\n');
    }
}

fn push_table(text: &mut String, headings: &[&str], rows: impl Iterator<Item = Vec<String>>) {
    let headings = headings.iter().map(|&heading| heading.to_owned()).collect();
    let rows: Vec<_> = std::iter::once(headings).chain(rows).collect();
    push_rows(text, &rows);
}

fn rates(case: &Case) -> Vec<String> {
    let missing = || "-".to_owned();
    let of = |kind| case.of(kind).map_or_else(missing, |figures| spread(&figures.rate, rate));
    vec![
        name(case),
        size_text(case.size),
        case.unit.to_owned(),
        of(ServerKind::Node),
        of(ServerKind::RabbitMq),
        of(ServerKind::Limit),
        case.ratio.map_or_else(missing, |ratio| format!("{ratio:.1}x")),
        case.percent_of_limit.map_or_else(missing, |percent| format!("{percent:.0}%")),
    ]
}

fn costs(case: &Case) -> Vec<Vec<String>> {
    let row = |figures: &Figures, used: &Consumption| {
        let calls = figures.broker_system_calls.filter(|_| used.role == "broker");
        vec![
            name(case),
            size_text(case.size),
            figures.contender.to_owned(),
            rate(figures.messages_max as f64),
            used.role.to_owned(),
            short(used.user_us.median),
            short(used.system_us.median),
            short(used.wake_ups.median),
            calls.map_or_else(|| "-".to_owned(), short),
        ]
    };
    let rows = case
        .contenders
        .iter()
        .flat_map(|figures| figures.processes.iter().map(move |used| row(figures, used)));
    rows.collect()
}

fn latencies(case: &Case) -> Vec<Vec<String>> {
    let row = |figures: &Figures, latency: &Latencies| {
        let mut row = vec![name(case), size_text(case.size), figures.contender.to_owned()];
        row.push(format!("{} {}", rate(figures.rate.median), case.unit));
        row.extend([&latency.p50, &latency.p99, &latency.p999].map(|us| spread(us, short)));
        row
    };
    let all = case.contenders.iter();
    all.filter_map(|figures| Some(row(figures, figures.latency_us.as_ref()?))).collect()
}

fn connections(row: &IdleRow) -> Vec<String> {
    vec![
        row.contender.to_owned(),
        row.connections.to_string(),
        format!("{:.1} MiB", row.memory_bytes as f64 / MIB),
        format!("{:.1} KiB", row.bytes_per_connection / 1024.0),
        rate(row.connects_per_s),
    ]
}

fn hostile(row: &HostileRow) -> Vec<String> {
    vec![
        row.load.clone(),
        row.contender.to_owned(),
        spread(&row.alone, rate),
        spread(&row.beside, rate),
        spread(&row.percent, |percent| format!("{percent:.0}")),
        row.flood_per_s.as_ref().map_or_else(|| "-".to_owned(), |flood| spread(flood, rate)),
        row.round_trip_p999_ms
            .as_ref()
            .map_or_else(|| "-".to_owned(), |ms| spread(ms, |ms| format!("{ms:.1}"))),
    ]
}

fn name(case: &Case) -> String {
    match case.loops {
        Some(count) => format!("{}, loops: {count}", case.case),
        None => case.case.to_owned(),
    }
}

fn spread(spread: &Spread, text: impl Fn(f64) -> String) -> String {
    format!("{} [{}-{}]", text(spread.median), text(spread.min), text(spread.max))
}

#[cfg(test)]
mod tests {
    use super::super::case::CaseName;
    use super::super::report::tests::case;
    use super::{ServerKind, costs, latencies, rates};

    #[test]
    fn who_is_not_there_has_a_dash() {
        let contenders: [(_, &[f64]); 2] =
            [(ServerKind::RabbitMq, &[0.5, 1.0, 0.1]), (ServerKind::Limit, &[0.001])];
        let case = case(CaseName::InOut, 1.5, &contenders);
        let expected =
            ["in and out", "16 B", "messages/s", "-", "2.0k [1.0k-10.0k]", "1.00M [1.00M-1.00M]", "-", "-"];
        assert_eq!(rates(&case), expected);
    }

    #[test]
    fn each_process_of_each_contender_has_a_row() {
        let case = case(CaseName::InOut, 1.5, &[(ServerKind::Limit, &[0.001]), (ServerKind::Node, &[1.0])]);
        let rows = costs(&case);
        assert_eq!(rows.len(), 6);
        assert_eq!(rows[0][2..], ["limit", "1.0k", "broker", "1500.0", "500.0", "0.010", "-"]);
        assert_eq!(rows[4][2..], ["hairstreak", "1.0k", "producer", "750.0", "250.0", "4.00", "-"]);
        assert_eq!(latencies(&case)[1][2..5], ["hairstreak", "1.0k messages/s", "1.00 [1.00-1.00]"]);
    }
}
