//! The report as text for people: times and rates, what they cost, and conclusions.

use super::report::{Case, Consumption, Figures, Report};
use crate::figures::{push_rows, rate, short};
use crate::statistics::Spread;

/// Renders `report`.
pub fn render(report: &Report) -> String {
    let n = report.cases.first().map_or(0, |case| case.n);
    let mut text = report.run.heading(&format!("requests and their replies over tcp, n = {n}"));
    let headings =
        ["case", "mode", "workers", "requests", "whose", "real s", "requests/s", "ratio", "target"];
    push_table(&mut text, &headings, report.cases.iter().flat_map(rates));
    text.push_str("\nOf each process\n");
    let headings = ["case", "mode", "workers", "whose", "process", "real s", "user s", "system s"];
    push_table(&mut text, &headings, report.cases.iter().flat_map(costs));
    text.push_str(
        "\nmedian [min-max]; real is the client's clock from the first request to the last reply, and how long the others were \
         there; of tripping the one process is client, proxy and worker; workers are taken together.\n\n",
    );
    for sentence in &report.conclusion {
        text.push_str(sentence);
        text.push('\n');
    }
    text
}

fn push_table(text: &mut String, headings: &[&str], rows: impl Iterator<Item = Vec<String>>) {
    let headings = headings.iter().map(|&heading| heading.to_owned()).collect();
    let rows: Vec<_> = std::iter::once(headings).chain(rows).collect();
    push_rows(text, &rows);
}

fn rates(case: &Case) -> Vec<Vec<String>> {
    let ratio = |ratio: Option<f64>| ratio.map_or_else(|| "-".to_owned(), |ratio| format!("{ratio:.2}x"));
    let row = |figures: &Figures| {
        vec![
            case.case.to_owned(),
            case.mode.to_owned(),
            case.workers.to_string(),
            case.requests.to_string(),
            figures.contender.to_owned(),
            spread(&figures.real_s, short),
            spread(&figures.rate, rate),
            ratio(case.ratio),
            ratio(case.target_ratio),
        ]
    };
    case.contenders.iter().map(row).collect()
}

fn costs(case: &Case) -> Vec<Vec<String>> {
    let row = |figures: &Figures, used: &Consumption| {
        vec![
            case.case.to_owned(),
            case.mode.to_owned(),
            case.workers.to_string(),
            figures.contender.to_owned(),
            used.role.to_owned(),
            spread(&used.real_s, short),
            spread(&used.user_s, short),
            spread(&used.system_s, short),
        ]
    };
    let rows = case
        .contenders
        .iter()
        .flat_map(|figures| figures.processes.iter().map(move |used| row(figures, used)));
    rows.collect()
}

fn spread(spread: &Spread, text: impl Fn(f64) -> String) -> String {
    format!("{} [{}-{}]", text(spread.median), text(spread.min), text(spread.max))
}

#[cfg(test)]
mod tests {
    use super::super::report::tests::case;
    use super::{costs, rates};

    #[test]
    fn every_contender_has_its_row_and_each_of_its_processes_another() {
        let case = case(&[1.0, 4.0, 2.0], &[5.0]).unwrap();
        let rows = rates(&case);
        let ours = ["tripping", "sync", "1", "1000", "hairstreak", "2.00 [1.00-4.00]", "500 [250-1.0k]"];
        assert_eq!(
            (&rows[0][..7], &rows[0][7..]),
            (&ours.map(str::to_owned)[..], &["2.50x", "2.50x"].map(str::to_owned)[..])
        );
        assert_eq!(rows[1][4..6], ["libzmq", "5.00 [5.00-5.00]"]);
        let costs = costs(&case);
        assert_eq!(costs.len(), 4);
        assert_eq!(
            costs[0][3..],
            ["hairstreak", "broker", "9.00 [9.00-9.00]", "1.75 [0.750-3.75]", "0.250 [0.250-0.250]"]
        );
    }
}
