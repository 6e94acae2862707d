//! The process of one stage instance, seen from the runner.
//!
//! The process leads a process group of its own, so that its descendants can be ended with it. Two threads read its
//! output. One of them waits for its end, ends the rest of its group, and only then lets the system forget its id.

use std::io::{self, BufRead, BufReader};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{self, ChildStderr, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, SyncSender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use hairstreak_process::ProcessGroups;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, WaitOptions, kill_process_group, waitid, waitpid};

use super::boundary::Event;
use crate::topology::definition::Stage;
use crate::topology::stage::{self, Ending, Role};

/// The longest line of standard error that is kept whole, in bytes.
const LINE_SIZE_MAX: usize = 4096;
/// Longest wait for the last lines of a process that has ended.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// A process of a stage instance.
pub(super) struct Child {
    /// The stage's index, and the instance's.
    pub(super) stage: usize,
    pub(super) instance: usize,
    /// Held open: closing it tells the process to go.
    stdin: Option<ChildStdin>,
    pid: Pid,
    reaped: Arc<Mutex<bool>>,
}

/// The parameters of a process.
pub(super) struct Start<'a> {
    pub(super) executable: &'a Path,
    pub(super) directory: &'a Path,
    pub(super) stage: (usize, &'a Stage),
    pub(super) instance: usize,
    pub(super) role: &'a Role,
    /// The endpoints for its PULL and its PUSH.
    pub(super) endpoints: (&'a str, &'a str),
    /// The number of the process in events.
    pub(super) child: usize,
    pub(super) events: &'a SyncSender<Event>,
    pub(super) groups: &'a ProcessGroups,
}

impl Child {
    pub(super) fn start(start: Start<'_>) -> io::Result<Child> {
        let mut command = Command::new(start.executable);
        command
            .args(start.role.arguments())
            .env(stage::IN, start.endpoints.0)
            .env(stage::OUT, start.endpoints.1)
            .env(stage::STAGE, &start.stage.1.name)
            .env(stage::INSTANCE, (start.instance + 1).to_string())
            .env(stage::RUNNER, process::id().to_string())
            .current_dir(start.directory)
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let spawn = || {
            let process = command.spawn()?;
            let pid = Pid::from_child(&process);
            Ok(((process, pid), pid))
        };
        let (mut process, pid) = start.groups.start(spawn)?;
        let reaped = Arc::new(Mutex::new(false));
        let stdin = process.stdin.take();
        // INVARIANT: both were asked to be piped, and are taken here only.
        let (stdout, stderr) = (process.stdout.take().expect("piped"), process.stderr.take().expect("piped"));
        let (child, events) = (start.child, start.events.clone());
        let (last_words, heard) = mpsc::channel();
        let lines = events.clone();
        let read = move || drop(last_words.send(read_stderr(stderr, child, &lines)));
        let (watched, groups) = (reaped.clone(), start.groups.clone());
        let watch = move || {
            let said = read_stdout(stdout, child, &events);
            let status = reap(pid, &watched, &groups);
            let last_line = heard.recv_timeout(LAST_WORDS).ok().flatten();
            let ending = said.unwrap_or_else(|| {
                status.map_or_else(|error| Ending::Fault(error.to_string()), Ending::from)
            });
            // The run may be over. Then the event has no receiver.
            let _ = events.send(Event::Ended { child, ending, last_line });
        };
        let name = |what| thread::Builder::new().name(format!("{what} {child}"));
        let started = name("lines").spawn(read).and_then(|_| name("process").spawn(watch));
        if let Err(error) = started {
            // The process would be unwatched.
            let _ = kill_process_group(pid, Signal::KILL);
            let _ = reap(pid, &reaped, start.groups);
            return Err(error);
        }
        Ok(Child { stage: start.stage.0, instance: start.instance, stdin, pid, reaped })
    }

    /// Releases the process, which holds nothing any more.
    pub(super) fn release(&mut self) {
        self.stdin = None;
    }

    /// Sends a signal to the process and all that it started.
    pub(super) fn signal(&self, signal: Signal) {
        let reaped = self.reaped.lock().unwrap_or_else(PoisonError::into_inner);
        if !*reaped {
            let _ = kill_process_group(self.pid, signal);
        }
    }
}

/// Waits for the end, then ends the rest of the process group. Until the process is reaped, its id, which is its
/// group's, belongs to no other process.
fn reap(pid: Pid, reaped: &Mutex<bool>, groups: &ProcessGroups) -> io::Result<ExitStatus> {
    waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT)?;
    let mut reaped = reaped.lock().unwrap_or_else(PoisonError::into_inner);
    let _ = kill_process_group(pid, Signal::KILL);
    *reaped = true;
    groups.forget(pid);
    let status = waitpid(Some(pid), WaitOptions::empty())?;
    let (_, status) = status.ok_or_else(|| io::Error::other("it ended without a status"))?;
    Ok(ExitStatus::from_raw(status.as_raw()))
}

/// Reads standard output to its end. Returns the ending that the process reported, if it reported one.
fn read_stdout(stdout: ChildStdout, child: usize, events: &SyncSender<Event>) -> Option<Ending> {
    let mut ending = None;
    for line in BufReader::new(stdout).lines() {
        let Ok(line) = line else { break };
        if line == stage::FINISHED {
            let _ = events.send(Event::FilterFinished { child });
        } else {
            ending = Ending::from_line(&line).or(ending);
        }
    }
    ending
}

/// Passes on the lines of standard error, to its end. Returns the last line that was not empty.
fn read_stderr(stderr: ChildStderr, child: usize, events: &SyncSender<Event>) -> Option<String> {
    let mut reader = BufReader::new(stderr);
    let mut last = None;
    let mut bytes = Vec::new();
    loop {
        bytes.clear();
        let mut part = io::Read::take(&mut reader, LINE_SIZE_MAX as u64);
        match part.read_until(b'\n', &mut bytes) {
            Ok(0) | Err(_) => return last,
            Ok(_) => {}
        }
        let line = String::from_utf8_lossy(&bytes).trim_end().to_owned();
        if !line.is_empty() {
            last = Some(line.clone());
        }
        let _ = events.send(Event::StageLine { child, line });
    }
}
