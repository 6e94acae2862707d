//! The environment of a stage's process: its variables, its sockets and their options, and its command, which dies with
//! it.
//!
//! Foreign programs rely on the variables [`IN`] and [`OUT`].

use std::ffi::OsString;
use std::fmt;
use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};

use hairstreak_socket::settlement::{Settlement, Settling};
use hairstreak_socket::{Context, Options, Pull, Push};
use rustix::process::{Signal, getppid, set_parent_process_death_signal};

use super::ending::Ending;
use super::role::Role;
use crate::topology::definition::MESSAGES_MAX;

/// The exit status of a command that cannot be started, as in a shell.
const NOT_STARTED: u8 = 127;

/// Returns a command that runs `command` by way of [`exec`], in a process of this executable.
pub(super) fn bound_to_this_process(command: Vec<OsString>) -> io::Result<Command> {
    let mut bound = Command::new(std::env::current_exe()?);
    bound.args(Role::Exec(std::process::id(), command).arguments());
    Ok(bound)
}

/// Turns this process into `command`. The kernel kills the process once `parent` is dead. Returns only on failure.
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
    // The exit status reports the failure as well.
    let _ = writeln!(io::stderr(), "{reason}");
}

/// The endpoint for a PULL socket of messages.
pub(in crate::topology) const IN: &str = "HAIRSTREAK_IN";
/// The endpoint for a PUSH socket of results.
pub(in crate::topology) const OUT: &str = "HAIRSTREAK_OUT";
/// The stage's name.
pub(in crate::topology) const STAGE: &str = "HAIRSTREAK_STAGE";
/// The number of the instance within its stage, from 1.
pub(in crate::topology) const INSTANCE: &str = "HAIRSTREAK_INSTANCE";
/// The process id of the runner.
pub(in crate::topology) const RUNNER: &str = "HAIRSTREAK_RUNNER";

/// Opens and connects both sockets of this instance. A message is settled when its result is. The sockets do not
/// linger: an instance stays until all results have arrived, or ends because they are not wanted.
pub(super) fn sockets() -> Result<(Pull, Push), Ending> {
    let context = Context::new();
    let pull = Pull::with_options(&context, settled()).map_err(Ending::fault)?;
    let push = Push::with_options(&context, settled()).map_err(Ending::fault)?;
    push.settle_upstream(&pull);
    pull.settle_lazily(true);
    push.connect(&endpoint(OUT)?).map_err(Ending::fault)?;
    pull.connect(&endpoint(IN)?).map_err(Ending::fault)?;
    Ok((pull, push))
}

fn endpoint(variable: &str) -> Result<String, Ending> {
    let value: Option<OsString> = std::env::var_os(variable);
    let missing = || Ending::Fault(format!("{variable} is not set; a stage is started by `hairstreak run`"));
    value.and_then(|value| value.into_string().ok()).ok_or_else(missing)
}

/// The options of sockets that programs of other projects may connect to. These sockets do not linger: at the end of a run
/// no reader is left for unsent messages.
pub(crate) fn plain() -> Options {
    Options { linger_ms: 0, ..Options::default() }
}

/// The options of sockets between the runner and instances that it can start again. No part waits for a settlement, so
/// that settlements are sent in bulk. The unsettled tasks have no bound of their own: a filter may hold back all of its
/// results until its input ends. The sockets' marks bound the messages on their way to an instance.
pub(crate) fn settled() -> Options {
    let count = MESSAGES_MAX as usize;
    let settlement = Settlement {
        unsettled_count_max: count,
        credit_count: count,
        settling: Settling::ByHand,
        // A filter that holds its results back would never answer a message that is alone.
        alone_deliveries: 0,
        ..Settlement::default()
    };
    Options { settlement: Some(settlement), ..plain() }
}
