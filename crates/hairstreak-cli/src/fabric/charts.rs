//! The charts of the study.

use std::error::Error;
use std::path::Path;

use hairstreak_fabric::vortex::LIMIT;
use plotters::prelude::*;

use super::experiments::Study;
use super::network::NetworkKind;

const SIZE: (u32, u32) = (900, 560);
const BLUE: RGBColor = RGBColor(31, 119, 180);
const ORANGE: RGBColor = RGBColor(255, 127, 14);
const LIGHT_BLUE: RGBColor = RGBColor(158, 202, 225);
const LIGHT_ORANGE: RGBColor = RGBColor(253, 190, 133);
const GREEN: RGBColor = RGBColor(44, 160, 44);
const GREY: RGBColor = RGBColor(110, 110, 110);
const DASH: (i32, i32) = (6, 4);
/// The chart of latencies ends here. Trees near saturation have far longer latencies.
const LATENCY_SHOWN: f64 = 80.0;

/// Why a chart could not be drawn.
#[derive(Debug, thiserror::Error)]
#[error("cannot draw {file}: {reason}")]
pub struct ChartError {
    file: String,
    reason: String,
}

struct Chart {
    file: &'static str,
    title: &'static str,
    x: Axis,
    y: Axis,
    lines: Vec<Line>,
}

struct Axis {
    title: &'static str,
    end: (f64, f64),
    /// Whether the marks of the axis are powers of two.
    is_binary: bool,
}

struct Line {
    label: String,
    color: RGBColor,
    is_dashed: bool,
    points: Vec<(f64, f64)>,
}

/// Draws all charts into a folder. Returns their files.
pub fn draw(study: &Study, folder: &Path) -> Result<Vec<String>, ChartError> {
    let draw = |chart: Chart| {
        let file = folder.join(chart.file).display().to_string();
        match draw_one(chart, &file) {
            Ok(()) => Ok(file),
            Err(error) => Err(ChartError { file, reason: error.to_string() }),
        }
    };
    [saturation(study), scaling(study), latency(study)].into_iter().map(draw).collect()
}

/// Packets at saturation over heights: simulated and by the equations.
fn saturation(study: &Study) -> Chart {
    let mut lines = Vec::new();
    for (angles, color, light) in [(1, BLUE, LIGHT_BLUE), (5, ORANGE, LIGHT_ORANGE)] {
        let rows = || study.saturation.iter().filter(move |row| row.angles == angles);
        let place = |heights: u32| f64::from(heights).log2();
        let plural = if angles == 1 { "angle" } else { "angles" };
        lines.extend([
            line(
                &format!("{angles} {plural}, equations"),
                color,
                true,
                rows().map(|row| (place(row.heights), row.equations)),
            ),
            line(
                &format!("{angles} {plural}, simulated"),
                color,
                false,
                rows().map(|row| (place(row.heights), row.patent)),
            ),
            line(
                &format!("{angles} {plural}, bit flipped"),
                light,
                false,
                rows().map(|row| (place(row.heights), row.flip)),
            ),
        ]);
    }
    lines.push(line("2/9", GREY, true, [(2.0, LIMIT), (8.0, LIMIT)].into_iter()));
    Chart {
        file: "fabric-saturation.svg",
        title: "Data Vortex: packets a port and slot at saturation",
        x: Axis { title: "heights", end: (2.0, 8.0), is_binary: true },
        y: Axis { title: "packets a port and slot", end: (0.0, 0.5), is_binary: false },
        lines,
    }
}

