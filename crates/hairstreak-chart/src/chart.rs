//! A chart: a title, two axes, lines and their legend.

use std::error::Error;
use std::path::Path;

use plotters::coord::Shift;
use plotters::coord::ranged1d::{AsRangedCoord, Ranged, ValueFormatter};
use plotters::prelude::*;

use super::axis::{Axis, Scale};
use super::error::ChartError;
use super::line::Line;

/// Width and height in pixels.
const SIZE: (u32, u32) = (900, 560);
/// Room for the half of the last label that stands beyond the axis.
const LABEL_MARGIN: u32 = 32;
const DASH: (i32, i32) = (6, 4);

/// A chart of lines.
#[derive(Clone, Debug)]
pub struct Chart {
    /// The title above the chart.
    pub title: String,
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis: linear, or [`Scale::Log`].
    pub y: Axis,
    /// The lines, in the order of the legend. A line without points is left out.
    pub lines: Vec<Line>,
}

type Canvas<'a> = DrawingArea<SVGBackend<'a>, Shift>;

impl Chart {
    /// The chart as the text of an SVG file.
    ///
    /// Errors: the axes span nothing that can be drawn.
    pub fn svg(&self) -> Result<String, ChartError> {
        let mut text = String::new();
        let drawn = self.draw_on(&SVGBackend::with_string(&mut text, SIZE).into_drawing_area());
        drawn.map_err(|error| ChartError { file: self.title.clone(), reason: error.to_string() })?;
        Ok(text)
    }

    /// Draws the chart into `file`. Returns the path as text.
    ///
    /// Errors: the axes span nothing that can be drawn, or the file cannot be written.
    pub fn draw(&self, file: &Path) -> Result<String, ChartError> {
        let path = file.display().to_string();
        let written = std::fs::write(file, self.svg()?);
        written.map_err(|error| ChartError { file: path.clone(), reason: error.to_string() })?;
        Ok(path)
    }

    fn draw_on(&self, canvas: &Canvas<'_>) -> Result<(), Box<dyn Error>> {
        let (start, end) = self.y.ends();
        match self.y.scale {
            Scale::Log { .. } => self.draw_scaled(canvas, (start..end).log_scale()),
            _ => self.draw_scaled(canvas, start..end),
        }
    }

    fn draw_scaled<Y>(&self, canvas: &Canvas<'_>, y: Y) -> Result<(), Box<dyn Error>>
    where
        Y: AsRangedCoord<Value = f64>,
        Y::CoordDescType: Ranged<ValueType = f64> + ValueFormatter<f64>,
    {
        canvas.fill(&WHITE)?;
        let (start, end) = self.x.ends();
        let mut context = ChartBuilder::on(canvas)
            .caption(&self.title, ("sans-serif", 20))
            .margin(12)
            .margin_right(LABEL_MARGIN)
            .x_label_area_size(44)
            .y_label_area_size(84)
            .build_cartesian_2d(start..end, y)?;
        context
            .configure_mesh()
            .x_desc(&self.x.title)
            .y_desc(&self.y.title)
            .x_labels(self.x.tick_count())
            .x_label_formatter(&|value| self.x.text(*value))
            .y_label_formatter(&|value| self.y.text(*value))
            .light_line_style(WHITE)
            .draw()?;
        for line in self.lines.iter().filter(|line| !line.points.is_empty()) {
            let Line { label, color, is_dashed, points } = line.clone();
            let style = RGBColor::from(color).stroke_width(2);
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
        Ok(canvas.present()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{BLUE, ORANGE};

    fn chart() -> Chart {
        let lines = vec![
            Line::solid("one", BLUE, vec![(0.0, 20.0), (1.0, 3000.0)]),
            Line::dashed("other", ORANGE, vec![(0.0, 10.0), (1.0, 15.0)]),
            Line::solid("nothing", BLUE, Vec::new()),
        ];
        let x = Axis::labels("bytes", vec!["8".to_owned(), "131072".to_owned()]);
        Chart { title: "Rates".to_owned(), x, y: Axis::log_over("messages/s", &lines), lines }
    }

    /// Returns `true` if `text` stands between two tags of the drawing.
    fn shows(svg: &str, text: &str) -> bool {
        svg.lines().any(|line| line.trim() == text)
    }

    #[test]
    fn a_chart_has_its_title_both_axes_and_a_legend_of_the_lines_with_points() {
        let svg = chart().svg().unwrap();
        for text in ["Rates", "bytes", "messages/s", "131072", "one", "other", "1k"] {
            assert!(shows(&svg, text), "{text} in {svg}");
        }
        assert!(!shows(&svg, "nothing"), "{svg}");
    }

    #[test]
    fn a_logarithmic_axis_has_equal_distances_for_equal_ratios() {
        let mut chart = chart();
        chart.lines = vec![Line::solid("a", BLUE, vec![(0.0, 10.0), (0.5, 100.0), (1.0, 1000.0)])];
        chart.y = Axis::log_over("", &chart.lines);
        let svg = chart.svg().unwrap();
        let polyline = svg.lines().find(|line| line.contains("#1F77B4") && line.contains("points")).unwrap();
        let points = polyline.split("points=\"").nth(1).unwrap().split('"').next().unwrap();
        let ys: Vec<i32> = points
            .split_whitespace()
            .map(|point| point.split(',').nth(1).unwrap().parse().unwrap())
            .collect();
        assert!((ys[0] - 2 * ys[1] + ys[2]).abs() <= 2, "{ys:?}");
    }

    #[test]
    fn a_place_where_no_chart_can_go_is_named() {
        let error = chart().draw(Path::new("/dev/null/rates.svg")).unwrap_err();
        assert!(error.to_string().starts_with("cannot draw /dev/null/rates.svg: "), "{error}");
    }
}
