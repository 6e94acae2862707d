//! A part of a pipeline in a process of its own.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use hairstreak::pipeline::{PipelineOptions, Reply, Worker};

/// Set for a process that is to be a worker: where tasks come from and where results go.
const WORKER: &str = "HAIRSTREAK_TEST_WORKER";
/// How a line begins that is for the test and not of the test harness.
const MARK: &str = "@ ";

/// The process that is a worker. Run with the others it has nothing to do.
#[test]
fn the_part() {
    let Ok(words) = std::env::var(WORKER) else { return };
    let [from, to, window] = words.split(' ').collect::<Vec<_>>()[..] else { panic!("{words}") };
    let options = PipelineOptions { window: window.parse().unwrap(), ..PipelineOptions::default() };
    let worker = Worker::connect(from, to, &options).unwrap();
    println!("\n{MARK}ready");
    worker.run(|task| Reply::Result(task.message.clone())).unwrap();
    println!("\n{MARK}ended");
}

/// Starts a worker.
pub fn worker(from: &str, to: &str, window: usize) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "part::the_part", "--nocapture", "--test-threads=1"])
        .env(WORKER, format!("{from} {to} {window}"))
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// Whether a worker that has ended by itself has said that the work is done.
pub fn has_ended_well(child: &mut Child) -> bool {
    let said = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok).collect::<Vec<_>>();
    let ended = said.iter().any(|line| line == &format!("{MARK}ended"));
    child.wait().unwrap().success() && ended
}
