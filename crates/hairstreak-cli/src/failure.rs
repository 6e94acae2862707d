//! A command that failed: the line to print and the status to exit with.

use std::fmt;

use signal_hook::consts::SIGPIPE;

use crate::line::one_line;

/// The line to print, if any, and the status to exit with.
#[derive(Debug)]
pub struct Failure {
    pub status: u8,
    reason: Option<String>,
}

impl Failure {
    /// A failed request: status 1.
    pub fn failed(reason: impl fmt::Display) -> Failure {
        Failure { status: 1, reason: Some(reason.to_string()) }
    }

    /// A request that makes no sense: status 2.
    pub fn usage(reason: impl fmt::Display) -> Failure {
        Failure { status: 2, reason: Some(reason.to_string()) }
    }

    /// A failure with a status of its own.
    pub fn with_status(status: u8, reason: impl fmt::Display) -> Failure {
        Failure { status, reason: Some(reason.to_string()) }
    }

    /// A stop by a signal.
    pub fn stopped(signal: u8, reason: impl fmt::Display) -> Failure {
        Failure { status: 128 + signal, reason: Some(reason.to_string()) }
    }

    /// A quiet end: the reader of standard output has gone.
    pub fn quiet(status: u8) -> Failure {
        Failure { status, reason: None }
    }

    /// The reader of the results has closed the pipe. For a shell this program ends as other filters do, by SIGPIPE.
    pub fn unread() -> Failure {
        Failure::quiet(128 + SIGPIPE as u8)
    }

    /// Appends a text to the reason.
    pub fn with_more(self, more: &str) -> Failure {
        let reason =
            self.reason.map(|reason| if more.is_empty() { reason } else { format!("{reason}; {more}") });
        Failure { reason, ..self }
    }

    /// The reason, without the program's name.
    pub fn reason(&self) -> &str {
        self.reason.as_deref().unwrap_or_default()
    }

    pub fn is_quiet(&self) -> bool {
        self.reason.is_none()
    }

    /// Returns the line for standard error. A reason of several lines becomes one line.
    pub fn line(&self) -> Option<String> {
        self.reason.as_deref().map(|reason| format!("hairstreak: {}\n", one_line(reason)))
    }
}
