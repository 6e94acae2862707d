//! `BoundedChild`, `BoundedCommand`: waits for child processes, with a bound.
//!
//! A process that does not end in time is killed, and the test fails: a test that hangs has no diagnosis.

use std::fmt::Debug;
use std::io::Read;
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use crate::until::PATIENCE;

/// The bound of a process in the short form of the tests. Suites of other clients take minutes.
const PROCESS_PATIENCE: Duration = Duration::from_secs(6 * PATIENCE.as_secs());

/// The bound of a process. The long form of the tests has processes that run for an hour.
fn patience() -> Duration {
    PROCESS_PATIENCE * if std::env::var_os("HAIRSTREAK_SOAK").is_some() { 60 } else { 1 }
}

/// A child process that is about to end.
pub trait BoundedChild {
    /// Waits for the end. The standard input of the process is closed.
    ///
    /// # Panics
    ///
    /// If the process does not end in time.
    fn end(&mut self) -> ExitStatus;

    /// As [`BoundedChild::end`], and returns the output that was piped.
    ///
    /// # Panics
    ///
    /// If the process does not end in time, or the output does not end with the process.
    fn end_with_output(self) -> Output;
}

impl BoundedChild for Child {
    #[track_caller]
    fn end(&mut self) -> ExitStatus {
        end_within(self, patience())
    }

    #[track_caller]
    fn end_with_output(mut self) -> Output {
        let (stdout, stderr) = (collect(self.stdout.take()), collect(self.stderr.take()));
        let status = self.end();
        let whole = |bytes: Receiver<Vec<u8>>, name: &str| {
            bytes
                .recv_timeout(patience())
                .unwrap_or_else(|_| panic!("{name} goes on after the end of the process"))
        };
        Output { status, stdout: whole(stdout, "standard output"), stderr: whole(stderr, "standard error") }
    }
}

/// A command that is run to its end.
pub trait BoundedCommand {
    /// Runs the command with an empty input, and returns its output.
    ///
    /// # Panics
    ///
    /// If the command does not start, or does not end in time.
    fn run_to_end(&mut self) -> Output;
}

impl BoundedCommand for Command {
    #[track_caller]
    fn run_to_end(&mut self) -> Output {
        let child = self.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
        child.unwrap_or_else(|error| panic!("{self:?}: {error}")).end_with_output()
    }
}

#[track_caller]
fn end_within(child: &mut Child, patience: Duration) -> ExitStatus {
    drop(child.stdin.take());
    let start = Instant::now();
    loop {
        if let Some(status) = child.try_wait().expect("a child of this process") {
            return status;
        }
        if start.elapsed() >= patience {
            // The process may have ended by now.
            let _ = child.kill();
            let _ = child.wait();
            panic!("process {} did not end within {patience:?}", child.id());
        }
        // tidy: allow(sleeps) the end of a process among several is not told without a wait for each
        thread::sleep(Duration::from_millis(1));
    }
}

/// Reads to the end in a thread, so that the process never waits for room.
fn collect(pipe: Option<impl Read + Send + Debug + 'static>) -> Receiver<Vec<u8>> {
    let (whole, bytes) = channel();
    thread::spawn(move || {
        let mut read = Vec::new();
        if let Some(mut pipe) = pipe {
            // An error ends the output as an end does.
            let _ = pipe.read_to_end(&mut read);
        }
        // A test that waits no longer has failed.
        let _ = whole.send(read);
    });
    bytes
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use super::*;

    #[test]
    fn a_process_has_its_output_and_its_status_in_the_end() {
        let output =
            Command::new("sh").args(["-c", "cat; echo said; echo complained >&2; exit 3"]).run_to_end();
        assert_eq!((output.status.code(), &*output.stdout), (Some(3), &b"said\n"[..]));
        assert_eq!(output.stderr, b"complained\n");
    }

    #[test]
    fn a_process_that_does_not_end_is_killed_and_named() {
        let mut child = Command::new("sleep").arg("1000").spawn().unwrap();
        let wait = AssertUnwindSafe(|| end_within(&mut child, Duration::from_millis(10)));
        let panic = catch_unwind(wait).expect_err("a panic");
        let message = panic.downcast_ref::<String>().unwrap();
        assert_eq!(*message, format!("process {} did not end within 10ms", child.id()));
        assert!(!child.try_wait().unwrap().unwrap().success(), "it is dead");
    }
}
