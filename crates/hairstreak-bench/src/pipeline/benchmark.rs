//! The run of the study: samples the contenders in turns, and reports.

use std::path::Path;

use anyhow::{Context as _, Result};
use hairstreak_chart::{Axis, BLUE, Chart, Color, GREEN, Line, ORANGE};

use super::case::Case;
use super::conclusion;
use super::plan::{Row, Scheme, Settings, UNBOUNDED_COUNT};
use super::sample::{Role, Task};
use crate::frame::{Report, Table, name, take_turns};
use crate::sample;

const LEGEND: &str = "\
cpu s/M is user and system seconds of all processes per million tasks; then the most memory of each role (of the worker \
that had most); shares go from the worker with fewest tasks to the one with most.";

/// Runs the study and prints its report.
pub fn run(settings: &Settings) -> Result<()> {
    if let Some(directory) = &settings.out {
        // Fails before minutes of measuring.
        std::fs::create_dir_all(directory).context("cannot make the directory of the charts")?;
    }
    let setting = sample::setting(&settings.rival);
    let (rows, repeat_count, transport) = (settings.rows(), settings.repeat_count(), settings.transport);
    let mut tasks = Vec::new();
    for &row in &rows {
        tasks.extend(row.schemes(setting.has_rival()).iter().map(|&scheme| Task {
            scheme,
            role: Role::Ventilator,
            transport,
            row,
            task_count: settings.task_count(scheme, row),
            endpoints: Vec::new(),
            libzmq: settings.rival.libzmq.clone(),
        }));
    }
    let mut samples = take_turns("pipeline", repeat_count, &tasks, Task::sample)?.into_iter();
    let case = |row: Row| {
        let samples = samples.by_ref().take(row.schemes(setting.has_rival()).len()).collect();
        Case { row, samples, cost_percents: [None; 2] }
    };
    let mut cases: Vec<Case> = rows.into_iter().map(case).collect();
    let windows = conclusion::compare_windows(&mut cases);
    let chart = settings.out.as_ref().map(|directory| draw(&cases, Path::new(directory)));
    let (untimed, timed): (Vec<&Case>, Vec<&Case>) = cases.iter().partition(|case| case.row.task_us == 0);
    let rows = |cases: &[&Case]| cases.iter().filter_map(|case| case.row(transport)).collect();
    let way = name(&transport);
    let table = |key, title, rows, legend| Table { key, title, rows, legend };
    let timed_title = "Tasks that take time: tasks per second, and the cost against the most in flight";
    let report = Report {
        study: "pipeline",
        about: format!("8 B tasks through 4 workers over {way}, 6 processes, n = {repeat_count}"),
        setting,
        tables: vec![
            table("cases", "Tasks per second (median [min-max])", rows(&untimed), ""),
            table("timed_cases", timed_title, rows(&timed), ""),
            table("costs", "Costs", cases.iter().flat_map(Case::costs).collect(), LEGEND),
        ],
        conclusion: cases.iter().filter_map(Case::verdict).chain(windows).collect(),
        charts: chart.transpose()?.unwrap_or_default(),
    };
    report.print(settings.common.json)
}

/// The contenders of the charts, in the order of [`Case::samples`]: the colour, and whether the line is dashed.
const CONTENDERS: [(Scheme, Color, bool); 3] =
    [(Scheme::Window, BLUE, false), (Scheme::Batches, ORANGE, true), (Scheme::Blocks, GREEN, true)];

/// Draws the chart of the source into `directory`, once for each time that tasks take, and returns the files: tasks per second
/// over the number in flight, with a line for each contender.
fn draw(cases: &[Case], directory: &Path) -> Result<Vec<String>> {
    let charts = cases.chunk_by(|one, other| one.row.task_us == other.row.task_us).map(|cases| {
        let (file, each) = match cases[0].row.task_us {
            0 => ("pipeline.svg".to_owned(), String::new()),
            task_us => (format!("pipeline-{task_us}-us.svg"), format!(", each of {task_us} us")),
        };
        let lines = CONTENDERS.iter().enumerate().map(|(contender, &(scheme, color, is_dashed))| {
            let point = |(x, case): (usize, &Case)| Some((x as f64, case.rate(contender)?.median));
            let points = cases.iter().enumerate().filter_map(point).collect();
            Line { label: scheme.text().to_owned(), color, is_dashed, points }
        });
        let lines: Vec<Line> = lines.collect();
        let labels = cases.iter().map(|case| match case.row.in_flight_count {
            UNBOUNDED_COUNT => "unbounded".to_owned(),
            count => count.to_string(),
        });
        let x = Axis::labels("tasks in flight", labels.collect());
        let title = format!("Tasks per second by tasks in flight{each}");
        // Rates by powers of ten, because they span four.
        let chart = Chart { title, x, y: Axis::log_over("", &lines), lines };
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
