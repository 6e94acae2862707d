//! `Role`: the work of the process of a stage instance, and its encoding on the command line.

use std::ffi::OsString;
use std::time::Duration;

use hairstreak_model::Distribution;

use crate::topology::definition::{CommandLine, Framing, Work};

/// The work of the process.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::topology) enum Role {
    /// Wait for this time on each message, on average.
    Sleep(Duration, Distribution),
    /// Compute for this time on each message, on average.
    Spin(Duration, Distribution),
    /// Pass messages on.
    Echo,
    /// Run a command and pump messages through it.
    Filter(Framing, Vec<OsString>),
    /// Run a program that has its own sockets.
    Program(Vec<OsString>),
    /// Become a command that dies with its parent, the process with this id.
    Exec(u32, Vec<OsString>),
}

impl Role {
    /// Returns the role that does `work`, with this distribution of its time.
    pub(in crate::topology) fn of(work: &Work, distribution: Distribution) -> Role {
        match work {
            Work::Sleep(time) => Role::Sleep(*time, distribution),
            Work::Spin(time) => Role::Spin(*time, distribution),
            Work::Echo => Role::Echo,
            Work::Filter { command, framing } => Role::Filter(*framing, words(command)),
            Work::Program(command) => Role::Program(words(command)),
        }
    }

    /// Returns the arguments after the executable's name.
    pub(in crate::topology) fn arguments(&self) -> Vec<OsString> {
        let (own, command) = match self {
            Role::Sleep(time, distribution) => (format!("sleep {} {distribution}", time.as_nanos()), None),
            Role::Spin(time, distribution) => (format!("spin {} {distribution}", time.as_nanos()), None),
            Role::Echo => ("echo".to_owned(), None),
            Role::Filter(Framing::Lines, command) => ("filter lines".to_owned(), Some(command)),
            Role::Filter(Framing::Length, command) => ("filter length".to_owned(), Some(command)),
            Role::Program(command) => ("program".to_owned(), Some(command)),
            Role::Exec(parent, command) => (format!("exec {parent}"), Some(command)),
        };
        let mut arguments = vec![OsString::from("stage")];
        arguments.extend(own.split(' ').map(OsString::from));
        if let Some(command) = command {
            arguments.push("--".into());
            arguments.extend(command.iter().cloned());
        }
        arguments
    }

    /// Reads the [`Role::arguments`] behind `stage`.
    pub(super) fn from_arguments(arguments: Vec<OsString>) -> Option<Role> {
        let mut words = arguments.into_iter();
        let own: Vec<OsString> = words.by_ref().take_while(|word| word != "--").collect();
        let command: Vec<OsString> = words.collect();
        let own: Vec<&str> = own.iter().map(|word| word.to_str()).collect::<Option<_>>()?;
        match (own.as_slice(), command.is_empty()) {
            (["sleep", time, distribution @ ..], true) => {
                Some(Role::Sleep(nanoseconds(time)?, distribution.join(" ").parse().ok()?))
            }
            (["spin", time, distribution @ ..], true) => {
                Some(Role::Spin(nanoseconds(time)?, distribution.join(" ").parse().ok()?))
            }
            (["echo"], true) => Some(Role::Echo),
            (["filter", "lines"], false) => Some(Role::Filter(Framing::Lines, command)),
            (["filter", "length"], false) => Some(Role::Filter(Framing::Length, command)),
            (["program"], false) => Some(Role::Program(command)),
            (["exec", parent], false) => Some(Role::Exec(parent.parse().ok()?, command)),
            _ => None,
        }
    }
}

fn nanoseconds(word: &str) -> Option<Duration> {
    Some(Duration::from_nanos(word.parse().ok()?))
}

fn words(command: &CommandLine) -> Vec<OsString> {
    match command {
        CommandLine::Shell(line) => vec!["sh".into(), "-c".into(), line.into()],
        CommandLine::Arguments(words) => words.iter().map(OsString::from).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_role_survives_its_command_line() {
        let command = || vec![OsString::from("tr"), "--".into(), "a b".into()];
        for role in [
            Role::Sleep(Duration::from_millis(500), Distribution::Constant),
            Role::Spin(Duration::from_micros(5), Distribution::LogNormal { deviation: 0.5 }),
            Role::Echo,
            Role::Filter(Framing::Lines, command()),
            Role::Filter(Framing::Length, command()),
            Role::Program(command()),
            Role::Exec(42, command()),
        ] {
            let arguments = role.arguments();
            assert_eq!(arguments[0], "stage");
            assert_eq!(Role::from_arguments(arguments[1..].to_vec()), Some(role));
        }
    }

    #[test]
    fn anything_else_is_no_role() {
        for line in [
            "",
            "sleep",
            "sleep x constant",
            "sleep 5 normal",
            "spin 5",
            "echo --",
            "filter lines",
            "filter words -- cat",
            "exec x -- cat",
        ] {
            let arguments = line.split(' ').map(OsString::from).collect();
            let role = Role::from_arguments(arguments);
            assert!(role.is_none() || line == "echo --", "{line:?} is {role:?}");
        }
    }
}
