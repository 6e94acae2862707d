//! The chart of the source: tasks per second over the number in flight, a line per contender; the rates by powers of ten,
//! because they span four of them. Ours is solid, the rival's are dashed.

use std::path::Path;

use plotters::prelude::*;

use super::plan::UNBOUNDED_COUNT;
use super::report::Case;

const SIZE: (u32, u32) = (900, 560);
const FILE_NAME: &str = "pipeline.svg";
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
    ("hairstreak, window", RGBColor(31, 119, 180), false, |case| Some(case.ours)),
    ("libzmq, batches", RGBColor(255, 127, 14), true, |case| case.rival),
    ("libzmq, REQ/REP blocks", RGBColor(44, 160, 44), true, |case| case.blocks),
];

/// Draws the chart into `directory` and gives its file.
pub fn draw(cases: &[Case], directory: &Path) -> Result<String, ChartError> {
    let file = directory.join(FILE_NAME).display().to_string();
    match draw_one(cases, &file) {
        Ok(()) => Ok(file),
        Err(error) => Err(ChartError { file, reason: error.to_string() }),
    }
}

fn draw_one(cases: &[Case], file: &str) -> Result<(), Box<dyn std::error::Error>> {
    // The source goes from many to few.
    let rates = cases.iter().flat_map(|case| LINES.iter().filter_map(|line| line.3(case)));
    let (least, most) =
        rates.fold((f64::MAX, 1.0_f64), |(least, most), rate| (least.min(rate), most.max(rate)));
    let bottom = 10_f64.powf(least.min(most).max(1.0).log10().floor());
    let top = 10_f64.powf(most.log10().ceil()).max(bottom * 10.0);
    let root = SVGBackend::new(file, SIZE).into_drawing_area();
    root.fill(&WHITE)?;
    let mut chart = ChartBuilder::on(&root)
        .caption(TITLE, ("sans-serif", 20))
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

    use super::super::report::tests::case;
    use super::{FILE_NAME, draw};

    fn drawn(name: &str, rival_s: &[f64]) -> String {
        let directory = std::env::temp_dir().join(format!("hairstreak-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&directory).unwrap();
        let cases = [case(1_000_000, 100_000, rival_s), case(10, 10, rival_s)];
        let file = draw(&cases, &directory).unwrap();
        assert_eq!(Path::new(&file), directory.join(FILE_NAME));
        let text = std::fs::read_to_string(&file).unwrap();
        std::fs::remove_dir_all(&directory).unwrap();
        text
    }

    #[test]
    fn a_chart_has_a_line_per_contender_and_a_label_per_row() {
        let text = drawn("pipeline-chart", &[4.0]);
        assert!(text.starts_with("<svg") && text.trim_end().ends_with("</svg>"), "{text}");
        for label in ["hairstreak, window", "libzmq, batches", "libzmq, REQ/REP blocks", "unbounded", "10"] {
            assert!(text.contains(label), "{label} in {text}");
        }
    }

    #[test]
    fn without_a_rival_the_chart_has_ours_alone() {
        let text = drawn("pipeline-chart-alone", &[]);
        assert!(text.contains("hairstreak, window") && !text.contains("libzmq"), "{text}");
    }

    #[test]
    fn a_place_where_no_chart_can_go_is_named() {
        let error = draw(&[case(10, 10, &[])], Path::new("/dev/null")).unwrap_err();
        assert!(error.to_string().starts_with("cannot draw /dev/null/pipeline.svg: "), "{error}");
    }
}
