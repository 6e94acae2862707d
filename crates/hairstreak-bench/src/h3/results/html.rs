//! The report as one HTML file that needs nothing else: tables, and charts as SVG inside.

use hairstreak_chart::ChartError;

use super::charts;
use super::escape::escape;
use super::report::Report;
use super::sections::{Section, sections};

const STYLE: &str = "body{font:14px/1.5 sans-serif;max-width:78rem;margin:2rem auto;padding:0 1rem;color:#222}\
table{border-collapse:collapse;margin:1rem 0;display:block;overflow-x:auto}\
caption{text-align:left;font-weight:bold;padding:.3rem 0}\
td,th{padding:.15rem .6rem;border-bottom:1px solid #ddd;text-align:right;white-space:nowrap}\
td:first-child,th:first-child{text-align:left}\
svg{max-width:100%;height:auto}h2{margin-top:2.5rem}";

/// The page.
pub fn html(report: &Report) -> Result<String, ChartError> {
    let mut body: String = sections(report).iter().map(section).collect();
    for (title, charts) in
        [("Rate over size", charts::by_size(report)?), ("Rate over time", charts::over_time(report)?)]
    {
        body.push_str(&format!("<h2>{title}</h2>\n"));
        charts.iter().for_each(|svg| body.push_str(&sized(svg)));
    }
    Ok(format!(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>H3: scale {}</title>\n<style>{STYLE}</style></head>\n<body>\n<h1>H3, scale {}</h1>\n{body}</body></html>\n",
        report.scale, report.scale
    ))
}

fn section(section: &Section) -> String {
    let notes: String = section.notes.iter().map(|note| format!("<p>{}</p>\n", escape(note))).collect();
    let tables: String = section.tables.iter().map(|table| table.html()).collect();
    format!("<h2>{}</h2>\n{notes}{tables}", escape(section.title))
}

/// The drawing with a box that scales with the page.
fn sized(svg: &str) -> String {
    format!("<figure>{svg}</figure>\n")
}
