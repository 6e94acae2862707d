//! Counts the system calls of a process from outside: by perf's tracepoint, else by strace.
//!
//! perf only counts and hardly slows the worker down. strace stops the worker at each call, so its counts come from a
//! slower program; the report names the tracer. Without either there is no count, never an assumed one.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

const PERF_EVENT: &str = "raw_syscalls:sys_enter";
/// The time that a tracer gets to attach: neither tracer reports the start of its counting.
const ATTACH_TIME: Duration = Duration::from_millis(300);

/// A program that can count another's system calls on this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tracer {
    /// `perf stat` on the kernel's tracepoint.
    Perf,
    /// `strace -c`.
    Strace,
}

impl Tracer {
    /// The best one that works here: it must count a trivial program, being installed is not enough.
    pub fn detect() -> Option<Self> {
        [Self::Perf, Self::Strace].into_iter().find(|tracer| tracer.counts_trivial_program())
    }

    /// Returns the tracer's name in a report.
    pub fn name(self) -> &'static str {
        match self {
            Self::Perf => "perf",
            Self::Strace => "strace",
        }
    }

    /// A command that runs `program` (its arguments are added by the caller) and leaves the count in `file`.
    pub fn command(self, program: &OsStr, file: &CountFile) -> Command {
        let mut command = self.counting(file);
        command.arg("--").arg(program);
        command
    }

    /// Counts the system calls of the running process `process_id` and of its threads, until [`Attached`] is stopped.
    pub fn attach(self, process_id: u32) -> Result<Attached, io::Error> {
        let file = CountFile::new();
        let mut command = self.counting(&file);
        command.arg("-p").arg(process_id.to_string());
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
        thread::sleep(ATTACH_TIME);
        Ok(Attached { tracer: self, file, child })
    }

    /// The tracer's command line up to its subject.
    fn counting(self, file: &CountFile) -> Command {
        let options: &[&str] = match self {
            Self::Perf => &["stat", "-x", ",", "-e", PERF_EVENT, "-o"],
            Self::Strace => &["-f", "-q", "-c", "-o"],
        };
        let mut command = Command::new(self.name());
        command.args(options).arg(&file.path);
        command
    }

    /// The count a finished command left in `file`; `None` if there is none.
    pub fn read(self, file: &CountFile) -> Option<u64> {
        let text = fs::read_to_string(&file.path).ok()?;
        match self {
            Self::Perf => perf_count(&text),
            Self::Strace => strace_count(&text),
        }
    }

    fn counts_trivial_program(self) -> bool {
        let file = CountFile::new();
        let output = self.command(OsStr::new("true"), &file).output();
        output.is_ok_and(|output| output.status.success()) && self.read(&file).is_some_and(|count| count > 0)
    }
}

/// A tracer that counts the system calls of a process. Dropping it ends it.
#[derive(Debug)]
pub struct Attached {
    tracer: Tracer,
    file: CountFile,
    child: Child,
}

impl Attached {
    /// Stops counting; `None` if nothing could be counted.
    pub fn stop(mut self) -> Option<u64> {
        let id = Pid::from_raw(i32::try_from(self.child.id()).ok()?)?;
        // It may have ended by itself: then it has left no count.
        let _ = kill_process(id, Signal::INT);
        self.child.wait().ok()?;
        self.tracer.read(&self.file)
    }
}

impl Drop for Attached {
    fn drop(&mut self) {
        // Both fail only if it has ended and been reaped already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A temporary file for one count, removed when dropped.
#[derive(Debug)]
pub struct CountFile {
    path: PathBuf,
}

impl CountFile {
    /// A name of its own in the temporary directory; the tracer creates it.
    pub fn new() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("hairstreak-bench-{}-{number}.count", std::process::id());
        Self { path: Path::new(&std::env::temp_dir()).join(name) }
    }
}

impl Default for CountFile {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for CountFile {
    fn drop(&mut self) {
        // The tracer may have failed before it made the file.
        let _ = fs::remove_file(&self.path);
    }
}

fn perf_count(text: &str) -> Option<u64> {
    text.lines().find(|line| line.contains(PERF_EVENT))?.split(',').next()?.parse().ok()
}

fn strace_count(text: &str) -> Option<u64> {
    let total = text.lines().find(|line| line.trim_end().ends_with(" total"))?;
    total.split_whitespace().nth(3)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::{perf_count, strace_count};

    #[test]
    fn perf_prints_the_count_first() {
        let text = "# started on Fri Nov 21 03:10:00 2026\n\n1234,,raw_syscalls:sys_enter,801004,100.00,,\n";
        assert_eq!(perf_count(text), Some(1234));
    }

    #[test]
    fn an_event_perf_may_not_read_has_no_count() {
        assert_eq!(perf_count("<not supported>,,raw_syscalls:sys_enter,0,100.00,,\n"), None);
    }

    #[test]
    fn strace_prints_the_count_in_its_total_line() {
        let text = "% time     seconds  usecs/call     calls    errors syscall\n\
                    ------ ----------- ----------- --------- --------- ----------------\n\
                     60.00    0.000120           4        30         2 read\n\
                    ------ ----------- ----------- --------- --------- ----------------\n\
                    100.00    0.000200           3        57         2 total\n";
        assert_eq!(strace_count(text), Some(57));
    }
}
