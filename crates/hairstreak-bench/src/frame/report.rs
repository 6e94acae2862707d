//! The report of a study: tables of values, printed as text for people or as JSON for programs.
//!
//! Keys of JSON are an interface: programs read them. A value that could not be measured is null there and `-` in the text.

use std::fmt::Write as _;

use anyhow::Result;
use serde::Serialize;
use serde_json::json;

use super::setting::Setting;
use super::spread::Spread;

const MIB: f64 = 1_048_576.0;

/// A value of a row: its JSON and its text.
#[derive(Clone, Debug)]
pub struct Value {
    json: serde_json::Value,
    text: String,
}

impl Value {
    /// A name.
    pub fn text(text: impl Into<String>) -> Value {
        let text = text.into();
        Value { json: json!(text), text }
    }

    /// A whole number.
    pub fn count(count: impl Into<serde_json::Number>) -> Value {
        let number: serde_json::Number = count.into();
        Value { text: number.to_string(), json: number.into() }
    }

    fn optional<T: Serialize>(value: Option<T>, format: impl Fn(T) -> String) -> Value {
        Value { json: json!(value), text: value.map_or_else(|| "-".to_owned(), format) }
    }

    /// A figure, which `format` writes for people.
    pub fn figure(figure: impl Into<Option<f64>>, format: impl Fn(f64) -> String) -> Value {
        Value::optional(figure.into(), format)
    }

    /// Median and extremes, which `format` writes for people. Extremes that read alike are left out.
    pub fn spread(spread: impl Into<Option<Spread>>, format: impl Fn(f64) -> String) -> Value {
        Value::optional(spread.into(), |Spread { median, min, max }| match (format(min), format(max)) {
            (min, max) if min == max => format(median),
            (min, max) => format!("{} [{min}-{max}]", format(median)),
        })
    }

    /// A ratio.
    pub fn ratio(ratio: impl Into<Option<f64>>) -> Value {
        Value::figure(ratio, |ratio| format!("{ratio:.2}x"))
    }

    /// A figure in per cent.
    pub fn percent(percent: impl Into<Option<f64>>) -> Value {
        Value::figure(percent, |percent| format!("{percent:.0}%"))
    }

    /// Bytes, in MiB for people.
    pub fn memory(bytes: impl Into<Option<u64>>) -> Value {
        Value::optional(bytes.into(), |bytes| format!("{:.1} MiB", bytes as f64 / MIB))
    }

    /// Any JSON, with its text for people.
    pub fn other(json: impl Serialize, text: impl Into<String>) -> Value {
        Value { json: json!(json), text: text.into() }
    }
}

/// A row of a table: values by their keys. Values with a heading are shown to people too.
#[derive(Clone, Debug, Default)]
pub struct Row {
    cells: Vec<(&'static str, Option<&'static str>, Value)>,
}

impl Row {
    /// Adds a value that JSON has under `key`, and the table under `heading`.
    #[must_use]
    pub fn show(mut self, key: &'static str, heading: &'static str, value: Value) -> Row {
        self.cells.push((key, Some(heading), value));
        self
    }

    /// Adds a value that only JSON has.
    #[must_use]
    pub fn keep(mut self, key: &'static str, value: Value) -> Row {
        self.cells.push((key, None, value));
        self
    }

    /// Adds the rates of ours and of the rival in messages per second, and their ratio.
    #[must_use]
    pub fn compare(self, ours: Spread, rival: Option<Spread>) -> Row {
        self.show("ours", "ours/s [min-max]", Value::spread(ours, rate))
            .show("rival", "rival/s [min-max]", Value::spread(rival, rate))
            .show("ratio", "ratio", Value::ratio(rival.map(|rival| ours.median / rival.median)))
    }

    /// Returns the values by their keys.
    pub fn json(&self) -> serde_json::Value {
        self.cells.iter().map(|(key, _, value)| ((*key).to_owned(), value.json.clone())).collect()
    }

    /// Returns headings and texts of the values with a heading.
    pub fn shown(&self) -> impl Iterator<Item = (&'static str, &str)> {
        self.cells.iter().filter_map(|(_, heading, value)| Some(((*heading)?, value.text.as_str())))
    }
}

/// Rows with the same values, their key in JSON, and a title and a legend for people.
#[derive(Clone, Debug)]
pub struct Table {
    /// The key of the rows in JSON. JSON has no rows without a key.
    pub key: &'static str,
    /// The line above the table, if any.
    pub title: &'static str,
    /// The rows.
    pub rows: Vec<Row>,
    /// The text below the table, if any.
    pub legend: &'static str,
}

impl Table {
    fn render(&self, out: &mut String) {
        if self.rows.is_empty() {
            return;
        }
        if !self.title.is_empty() {
            let _ = writeln!(out, "{}", self.title);
        }
        out.push_str(&columns(&self.rows));
        if !self.legend.is_empty() {
            let _ = write!(out, "\n{}\n", self.legend);
        }
        out.push('\n');
    }
}

