//! The one place that writes to standard output and standard error. Neither may panic: what cannot be written
//! to standard output is one clear line and a status, and what cannot be written to standard error is dropped.

use std::fs::File;
use std::io::{self, ErrorKind, Write, stderr, stdout};
use std::os::fd::AsFd;

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
    match standard_output().and_then(|mut output| output.write_all(text.as_ref())) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Err(Failure::quiet(0)),
        Err(error) => Err(Failure::failed(format!("cannot write to standard output: {error}"))),
        Ok(()) => Ok(()),
    }
}

/// The standard output as a file, which does not hide that it is closed.
pub fn standard_output() -> io::Result<File> {
    stdout().as_fd().try_clone_to_owned().map(File::from)
}

/// Writes to standard error: progress, a log, the reason of a failure.
pub fn note(text: &str) {
    let mut output = stderr().lock();
    // There is nobody to tell.
    let _ = output.write_all(text.as_bytes()).and_then(|()| output.flush());
}
