//! `Script`: majordomo.py in one of its roles, and programs of this checkout, as child processes that end with the test.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};

/// A child process, whose lines are read; killed when it is dropped.
pub struct Script {
    child: Child,
    stdout: BufReader<ChildStdout>,
}

impl Script {
    /// majordomo.py in this role.
    pub fn majordomo(words: &[&str]) -> Script {
        let crate_folder = Path::new(env!("CARGO_MANIFEST_DIR"));
        let python = crate_folder.join("../../.venv/bin/python");
        assert!(python.exists(), "{} is missing; scripts/test-setup makes it", python.display());
        let script = crate_folder.join("tests/services/majordomo.py");
        Script::start(Command::new(python).arg(script).args(words))
    }

    /// `hairstreak WORDS...`
    pub fn hairstreak(words: &[&str]) -> Script {
        Script::start(Command::new(env!("CARGO_BIN_EXE_hairstreak")).args(words))
    }

    fn start(command: &mut Command) -> Script {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        Script { child, stdout }
    }

    pub fn line(&mut self) -> String {
        let mut line = String::new();
        self.stdout.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    /// Returns `true` if the process has ended by itself.
    pub fn is_gone(&mut self) -> bool {
        self.child.try_wait().unwrap().is_some()
    }

    /// Kills the process with SIGKILL, and waits for its end.
    pub fn kill(mut self) {
        self.end();
    }

    fn end(&mut self) {
        // The process may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Script {
    fn drop(&mut self) {
        self.end();
    }
}
