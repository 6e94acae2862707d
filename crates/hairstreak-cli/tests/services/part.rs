//! A worker in a process of its own: this test binary, started again to run only `the_part`. The worker writes each execution to a
//! file before its reply, so that the test knows all executions.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use hairstreak::service::{MemoryStore, Worker, WorkerOptions};
use hairstreak_testkit::BoundedChild;

/// The variable that makes a process a worker: its file, the time of a request in microseconds, and its brokers.
const PART: &str = "HAIRSTREAK_TEST_WORKER";

/// A worker's process.
pub struct Part(Child);

/// The record of a worker that has begun a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Execution {
    pub request: String,
    pub process: u32,
    pub is_repeated: bool,
}

impl Part {
    pub fn start(log: &Path, work: Duration, brokers: &[&str]) -> Part {
        let words = format!("{} {} {}", log.display(), work.as_micros(), brokers.join(" "));
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "part::the_part", "--nocapture"]).env(PART, words);
        Part(command.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap())
    }

    /// The process id.
    pub fn id(&self) -> u32 {
        self.0.id()
    }

    /// Kills the process by SIGKILL, and returns its number.
    pub fn kill(mut self) -> u32 {
        self.0.kill().unwrap();
        self.0.end();
        self.id()
    }
}

/// The worker in its process. In an ordinary run of the tests it does nothing.
#[test]
fn the_part() {
    let Ok(words) = std::env::var(PART) else { return };
    thread::spawn(|| {
        // The worker ends with the test that started it.
        std::io::stdin().lines().for_each(drop);
        std::process::abort();
    });
    let mut words = words.split(' ');
    let log = OpenOptions::new().append(true).open(words.next().unwrap()).unwrap();
    let work = Duration::from_micros(words.next().unwrap().parse().unwrap());
    let brokers: Vec<&str> = words.collect();
    let options = WorkerOptions { capacity: Some(64), ..WorkerOptions::default() };
    let worker = Worker::with_options(&brokers, "work", options, MemoryStore::new()).unwrap();
    let process = std::process::id();
    let result = worker.run(|request| {
        let line = format!("{} {process} {}\n", request.id().unwrap(), u8::from(request.is_repeated()));
        (&log).write_all(line.as_bytes())?;
        if !work.is_zero() {
            // tidy: allow(sleeps) this is the work
            thread::sleep(work);
        }
        Ok(format!("{} by {process}", String::from_utf8_lossy(request.body())).into())
    });
    panic!("a worker ended: {result:?}");
}

/// The executions so far, in order.
pub fn executions(log: &Path) -> Vec<Execution> {
    let text = std::fs::read_to_string(log).unwrap();
    let execution = |line: &str| {
        let words: Vec<&str> = line.split(' ').collect();
        let [request, process, is_repeated] = words[..] else { panic!("{line:?}") };
        Execution {
            request: request.to_owned(),
            process: process.parse().unwrap(),
            is_repeated: is_repeated == "1",
        }
    };
    text.lines().map(execution).collect()
}

/// A new file for executions.
pub fn new_log(name: &str) -> std::path::PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}", std::process::id()));
    File::create(&path).unwrap();
    path
}
