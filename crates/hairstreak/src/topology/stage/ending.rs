//! `Ending`: the end of a stage instance, and the line with which its process reports it to the runner.

use std::fmt;
use std::io::{self, Write};
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::sync::Once;

/// The end of a stage instance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::topology) enum Ending {
    /// The process exited with this status.
    Exited(i32),
    /// This signal ended the process.
    Killed(i32),
    /// The process found this fault.
    Fault(String),
}

impl Ending {
    pub(super) fn fault(error: impl fmt::Display) -> Ending {
        Ending::Fault(error.to_string())
    }

    /// Reports the ending to the runner, unless an ending was reported already: during the teardown, processes do not
    /// end by themselves.
    pub(super) fn tell(&self) {
        static TOLD: Once = Once::new();
        TOLD.call_once(|| {
            let mut stdout = io::stdout();
            // The runner may be gone. Then the line has no reader.
            let _ = writeln!(stdout, "{}", self.line()).and_then(|()| stdout.flush());
        });
    }

    /// Returns the line for the runner.
    fn line(&self) -> String {
        match self {
            Ending::Exited(status) => format!("exited {status}"),
            Ending::Killed(signal) => format!("killed {signal}"),
            Ending::Fault(text) => format!("fault {}", text.replace('\n', " ")),
        }
    }

    /// Reads a line that [`Ending::line`] wrote.
    pub(in crate::topology) fn from_line(line: &str) -> Option<Ending> {
        let (kind, rest) = line.trim_end().split_once(' ')?;
        match kind {
            "exited" => rest.parse().ok().map(Ending::Exited),
            "killed" => rest.parse().ok().map(Ending::Killed),
            "fault" => Some(Ending::Fault(rest.to_owned())),
            _ => None,
        }
    }
}

impl From<ExitStatus> for Ending {
    fn from(status: ExitStatus) -> Ending {
        match (status.code(), status.signal()) {
            (Some(code), _) => Ending::Exited(code),
            (None, Some(signal)) => Ending::Killed(signal),
            (None, None) => Ending::Fault(format!("ended with {status}")),
        }
    }
}

impl fmt::Display for Ending {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Ending::Exited(status) => write!(formatter, "exited with status {status}"),
            Ending::Killed(signal) => write!(formatter, "was killed by signal {signal}"),
            Ending::Fault(text) => formatter.write_str(text),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_runner_reads_what_the_stage_wrote() {
        for ending in [Ending::Exited(3), Ending::Killed(9), Ending::Fault("no such thing".into())] {
            assert_eq!(Ending::from_line(&format!("{}\n", ending.line())), Some(ending));
        }
        assert_eq!(
            Ending::from_line(&Ending::Fault("a\nb".into()).line()),
            Some(Ending::Fault("a b".into()))
        );
        for line in ["", "exited", "exited x", "done 3"] {
            assert_eq!(Ending::from_line(line), None, "{line:?}");
        }
    }
}
