//! Standard output and standard error that are closed or full: no panic, logs are dropped, and a result
//! that cannot be written is one clear line.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::Duration;

use hairstreak::{Component, Scope};
use hairstreak_testkit::BoundedChild;
use rustix::process::{Pid, Signal, kill_process};

use crate::harness::{HAIRSTREAK, Job, Outcome};

const FULL: &str = "cannot write to standard output: No space left on device (os error 28)";
const ECHO: &str = "[[stage]]\nname = 'echo'\necho = true\n";

fn full() -> File {
    File::options().write(true).open("/dev/full").unwrap()
}

/// A pipe whose reader has gone.
fn closed() -> Stdio {
    let (_, writer) = std::io::pipe().unwrap();
    writer.into()
}

/// Runs a command for at most a minute, because some commands serve for ever.
fn hairstreak(arguments: &[&str]) -> Command {
    let mut command = Command::new("timeout");
    command
        .args(["--foreground", "60", HAIRSTREAK])
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

fn outcome(command: &mut Command) -> Outcome {
    // Streams that a test does not redirect are piped.
    command.output().unwrap().into()
}

#[test]
fn a_log_that_cannot_be_written_leaves_the_directory_at_work() {
    for log in [full().into(), closed()] {
        let mut command = hairstreak(&["serve", "--bind", "tcp://127.0.0.1:*", "--verbose"]);
        let mut serving = command.stderr(log).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(serving.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let endpoint = line.trim_end().strip_prefix("directory at ").unwrap();
        let node =
            Component::builder().directory(endpoint).patience(Duration::from_secs(20)).build().unwrap();
        let registered =
            ["a", "b", "c"].map(|name| node.queue(name).scope(Scope::Global).open().map(|_| ()).is_ok());
        kill_process(Pid::from_child(&serving), Signal::TERM).unwrap();
        assert_eq!(serving.end().code(), Some(0));
        assert_eq!(registered, [true; 3]);
    }
}

#[test]
fn a_place_that_cannot_be_announced_ends_it() {
    let proxy = ["proxy", "--frontend", "PULL@tcp://127.0.0.1:*", "--backend", "PUSH@tcp://127.0.0.1:*"];
    for arguments in [&["serve", "--bind", "tcp://127.0.0.1:*"][..], &proxy] {
        assert_eq!(outcome(hairstreak(arguments).stdout(full())).refusal(1), FULL);
        outcome(hairstreak(arguments).stdout(closed())).succeeded();
    }
}

#[test]
fn a_result_that_cannot_be_written_is_one_line() {
    let job = Job::new(&format!("{ECHO}process = '1ms'\n[input]\nmessages = 1"));
    for command in ["run", "plan"] {
        for options in [&[][..], &["--json"]] {
            assert_eq!(outcome(job.command(command, options).stdout(full())).refusal(1), FULL);
            outcome(job.command(command, options).stdout(closed())).succeeded();
        }
    }
    for arguments in [&["keygen"][..], &["--help"], &["run", "--help"], &["--version"]] {
        assert_eq!(outcome(hairstreak(arguments).stdout(full())).refusal(1), FULL);
        outcome(hairstreak(arguments).stdout(closed())).succeeded();
    }
}

#[test]
fn a_standard_output_that_was_closed_before_the_start_is_one_line_too() {
    let job = Job::new(&format!("{ECHO}process = '1ms'\n[input]\nmessages = 1000"));
    let writing = Job::new(&format!("{ECHO}[input]\nmessages = 1000\n[output]\nstdout = true"));
    let is_closed = |job: &Job, words: &[&str]| {
        let mut command = Command::new("sh");
        command.args(["-c", "exec timeout 60 \"$@\" >&-", "sh", HAIRSTREAK]).args(words);
        outcome(command.current_dir(&job.folder).stdin(Stdio::null()).stdout(Stdio::piped()))
            .refusal(1)
            .to_owned()
    };
    for words in [&["run", "job.toml"][..], &["plan", "job.toml"], &["keygen"]] {
        let line = "cannot write to standard output: Bad file descriptor (os error 9)";
        assert_eq!(is_closed(&job, words), line, "{words:?}");
    }
    let line = "cannot write standard output: Bad file descriptor (os error 9)";
    assert_eq!(is_closed(&writing, &["run", "job.toml"]), line);
}

#[test]
fn results_that_cannot_be_written_end_a_run() {
    let job = Job::new(&format!("{ECHO}[input]\nmessages = 1000\n[output]\nstdout = true"));
    let line = "cannot write standard output: No space left on device (os error 28)";
    assert_eq!(outcome(job.command("run", &[]).stdout(full())).refusal(1), line);
    let unread = outcome(job.command("run", &[]).stdout(closed()));
    assert_eq!((unread.status, unread.stderr.as_str()), (141, ""));
}

#[test]
fn progress_lines_and_errors_that_cannot_be_written_are_dropped() {
    let filter = "command = 'echo line >&2; exec cat'\nframing = 'lines'";
    let topology = format!("[[stage]]\nname = 'a'\n{filter}\n[input]\nmessages = 1\n[output]\nfile = 'out'");
    let job = Job::new(&topology);
    let refused = Job::new("[[stage]]");
    for options in [&["--progress", "always"][..], &["--verbose"]] {
        for log in [full().into(), closed()] {
            let done = outcome(job.command("run", options).stderr(log));
            assert_eq!(done.status, 0, "{done:?}");
            assert!(done.stdout.contains("1 message in "), "{done:?}");
        }
    }
    for log in [full().into(), closed()] {
        assert_eq!(outcome(refused.command("run", &[]).stderr(log)).status, 2);
    }
}

#[test]
fn a_secret_whose_public_key_could_not_be_shown_is_not_kept() {
    let job = Job::new("");
    let secret = job.folder.join("secret");
    let arguments = ["keygen", "--secret-file", secret.to_str().unwrap()];
    assert_eq!(outcome(hairstreak(&arguments).stdout(full())).refusal(1), FULL);
    let unread = outcome(hairstreak(&arguments).stdout(closed()));
    assert_eq!(unread.refusal(1), "nobody reads the public key on standard output");
    assert!(outcome(&mut hairstreak(&arguments)).succeeded().stdout.starts_with("public "));
    assert!(secret.exists());
}
