//! The end of a stage's process with its runner, in every way that the runner may end.
//!
//! Two signs are watched. The first is the end of standard input, which the runner holds open. The second is SIGHUP,
//! which the kernel sends when the parent is dead. Either sign suffices, because a fork of the runner may keep the pipe
//! open.

use std::sync::OnceLock;
use std::{io, thread};

use hairstreak_process::descendants::{self, Bystanders};
use rustix::process::{
    Pid, Signal, getpgrp, getpid, getppid, kill_current_process_group, set_parent_process_death_signal,
};
use signal_hook::consts::{SIGHUP, SIGTERM};
use signal_hook::iterator::Signals;

use super::ending::Ending;
use super::environment::RUNNER;

/// Descendants of this process from before it was a stage.
static BYSTANDERS: OnceLock<Bystanders> = OnceLock::new();

/// Watches for the runner's end and for SIGTERM, and then calls [`leave`].
pub(super) fn hold() -> io::Result<()> {
    watch(Signals::new([SIGHUP, SIGTERM])?)
}

/// Waits to be released. The work is done.
pub(super) fn stay() -> ! {
    loop {
        thread::park();
    }
}

/// Does the same as [`hold`], without SIGTERM, which is meant for the program.
pub(super) fn hold_through_sigterm() -> io::Result<()> {
    watch(Signals::new([SIGHUP])?)
}

fn watch(mut signals: Signals) -> io::Result<()> {
    let _ = BYSTANDERS.set(descendants::adopt()?);
    set_parent_process_death_signal(Some(Signal::HUP))?;
    thread::Builder::new().name("signals".into()).spawn(move || {
        if let Some(signal) = signals.forever().next() {
            // The signal is the reason of the end. A runner that is gone, or whose work is done, does not read it.
            Ending::Killed(signal).tell();
            leave();
        }
    })?;
    thread::Builder::new().name("runner".into()).spawn(move || {
        // The runner never writes to it.
        let _ = io::copy(&mut io::stdin().lock(), &mut io::sink());
        leave();
    })?;
    if getppid() != runner() {
        leave();
    }
    Ok(())
}

/// Returns the runner, if its variable is set. A stage that was started by hand takes its parent for the runner.
fn runner() -> Option<Pid> {
    let said = std::env::var(RUNNER).ok();
    said.and_then(|id| descendants::process_id(&id)).or_else(getppid)
}

/// Ends this process with its descendants and its process group. The process leads the group if a runner started it.
pub(super) fn leave() {
    descendants::end(BYSTANDERS.get_or_init(Bystanders::default));
    if getpgrp() == getpid() {
        let _ = kill_current_process_group(Signal::KILL);
    }
    std::process::exit(1);
}
