//! The one place that writes to standard output and standard error. Neither may panic: text that cannot be written
//! to standard output is one clear line and a status, and text that cannot be written to standard error is dropped.

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

/// Writes what a command has done: a line, or with --json an object.
pub fn tell(is_json: bool, text: &str, json: &Value) -> Result<(), Failure> {
    if is_json { print(&format!("{json}\n")) } else { print(&format!("{}\n", one_line(text))) }
}

/// Writes to standard output what others need in order to go on. A reader that has gone is a quiet end.
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
    // A lock, so that lines of two threads do not mix.
    let _lock = stderr().lock();
    // There is nobody to tell.
    let _ = PatientOutput::standard_error().and_then(|mut output| output.write_all(text.as_bytes()));
}
