//! The run of the study: samples the contenders in turns, and reports.

use std::path::Path;

use anyhow::{Context as _, Result};
use hairstreak_chart::{Axis, BLUE, Chart, Color, GREEN, Line, ORANGE};

use super::case::Case;
use super::conclusion;
use super::plan::{self, Plan, Settings, UNBOUNDED_COUNT};
use super::sample::{Scheme, Subject};
use crate::frame::{Report, Spread, Table, name, take_turns};
use crate::sample;

const LEGEND: &str = "\
cpu s/M is user and system seconds of all processes per million tasks; then the most memory of each role (of the worker \
that had most); shares go from the worker with fewest tasks to the one with most.";

/// Runs the study and prints its report.
pub fn run(settings: &Settings) -> Result<()> {
    let plan = Plan::new(settings);
    if let Some(directory) = &settings.out {
        // Fails before minutes of measuring.
        std::fs::create_dir_all(directory).context("cannot make the directory of the charts")?;
    }
    let setting = sample::setting(&settings.rival);
    let mut subjects = Vec::new();
    for &row in &plan.rows {
        subjects.extend(plan.schemes(row, setting.has_rival()).iter().map(|&scheme| Subject {
            scheme,
            transport: plan.transport,
            in_flight_count: row.in_flight_count,
            task_count: plan.task_count(scheme, row),
            task_us: row.task_us,
            libzmq: &settings.rival.libzmq,
        }));
    }
    let samples = take_turns("pipeline", plan.repeat_count, &subjects, Subject::sample)?;
    let of = |row: plan::Row, scheme| {
        let is_it = |subject: &Subject<'_>| {
            subject.scheme == scheme
                && (subject.in_flight_count, subject.task_us) == (row.in_flight_count, row.task_us)
        };
        subjects.iter().position(is_it).map_or(&[][..], |index| &samples[index])
    };
    let mut cases: Vec<Case> = plan
        .rows
        .iter()
        .filter_map(|&row| {
            Case::new(row, [Scheme::Window, Scheme::Batches, Scheme::Blocks].map(|one| of(row, one)))
        })
        .collect();
    let windows = conclusion::compare_windows(&mut cases);
    let chart = settings.out.as_ref().map(|directory| draw(&cases, Path::new(directory)));
    let (untimed, timed): (Vec<&Case>, Vec<&Case>) = cases.iter().partition(|case| case.row.task_us == 0);
    let rows = |cases: &[&Case]| cases.iter().map(|case| case.row(plan.transport)).collect();
    let costs = cases.iter().flat_map(Case::costs).collect();
    let report = Report {
        study: "pipeline",
        about: format!(
            "8 B tasks through 4 workers over {}, 6 processes, n = {}",
            name(&plan.transport),
            plan.repeat_count
        ),
        setting,
        tables: vec![
            Table {
                key: "cases",
                title: "Tasks per second (median [min-max])",
                rows: rows(&untimed),
                legend: "",
            },
            Table {
                key: "timed_cases",
                title: "Tasks that take time: tasks per second, and the cost against the most in flight",
                rows: rows(&timed),
                legend: "",
            },
            Table { key: "costs", title: "Costs", rows: costs, legend: LEGEND },
        ],
        conclusion: cases.iter().filter_map(Case::verdict).chain(windows).collect(),
        charts: chart.transpose()?.unwrap_or_default(),
    };
    report.print(settings.common.json)
}

/// A contender of the charts: its colour, whether its line is dashed, and its rate in a row.
type Contender = (&'static str, Color, bool, fn(&Case) -> Option<Spread>);

const CONTENDERS: [Contender; 3] = [
    ("hairstreak, window", BLUE, false, |case| Some(case.ours)),
    ("libzmq, batches", ORANGE, true, |case| case.rival),
    ("libzmq, REQ/REP blocks", GREEN, true, |case| case.blocks),
];

/// Draws the chart of the source into `directory`, once for each time that tasks take, and returns the files: tasks per second
/// over the number in flight, with a line for each contender.
fn draw(cases: &[Case], directory: &Path) -> Result<Vec<String>> {
    let charts = cases.chunk_by(|one, other| one.row.task_us == other.row.task_us).map(|cases| {
        let (file, each) = match cases[0].row.task_us {
            0 => ("pipeline.svg".to_owned(), String::new()),
            task_us => (format!("pipeline-{task_us}-us.svg"), format!(", each of {task_us} us")),
        };
        let lines = CONTENDERS.map(|(label, color, is_dashed, rate)| {
            let points = cases.iter().enumerate();
            let points =
                points.filter_map(|(index, case)| Some((index as f64, rate(case)?.median))).collect();
            Line { label: label.to_owned(), color, is_dashed, points }
        });
        let labels = cases.iter().map(|case| match case.row.in_flight_count {
            UNBOUNDED_COUNT => "unbounded".to_owned(),
            count => count.to_string(),
        });
        let x = Axis::labels("tasks in flight", labels.collect());
        let title = format!("Tasks per second by tasks in flight{each}");
        // Rates by powers of ten, because they span four.
        let chart = Chart { title, x, y: Axis::log_over("", &lines), lines: lines.into() };
        Ok(chart.draw(&directory.join(file))?)
    });
    charts.collect()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::draw;
    use crate::pipeline::case::tests::case;

    #[test]
    fn each_task_time_has_a_chart_with_a_line_per_contender() {
        let directory =
            std::env::temp_dir().join(format!("hairstreak-pipeline-charts-{}", std::process::id()));
        std::fs::create_dir_all(&directory).unwrap();
        let cases = [case(1_000_000, 0, &[4.0]), case(10, 0, &[4.0]), case(70, 100, &[])];
        let files = draw(&cases, &directory).unwrap();
        let names = ["pipeline.svg", "pipeline-100-us.svg"];
        assert_eq!(files, names.map(|name| directory.join(name).display().to_string()));
        let texts: Vec<String> = files.iter().map(|file| std::fs::read_to_string(file).unwrap()).collect();
        std::fs::remove_dir_all(&directory).unwrap();
        for label in
            ["hairstreak, window", "libzmq, batches", "libzmq, REQ/REP blocks", "unbounded", "\n10\n"]
        {
            assert!(texts[0].contains(label), "{label} in {}", texts[0]);
        }
        assert!(texts[1].contains("each of 100 us") && !texts[1].contains("libzmq"), "{}", texts[1]);
    }

    #[test]
    fn a_place_where_no_chart_can_go_is_named() {
        let error = draw(&[case(10, 0, &[])], Path::new("/dev/null")).unwrap_err();
        assert!(error.to_string().starts_with("cannot draw /dev/null/pipeline.svg: "), "{error}");
    }
}
