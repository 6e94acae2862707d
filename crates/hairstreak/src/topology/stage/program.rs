//! A stage that is someone else's program, with ZeroMQ sockets of its own.
//!
//! This process stays beside it: it outlives the SIGTERM by which a run ends, so that the program
//! can clean up, and takes everything the program started with it when the runner dies.

use std::ffi::OsString;
use std::io;
use std::os::fd::AsFd;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use rustix::process::Pid;
use signal_hook::consts::SIGTERM;

use super::command::bound_to_this_process;
use super::descendants;
use super::ending::Ending;
use super::lifeline;

/// Runs `command` to its end. What it prints goes to this process's standard error.
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
