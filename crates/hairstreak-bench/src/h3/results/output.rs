//! The output of the benchmark: the report on a terminal, and its files: one HTML file that needs nothing else, JSON, CSV.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde_json::json;

use super::charts::{by_size, over_time};
use super::report::Results;
use crate::frame::{Report, Row, Table};

const STYLE: &str = "body{font:14px/1.5 sans-serif;max-width:78rem;margin:2rem auto;padding:0 1rem;color:#222}\
table{border-collapse:collapse;margin:1rem 0;display:block;overflow-x:auto}\
caption{text-align:left;font-weight:bold;padding:.3rem 0}\
td,th{padding:.15rem .6rem;border-bottom:1px solid #ddd;text-align:right;white-space:nowrap}\
td:first-child,th:first-child{text-align:left}\
svg{max-width:100%;height:auto}h2{margin-top:2.5rem}";

/// Writes h3.html, h3.json and h3.csv into `folder`, and prints the report: tables and the names of the files, or JSON.
pub fn publish(results: &Results, notes: Vec<String>, folder: &Path, is_json: bool) -> Result<()> {
    let report = results.report(notes);
    let fabric = results.fabric_row().map(|row| row.json());
    let mut json = report.json()?;
    for (key, value) in [
        ("scale", json!(results.plan.scale)),
        ("memory_bytes", json!(results.plan.memory_bytes)),
        ("fabric", json!(fabric)),
        ("records", json!(results.records)),
    ] {
        json[key] = value;
    }
    let (json, mut text) = (serde_json::to_string_pretty(&json)?, report.render());
    let html = page(&report, results)?;
    for (name, content) in [("h3.html", &html), ("h3.json", &json), ("h3.csv", &results.csv())] {
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

/// The HTML page. Drawings scale with the page.
fn page(report: &Report, results: &Results) -> Result<String> {
    let paragraph = |text: &str| format!("<p>{}</p>\n", escape(text));
    let mut body: String = report.setting.heading(&report.about).lines().map(paragraph).collect();
    body.extend(report.tables.iter().map(table_html));
    body.extend(report.conclusion.iter().map(|sentence| paragraph(sentence)));
    for (title, charts) in [("Rate over size", by_size(results)?), ("Rate over time", over_time(results)?)] {
        let figures = charts.iter().map(|svg| format!("<figure>{svg}</figure>\n")).collect::<String>();
        body += &format!("<h2>{title}</h2>\n{figures}");
    }
    let scale = results.plan.scale;
    Ok(format!(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>H3: scale {scale}</title>\n<style>{STYLE}</style></head>\n<body>\n<h1>H3, scale {scale}</h1>\n{body}</body></html>\n"
    ))
}

fn table_html(table: &Table) -> String {
    let Some(first) = table.rows.first() else { return String::new() };
    let cell = |tag: &str, text: &str| format!("<{tag}>{}</{tag}>", escape(text));
    let head = first.shown().map(|(heading, _)| cell("th", heading)).collect::<String>();
    let row = |row: &Row| row.shown().map(|(_, text)| cell("td", text)).collect::<String>();
    let rows = table.rows.iter().map(|one| format!("<tr>{}</tr>\n", row(one))).collect::<String>();
    let (title, legend) = (escape(table.title), escape(table.legend));
    format!(
        "<table>\n<caption>{title}</caption>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{rows}</tbody></table>\n<p>{legend}</p>\n"
    )
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::{Value, columns};

    #[test]
    fn a_table_is_aligned_in_text_and_escaped_in_html() {
        let row =
            Row::default().show("name", "name", Value::text("a<b")).show("rate", "rate", Value::count(1_u32));
        assert_eq!(columns(std::slice::from_ref(&row)), "name  rate\na<b   1\n");
        let html = table_html(&Table { key: "", title: "rates & more", rows: vec![row], legend: "" });
        assert!(html.contains("<caption>rates &amp; more</caption>"), "{html}");
        assert!(html.contains("<tr><td>a&lt;b</td><td>1</td></tr>"), "{html}");
    }
}
