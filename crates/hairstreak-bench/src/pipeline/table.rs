//! The report as text for people: rates, what they cost, what fewer in flight cost where tasks take time, and conclusions.

use super::plan::UNBOUNDED_COUNT;
use super::report::{Case, Consumption, Report};
use crate::figures::{push_rows, rate, short};

/// Renders `report`.
pub fn render(report: &Report) -> String {
    let (n, transport) = report.cases.first().map_or((0, ""), |case| (case.n, case.transport));
    let what = format!("8 B tasks through 4 workers over {transport}, 6 processes, n = {n}");
    let mut text = report.run.heading(&what);
    let untimed: Vec<&Case> = report.cases.iter().filter(|case| case.task_us == 0).collect();
    if !untimed.is_empty() {
        push_untimed(&mut text, &untimed);
    }
    if report.cases.iter().any(|case| case.task_us > 0) {
        text.push_str("Where tasks take time: tasks per second, and how much less that is than with the most in flight\n");
        let headings = ["task us", "in flight", "ours", "less by", "libzmq batches", "less by", "ratio"];
        push_table(&mut text, &headings, report.cases.iter().map(|case| windows(case).to_vec()));
        text.push('\n');
    }
    for sentence in &report.conclusion {
        text.push_str(sentence);
        text.push('\n');
    }
    for chart in &report.charts {
        text.push_str("chart: ");
        text.push_str(chart);
        text.push('\n');
    }
    text
}

/// The tables of tasks that take no time.
fn push_untimed(text: &mut String, cases: &[&Case]) {
    text.push_str("Tasks per second (median [min-max])\n");
    let headings =
        ["in flight", "ours", "libzmq batches", "ratio", "target", "libzmq REQ/REP blocks", "ratio"];
    push_table(text, &headings, cases.iter().map(|case| rates(case).to_vec()));
    text.push_str("\nWhat it costs\n");
    let headings =
        ["in flight", "whose", "tasks", "cpu s/M", "ventilator", "worker", "sink", "workers' shares"];
    push_table(text, &headings, cases.iter().flat_map(|case| costs(case)));
    text.push_str(
        "\ncpu s/M is user and system seconds of all processes per million tasks; then the most memory of each role \
         (of the worker that had most); shares go from the worker with fewest tasks to the one with most.\n\n",
    );
}

fn push_table(text: &mut String, headings: &[&str], rows: impl Iterator<Item = Vec<String>>) {
    let headings = headings.iter().map(|&heading| heading.to_owned()).collect();
    let rows: Vec<_> = std::iter::once(headings).chain(rows).collect();
    push_rows(text, &rows);
}

fn rates(case: &Case) -> [String; 7] {
    let missing = || "-".to_owned();
    let ratio = |ratio: Option<f64>| ratio.map_or_else(missing, |ratio| format!("{ratio:.2}x"));
    [
        in_flight(case),
        spread(Some(case.rates.ours), Some(case.rates.ours_min), Some(case.rates.ours_max)),
        spread(case.rates.rival, case.rates.rival_min, case.rates.rival_max),
        ratio(case.rates.ratio),
        case.target_ratio.map_or_else(missing, |target| format!("{target}x")),
        spread(case.blocks, case.blocks_min, case.blocks_max),
        ratio(case.blocks_ratio),
    ]
}

fn windows(case: &Case) -> [String; 7] {
    let missing = || "-".to_owned();
    let percent = |cost: Option<f64>| cost.map_or_else(missing, |cost| format!("{cost:.1}%"));
    [
        case.task_us.to_string(),
        in_flight(case),
        spread(Some(case.rates.ours), Some(case.rates.ours_min), Some(case.rates.ours_max)),
        percent(case.cost_percent),
        spread(case.rates.rival, case.rates.rival_min, case.rates.rival_max),
        percent(case.rival_cost_percent),
        case.rates.ratio.map_or_else(missing, |ratio| format!("{ratio:.2}x")),
    ]
}

fn in_flight(case: &Case) -> String {
    match case.in_flight {
        UNBOUNDED_COUNT => format!("unbounded / {}", case.window_text()),
        count => count.to_string(),
    }
}

fn costs(case: &Case) -> Vec<Vec<String>> {
    let row = |whose: &str, consumption: &Consumption| {
        let peaks =
            [consumption.ventilator_peak_size, consumption.worker_peak_size, consumption.sink_peak_size];
        let [ventilator, worker, sink] =
            peaks.map(|size| format!("{:.1} MiB", size as f64 / f64::from(1 << 20)));
        let shares = consumption.worker_share_percent.map(|share| format!("{share:.0}%"));
        let cpu = short(consumption.cpu_s_per_million);
        let (in_flight, tasks) = (in_flight(case), rate(consumption.tasks as f64));
        vec![in_flight, whose.to_owned(), tasks, cpu, ventilator, worker, sink, shares.join(" ")]
    };
    let contenders = [
        ("ours", Some(&case.ours_use)),
        ("batches", case.rival_use.as_ref()),
        ("blocks", case.blocks_use.as_ref()),
    ];
    let rows = contenders.into_iter().filter_map(|(whose, consumption)| Some(row(whose, consumption?)));
    rows.collect()
}

fn spread(median: Option<f64>, min: Option<f64>, max: Option<f64>) -> String {
    match (median, min, max) {
        (Some(median), Some(min), Some(max)) => format!("{} [{}-{}]", rate(median), rate(min), rate(max)),
        _ => "-".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::report::Case;
    use super::super::report::tests::case;
    use super::{costs, rates, windows};

    #[test]
    fn a_row_names_both_bounds_where_they_differ() {
        let row = rates(&case(1_000_000, &[8.0]));
        assert_eq!(row[..5], ["unbounded / auto", "500 [250-1.0k]", "125 [125-125]", "4.00x", "4x"]);
        assert_eq!(row[5..], ["125 [125-125]", "4.00x"]);
    }

    #[test]
    fn a_row_says_by_how_much_less_it_is() {
        let (cost_percent, rival_cost_percent) = (Some(-0.64), Some(12.0));
        let row = Case { task_us: 100, cost_percent, rival_cost_percent, ..case(50, &[8.0]) };
        let expected = ["100", "50", "500 [250-1.0k]", "-0.6%", "125 [125-125]", "12.0%", "4.00x"];
        assert_eq!(windows(&row), expected);
        assert_eq!(windows(&case(50, &[]))[3..], ["-", "-", "-", "-"]);
    }

    #[test]
    fn without_a_rival_ours_stands_alone() {
        let case = case(50, &[]);
        assert_eq!(rates(&case)[2..], ["-", "-", "-", "-", "-"]);
        let costs = costs(&case);
        assert_eq!(costs.len(), 1);
        assert_eq!(costs[0][..5], ["50", "ours", "1.0k", "500.0", "3.0 MiB"]);
        assert_eq!(costs[0][7], "10% 20% 30% 40%");
    }
}
