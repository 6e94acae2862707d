//! The chart of the source, one for each time that tasks take: tasks per second over the number in flight, a line per
//! contender; the rates by powers of ten, because they span four of them. Ours is solid, the rival's are dashed.

use std::path::Path;

use hairstreak_chart::{Axis, BLUE, Chart, ChartError, Color, GREEN, Line, ORANGE};

use super::plan::UNBOUNDED_COUNT;
use super::report::Case;

const TITLE: &str = "Tasks per second by tasks in flight";

/// A contender, its colour, whether its line is dashed, and its rate in a row.
type Contender = (&'static str, Color, bool, fn(&Case) -> Option<f64>);

const CONTENDERS: [Contender; 3] = [
    ("hairstreak, window", BLUE, false, |case| Some(case.rates.ours)),
    ("libzmq, batches", ORANGE, true, |case| case.rates.rival),
    ("libzmq, REQ/REP blocks", GREEN, true, |case| case.blocks),
];

/// Draws the charts into `directory` and gives their files.
pub fn draw(cases: &[Case], directory: &Path) -> Result<Vec<String>, ChartError> {
    let charts = cases.chunk_by(|one, other| one.task_us == other.task_us).map(|cases| {
        let (name, title) = match cases[0].task_us {
            0 => ("pipeline.svg".to_owned(), TITLE.to_owned()),
            task_us => (format!("pipeline-{task_us}-us.svg"), format!("{TITLE}, each of {task_us} us")),
        };
        chart(cases, title).draw(&directory.join(name))
    });
    charts.collect()
}

/// The source goes from many to few.
fn chart(cases: &[Case], title: String) -> Chart {
    let lines = CONTENDERS.map(|(label, color, is_dashed, rate)| {
        let points = cases.iter().enumerate();
        let points = points.filter_map(|(index, case)| Some((index as f64, rate(case)?))).collect();
        Line { label: label.to_owned(), color, is_dashed, points }
    });
    let x = Axis::labels("tasks in flight", cases.iter().map(label).collect());
    Chart { title, x, y: Axis::log_over("", &lines), lines: lines.into() }
}

fn label(case: &Case) -> String {
    match case.in_flight {
        UNBOUNDED_COUNT => "unbounded".to_owned(),
        count => count.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::report::Case;
    use super::super::report::tests::case;
    use super::draw;

    /// The texts of the charts, `names` in this order.
    fn drawn(directory_name: &str, cases: &[Case], names: &[&str]) -> Vec<String> {
        let directory =
            std::env::temp_dir().join(format!("hairstreak-{directory_name}-{}", std::process::id()));
        std::fs::create_dir_all(&directory).unwrap();
        let files = draw(cases, &directory).unwrap();
        let expected: Vec<_> = names.iter().map(|name| directory.join(name).display().to_string()).collect();
        assert_eq!(files, expected);
        let texts = files.iter().map(|file| std::fs::read_to_string(file).unwrap()).collect();
        std::fs::remove_dir_all(&directory).unwrap();
        texts
    }

    #[test]
    fn a_chart_has_a_line_per_contender_and_a_label_per_row() {
        let cases = [case(1_000_000, &[4.0]), case(10, &[4.0])];
        let text = drawn("pipeline-chart", &cases, &["pipeline.svg"]).remove(0);
        assert!(text.starts_with("<svg") && text.trim_end().ends_with("</svg>"), "{text}");
        for label in ["hairstreak, window", "libzmq, batches", "libzmq, REQ/REP blocks", "unbounded", "10"] {
            assert!(text.contains(label), "{label} in {text}");
        }
    }

    #[test]
    fn each_task_time_has_a_chart_of_its_own() {
        let timed = |count| Case { task_us: 100, ..case(count, &[4.0]) };
        let cases = [case(1_000, &[4.0]), case(10, &[4.0]), timed(70), timed(10)];
        let texts = drawn("pipeline-charts", &cases, &["pipeline.svg", "pipeline-100-us.svg"]);
        let has = |words: &str| [0, 1].map(|index: usize| texts[index].contains(words));
        assert_eq!(has("each of 100 us"), [false, true], "{texts:?}");
        assert_eq!(has("\n70\n"), [false, true], "{texts:?}");
    }

    #[test]
    fn without_a_rival_the_chart_has_ours_alone() {
        let cases = [case(1_000_000, &[]), case(10, &[])];
        let text = drawn("pipeline-chart-alone", &cases, &["pipeline.svg"]).remove(0);
        assert!(text.contains("hairstreak, window") && !text.contains("libzmq"), "{text}");
    }

    #[test]
    fn a_place_where_no_chart_can_go_is_named() {
        let error = draw(&[case(10, &[])], Path::new("/dev/null")).unwrap_err();
        assert!(error.to_string().starts_with("cannot draw /dev/null/pipeline.svg: "), "{error}");
    }
}
