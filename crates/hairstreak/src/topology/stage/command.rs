//! Starting a command that dies with the process that started it.

use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

use rustix::process::{Signal, getppid, set_parent_process_death_signal};

use super::ending::Ending;
use super::role::Role;

/// What a shell returns for a command that it cannot start.
const NOT_STARTED: i32 = 127;

/// The command, by way of [`exec`] in a process of this executable.
pub(super) fn bound_to_this_process(command: Vec<OsString>) -> io::Result<Command> {
    let mut bound = Command::new(std::env::current_exe()?);
    bound.args(Role::Exec(std::process::id(), command).arguments());
    Ok(bound)
}

/// Turns this process into `command`, which the kernel kills once `parent` is dead.
pub(super) fn exec(parent: u32, command: &[OsString]) -> Ending {
    if let Err(error) = set_parent_process_death_signal(Some(Signal::KILL)) {
        return Ending::fault(error);
    }
    if getppid().is_none_or(|pid| pid.as_raw_nonzero().get() as u32 != parent) {
        return Ending::Exited(NOT_STARTED);
    }
    let Some((program, arguments)) = command.split_first() else { return Ending::Exited(NOT_STARTED) };
    let error = Command::new(program).args(arguments).exec();
    eprintln!("cannot start {}: {error}", program.display());
    Ending::Exited(NOT_STARTED)
}
