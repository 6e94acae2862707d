//! `Table`: rows of cells, for a terminal and for HTML.

use super::escape::escape;
use crate::figures::push_rows;

/// A table with its title.
#[derive(Debug, Default)]
pub struct Table {
    /// Above it; may be empty.
    pub title: String,
    /// Names of the columns.
    pub head: Vec<String>,
    /// Cells, row by row.
    pub rows: Vec<Vec<String>>,
}

impl Table {
    /// An empty table.
    pub fn new(title: impl Into<String>, head: &[&str]) -> Table {
        Table {
            title: title.into(),
            head: head.iter().map(|name| (*name).to_owned()).collect(),
            rows: Vec::new(),
        }
    }

    /// For a terminal.
    pub fn text(&self) -> String {
        let mut text = String::new();
        if !self.title.is_empty() {
            text.push_str(&format!("{}\n", self.title));
        }
        let rows: Vec<Vec<String>> = [&self.head].into_iter().chain(&self.rows).cloned().collect();
        push_rows(&mut text, &rows);
        text
    }

    /// As HTML.
    pub fn html(&self) -> String {
        let row = |cells: &[String], tag: &str| {
            let cells = cells.iter().map(|cell| format!("<{tag}>{}</{tag}>", escape(cell)));
            format!("<tr>{}</tr>\n", cells.collect::<String>())
        };
        let rows: String = self.rows.iter().map(|cells| row(cells, "td")).collect();
        let title = match &*self.title {
            "" => String::new(),
            title => format!("<caption>{}</caption>\n", escape(title)),
        };
        format!("<table>\n{title}<thead>{}</thead>\n<tbody>\n{rows}</tbody></table>\n", row(&self.head, "th"))
    }
}

/// A number in groups of three digits, with decimals below 100.
pub fn number(value: f64) -> String {
    if value.abs() < 100.0 && value.fract() != 0.0 {
        return format!("{value:.2}");
    }
    let digits = format!("{:.0}", value.abs());
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    if value < 0.0 { format!("-{text}") } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_groups_and_small_ones_decimals() {
        let texts = [0.0, 7.25, 100.0, 999.6, 1_234_567.0, -43_404.0].map(number);
        assert_eq!(texts, ["0", "7.25", "100", "1,000", "1,234,567", "-43,404"]);
    }

    #[test]
    fn a_table_is_aligned_in_text_and_escaped_in_html() {
        let table = Table {
            rows: vec![vec!["a<b".to_owned(), "1".to_owned()]],
            ..Table::new("rates & more", &["who", "rate"])
        };
        assert_eq!(table.text(), "rates & more\nwho  rate\na<b  1\n");
        let html = table.html();
        assert!(html.contains("<caption>rates &amp; more</caption>"), "{html}");
        assert!(html.contains("<tr><td>a&lt;b</td><td>1</td></tr>"), "{html}");
    }
}
