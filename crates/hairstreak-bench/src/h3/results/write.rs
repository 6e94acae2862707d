//! Writes the files of the report, and renders the report for a terminal.

use std::path::Path;

use super::csv::csv;
use super::html::html;
use super::report::Report;
use super::sections::sections;
use crate::h3::controller::H3Error;

/// Writes h3.html, h3.json and h3.csv into `directory`. Returns their paths.
pub fn write(report: &Report, directory: &Path) -> Result<Vec<String>, H3Error> {
    let files = [
        ("h3.html", html(report)?),
        ("h3.json", serde_json::to_string_pretty(report)?),
        ("h3.csv", csv(report)),
    ];
    let write = |(name, text): (&str, String)| {
        let path = directory.join(name);
        let file = path.display().to_string();
        match std::fs::write(&path, text) {
            Ok(()) => Ok(file),
            Err(error) => Err(H3Error::Write { file, error }),
        }
    };
    files.into_iter().map(write).collect()
}

/// The report for a terminal; `files` are where the rest is.
pub fn render(report: &Report, files: &[String]) -> String {
    let mut text = String::new();
    for section in sections(report) {
        text.push_str(&format!("## {}\n", section.title));
        section.notes.iter().for_each(|note| text.push_str(&format!("{note}\n")));
        section.tables.iter().for_each(|table| text.push_str(&format!("\n{}", table.text())));
        text.push('\n');
    }
    files.iter().for_each(|file| text.push_str(&format!("written: {file}\n")));
    text
}
