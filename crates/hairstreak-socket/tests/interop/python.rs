//! `Python`: a script of tests/python in a process of its own, spoken to line by line.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};

const CRATE: &str = env!("CARGO_MANIFEST_DIR");

/// A running script. Dropped before it has finished, it is killed.
pub struct Python {
    name: String,
    child: Child,
    /// `None` once it has been ended.
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Python {
    /// Starts `script` with these arguments.
    pub fn start<A: ToString>(script: &str, arguments: impl IntoIterator<Item = A>) -> Python {
        let interpreter = format!("{CRATE}/../../.venv/bin/python");
        let arguments: Vec<String> = arguments.into_iter().map(|argument| argument.to_string()).collect();
        let name = format!("{script} {}", arguments.join(" "));
        let mut child = Command::new(&interpreter)
            .arg(format!("{CRATE}/tests/python/{script}"))
            .args(&arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap_or_else(|e| panic!("{interpreter}: {e}: run scripts/test-setup, which makes it"));
        let (input, output) = (child.stdin.take(), child.stdout.take().unwrap());
        Python { name, child, input, output: BufReader::new(output) }
    }

    /// The rest of the script's next line, which begins with `word`.
    pub fn hear(&mut self, word: &str) -> String {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        match line.trim_end().split_once(' ').unwrap_or((line.trim_end(), "")) {
            (first, rest) if first == word => rest.to_owned(),
            _ => panic!("{}: said {line:?} instead of {word}", self.name),
        }
    }

    /// Has the script go on.
    pub fn say(&mut self, word: &str) {
        let input = self.input.as_mut().unwrap();
        writeln!(input, "{word}").unwrap_or_else(|e| panic!("{}: {e}", self.name));
    }

    /// Tells the script that nothing more will be said.
    pub fn end_input(&mut self) {
        self.input = None;
    }

    /// Stops the process as it stands: its connections stay, it answers nothing.
    pub fn freeze(&self) {
        kill_process(self.pid(), Signal::STOP).unwrap();
    }

    /// Has a frozen process go on.
    pub fn thaw(&self) {
        kill_process(self.pid(), Signal::CONT).unwrap();
    }

    /// Waits for the script's end, which must be a good one.
    pub fn finish(mut self) {
        let status = self.child.wait().unwrap();
        assert!(status.success(), "{}: {status}", self.name);
    }

    fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }
}

impl Drop for Python {
    fn drop(&mut self) {
        // Only a child that has been waited for cannot be killed.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