/// A label, a colour, and the networks that have both.
type Kind = (&'static str, RGBColor, fn(NetworkKind) -> bool);

/// Packets at saturation over ports, for the three networks.
fn scaling(study: &Study) -> Chart {
    let kinds: [Kind; 3] = [
        ("Data Vortex, 4 angles", BLUE, |kind| matches!(kind, NetworkKind::Vortex { .. })),
        ("omega network, without buffers", ORANGE, |kind| matches!(kind, NetworkKind::Omega { .. })),
        ("4-ary tree, with credits", GREEN, |kind| matches!(kind, NetworkKind::Tree { .. })),
    ];
    let lines = kinds.map(|(label, color, is_of)| {
        let rows = study.scaling.iter().filter(|row| is_of(row.network));
        line(label, color, false, rows.map(|row| (f64::from(row.ports).log2(), row.carried)))
    });
    Chart {
        file: "fabric-scaling.svg",
        title: "Packets carried a port and slot at saturation, by size",
        x: Axis { title: "ports", end: (4.0, 12.0), is_binary: true },
        y: Axis { title: "packets a port and slot", end: (0.0, 0.8), is_binary: false },
        lines: lines.into(),
    }
}

/// Latency over load.
fn latency(study: &Study) -> Chart {
    let mut lines = Vec::new();
    let networks: Vec<NetworkKind> = study.loads.iter().map(|row| row.network).collect();
    for (network, color) in
        networks.chunk_by(|one, next| one == next).map(|kind| kind[0]).zip([BLUE, ORANGE, GREEN])
    {
        let rows = || study.loads.iter().filter(move |row| row.network == network);
        // The sum counts from coming to a port to leaving the network. Packets that an omega network loses do not count.
        let total = |mean: f64| mean.min(LATENCY_SHOWN);
        lines.push(line(
            &format!("{network}, mean with the wait to enter"),
            color,
            false,
            rows().map(|row| (row.load, total(row.latency.mean + row.waiting.mean))),
        ));
        lines.push(line(
            &format!("{network}, 99% inside"),
            color,
            true,
            rows().map(|row| (row.load, total(row.latency.p99 as f64))),
        ));
    }
    Chart {
        file: "fabric-latency.svg",
        title: "Slots from port to port, by load (256 ports, uniform traffic)",
        x: Axis { title: "packets a port and slot", end: (0.0, 0.6), is_binary: false },
        y: Axis { title: "slots", end: (0.0, LATENCY_SHOWN), is_binary: false },
        lines,
    }
}

fn line(label: &str, color: RGBColor, is_dashed: bool, points: impl Iterator<Item = (f64, f64)>) -> Line {
    Line { label: label.to_owned(), color, is_dashed, points: points.collect() }
}

fn draw_one(chart: Chart, file: &str) -> Result<(), Box<dyn Error>> {
    let root = SVGBackend::new(file, SIZE).into_drawing_area();
    root.fill(&WHITE)?;
    let (x, y) = (chart.x.end.0..chart.x.end.1, chart.y.end.0..chart.y.end.1);
    let mut context = ChartBuilder::on(&root)
        .caption(chart.title, ("sans-serif", 20))
        .margin(12)
        .x_label_area_size(44)
        .y_label_area_size(64)
        .build_cartesian_2d(x, y)?;
    let is_binary = chart.x.is_binary;
    let place = |value: &f64| match is_binary {
        true => format!("{}", value.exp2().round()),
        false => format!("{value:.2}"),
    };
    context
        .configure_mesh()
        .x_desc(chart.x.title)
        .y_desc(chart.y.title)
        .x_labels(if is_binary { (chart.x.end.1 - chart.x.end.0) as usize + 1 } else { 7 })
        .x_label_formatter(&place)
        .light_line_style(WHITE)
        .draw()?;
    for Line { label, color, is_dashed, points } in chart.lines {
        let style = color.stroke_width(2);
        let series = match is_dashed {
            true => context.draw_series(DashedLineSeries::new(points, DASH.0, DASH.1, style))?,
            false => context.draw_series(LineSeries::new(points, style))?,
        };
        series.label(label).legend(move |(x, y)| {
            let end = if is_dashed { x + 10 } else { x + 20 };
            PathElement::new(vec![(x, y), (end, y)], style)
        });
    }
    context
        .configure_series_labels()
        .position(SeriesLabelPosition::UpperRight)
        .background_style(WHITE.mix(0.8))
        .border_style(BLACK)
        .draw()?;
    Ok(root.present()?)
}
