//! Processes under test: their input, their end, and unique names.

use std::fmt;
use std::io::Write;
use std::path::PathBuf;
use std::process::Child;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

use hairstreak_testkit::BoundedChild;

/// The program under test.
pub const HAIRSTREAK: &str = env!("CARGO_BIN_EXE_hairstreak");

/// The end of a command, and its output.
pub struct Outcome {
    pub status: Option<i32>,
    pub stdout: Vec<u8>,
    pub stderr: String,
}

/// Writes the input of a process, and waits for its end.
pub fn end(mut child: Child, input: &[u8]) -> Outcome {
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_vec();
    // A process that has ended reads no further input.
    let feeder = thread::spawn(move || drop(stdin.write_all(&input)));
    let output = child.end_with_output();
    feeder.join().unwrap();
    Outcome {
        status: output.status.code(),
        stdout: output.stdout,
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

impl fmt::Debug for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let output = String::from_utf8_lossy(&self.stdout);
        let start: String = output.chars().take(200).collect();
        write!(f, "status {:?}, {} bytes {start:?}, errors {:?}", self.status, self.stdout.len(), self.stderr)
    }
}

impl Outcome {
    #[track_caller]
    pub fn good(self) -> String {
        assert_eq!((self.status, self.stderr.as_str()), (Some(0), ""), "{self:?}");
        String::from_utf8(self.stdout).unwrap()
    }

    #[track_caller]
    pub fn bad(self, status: i32) -> String {
        assert_eq!(self.status, Some(status), "{self:?}");
        let line = self.stderr.strip_prefix("hairstreak: ").and_then(|rest| rest.strip_suffix('\n'));
        let line = line.unwrap_or_else(|| panic!("{self:?}"));
        assert_eq!(line.lines().count(), 1, "{line}");
        line.to_owned()
    }
}

/// A unique name.
pub fn unique(name: &str) -> String {
    static NEXT: AtomicU32 = AtomicU32::new(1);
    format!("{name}-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}

/// A new folder.
pub fn folder(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(unique(&format!("cli-{name}")));
    std::fs::create_dir_all(&folder).unwrap();
    folder
}
