//! A worker in a process of its own that is stopped and goes on: this test binary, started again to run `the_part` alone.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::thread;
use std::time::Duration;

use hairstreak_services::{MemoryStore, Worker, WorkerOptions};
use hairstreak_testkit::until;
use rustix::process::{Pid, Signal, kill_process};

use crate::broker::{Broker, PATIENCE, place};

/// Set for a process that is to be a worker: where its broker is.
const PART: &str = "HAIRSTREAK_TEST_PAUSED";
/// Before what it says.
const MARK: &str = "begins ";
/// After so long the worker expects to be given up; and longer than that.
const LIMIT_MS: u64 = 300;
const PAUSE: Duration = Duration::from_millis(600);

/// A worker's process; killed when it is dropped.
struct Part(Child, BufReader<ChildStdout>);

impl Part {
    fn start(place: &str) -> Part {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "paused::the_part", "--nocapture"]).env(PART, place);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap());
        Part(child, lines)
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.0), signal).unwrap();
    }

    /// Stops the process. The threads of a process stop one after the other: one that is not stopped yet could still take a message.
    fn stop(&self) {
        self.signal(Signal::STOP);
        until("all threads are stopped", || self.is_stopped());
    }

    fn is_stopped(&self) -> bool {
        let tasks = std::fs::read_dir(format!("/proc/{}/task", self.0.id())).unwrap();
        tasks.map(|task| std::fs::read_to_string(task.unwrap().path().join("stat"))).all(|stat| {
            // A thread that has ended has no state. The name before the state ends with a parenthesis.
            stat.map_or(true, |stat| stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('T')))
        })
    }

    /// The number of the next request that it begins, and whether that is marked as repeated.
    fn begins(&mut self) -> (u64, bool) {
        loop {
            let mut line = String::new();
            assert!(self.1.read_line(&mut line).unwrap() > 0, "it has ended");
            if let Some((_, said)) = line.trim_end().split_once(MARK) {
                let (number, mark) = said.split_once(' ').unwrap();
                return (number.parse().unwrap(), mark == "1");
            }
        }
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The process that is a worker. Run with the others it has nothing to do.
#[test]
fn the_part() {
    let Ok(place) = std::env::var(PART) else { return };
    thread::spawn(|| {
        // A test that is gone waits for nobody.
        std::io::stdin().lines().for_each(drop);
        std::process::abort();
    });
    // Only the pause is to end anything here.
    let options =
        WorkerOptions { heartbeat_ms: 0, heartbeat_timeout_ms: LIMIT_MS, ..WorkerOptions::default() };
    let worker = Worker::with_options(&[&place], "echo", options, MemoryStore::new()).unwrap();
    let result = worker.run(|request| {
        let number = String::from_utf8_lossy(request.body());
        let mut out = std::io::stdout();
        writeln!(out, "{MARK}{number} {}", u8::from(request.is_repeated()))?;
        out.flush()?;
        Ok(request.body().into())
    });
    panic!("a worker ended: {result:?}");
}

#[test]
fn what_came_to_a_worker_that_was_stopped_is_marked_or_dropped_if_its_connection_is_over() {
    let place = place(12);
    let mut part = Part::start(&place);
    let first = Broker::at(&place);
    first.welcome();
    first.until_ready();
    part.stop();
    first.ask(1);
    first.router.flush();
    // tidy: allow(sleeps) so long the process does not run
    thread::sleep(PAUSE);
    part.signal(Signal::CONT);
    assert_eq!(part.begins(), (1, true), "its broker may have given it to another");
    first.replies_with(1);
    part.stop();
    first.ask(2);
    first.router.flush();
    first.until_arrived();
    drop(first);
    // tidy: allow(sleeps) so long the process does not run, and the connection ends meanwhile
    thread::sleep(PAUSE);
    let listening = thread::spawn({
        let place = place.clone();
        move || Broker::at(&place)
    });
    part.signal(Signal::CONT);
    let second = listening.join().unwrap();
    second.welcome();
    assert_eq!(second.until_ready().1, [1], "the second request is another's");
    second.ask(3);
    assert_eq!(part.begins().0, 3);
    assert!(second.router.recv_timeout(PATIENCE).is_ok());
}
