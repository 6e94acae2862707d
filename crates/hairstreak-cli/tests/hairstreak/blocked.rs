//! An input without a writer and an output without a reader: the run waits, and ends on a signal.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command};

use hairstreak_testkit::{BoundedChild, BoundedCommand, until};
use rustix::fs::{CWD, FileType, Mode, mknodat};
use rustix::process::{Pid, Signal, kill_process};

use crate::harness::{Job, Outcome};

/// A job that reads lines from `input`, in a folder with a pipe named `pipe`.
fn job(input: &str) -> Job {
    job_with(&format!("[input]\nlines = '{input}'\n[output]\nstdout = true"))
}

fn job_with(ends: &str) -> Job {
    let job = Job::new(&format!(
        "[[stage]]\nname = 'a'\ncommand = 'echo up >&2; exec cat'\nframing = 'lines'\n{ends}"
    ));
    mknodat(CWD, job.folder.join("pipe"), FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    job
}

/// Starts the run and waits until its stage is running.
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
            let outcome = Outcome::from(runner.end_with_output());
            assert_eq!(outcome.refusal(status), format!("stopped by {name} after 0 messages"));
        }
    }
}

/// Writes two lines into `pipe`.
fn writing_job() -> Job {
    let job = job_with("[input]\nlines = 'two'\n[output]\nfile = 'pipe'\nframing = 'lines'");
    fs::write(job.folder.join("two"), "one\ntwo\n").unwrap();
    job
}

/// Waits until the program that the guard has started handles the signal.
fn wait_until_minded(guard: &Child, signal: Signal) {
    until("the program catches the signal", || minds(guard.id(), signal).unwrap_or(false));
}

fn minds(guard: u32, signal: Signal) -> Option<bool> {
    let children = fs::read_to_string(format!("/proc/{guard}/task/{guard}/children")).ok()?;
    let status = fs::read_to_string(format!("/proc/{}/status", children.trim())).ok()?;
    let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"))?;
    let mask = u64::from_str_radix(caught.trim(), 16).ok()?;
    // Before its exec the process is a fork of the guard.
    Some(status.starts_with("Name:\thairstreak\n") && mask >> (signal.as_raw() - 1) & 1 == 1)
}

#[test]
fn an_output_pipe_is_waited_for_until_it_has_a_reader() {
    let job = writing_job();
    let runner = job.start_guarded(&[]);
    wait_until_minded(&runner, Signal::TERM);
    let pipe = Command::new("timeout").args(["60", "cat", "pipe"]).current_dir(&job.folder).run_to_end();
    assert_eq!(String::from_utf8(pipe.stdout).unwrap(), "one\ntwo\n");
    assert_eq!(Outcome::from(runner.end_with_output()).status, 0);
}

#[test]
fn a_pipe_is_waited_for_until_it_has_had_a_writer() {
    let job = job("pipe");
    let runner = start(&job);
    fs::write(job.folder.join("pipe"), "one\ntwo").unwrap();
    let outcome = Outcome::from(runner.end_with_output());
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
    assert_eq!(runner.end().code(), Some(0));
}
