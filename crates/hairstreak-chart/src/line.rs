//! One line of a chart, and the colours that lines have.

use plotters::style::RGBColor;

/// Red, green and blue, each from 0 to 255.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Color(pub u8, pub u8, pub u8);

/// The first colour of [`PALETTE`].
pub const BLUE: Color = Color(31, 119, 180);
/// The second colour of [`PALETTE`].
pub const ORANGE: Color = Color(255, 127, 14);
/// The third colour of [`PALETTE`].
pub const GREEN: Color = Color(44, 160, 44);
/// For a line that belongs to a blue line.
pub const LIGHT_BLUE: Color = Color(158, 202, 225);
/// For a line that belongs to an orange line.
pub const LIGHT_ORANGE: Color = Color(253, 190, 133);
/// For references and limits.
pub const GREY: Color = Color(110, 110, 110);
/// Colours that can be distinguished side by side, in the order of their use.
pub const PALETTE: [Color; 10] = [
    BLUE,
    ORANGE,
    GREEN,
    Color(214, 39, 40),
    Color(148, 103, 189),
    Color(140, 86, 75),
    Color(227, 119, 194),
    Color(127, 127, 127),
    Color(188, 189, 34),
    Color(23, 190, 207),
];

/// One line: its label in the legend, its look and its points.
#[derive(Clone, Debug)]
pub struct Line {
    /// The text in the legend.
    pub label: String,
    /// The colour.
    pub color: Color,
    /// The line is dashed.
    pub is_dashed: bool,
    /// The points from left to right, in the units of the axes.
    pub points: Vec<(f64, f64)>,
}

impl Line {
    /// A solid line.
    pub fn solid(label: impl Into<String>, color: Color, points: Vec<(f64, f64)>) -> Line {
        Line { label: label.into(), color, is_dashed: false, points }
    }

    /// A dashed line.
    pub fn dashed(label: impl Into<String>, color: Color, points: Vec<(f64, f64)>) -> Line {
        Line { label: label.into(), color, is_dashed: true, points }
    }
}

impl From<Color> for RGBColor {
    fn from(Color(red, green, blue): Color) -> RGBColor {
        RGBColor(red, green, blue)
    }
}
