//! Runs of the built binary on some input, for at most two minutes, and its processes.

use std::fs;
use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use hairstreak_testkit::{BoundedChild, until};

/// The binary under test.
pub const HAIRSTREAK: &str = env!("CARGO_BIN_EXE_hairstreak");
/// A time limit that only a hanging test reaches.
pub const LONG: Duration = Duration::from_secs(100);

/// The end of a run, and its output.
#[derive(Debug)]
pub struct Outcome {
    pub status: i32,
    pub stdout: Vec<u8>,
    pub stderr: String,
}

/// A run. A thread writes its standard input, unless the test keeps the pipe.
pub struct Running {
    pub child: Child,
    feeder: Option<JoinHandle<()>>,
}

/// `hairstreak WORDS...`, killed after a while, with pipes for its standard streams. It ignores no signal, even if the tests were
/// started with ignored signals.
pub fn command(words: &[&str]) -> Command {
    let mut command = Command::new("env");
    command.args(["--default-signal=HUP,INT,TERM", "timeout", "--foreground", "--signal=KILL", "120"]);
    command.arg(HAIRSTREAK).args(words);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Starts `hairstreak map WORDS...` on this input.
pub fn start(words: &[&str], input: impl Into<Vec<u8>>) -> Running {
    let words = [&["map"], words].concat();
    let mut child = command(&words).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.into();
    // A program that closes its input has read enough.
    let feeder = thread::spawn(move || drop(stdin.write_all(&input)));
    Running { child, feeder: Some(feeder) }
}

/// Runs `hairstreak map WORDS...` on this input.
pub fn map(words: &[&str], input: impl Into<Vec<u8>>) -> Outcome {
    start(words, input).end()
}

/// The numbers from 1 to `count`, one a line.
pub fn numbers(count: usize) -> String {
    (1..=count).map(|number| format!("{number}\n")).collect()
}

impl Running {
    /// The process id of `hairstreak` itself.
    pub fn id(&self) -> i32 {
        until("hairstreak runs under its parent", || children_of(self.child.id() as i32).first().copied())
    }

    /// Waits for the end of the run, and of all processes that write to the same pipes.
    #[track_caller]
    pub fn end(mut self) -> Outcome {
        let (ended, output) = mpsc::channel();
        let child = self.child;
        thread::spawn(move || drop(ended.send(child.end_with_output())));
        let output = output.recv_timeout(LONG).expect("its pipes are closed in time");
        self.feeder.take().unwrap().join().unwrap();
        output.into()
    }
}

impl From<std::process::Output> for Outcome {
    fn from(output: std::process::Output) -> Outcome {
        Outcome {
            status: output.status.code().unwrap_or_else(|| -output.status.signal().unwrap_or(0)),
            stdout: output.stdout,
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

impl Outcome {
    /// The run must succeed, with nothing on standard error. Returns its output.
    #[track_caller]
    pub fn good(self) -> String {
        assert_eq!((self.status, self.stderr.as_str()), (0, ""), "{self:?}");
        self.text()
    }

    #[track_caller]
    pub fn text(self) -> String {
        String::from_utf8(self.stdout).unwrap()
    }

    /// The numbers of the output, one a line, sorted.
    #[track_caller]
    pub fn sorted(self) -> Vec<usize> {
        let text = self.good();
        let mut numbers: Vec<usize> = text.lines().map(|line| line.parse().unwrap()).collect();
        numbers.sort_unstable();
        numbers
    }
}

/// The living child processes of a process.
pub fn children_of(process: i32) -> Vec<i32> {
    let Ok(threads) = fs::read_dir(format!("/proc/{process}/task")) else { return Vec::new() };
    let children = threads.flatten().flat_map(|thread| {
        let list = fs::read_to_string(thread.path().join("children")).unwrap_or_default();
        list.split_whitespace().map(|id| id.parse().unwrap()).collect::<Vec<i32>>()
    });
    children.filter(|&child| lives(child)).collect()
}

/// Returns `true` if the process exists and has not ended.
pub fn lives(process: i32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with(['Z', 'X']))
}

/// A unique ipc endpoint.
pub fn place(name: &str) -> String {
    format!("ipc://@hairstreak-map-{}-{name}", std::process::id())
}

/// A new folder.
pub fn folder(name: &str) -> PathBuf {
    let folder =
        PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("map-{}-{name}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    folder
}
