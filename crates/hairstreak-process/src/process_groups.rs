//! `ProcessGroups`: the commands that a program runs, each the leader of its own process group.
//!
//! Ctrl-Z on a terminal reaches only the foreground group, and only that group may read from the terminal. The program
//! passes a stop on to its groups. It also finds the commands that the kernel stopped because they used the terminal.

use std::collections::HashSet;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

/// The groups of running commands. Clones share one set.
#[derive(Clone, Debug, Default)]
pub struct ProcessGroups(Arc<Mutex<HashSet<Pid>>>);

impl ProcessGroups {
    /// Calls `spawn` to start the leader of a new group. A start waits while all groups are stopped.
    pub fn start<T>(&self, spawn: impl FnOnce() -> io::Result<(T, Pid)>) -> io::Result<T> {
        let mut groups = self.groups();
        let (started, group) = spawn()?;
        groups.insert(group);
        Ok(started)
    }

    /// Removes a group whose leader has ended. The caller waits for the leader only afterwards, because its number can
    /// then be reused.
    pub fn forget(&self, group: Pid) {
        self.groups().remove(&group);
    }

    /// Stops all groups as Ctrl-Z would, and calls `stop`, which returns when this process continues.
    pub fn pause(&self, stop: impl FnOnce()) {
        let groups = self.groups();
        tell(&groups, Signal::TSTP);
        stop();
    }

    /// Continues all groups.
    pub fn go_on(&self) {
        tell(&self.groups(), Signal::CONT);
    }

    /// Returns the leaders that the kernel has stopped because their group used the terminal while another group had
    /// it.
    pub fn waiting_for_terminal(&self) -> Vec<Pid> {
        let look = WaitIdOptions::STOPPED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        let terminal = [Signal::TTIN, Signal::TTOU].map(Signal::as_raw);
        let is_waiting = |leader: &&Pid| {
            let status = waitid(WaitId::Pid(**leader), look).ok().flatten();
            status
                .and_then(|status| status.stopping_signal())
                .is_some_and(|signal| terminal.contains(&signal))
        };
        self.groups().iter().filter(is_waiting).copied().collect()
    }

    fn groups(&self) -> MutexGuard<'_, HashSet<Pid>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn tell(groups: &HashSet<Pid>, signal: Signal) {
    for group in groups {
        // A group that has just ended needs no signal.
        let _ = kill_process_group(*group, signal);
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::process::CommandExt;
    use std::process::{Child, Command};
    use std::time::{Duration, Instant};

    use rustix::process::kill_process;

    use super::*;

    const PATIENCE: Duration = Duration::from_secs(60);

    fn start(groups: &ProcessGroups) -> Child {
        let spawn = || {
            let child = Command::new("sleep").arg("100").process_group(0).spawn()?;
            let group = Pid::from_child(&child);
            Ok((child, group))
        };
        groups.start(spawn).unwrap()
    }

    /// Waits until the process is in the state `wanted` of proc(5).
    fn await_state(child: &Child, wanted: &str) {
        let since = Instant::now();
        loop {
            let stat = fs::read_to_string(format!("/proc/{}/stat", child.id())).unwrap();
            if stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with(wanted)) {
                return;
            }
            assert!(since.elapsed() < PATIENCE, "not {wanted}: {stat}");
            std::thread::yield_now();
        }
    }

    #[test]
    fn all_groups_stop_and_go_on() {
        let groups = ProcessGroups::default();
        let mut children = [start(&groups), start(&groups)];
        groups.pause(|| children.iter().for_each(|child| await_state(child, "T")));
        groups.go_on();
        children.iter().for_each(|child| await_state(child, "S"));
        for child in &mut children {
            child.kill().unwrap();
            groups.forget(Pid::from_child(child));
            child.wait().unwrap();
        }
    }

    #[test]
    fn only_a_command_that_asks_the_terminal_waits_for_it() {
        let groups = ProcessGroups::default();
        let mut child = start(&groups);
        let leader = Pid::from_child(&child);
        for (signal, expected) in
            [(Signal::TTIN, vec![leader]), (Signal::TTOU, vec![leader]), (Signal::STOP, vec![])]
        {
            kill_process(leader, signal).unwrap();
            await_state(&child, "T");
            for _ in 0..2 {
                assert_eq!(groups.waiting_for_terminal(), expected, "{signal:?}");
            }
            groups.go_on();
            await_state(&child, "S");
            assert_eq!(groups.waiting_for_terminal(), []);
        }
        child.kill().unwrap();
        groups.forget(leader);
        child.wait().unwrap();
    }
}
