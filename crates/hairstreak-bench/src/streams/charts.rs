//! The two charts of the source: messages and megabits per second over the size of a message, a line per number of
//! streams. Ours are solid, the rival's dashed.

use std::path::Path;

use plotters::prelude::*;

use super::report::Case;

const SIZE: (u32, u32) = (900, 560);
const COLORS: [RGBColor; 6] = [
    RGBColor(31, 119, 180),
    RGBColor(255, 127, 14),
    RGBColor(44, 160, 44),
    RGBColor(214, 39, 40),
    RGBColor(148, 103, 189),
    RGBColor(140, 86, 75),
];
/// Room above the highest line.
const HEADROOM: f64 = 1.08;
const DASH: (i32, i32) = (6, 4);

/// Why there is no chart.
#[derive(Debug, thiserror::Error)]
#[error("cannot draw {file}: {reason}")]
pub struct ChartError {
    file: String,
    reason: String,
}

/// What a chart shows of a row: ours, and the rival's if it was there.
type Value = fn(&Case) -> (f64, Option<f64>);

/// One line: its points by position on the axis of sizes, and how it is drawn.
struct Line {
    label: String,
    color: RGBColor,
    is_dashed: bool,
    points: Vec<(f64, f64)>,
}

/// Draws both charts into `directory` and gives their files.
pub fn draw(cases: &[Case], directory: &Path) -> Result<Vec<String>, ChartError> {
    let messages: Value = |case| (case.rates.ours / 1e6, case.rates.rival.map(|rate| rate / 1e6));
    let megabits: Value = |case| (case.ours_mbit, case.rival_mbit);
    let charts = [
        ("streams-messages.svg", "Millions of messages per second, all streams together", messages),
        ("streams-megabits.svg", "Megabits per second, all streams together", megabits),
    ];
    let draw = |(name, title, value)| {
        let file = directory.join(name).display().to_string();
        match draw_one(cases, &file, title, value) {
            Ok(()) => Ok(file),
            Err(error) => Err(ChartError { file, reason: error.to_string() }),
        }
    };
    charts.into_iter().map(draw).collect()
}

fn draw_one(cases: &[Case], file: &str, title: &str, value: Value) -> Result<(), Box<dyn std::error::Error>> {
    let mut sizes: Vec<usize> = cases.iter().map(|case| case.size).collect();
    sizes.dedup();
    let lines = lines(cases, &sizes, value);
    let top = lines.iter().flat_map(|line| &line.points).map(|point| point.1).fold(1e-6, f64::max);
    let root = SVGBackend::new(file, SIZE).into_drawing_area();
    root.fill(&WHITE)?;
    let mut chart = ChartBuilder::on(&root)
        .caption(title, ("sans-serif", 20))
        .margin(12)
        .x_label_area_size(44)
        .y_label_area_size(64)
        .build_cartesian_2d(0.0..(sizes.len().max(2) - 1) as f64, 0.0..top * HEADROOM)?;
    // A label per size: the axis counts them, since they double from one to the next.
    let size_at = |position: &f64| {
        let is_whole = (position - position.round()).abs() < 1e-6;
        let size = sizes.get(position.round() as usize).filter(|_| is_whole);
        size.map(ToString::to_string).unwrap_or_default()
    };
    chart
        .configure_mesh()
        .x_desc("bytes per message")
        .x_labels(sizes.len().max(2))
        .x_label_formatter(&size_at)
        .y_label_formatter(&|value| format!("{value}"))
        .light_line_style(WHITE)
        .draw()?;
    for line in lines {
        let (color, is_dashed) = (line.color, line.is_dashed);
        let style = color.stroke_width(2);
        let series = match is_dashed {
            true => chart.draw_series(DashedLineSeries::new(line.points, DASH.0, DASH.1, style))?,
            false => chart.draw_series(LineSeries::new(line.points, style))?,
        };
        series.label(line.label).legend(move |(x, y)| {
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

fn lines(cases: &[Case], sizes: &[usize], value: Value) -> Vec<Line> {
    let mut counts: Vec<usize> = cases.iter().map(|case| case.streams).collect();
    counts.sort_unstable();
    counts.dedup();
    let mut lines = Vec::new();
    for is_rival in [false, true] {
        for (index, &count) in counts.iter().enumerate() {
            let points = cases.iter().filter(|case| case.streams == count).filter_map(|case| {
                let position = sizes.iter().position(|&size| size == case.size)?;
                let (ours, rival) = value(case);
                Some((position as f64, if is_rival { rival? } else { ours }))
            });
            let points: Vec<(f64, f64)> = points.collect();
            if points.is_empty() {
                continue;
            }
            let whose = if is_rival { "libzmq" } else { "hairstreak" };
            let plural = if count == 1 { "" } else { "s" };
            let label = format!("{whose}, {count} stream{plural}");
            lines.push(Line { label, color: COLORS[index % COLORS.len()], is_dashed: is_rival, points });
        }
    }
    lines
}
