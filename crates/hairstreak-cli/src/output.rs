//! Standard output, standard error, and tables of text. No other code writes to the two streams. Writing never panics: a failed write to
//! standard output is one clear line and a status, and text that cannot be written to standard error is dropped.

use std::io::{ErrorKind, Write, stderr};

use hairstreak_process::PatientOutput;
use serde_json::Value;

use crate::failure::Failure;
use crate::line::one_line;

/// Writes a result to standard output. A reader that has gone (`| head`) is no failure.
pub fn print(text: &str) -> Result<(), Failure> {
    match announce(text) {
        Err(failure) if failure.is_quiet() => Ok(()),
        done => done,
    }
}

/// Writes the result of a command: a line, or with --json an object.
pub fn tell(is_json: bool, text: &str, json: &Value) -> Result<(), Failure> {
    if is_json { print(&format!("{json}\n")) } else { print(&format!("{}\n", one_line(text))) }
}

/// Writes lines that other programs wait for to standard output. A reader that has gone ends the program quietly.
pub fn announce(text: impl AsRef<[u8]>) -> Result<(), Failure> {
    match PatientOutput::standard_output().and_then(|mut output| output.write_all(text.as_ref())) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Err(Failure::quiet(0)),
        Err(error) => Err(Failure::failed(format!("cannot write to standard output: {error}"))),
        Ok(()) => Ok(()),
    }
}

/// Writes a line of this program to standard error.
pub fn warn(text: &str) {
    note(&format!("hairstreak: {text}\n"));
}

/// Writes to standard error: progress, a log, the reason of a failure.
pub fn note(text: &str) {
    // The lock keeps the lines of two threads apart.
    let _lock = stderr().lock();
    // An error here cannot be reported: standard error itself failed.
    let _ = PatientOutput::standard_error().and_then(|mut output| output.write_all(text.as_bytes()));
}

/// A table of text: the first column is aligned left, the others right.
pub fn table(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width =
        |column: usize| rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max();
    let widths: Vec<usize> = (0..columns).map(|column| width(column).unwrap_or(0)).collect();
    let mut text = String::new();
    for row in rows {
        let cell = |(column, cell): (usize, &String)| match column {
            0 => format!("{cell:<width$}", width = widths[0]),
            _ => format!("  {cell:>width$}", width = widths[column]),
        };
        let line: String = row.iter().enumerate().map(cell).collect();
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// A row of these cells.
pub fn row<const N: usize>(cells: [&str; N]) -> Vec<String> {
    cells.map(str::to_owned).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_stand_below_each_other() {
        let rows = [row(["stage", "rate"]), row(["a", "62,500"]), row(["long name", "1"])];
        assert_eq!(table(&rows), "stage        rate\na          62,500\nlong name       1\n");
    }
}
