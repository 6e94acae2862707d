//! An axis: its title, its ends and the texts of its ticks.

use super::line::Line;

/// Room above the highest point of a linear axis.
const HEADROOM: f64 = 1.08;
/// Ticks of a linear axis that measures the x direction.
const TICK_COUNT: usize = 7;

/// An axis of a chart.
#[derive(Clone, Debug)]
pub struct Axis {
    /// The title; empty for none.
    pub title: String,
    /// The scale.
    pub scale: Scale,
}

/// The relation between places on an axis and values.
#[derive(Clone, Debug)]
pub enum Scale {
    /// Equal distances are equal differences.
    Linear {
        /// The first value.
        start: f64,
        /// The last value.
        end: f64,
    },
    /// A value is the binary logarithm of the number in its tick's text.
    Binary {
        /// The first logarithm.
        start: f64,
        /// The last logarithm.
        end: f64,
    },
    /// Equal distances are equal ratios; for a y axis. On an x axis this scale is linear.
    Log {
        /// The first value, above 0.
        start: f64,
        /// The last value.
        end: f64,
    },
    /// Value `i` has the text `i`; for an x axis.
    Labels(Vec<String>),
}

impl Axis {
    /// A linear axis between two values.
    pub fn linear(title: &str, start: f64, end: f64) -> Axis {
        Axis { title: title.to_owned(), scale: Scale::Linear { start, end } }
    }

    /// A linear axis from 0 to a little above the highest point of `lines`.
    pub fn over(title: &str, lines: &[Line]) -> Axis {
        let top = lines.iter().flat_map(|line| &line.points).map(|point| point.1).fold(1e-6, f64::max);
        Axis::linear(title, 0.0, top * HEADROOM)
    }

    /// An axis of powers of two. The ends are logarithms.
    pub fn binary(title: &str, start: f64, end: f64) -> Axis {
        Axis { title: title.to_owned(), scale: Scale::Binary { start, end } }
    }

    /// A logarithmic axis of the powers of ten around all points of `lines` that are above 0.
    pub fn log_over(title: &str, lines: &[Line]) -> Axis {
        let values = lines.iter().flat_map(|line| &line.points).map(|point| point.1);
        let (least, most) = values
            .filter(|&value| value > 0.0)
            .fold((f64::MAX, 1.0_f64), |(least, most), value| (least.min(value), most.max(value)));
        let start = 10_f64.powf(least.min(most).max(1.0).log10().floor());
        let end = 10_f64.powf(most.log10().ceil()).max(start * 10.0);
        Axis { title: title.to_owned(), scale: Scale::Log { start, end } }
    }

    /// An axis of texts at equal distances.
    pub fn labels(title: &str, texts: Vec<String>) -> Axis {
        Axis { title: title.to_owned(), scale: Scale::Labels(texts) }
    }

    /// The values at both ends.
    pub(crate) fn ends(&self) -> (f64, f64) {
        match &self.scale {
            Scale::Linear { start, end } | Scale::Binary { start, end } | Scale::Log { start, end } => {
                (*start, *end)
            }
            Scale::Labels(texts) => (0.0, (texts.len().max(2) - 1) as f64),
        }
    }

    /// Returns the number of ticks of an x axis.
    pub(crate) fn tick_count(&self) -> usize {
        match &self.scale {
            Scale::Linear { .. } | Scale::Log { .. } => TICK_COUNT,
            Scale::Binary { start, end } => (end - start) as usize + 1,
            Scale::Labels(texts) => texts.len().max(2),
        }
    }

    /// The text at `value`.
    pub(crate) fn text(&self, value: f64) -> String {
        match &self.scale {
            Scale::Linear { end, .. } => {
                let digits = digits(*end);
                format!("{value:.digits$}")
            }
            Scale::Binary { .. } => format!("{}", value.exp2().round()),
            Scale::Log { .. } => short(value),
            Scale::Labels(texts) => {
                let is_whole = (value - value.round()).abs() < 1e-6;
                texts.get(value.round() as usize).filter(|_| is_whole).cloned().unwrap_or_default()
            }
        }
    }
}

/// Digits behind the point that tell the ticks of a linear axis apart.
fn digits(end: f64) -> usize {
    match end.abs() {
        end if end >= 20.0 => 0,
        end if end >= 2.0 => 1,
        _ => 2,
    }
}

/// A power of ten with the letter of its thousands.
fn short(value: f64) -> String {
    match value {
        value if value >= 1e9 => format!("{}G", value / 1e9),
        value if value >= 1e6 => format!("{}M", value / 1e6),
        value if value >= 1e3 => format!("{}k", value / 1e3),
        value => format!("{value}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::BLUE;

    fn line(values: &[f64]) -> Line {
        Line::solid("a", BLUE, values.iter().enumerate().map(|(x, &y)| (x as f64, y)).collect())
    }

    #[test]
    fn a_logarithmic_axis_ends_at_powers_of_ten_around_its_points() {
        let check = |values: &[f64], ends| assert_eq!(Axis::log_over("", &[line(values)]).ends(), ends);
        check(&[23.0, 4567.0], (10.0, 10_000.0));
        check(&[100.0], (100.0, 1000.0));
        check(&[0.0, 500.0], (100.0, 1000.0));
        check(&[], (1.0, 10.0));
    }

    #[test]
    fn texts_stand_at_whole_places_only() {
        let axis = Axis::labels("", vec!["8".to_owned(), "16".to_owned()]);
        assert_eq!([0.0, 0.5, 1.0, 2.0].map(|value| axis.text(value)), ["8", "", "16", ""]);
        assert_eq!(Axis::binary("", 2.0, 8.0).text(5.0), "32");
    }

    #[test]
    fn numbers_are_as_long_as_their_axis_needs() {
        let linear = |end, value| Axis::linear("", 0.0, end).text(value);
        assert_eq!([linear(100.0, 50.0), linear(8.0, 2.5), linear(0.5, 0.1)], ["50", "2.5", "0.10"]);
        let log = Axis::log_over("", &[line(&[1.0, 1e9])]);
        assert_eq!(
            [1.0, 100.0, 1e4, 1e6, 1e10].map(|value| log.text(value)),
            ["1", "100", "10k", "1M", "10G"]
        );
    }

    #[test]
    fn an_axis_without_points_has_two_ends() {
        let (start, end) = Axis::over("", &[]).ends();
        assert!(start < end);
        assert_eq!(Axis::labels("", Vec::new()).ends(), (0.0, 1.0));
    }
}
