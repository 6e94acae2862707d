//! `main`: the entry of a stage's process, and the stage that is a foreign program with ZeroMQ sockets of its own.

use std::ffi::OsString;
use std::io;
use std::os::fd::AsFd;
use std::process::{ExitCode, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use hairstreak_process::descendants;
use rustix::process::Pid;
use signal_hook::consts::SIGTERM;

use super::ending::Ending;
use super::environment::{bound_to_this_process, exec};
use super::role::Role;
use super::{builtin, filter, lifeline};

/// Runs `hairstreak stage`. `arguments` are the arguments after `stage`. [`run`](crate::topology::run) starts stages
/// with an executable, which calls this function before anything else if its first argument is `stage`.
pub fn main(arguments: Vec<OsString>) -> ExitCode {
    let ending = match Role::from_arguments(arguments) {
        Some(Role::Sleep(time, distribution)) => builtin::sleep(time, distribution),
        Some(Role::Spin(time, distribution)) => builtin::spin(time, distribution),
        Some(Role::Echo) => builtin::echo(),
        Some(Role::Filter(framing, command)) => filter::filter(framing, command),
        Some(Role::Program(command)) => program(command),
        Some(Role::Exec(parent, command)) => return exec(parent, &command),
        None => Ending::Fault("not a stage's role; stages are started by `hairstreak run`".into()),
    };
    ending.tell();
    lifeline::leave();
    ExitCode::FAILURE
}

/// Runs `command` to its end. Its output goes to this process's standard error.
pub(super) fn program(command: Vec<OsString>) -> Ending {
    run(command).unwrap_or_else(Ending::fault)
}

fn run(command: Vec<OsString>) -> io::Result<Ending> {
    signal_hook::flag::register(SIGTERM, Arc::new(AtomicBool::new(false)))?;
    lifeline::hold_through_sigterm()?;
    let prints = io::stderr().as_fd().try_clone_to_owned()?;
    let mut child = bound_to_this_process(command)?.stdin(Stdio::null()).stdout(prints).spawn()?;
    descendants::bury_all_but(Pid::from_child(&child))?;
    Ok(child.wait()?.into())
}