/// Writes rows with the headings of the first one, columns as wide as their widest cell.
pub fn columns(rows: &[Row]) -> String {
    let headings = rows.first().into_iter().map(|row| row.shown().map(|(heading, _)| heading).collect());
    let lines: Vec<Vec<&str>> =
        headings.chain(rows.iter().map(|row| row.shown().map(|(_, text)| text).collect())).collect();
    let column_count = lines.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| lines.iter().filter_map(|line| Some(line.get(column)?.chars().count())).max();
    let widths: Vec<usize> = (0..column_count).map(|column| width(column).unwrap_or(0)).collect();
    let mut text = String::new();
    for line in &lines {
        let start = text.len();
        for (cell, width) in line.iter().zip(&widths) {
            let _ = write!(text, "{cell:<width$}  ");
        }
        text.truncate(start + text[start..].trim_end().len());
        text.push('\n');
    }
    text
}

/// The report of one run of a study.
#[derive(Debug)]
pub struct Report {
    /// The name of the study.
    pub study: &'static str,
    /// Machine, build and rivals.
    pub setting: Setting,
    /// The words behind the rivals in the first line.
    pub about: String,
    /// The tables. Those without rows are not shown.
    pub tables: Vec<Table>,
    /// Targets reached and missed, and other findings.
    pub conclusion: Vec<String>,
    /// The files of the charts.
    pub charts: Vec<String>,
}

impl Report {
    /// Prints the report to standard output.
    pub fn print(&self, is_json: bool) -> Result<()> {
        match is_json {
            true => println!("{}", serde_json::to_string_pretty(&self.json()?)?),
            false => print!("{}", self.render()),
        }
        Ok(())
    }

    /// Returns the report as JSON.
    pub fn json(&self) -> Result<serde_json::Value> {
        let mut json = serde_json::to_value(&self.setting)?;
        json["benchmark"] = json!(self.study);
        for table in self.tables.iter().filter(|table| !table.key.is_empty()) {
            json[table.key] = table.rows.iter().map(Row::json).collect();
        }
        json["conclusion"] = json!(self.conclusion);
        json["charts"] = json!(self.charts);
        Ok(json)
    }

    /// Returns the report as text.
    pub fn render(&self) -> String {
        let mut text = self.setting.heading(&self.about);
        self.tables.iter().for_each(|table| table.render(&mut text));
        for sentence in &self.conclusion {
            let _ = writeln!(text, "{sentence}");
        }
        for chart in &self.charts {
            let _ = writeln!(text, "chart: {chart}");
        }
        text
    }
}

/// Writes a rate in three digits or a little more.
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

/// Writes a small quantity in three digits or so.
pub fn short(value: f64) -> String {
    match value {
        0.0 => "0".to_owned(),
        value if value.abs() < 0.0005 => "<0.001".to_owned(),
        value if value.abs() < 1.0 => format!("{value:.3}"),
        value if value.abs() < 10.0 => format!("{value:.2}"),
        value => format!("{value:.1}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report() -> Report {
        let spread = Spread { median: 2000.0, min: 1000.0, max: 3.5e6 };
        let row = |name, spread| {
            Row::default()
                .show("case", "case", Value::text(name))
                .keep("unit", Value::text("messages/s"))
                .show("rate", "rate", Value::spread(spread, rate))
                .show("size", "B", Value::count(8_u32))
        };
        let rows = vec![row("first", Some(spread)), row("a long name", None)];
        let tables = vec![
            Table { key: "cases", title: "Rates", rows, legend: "Medians." },
            Table { key: "more", title: "Nothing", rows: Vec::new(), legend: "" },
        ];
        let setting = Setting::new(Vec::new(), vec!["a note".to_owned()]);
        let conclusion = vec!["It works.".to_owned()];
        Report {
            study: "test",
            setting,
            about: "n = 1".to_owned(),
            tables,
            conclusion,
            charts: vec!["a.svg".to_owned()],
        }
    }

    #[test]
    fn a_table_has_columns_as_wide_as_their_cells() {
        let text = report().render();
        let (heading, rest) = text.split_once("\n\n").unwrap();
        assert!(
            heading.starts_with("hairstreak ") && heading.contains("against no rival, n = 1"),
            "{heading}"
        );
        assert!(heading.contains("\nnote: a note"), "{heading}");
        let table = "Rates\ncase         rate               B\nfirst        2.0k [1.0k-3.50M]  8\n\
                     a long name  -                  8\n\nMedians.\n\nIt works.\nchart: a.svg\n";
        assert_eq!(rest, table);
    }

    #[test]
    fn json_has_every_value_under_its_key() {
        let json = report().json().unwrap();
        assert_eq!((&json["benchmark"], &json["more"]), (&json!("test"), &json!([])));
        assert!(json["machine"]["cores"].as_u64().unwrap() >= 1);
        let [first, second] = &json["cases"].as_array().unwrap()[..] else { panic!("{json:?}") };
        let expected = json!({"case": "first", "unit": "messages/s", "size": 8,
            "rate": {"median": 2000.0, "min": 1000.0, "max": 3.5e6}});
        assert_eq!(first, &expected);
        assert!(second["rate"].is_null());
    }

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
