//! How figures are written for people: three digits or so, in columns.

use std::fmt::Write as _;

/// A rate in three digits or a little more.
pub fn rate(value: f64) -> String {
    match value {
        value if value >= 1e8 => format!("{:.0}M", value / 1e6),
        value if value >= 1e7 => format!("{:.1}M", value / 1e6),
        value if value >= 1e6 => format!("{:.2}M", value / 1e6),
        value if value >= 1e5 => format!("{:.0}k", value / 1e3),
        value if value >= 1e3 => format!("{:.1}k", value / 1e3),
        value => format!("{value:.0}"),
    }
}

/// A small quantity in three digits or so.
pub fn short(value: f64) -> String {
    match value {
        0.0 => "0".to_owned(),
        value if value.abs() < 0.0005 => "<0.001".to_owned(),
        value if value.abs() < 1.0 => format!("{value:.3}"),
        value if value.abs() < 10.0 => format!("{value:.2}"),
        value => format!("{value:.1}"),
    }
}

/// Appends a table, its columns as wide as their widest cell.
pub fn push_rows(text: &mut String, rows: &[Vec<String>]) {
    let column_count = rows.iter().map(Vec::len).max().unwrap_or(0);
    let widths: Vec<usize> = (0..column_count)
        .map(|column| {
            rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max().unwrap_or(0)
        })
        .collect();
    for row in rows {
        let mut line = String::new();
        for (cell, width) in row.iter().zip(&widths) {
            // Formatting into a string cannot fail.
            let _ = write!(line, "{cell:<width$}  ");
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
}

#[cfg(test)]
mod tests {
    use super::{rate, short};

    #[test]
    fn rates_keep_three_digits() {
        let texts = [131.4e6, 42.12e6, 4.672e6, 118_400.0, 15_230.0, 812.3].map(rate);
        assert_eq!(texts, ["131M", "42.1M", "4.67M", "118k", "15.2k", "812"]);
    }

    #[test]
    fn nothing_is_told_from_almost_nothing() {
        assert_eq!([0.0, 0.0001, 0.0234, 2.0, 63.84].map(short), ["0", "<0.001", "0.023", "2.00", "63.8"]);
    }
}
