//! An input that nobody writes to: the run waits for it, and ends when it is told to.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::Child;

use rustix::fs::{CWD, FileType, Mode, mknodat};
use rustix::process::{Pid, Signal, kill_process};

use crate::harness::{Job, Outcome};

/// A job that reads lines from `input`, where there is a pipe called `pipe`.
fn job(input: &str) -> Job {
    let job = Job::new(&format!(
        "[[stage]]\nname = 'a'\ncommand = 'echo up >&2; exec cat'\nframing = 'lines'\n\
         [input]\nlines = '{input}'\n[output]\nstdout = true"
    ));
    mknodat(CWD, job.folder.join("pipe"), FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    job
}

/// Starts the run and waits until its stage is up.
fn start(job: &Job) -> Child {
    let mut runner = job.start_guarded(&["--verbose"]);
    let mut line = String::new();
    BufReader::with_capacity(1, runner.stderr.as_mut().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "a 1: up\n");
    runner
}

#[test]
fn a_signal_ends_a_run_whose_input_does_not_come() {
    for input in ["pipe", "/dev/stdin", "-"] {
        for (signal, status, name) in [(Signal::INT, 130, "SIGINT"), (Signal::TERM, 143, "SIGTERM")] {
            let job = job(input);
            let mut runner = start(&job);
            let _open = runner.stdin.take();
            kill_process(Pid::from_child(&runner), signal).unwrap();
            let outcome = Outcome::from(runner.wait_with_output().unwrap());
            assert_eq!(outcome.refusal(status), format!("stopped by {name} after 0 messages"));
        }
    }
}

#[test]
fn a_pipe_is_waited_for_until_it_has_had_a_writer() {
    let job = job("pipe");
    let runner = start(&job);
    fs::write(job.folder.join("pipe"), "one\ntwo").unwrap();
    let outcome = Outcome::from(runner.wait_with_output().unwrap());
    assert_eq!((outcome.status, outcome.stdout.as_str()), (0, "one\ntwo\n"));
}

#[test]
fn what_stands_behind_dev_stdin_is_read_as_it_comes() {
    use std::io::Write;
    let job = job("/dev/stdin");
    let mut runner = start(&job);
    let mut stdin = runner.stdin.take().unwrap();
    let mut results = BufReader::new(runner.stdout.take().unwrap()).lines();
    for line in ["one", "two"] {
        writeln!(stdin, "{line}").unwrap();
        assert_eq!(results.next().unwrap().unwrap(), line);
    }
    drop(stdin);
    assert_eq!(runner.wait().unwrap().code(), Some(0));
}
