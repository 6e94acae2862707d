//! Where the process of a stage instance begins.

use std::ffi::OsString;
use std::process::ExitCode;

use super::builtin;
use super::command;
use super::ending::Ending;
use super::filter;
use super::lifeline;
use super::program;
use super::role::Role;

/// What `hairstreak stage` does; `arguments` are those after `stage`. An executable that
/// [`run`](crate::topology::run) is told to start its stages with calls this for the argument
/// `stage` before it does anything else.
pub fn main(arguments: Vec<OsString>) -> ExitCode {
    let ending = match Role::from_arguments(arguments) {
        Some(Role::Sleep(time, distribution)) => builtin::sleep(time, distribution),
        Some(Role::Spin(time, distribution)) => builtin::spin(time, distribution),
        Some(Role::Echo) => builtin::echo(),
        Some(Role::Filter(framing, command)) => filter::filter(framing, command),
        Some(Role::Program(command)) => program::program(command),
        Some(Role::Exec(parent, command)) => return command::exec(parent, &command),
        None => Ending::Fault("not a stage's role; stages are started by `hairstreak run`".into()),
    };
    ending.tell();
    lifeline::leave();
    ExitCode::FAILURE
}
