//! The signals that end a command, in order at the first and at once at the second; and the signals that stop and continue a
//! command.

use std::collections::HashSet;
use std::fs::{self, File};
use std::time::Duration;
use std::{io, thread};

use hairstreak_process::ProcessGroups;
use signal_hook::consts::{SIGCONT, SIGHUP, SIGINT, SIGTERM, SIGTSTP};
use signal_hook::iterator::Signals;
use signal_hook::low_level::{emulate_default_handler, signal_name};

use crate::line::one_line;
use crate::output::note;

/// The interval of the search for commands that wait for the terminal.
const LOOK_INTERVAL: Duration = Duration::from_secs(1);

/// SIGINT, SIGTERM and SIGHUP. SIGHUP is left out if it is ignored, as under nohup.
pub fn ending() -> Vec<i32> {
    let mut signals = vec![SIGINT, SIGTERM];
    signals.extend((!is_ignored(SIGHUP)).then_some(SIGHUP));
    signals
}

pub fn name(signal: i32) -> &'static str {
    signal_name(signal).unwrap_or("a signal")
}

/// Returns `true` if this process ignores the signal since its start (proc(5), `SigIgn`).
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .is_some_and(|mask| mask & (1 << (signal - 1)) != 0)
}

/// Makes the commands of `groups` stop when Ctrl-Z stops this program, and continue with it. A command that waits for
/// the terminal in vain is named.
pub fn share_with(groups: &ProcessGroups) -> io::Result<()> {
    let mut watched = vec![SIGCONT];
    watched.extend((!is_ignored(SIGTSTP)).then_some(SIGTSTP));
    let mut signals = Signals::new(watched)?;
    let stopped = groups.clone();
    let pass_on = move || {
        for signal in signals.forever() {
            match signal {
                SIGTSTP => stopped.pause(|| {
                    // After a failure this process keeps running: the commands continue, too.
                    if emulate_default_handler(SIGTSTP).is_err() {
                        let _ = signal_hook::low_level::raise(SIGCONT);
                    }
                }),
                _ => stopped.go_on(),
            }
        }
    };
    thread::Builder::new().name("stops".into()).spawn(pass_on)?;
    // Without a terminal no command can wait for it.
    if File::open("/dev/tty").is_ok() {
        let groups = groups.clone();
        thread::Builder::new().name("terminal".into()).spawn(move || name_waiting(&groups))?;
    }
    Ok(())
}

/// Names each command that waits for the terminal, once.
fn name_waiting(groups: &ProcessGroups) {
    let mut named = HashSet::new();
    loop {
        thread::sleep(LOOK_INTERVAL);
        let waiting = groups.waiting_for_terminal();
        named.retain(|command| waiting.contains(command));
        for command in waiting.into_iter().filter(|command| named.insert(*command)) {
            let id = command.as_raw_nonzero();
            let name = fs::read_to_string(format!("/proc/{id}/comm")).unwrap_or_default();
            note(&format!(
                "hairstreak: command {id} ({}) is stopped: it asks the terminal, which commands of this program cannot have; Ctrl-C ends the work\n",
                one_line(name.trim_end())
            ));
        }
    }
}
