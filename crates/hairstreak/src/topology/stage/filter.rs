//! A stage that is a command: messages go into its standard input, and results come out of its standard output, one for
//! each message.
//!
//! One thread writes and another reads, so a command may be any number of messages behind. Most commands gather their
//! output in a buffer. A third thread waits for the command itself, because processes that it started may hold its
//! output open long after it failed. When the runner says that no message follows, the command's standard input is
//! closed. The command must then print its remaining results and end with status 0. This process stays until the runner
//! releases it.
//!
//! A message is settled when its result is: messages without a result go to another instance when the command is
//! killed. The line that the command was printing then is no result.

use std::ffi::OsString;
use std::io::{self, Write};
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::Duration;

use hairstreak_process::descendants;
use hairstreak_socket::{Pull, RecvError};
use rustix::process::Pid;

use super::ending::Ending;
use super::environment::{bound_to_this_process, sockets};
use super::inlet::Inlet;
use super::lifeline;
use super::outlet::{Outlet, Rest};
use crate::topology::definition::Framing;

/// Largest number of messages taken at once.
const BATCH_COUNT: usize = 1024;
/// Longest wait for the last results of a failed command: processes that it started may hold its output open.
const LAST_RESULTS: Duration = Duration::from_millis(500);
/// The line that tells the runner that a filter did all its work and ended well.
pub(in crate::topology) const FINISHED: &str = "finished";

/// Pumps messages through `command` until the runner is done.
pub(super) fn filter(framing: Framing, command: Vec<OsString>) -> Ending {
    run(framing, command).unwrap_or_else(|ending| ending)
}

fn run(framing: Framing, command: Vec<OsString>) -> Result<Ending, Ending> {
    lifeline::hold().map_err(Ending::fault)?;
    let mut child = bound_to_this_process(command)
        .and_then(|mut command| command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn())
        .map_err(Ending::fault)?;
    descendants::bury_all_but(Pid::from_child(&child)).map_err(Ending::fault)?;
    // INVARIANT: both are piped, a line above, and taken here only.
    let (stdin, stdout) = (child.stdin.take().expect("piped"), child.stdout.take().expect("piped"));
    // The sockets stay open as long as this process lives: the fate of results is the fate of messages.
    let (pull, push) = sockets()?;
    let inlet = Arc::new(Inlet::new(framing, stdin));
    let (teller, told) = mpsc::channel();
    let (of_results, of_command) = (teller.clone(), teller);
    let (from, into) = (pull.clone(), inlet.clone());
    start_thread("messages", move || take_messages(&from, &into))?;
    let mut outlet = Outlet::new(inlet.clone(), push);
    start_thread("results", move || {
        let rest = outlet.give_results(stdout, framing);
        // The receiver lives as long as this process.
        let _ = of_results.send(Told::Results(outlet, rest));
    })?;
    start_thread("command", move || {
        let _ = of_command.send(Told::Command(child.wait()));
    })?;
    end(&told, &inlet)
}

fn start_thread(name: &str, work: impl FnOnce() + Send + 'static) -> Result<(), Ending> {
    let started = thread::Builder::new().name(name.into()).spawn(work);
    started.map(drop).map_err(Ending::fault)
}

/// Reports of the threads.
enum Told {
    /// The command's output has ended with this rest, or its results are wrong.
    Results(Outlet, Result<Rest, Ending>),
    /// The command has ended.
    Command(io::Result<ExitStatus>),
}

/// Takes messages until none follows, or until the command takes no more. The reader of results notices the
/// consequence.
fn take_messages(pull: &Pull, inlet: &Inlet) {
    let mut messages = Vec::with_capacity(BATCH_COUNT);
    loop {
        match pull.recv_batch(&mut messages, BATCH_COUNT, Duration::MAX) {
            Ok(batch) => {
                if inlet.write(&messages, batch.runs).is_err() {
                    return;
                }
                messages.clear();
            }
            Err(RecvError::Ended) => return inlet.close(),
            Err(_) => return,
        }
    }
}

/// Waits for the results that the command had printed by its end, which need not be done again.
fn last_results(told: &Receiver<Told>) -> Option<Outlet> {
    match told.recv_timeout(LAST_RESULTS) {
        Ok(Told::Results(outlet, _)) => Some(outlet),
        _ => None,
    }
}

/// Waits until the command and its output have ended, and checks them. If the command failed, its status alone decides.
fn end(told: &Receiver<Told>, inlet: &Inlet) -> Result<Ending, Ending> {
    let (mut printed, mut succeeded) = (None, false);
    let (mut outlet, rest) = loop {
        match told.recv().map_err(Ending::fault)? {
            Told::Results(outlet, rest) => printed = Some((outlet, rest?)),
            Told::Command(status) => {
                let status = status.map_err(Ending::fault)?;
                if !status.success() {
                    let printed = printed.map(|(outlet, _)| outlet);
                    if let Some(outlet) = printed.or_else(|| last_results(told)) {
                        outlet.flush();
                    }
                    return Ok(status.into());
                }
                succeeded = true;
            }
        }
        if succeeded && let Some(printed) = printed.take() {
            break printed;
        }
    };
    match rest {
        Rest::Nothing => {}
        Rest::Line(line) => outlet.give(line)?,
        Rest::Torn(error) => return Err(outlet.unreadable(&error)),
    }
    outlet.flush();
    if !inlet.is_complete() {
        return Err(Ending::Fault(format!("the filter ended early, after {} results", outlet.count())));
    }
    if outlet.count() < inlet.count() {
        return Err(outlet.one_for_each());
    }
    let mut stdout = io::stdout();
    writeln!(stdout, "{FINISHED}").and_then(|()| stdout.flush()).map_err(Ending::fault)?;
    lifeline::stay()
}
