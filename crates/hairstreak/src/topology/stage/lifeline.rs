//! A stage's process lives no longer than its runner, however that ends.
//!
//! Two signs are watched: standard input, which the runner holds open, ends; and the kernel sends
//! SIGHUP because the parent is dead. Either one suffices (a fork of the runner may keep the pipe
//! open).

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

/// What this process had for descendants before it was a stage.
static BYSTANDERS: OnceLock<Bystanders> = OnceLock::new();

/// Watches for the runner's end and for SIGTERM, to [`leave`] then.
pub(super) fn hold() -> io::Result<()> {
    watch(Signals::new([SIGHUP, SIGTERM])?)
}

/// Its work is done: waits to be let go.
pub(super) fn stay() -> ! {
    loop {
        thread::park();
    }
}

/// As [`hold`], but SIGTERM is for somebody else.
pub(super) fn hold_through_sigterm() -> io::Result<()> {
    watch(Signals::new([SIGHUP])?)
}

fn watch(mut signals: Signals) -> io::Result<()> {
    let _ = BYSTANDERS.set(descendants::adopt()?);
    set_parent_process_death_signal(Some(Signal::HUP))?;
    thread::Builder::new().name("signals".into()).spawn(move || {
        if let Some(signal) = signals.forever().next() {
            // Somebody ended it; the runner does not when it is gone, nor does it ask when all is done.
            Ending::Killed(signal).tell();
            leave();
        }
    })?;
    thread::Builder::new().name("runner".into()).spawn(move || {
        // Nothing is ever written to it.
        let _ = io::copy(&mut io::stdin().lock(), &mut io::sink());
        leave();
    })?;
    if getppid() != runner() {
        leave();
    }
    Ok(())
}

/// The runner, if it said so. A stage that was started by hand takes its parent for it.
fn runner() -> Option<Pid> {
    let said = std::env::var(RUNNER).ok();
    said.and_then(|id| descendants::process_id(&id)).or_else(getppid)
}

/// Ends this process and all that came of it: its descendants, and its process group, which it leads if a
/// runner started it.
pub(super) fn leave() {
    descendants::end(BYSTANDERS.get_or_init(Bystanders::default));
    if getpgrp() == getpid() {
        let _ = kill_current_process_group(Signal::KILL);
    }
    std::process::exit(1);
}
