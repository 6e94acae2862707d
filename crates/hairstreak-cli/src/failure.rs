//! A command that failed: the line to print and the status to exit with.

use std::fmt;

/// The line to print and the status to exit with.
#[derive(Debug)]
pub struct Failure {
    pub status: u8,
    reason: String,
}

impl Failure {
    /// What was asked for did not succeed.
    pub fn failed(reason: impl fmt::Display) -> Failure {
        Failure { status: 1, reason: reason.to_string() }
    }

    /// What was asked for makes no sense.
    pub fn usage(reason: impl fmt::Display) -> Failure {
        Failure { status: 2, reason: reason.to_string() }
    }

    /// A signal stopped it.
    pub fn stopped(signal: u8, reason: impl fmt::Display) -> Failure {
        Failure { status: 128 + signal, reason: reason.to_string() }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.reason)
    }
}
