//! Starting a command that dies with the process that started it.

use std::ffi::OsString;
use std::fmt;
use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};

use rustix::process::{Signal, getppid, set_parent_process_death_signal};

use super::role::Role;

/// What a shell returns for a command that it cannot start.
const NOT_STARTED: u8 = 127;

/// The command, by way of [`exec`] in a process of this executable.
pub(super) fn bound_to_this_process(command: Vec<OsString>) -> io::Result<Command> {
    let mut bound = Command::new(std::env::current_exe()?);
    bound.args(Role::Exec(std::process::id(), command).arguments());
    Ok(bound)
}

/// Turns this process into `command`, which the kernel kills once `parent` is dead. Returns only if
/// it cannot.
pub(super) fn exec(parent: u32, command: &[OsString]) -> ExitCode {
    if let Err(error) = set_parent_process_death_signal(Some(Signal::KILL)) {
        say(format_args!("cannot follow process {parent}: {error}"));
        return ExitCode::from(NOT_STARTED);
    }
    let orphaned = getppid().is_none_or(|pid| pid.as_raw_nonzero().get() as u32 != parent);
    if let (false, Some((program, arguments))) = (orphaned, command.split_first()) {
        let error = Command::new(program).args(arguments).exec();
        say(format_args!("cannot start {}: {error}", program.display()));
    }
    ExitCode::from(NOT_STARTED)
}

fn say(reason: fmt::Arguments<'_>) {
    // The status says it as well.
    let _ = writeln!(io::stderr(), "{reason}");
}
