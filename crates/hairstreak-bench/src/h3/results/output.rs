//! The output of the benchmark: the report on a terminal, and its files: one HTML file that needs nothing else, JSON, CSV.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use super::charts::{by_size, over_time};
use super::report::Report;
use super::sections::{Section, sections};
use crate::frame::{Row, columns};

const STYLE: &str = "body{font:14px/1.5 sans-serif;max-width:78rem;margin:2rem auto;padding:0 1rem;color:#222}\
table{border-collapse:collapse;margin:1rem 0;display:block;overflow-x:auto}\
caption{text-align:left;font-weight:bold;padding:.3rem 0}\
td,th{padding:.15rem .6rem;border-bottom:1px solid #ddd;text-align:right;white-space:nowrap}\
td:first-child,th:first-child{text-align:left}\
svg{max-width:100%;height:auto}h2{margin-top:2.5rem}";

/// Writes h3.html, h3.json and h3.csv into `folder`, and prints the report: tables and the names of the files, or JSON.
pub fn publish(report: &Report, folder: &Path, is_json: bool) -> Result<()> {
    let (json, mut text) = (report.json()?, sections(report).iter().map(section_text).collect::<String>());
    for (name, content) in [("h3.html", &page(report)?), ("h3.json", &json), ("h3.csv", &report.csv())] {
        let file = folder.join(name);
        fs::write(&file, content).with_context(|| format!("cannot write {}", file.display()))?;
        text.push_str(&format!("written: {}\n", file.display()));
    }
    match is_json {
        true => println!("{json}"),
        false => print!("{text}"),
    }
    Ok(())
}

fn section_text(section: &Section) -> String {
    let notes = section.notes.iter().map(|note| format!("{note}\n")).collect::<String>();
    let tables = section.tables.iter().filter(|table| !table.1.is_empty());
    let tables = tables.map(|(title, rows)| format!("\n{title}\n{}", columns(rows))).collect::<String>();
    format!("## {}\n{notes}{tables}\n", section.title)
}

/// The HTML page. Drawings scale with the page.
fn page(report: &Report) -> Result<String> {
    let mut body = sections(report).iter().map(section_html).collect::<String>();
    for (title, charts) in [("Rate over size", by_size(report)?), ("Rate over time", over_time(report)?)] {
        let figures = charts.iter().map(|svg| format!("<figure>{svg}</figure>\n")).collect::<String>();
        body.push_str(&format!("<h2>{title}</h2>\n{figures}"));
    }
    let scale = report.plan.scale;
    Ok(format!(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>H3: scale {scale}</title>\n<style>{STYLE}</style></head>\n<body>\n<h1>H3, scale {scale}</h1>\n{body}</body></html>\n"
    ))
}

fn section_html(section: &Section) -> String {
    let notes = section.notes.iter().map(|note| format!("<p>{}</p>\n", escape(note))).collect::<String>();
    let tables = section.tables.iter().map(|(title, rows)| table_html(title, rows)).collect::<String>();
    format!("<h2>{}</h2>\n{notes}{tables}", escape(section.title))
}

fn table_html(title: &str, rows: &[Row]) -> String {
    let Some(first) = rows.first() else { return String::new() };
    let cell = |tag: &str, text: &str| format!("<{tag}>{}</{tag}>", escape(text));
    let head = first.shown().map(|(heading, _)| cell("th", heading)).collect::<String>();
    let row = |row: &Row| row.shown().map(|(_, text)| cell("td", text)).collect::<String>();
    let rows = rows.iter().map(|one| format!("<tr>{}</tr>\n", row(one))).collect::<String>();
    let title = escape(title);
    format!(
        "<table>\n<caption>{title}</caption>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{rows}</tbody></table>\n"
    )
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::Value;

    #[test]
    fn a_table_is_aligned_in_text_and_escaped_in_html() {
        let row =
            Row::default().show("name", "name", Value::text("a<b")).show("rate", "rate", Value::count(1_u32));
        let section =
            Section { title: "All", notes: Vec::new(), tables: vec![("rates & more".to_owned(), vec![row])] };
        assert_eq!(section_text(&section), "## All\n\nrates & more\nname  rate\na<b   1\n\n");
        let html = section_html(&section);
        assert!(html.contains("<caption>rates &amp; more</caption>"), "{html}");
        assert!(html.contains("<tr><td>a&lt;b</td><td>1</td></tr>"), "{html}");
    }
}
