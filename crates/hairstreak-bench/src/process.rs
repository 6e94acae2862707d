//! Worker processes: this binary started again as a child, spoken to by lines on its standard input and output.
//!
//! Invariants: a child does not outlive its [`Worker`] (dropping kills and reaps it), nor the benchmark itself: a
//! child watches its standard input and exits when that closes without the word [`FINISH`] (see [`orders`]).
//! Its standard error is the benchmark's own.

use std::io::{self, BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::thread;

/// The line that tells a worker that the sample is complete: it stops, reports and exits.
pub const FINISH: &str = "finish";

/// What a worker did, as seen by the benchmark.
#[derive(Debug)]
pub enum Event {
    /// It printed a line.
    Line(String),
    /// It closed its standard output: it has ended or is about to.
    Ended,
}

/// A running child and its standard input.
#[derive(Debug)]
pub struct Worker {
    child: Child,
    input: Option<ChildStdin>,
}

impl Worker {
    /// Starts `command`; its lines arrive in `events` under the number `index`.
    pub fn spawn(
        mut command: Command,
        index: usize,
        events: mpsc::Sender<(usize, Event)>,
    ) -> Result<Self, io::Error> {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let input = child.stdin.take();
        if let Some(output) = child.stdout.take() {
            thread::spawn(move || {
                for line in BufReader::new(output).lines().map_while(Result::ok) {
                    if events.send((index, Event::Line(line))).is_err() {
                        return;
                    }
                }
                // Nobody listens any more when the sample has been given up.
                let _ = events.send((index, Event::Ended));
            });
        }
        Ok(Self { child, input })
    }

    /// Tells the worker that the sample is complete.
    pub fn finish(&mut self) -> Result<(), io::Error> {
        match self.input.as_mut() {
            Some(input) => writeln!(input, "{FINISH}"),
            None => Ok(()),
        }
    }

    /// Waits until it has exited.
    pub fn wait(&mut self) -> Result<ExitStatus, io::Error> {
        self.child.wait()
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // Both fail only if the child has been reaped already. Closing the input stops a worker behind a tracer, which
        // a signal to the tracer would not reach.
        drop(self.input.take());
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The worker's side of the conversation: a receiver that yields once when [`FINISH`] arrives.
///
/// A standard input that closes without it means that the benchmark is gone: the process exits at once.
pub fn orders() -> mpsc::Receiver<()> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let is_finish = io::stdin().lines().map_while(Result::ok).any(|line| line == FINISH);
        if !is_finish {
            std::process::exit(1);
        }
        // The worker may have finished by itself and dropped the receiver.
        let _ = sender.send(());
    });
    receiver
}

#[cfg(test)]
mod tests {
    use std::process::Command;
    use std::sync::mpsc;

    use super::{Event, Worker};

    #[test]
    fn lines_arrive_before_the_end() {
        let (sender, events) = mpsc::channel();
        let mut command = Command::new("sh");
        command.args(["-c", "echo one; read word; echo $word"]);
        let mut worker = Worker::spawn(command, 7, sender).unwrap();
        assert!(matches!(events.recv().unwrap(), (7, Event::Line(line)) if line == "one"));
        worker.finish().unwrap();
        assert!(matches!(events.recv().unwrap(), (7, Event::Line(line)) if line == "finish"));
        assert!(matches!(events.recv().unwrap(), (7, Event::Ended)));
        assert!(worker.wait().unwrap().success());
    }

    #[test]
    fn a_dropped_worker_is_gone() {
        let (sender, events) = mpsc::channel();
        let mut command = Command::new("sh");
        command.args(["-c", "echo $$; exec cat"]);
        let worker = Worker::spawn(command, 0, sender).unwrap();
        let (_, Event::Line(id)) = events.recv().unwrap() else { panic!("no process id") };
        drop(worker);
        assert!(!std::path::Path::new(&format!("/proc/{id}")).exists());
    }
}
