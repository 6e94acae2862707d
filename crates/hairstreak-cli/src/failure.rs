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
    /// What was asked for did not succeed.
    pub fn failed(reason: impl fmt::Display) -> Failure {
        Failure { status: 1, reason: Some(reason.to_string()) }
    }

    /// What was asked for makes no sense.
    pub fn usage(reason: impl fmt::Display) -> Failure {
        Failure { status: 2, reason: Some(reason.to_string()) }
    }

    /// It ends with a status that means something else.
    pub fn with_status(status: u8, reason: impl fmt::Display) -> Failure {
        Failure { status, reason: Some(reason.to_string()) }
    }

    /// A signal stopped it.
    pub fn stopped(signal: u8, reason: impl fmt::Display) -> Failure {
        Failure { status: 128 + signal, reason: Some(reason.to_string()) }
    }

    /// There is nothing to say, or nobody to say it to: whoever read standard output has enough.
    pub fn quiet(status: u8) -> Failure {
        Failure { status, reason: None }
    }

    /// Whoever read the results wants no more of them: for a shell it ended as other filters do, by SIGPIPE.
    pub fn unread() -> Failure {
        Failure::quiet(128 + SIGPIPE as u8)
    }

    /// Says more, behind the reason.
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

    /// What to write to standard error: one line, whatever the reason contains.
    pub fn line(&self) -> Option<String> {
        self.reason.as_deref().map(|reason| format!("hairstreak: {}\n", one_line(reason)))
    }
}
