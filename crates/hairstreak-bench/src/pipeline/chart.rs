//! The chart of the source, one for each time that tasks take: tasks per second over the number in flight, a line per
//! contender; the rates by powers of ten, because they span four of them. Ours is solid, the rival's are dashed.

use std::path::Path;

use plotters::prelude::*;

use super::plan::UNBOUNDED_COUNT;
use super::report::Case;

const SIZE: (u32, u32) = (900, 560);
const TITLE: &str = "Tasks per second by tasks in flight";
const DASH: (i32, i32) = (6, 4);

/// Why there is no chart.
#[derive(Debug, thiserror::Error)]
#[error("cannot draw {file}: {reason}")]
pub struct ChartError {
    file: String,
    reason: String,
}

/// A contender, how it is drawn, and its rate in a row.
type Line = (&'static str, RGBColor, bool, fn(&Case) -> Option<f64>);

const LINES: [Line; 3] = [
    ("hairstreak, window", RGBColor(31, 119, 180), false, |case| Some(case.rates.ours)),
    ("libzmq, batches", RGBColor(255, 127, 14), true, |case| case.rates.rival),
    ("libzmq, REQ/REP blocks", RGBColor(44, 160, 44), true, |case| case.blocks),
];

/// Draws the charts into `directory` and gives their files.
pub fn draw(cases: &[Case], directory: &Path) -> Result<Vec<String>, ChartError> {
    let charts = cases.chunk_by(|one, other| one.task_us == other.task_us).map(|cases| {
        let (name, title) = match cases[0].task_us {
            0 => ("pipeline.svg".to_owned(), TITLE.to_owned()),
            task_us => (format!("pipeline-{task_us}-us.svg"), format!("{TITLE}, each of {task_us} us")),
        };
        let file = directory.join(name).display().to_string();
        match draw_one(cases, &file, &title) {
            Ok(()) => Ok(file),
            Err(error) => Err(ChartError { file, reason: error.to_string() }),
        }
    });
    charts.collect()
}

fn draw_one(cases: &[Case], file: &str, title: &str) -> Result<(), Box<dyn std::error::Error>> {
    // The source goes from many to few.
    let rates = cases.iter().flat_map(|case| LINES.iter().filter_map(|line| line.3(case)));
    let (least, most) =
        rates.fold((f64::MAX, 1.0_f64), |(least, most), rate| (least.min(rate), most.max(rate)));
    let bottom = 10_f64.powf(least.min(most).max(1.0).log10().floor());
    let top = 10_f64.powf(most.log10().ceil()).max(bottom * 10.0);
    let root = SVGBackend::new(file, SIZE).into_drawing_area();
    root.fill(&WHITE)?;
    let mut chart = ChartBuilder::on(&root)
        .caption(title, ("sans-serif", 20))
        .margin(12)
        .x_label_area_size(44)
        .y_label_area_size(84)
        .build_cartesian_2d(0.0..(cases.len().max(2) - 1) as f64, (bottom..top).log_scale())?;
    let count_at = |position: &f64| {
        let is_whole = (position - position.round()).abs() < 1e-6;
        let case = cases.get(position.round() as usize).filter(|_| is_whole);
        case.map(label).unwrap_or_default()
    };
    chart
        .configure_mesh()
        .x_desc("tasks in flight")
        .x_labels(cases.len().max(2))
        .x_label_formatter(&count_at)
        .y_label_formatter(&|value| format!("{value:.0}"))
        .light_line_style(WHITE)
        .draw()?;
    for (label, color, is_dashed, rate) in LINES {
        let points = cases.iter().enumerate();
        let points: Vec<(f64, f64)> =
            points.filter_map(|(index, case)| Some((index as f64, rate(case)?))).collect();
        if points.is_empty() {
            continue;
        }
        let style = color.stroke_width(2);
        let series = match is_dashed {
            true => chart.draw_series(DashedLineSeries::new(points, DASH.0, DASH.1, style))?,
            false => chart.draw_series(LineSeries::new(points, style))?,
        };
        series.label(label).legend(move |(x, y)| {
            let end = if is_dashed { x + 10 } else { x + 20 };
            PathElement::new(vec![(x, y), (end, y)], style)
        });
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::UpperRight)
        .background_style(WHITE.mix(0.8))
        .border_style(BLACK)
        .draw()?;
    Ok(root.present()?)
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
