//! Descendants of this process, at any distance. A process that leaves its group and session and loses its parent is
//! adopted by the nearest ancestor that asked for it (PR_SET_CHILD_SUBREAPER). That ancestor can end it.
//!
//! A process may have children from before it ran any stage: a shell that executes it in its own place leaves it the
//! children of the shell. These [`Bystanders`] are not ended, nor are their children that stay in a process group from
//! before. Every stage has a new group.
//!
//! Two kinds of processes are not ended: processes of another user (unless this process runs as root), and the
//! processes of an adopter that was killed by SIGKILL, unless an adopter above it still lives.

use std::collections::HashSet;
use std::time::{Duration, Instant};
use std::{fs, io, thread};

use rustix::process::{Pid, Signal, WaitOptions, getpid, kill_process, set_child_subreaper, waitpid};
use signal_hook::consts::SIGCHLD;
use signal_hook::iterator::Signals;

/// Time that killed processes may take to exit.
const KILLED_WITHIN: Duration = Duration::from_secs(2);
/// Interval between two checks that they have exited.
const LOOK: Duration = Duration::from_millis(1);

/// Descendants from before this process adopted any.
#[derive(Debug, Default)]
pub struct Bystanders {
    processes: HashSet<Identity>,
    groups: HashSet<Pid>,
}

/// Identity of a process, unique even if its id is used again: the id and the start time.
type Identity = (Pid, u64);

impl Bystanders {
    fn now() -> Bystanders {
        let all = Process::all();
        let mut family = HashSet::from([getpid()]);
        let mut bystanders = Bystanders::default();
        loop {
            let count = family.len();
            for process in &all {
                if process.parent.is_some_and(|parent| family.contains(&parent)) {
                    family.insert(process.id);
                    bystanders.processes.insert(process.identity());
                    bystanders.groups.insert(process.group);
                }
            }
            if family.len() == count {
                return bystanders;
            }
        }
    }

    fn include(&self, process: &Process) -> bool {
        self.processes.contains(&process.identity()) || self.groups.contains(&process.group)
    }
}

/// Makes this process adopt its descendants that lose their parents. Returns its descendants so far.
pub fn adopt() -> io::Result<Bystanders> {
    let bystanders = Bystanders::now();
    set_child_subreaper(Some(getpid()))?;
    Ok(bystanders)
}

/// Starts a thread that reaps adopted children when they end, so that no zombies pile up. The child `own` is left to
/// the caller that started it.
pub fn bury_all_but(own: Pid) -> io::Result<()> {
    let mut ended = Signals::new([SIGCHLD])?;
    thread::Builder::new().name("undertaker".into()).spawn(move || {
        for _ in ended.forever() {
            for child in children().into_iter().filter(|child| child.id != own) {
                // The call does nothing if the child is alive.
                let _ = waitpid(Some(child.id), WaitOptions::NOHANG);
            }
        }
    })?;
    Ok(())
}

/// Kills every child of this process except bystanders, and the processes that it then adopts, until none is left.
pub fn end(bystanders: &Bystanders) {
    let deadline = Instant::now() + KILLED_WITHIN;
    loop {
        let left: Vec<_> = children().into_iter().filter(|child| !bystanders.include(child)).collect();
        if left.is_empty() || Instant::now() >= deadline {
            return;
        }
        for child in left {
            // A process that may not be killed is left.
            let _ = kill_process(child.id, Signal::KILL);
            let _ = waitpid(Some(child.id), WaitOptions::NOHANG);
        }
        thread::sleep(LOOK);
    }
}

/// Returns the children of this process, zombies included.
fn children() -> Vec<Process> {
    let parent = getpid();
    Process::all().into_iter().filter(|process| process.parent == Some(parent)).collect()
}

struct Process {
    id: Pid,
    parent: Option<Pid>,
    group: Pid,
    /// Start time in ticks since the machine was started.
    started: u64,
}

impl Process {
    fn all() -> Vec<Process> {
        let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
        let id = |entry: io::Result<fs::DirEntry>| process_id(entry.ok()?.file_name().to_str()?);
        entries.filter_map(id).filter_map(Process::find).collect()
    }

    fn find(id: Pid) -> Option<Process> {
        Process::read(id, &fs::read_to_string(format!("/proc/{}/stat", id.as_raw_nonzero())).ok()?)
    }

    /// Parses fields 4, 5 and 22 of proc_pid_stat(5). The name, field 2, is in brackets and may hold any bytes. A
    /// process that is just exiting has the group -1: it counts as gone.
    fn read(id: Pid, stat: &str) -> Option<Process> {
        let (_, rest) = stat.rsplit_once(')')?;
        let mut fields = rest.split_whitespace().skip(1);
        let parent = process_id(fields.next()?);
        let group = process_id(fields.next()?)?;
        Some(Process { id, parent, group, started: fields.nth(16)?.parse().ok()? })
    }

    fn identity(&self) -> Identity {
        (self.id, self.started)
    }
}

/// Returns the process id in `text`, or `None` if it is not a positive number.
pub fn process_id(text: &str) -> Option<Pid> {
    text.parse().ok().filter(|&id: &i32| id > 0).and_then(Pid::from_raw)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(stat: &str) -> Option<(Option<Pid>, Pid, u64)> {
        let process = Process::read(process_id("7")?, stat)?;
        Some((process.parent, process.group, process.started))
    }

    #[test]
    fn a_process_that_goes_while_it_is_looked_at_is_gone() {
        let rest = "0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 99 0";
        let living = read(&format!("7 (a ) b) S 5 6 {rest}"));
        assert_eq!(living, process_id("6").map(|group| (process_id("5"), group, 99)));
        assert_eq!(read(&format!("7 (a) X 0 -1 {rest}")), None);
        assert_eq!(read("7 (a) S 5"), None);
        assert_eq!(process_id("-1").or(process_id("0")).or(process_id("4294967295")), None);
    }
}
