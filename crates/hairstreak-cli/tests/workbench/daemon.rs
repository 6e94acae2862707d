//! `Daemon`: the program, running until a signal ends it.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ChildStderr, ChildStdout, Command, Stdio};

use hairstreak_testkit::BoundedChild;
use rustix::process::{Pid, Signal, kill_process};

pub struct Daemon {
    child: Child,
    stdout: BufReader<ChildStdout>,
    stderr: BufReader<ChildStderr>,
}

/// The end of the program, and the rest of its output.
#[derive(Debug, PartialEq, Eq)]
pub struct End {
    pub status: Option<i32>,
    pub output: String,
    pub errors: String,
}

impl Daemon {
    /// `hairstreak COMMAND ARGUMENTS...`
    pub fn start(command: &str, arguments: &[&str]) -> Daemon {
        let mut child = Command::new(env!("CARGO_BIN_EXE_hairstreak"))
            .arg(command)
            .args(arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let stderr = BufReader::new(child.stderr.take().unwrap());
        Daemon { child, stdout, stderr }
    }

    /// The endpoint of a part of the program, from the next line.
    pub fn place(&mut self, part: &str) -> String {
        let line = read_line(&mut self.stdout);
        let place = line.strip_prefix(part).and_then(|rest| rest.strip_prefix(" at "));
        place.unwrap_or_else(|| panic!("{line:?}")).to_owned()
    }

    /// The next line of standard output.
    pub fn line(&mut self) -> String {
        read_line(&mut self.stdout)
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// The next line of standard error.
    pub fn error_line(&mut self) -> String {
        read_line(&mut self.stderr)
    }

    /// The message of the next line of the log, with its fields.
    pub fn logged(&mut self) -> String {
        message(&self.error_line()).to_owned()
    }

    /// Sends a signal to the program.
    pub fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// Sends a signal, and waits for the end of the program.
    pub fn end_by(self, signal: Signal) -> End {
        self.signal(signal);
        self.end()
    }

    /// Waits for the end of the program.
    pub fn end(mut self) -> End {
        let (mut output, mut errors) = (String::new(), String::new());
        self.stdout.read_to_string(&mut output).unwrap();
        self.stderr.read_to_string(&mut errors).unwrap();
        End { status: self.child.end().code(), output, errors }
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        // The program has ended already unless the test failed.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A line of the log without its time: `[level] message`.
pub fn message(line: &str) -> &str {
    let (time, rest) = line.split_at_checked("2026-11-25 16:00:00.123456+00:00 ".len()).unwrap_or_default();
    assert!(time.ends_with("+00:00 "), "{line:?} is no line of the log");
    rest
}

fn read_line(from: &mut impl BufRead) -> String {
    let mut line = String::new();
    from.read_line(&mut line).unwrap();
    line.trim_end().to_owned()
}
