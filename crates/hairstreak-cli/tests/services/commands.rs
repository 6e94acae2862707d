//! `call`, `worker` and `services` on the command line.

use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use hairstreak::service::{Client, ClientOptions};
use hairstreak_testkit::{BoundedChild, BoundedCommand, until};
use rustix::process::{Pid, Signal, kill_process_group};

use crate::broker;
use crate::daemon::Daemon;
use crate::script::Script;

fn hairstreak(words: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_hairstreak")).args(words).run_to_end()
}

fn texts(output: &Output) -> (Option<i32>, String, String) {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

#[test]
fn a_service_is_called_and_its_reply_printed() {
    let (_broker, at) = broker(&[]);
    let worker = ["--broker", &at, "--service", "shout", "--", "tr", "a-z", "A-Z"];
    let worker = Daemon::start("worker", &worker);
    let call = |words: &[&str]| texts(&hairstreak(&[&["call", "--broker", &at], words].concat()));
    assert_eq!(call(&["shout", "hello"]), (Some(0), "HELLO\n".into(), String::new()));
    assert_eq!(call(&["--raw", "shout", "hello"]), (Some(0), "HELLO".into(), String::new()));
    assert_eq!(call(&["mmi.service", "shout"]), (Some(0), "200\n".into(), String::new()));
    assert_eq!(call(&["mmi.service", "whisper"]), (Some(0), "404\n".into(), String::new()));
    let (status, _, errors) = call(&["--timeout", "300ms", "whisper", "hello"]);
    assert_eq!((status, errors.as_str()), (Some(1), "hairstreak: whisper: no reply within 300ms\n"));
    let end = worker.end_by(Signal::TERM);
    assert_eq!((end.status, end.errors.as_str()), (Some(0), "hairstreak: 2 requests done\n"));
    assert_eq!(call(&["mmi.service", "shout"]).1, "404\n", "it has left");
}

#[test]
fn a_command_that_fails_fails_its_request_and_no_other() {
    let (_broker, at) = broker(&[]);
    let script = "read line; test \"$line\" != bad && echo \"$line\"";
    let worker = ["--broker", &at, "--service", "check", "--", "sh", "-c", script];
    let worker = Daemon::start("worker", &worker);
    let call = |body: &str| texts(&hairstreak(&["call", "--broker", &at, "--raw", "check", body]));
    assert_eq!(call("good").1, "good\n");
    let (status, _, errors) = call("bad");
    assert_eq!(
        (status, errors.as_str()),
        (Some(1), "hairstreak: check: the command failed: exit status: 1 (500)\n")
    );
    assert_eq!(call("good").1, "good\n");
    let end = worker.end_by(Signal::INT);
    assert_eq!(end.errors, "hairstreak: 3 requests done, 1 of them failed\n");
}

#[test]
fn a_broker_tells_of_its_services() {
    let (_broker, at) = broker(&[]);
    let _worker = Script::hairstreak(&["worker", "--broker", &at, "--service", "shout", "-j3", "--", "cat"]);
    assert_eq!(texts(&hairstreak(&["call", "--broker", &at, "shout", "hello"])).0, Some(0));
    let (status, table, errors) = texts(&hairstreak(&["services", "--broker", &at]));
    assert_eq!((status, errors.as_str()), (Some(0), ""));
    let row = table.lines().find(|line| line.starts_with("shout ")).unwrap();
    let cells: Vec<&str> = row.split_whitespace().collect();
    assert_eq!(cells[..8], ["shout", "1", "3", "0", "0", "0.0s", "1", "1"], "{table}");
    let json = hairstreak(&["services", "--broker", &at, "--json"]);
    let report: serde_json::Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!(report["services"][0]["capacity"], 3);
}

#[test]
fn a_terminal_s_ctrl_c_lets_the_command_end() {
    let (_broker, at) = broker(&[]);
    let words = [
        "worker",
        "--broker",
        &at,
        "--service",
        "slow",
        "--",
        "sh",
        "-c",
        "echo began >&2; sleep 1; printf done",
    ];
    let mut command = Command::new(env!("CARGO_BIN_EXE_hairstreak"));
    // A terminal's signal goes to all of its foreground group.
    let worker = command.args(words).process_group(0).stderr(Stdio::piped()).spawn();
    let mut worker = worker.unwrap();
    let call = std::thread::spawn(move || texts(&hairstreak(&["call", "--broker", &at, "slow", ""])));
    let mut errors = BufReader::new(worker.stderr.take().unwrap());
    let mut line = String::new();
    errors.read_line(&mut line).unwrap();
    assert_eq!(line, "began\n");
    kill_process_group(Pid::from_child(&worker), Signal::INT).unwrap();
    assert_eq!(call.join().unwrap(), (Some(0), "done\n".into(), String::new()));
    assert!(worker.end().success());
}

/// A worker whose command writes its process id to standard error, and then does not end.
fn endless_worker(at: &str) -> (std::process::Child, impl FnMut() -> i32) {
    let words =
        ["worker", "--broker", at, "--service", "slow", "--", "sh", "-c", "echo $$ >&2; exec sleep 600"];
    let mut command = Command::new(env!("CARGO_BIN_EXE_hairstreak"));
    let mut worker = command.args(words).stderr(Stdio::piped()).spawn().unwrap();
    let mut errors = BufReader::new(worker.stderr.take().unwrap());
    let next = move || {
        let mut line = String::new();
        errors.read_line(&mut line).unwrap();
        line.trim().parse().unwrap_or_else(|_| panic!("{line}"))
    };
    (worker, next)
}

fn await_service(at: &str, name: &str) {
    until(&format!("a worker serves {name}"), || {
        hairstreak(&["call", "--broker", at, "mmi.service", name]).stdout == b"200\n"
    });
}

fn await_end_of(process: i32) {
    until(&format!("process {process} is gone"), || !Path::new(&format!("/proc/{process}")).exists());
}

#[test]
fn a_command_that_nobody_waits_for_is_ended_and_the_next_one_begins() {
    let (_broker, at) = broker(&[]);
    let (mut worker, mut next) = endless_worker(&at);
    await_service(&at, "slow");
    for _ in 0..2 {
        let call = hairstreak(&["call", "--broker", &at, "--timeout", "3s", "slow", ""]);
        assert_eq!(call.status.code(), Some(1));
        await_end_of(next());
    }
    worker.kill().unwrap();
    worker.end();
}

#[test]
fn a_command_ends_with_its_worker() {
    let (_broker, at) = broker(&[]);
    let (mut worker, mut next) = endless_worker(&at);
    let call =
        Command::new(env!("CARGO_BIN_EXE_hairstreak")).args(["call", "--broker", &at, "slow", ""]).spawn();
    let mut call = call.unwrap();
    let process = next();
    worker.kill().unwrap();
    worker.end();
    await_end_of(process);
    call.kill().unwrap();
    call.end();
}

#[test]
fn a_reply_for_a_standard_output_that_is_closed_is_a_failure() {
    let (_broker, at) = broker(&[]);
    let script = format!("\"$0\" call --broker {at} mmi.service x >&-");
    let output = Command::new("sh").args(["-c", &script, env!("CARGO_BIN_EXE_hairstreak")]).run_to_end();
    let why = "hairstreak: cannot write to standard output: Bad file descriptor (os error 9)\n";
    assert_eq!(texts(&output), (Some(1), String::new(), why.to_owned()));
}

#[test]
fn a_limit_is_of_the_service_that_it_names() {
    let place = "tcp://127.0.0.1:*";
    let limits = ["--limit", "queue-age=300ms", "--limit", "none:queue-bytes=1"];
    let words = [&["--bind", place, "--services", place], &limits[..]].concat();
    let mut broker = Daemon::start("serve", &words);
    broker.place("directory");
    let at = broker.place("services");
    let call = |service: &str| texts(&hairstreak(&["call", "--broker", &at, service, "x"]));
    let (status, _, errors) = call("some");
    assert_eq!(
        (status, errors.as_str()),
        (Some(1), "hairstreak: some: no worker took the request in time (504)\n")
    );
    let (status, _, errors) = call("none");
    assert_eq!(
        (status, errors.as_str()),
        (Some(1), "hairstreak: none: as much waits for the service as may (503)\n")
    );
    let (status, _, errors) = texts(&hairstreak(&["serve", "--limit", "none:size=1"]));
    assert_eq!(status, Some(2));
    assert!(errors.contains("no limit is called \"size\": there are queue-count,"), "{errors}");
}

#[test]
fn what_makes_no_sense_is_one_clear_line() {
    for (words, line) in [
        (
            &["worker", "--service", "mmi.x", "--", "cat"][..],
            "hairstreak: \"mmi.x\" is a service of the broker itself\n",
        ),
        (
            &["worker", "--service", "", "--", "cat"],
            "hairstreak: a service's name of 0 bytes: it must have 1 to 255\n",
        ),
        (&["call", "", "x"], "hairstreak: a service's name of 0 bytes: it must have 1 to 255\n"),
    ] {
        let (status, _, errors) = texts(&hairstreak(words));
        let last = errors.lines().last().unwrap_or_default();
        assert_eq!((status, format!("{last}\n")), (Some(2), line.to_owned()), "{words:?}");
    }
    let (status, _, errors) = texts(&hairstreak(&["call", "--broker", "udp://x", "shout", "x"]));
    assert_eq!((status, errors.lines().count()), (Some(2), 1), "{errors}");
}

/// Workers that count in a database are killed again and again; the counter counts each request once.
pub fn count_in_sqlite(folder: &Path, count: usize) {
    let database = folder.join("counter.db");
    let python = |program: &str| {
        let python = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.venv/bin/python");
        let output = Command::new(python).args(["-c", program]).arg(&database).run_to_end();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    python(
        "import sqlite3, sys; d = sqlite3.connect(sys.argv[1]); d.executescript('CREATE TABLE counter(value); \
         INSERT INTO counter VALUES (0); CREATE TABLE replies(request PRIMARY KEY, reply)')",
    );
    let (_broker, at) = broker(&[]);
    let start = || {
        let crate_folder = Path::new(env!("CARGO_MANIFEST_DIR"));
        let (python, script) =
            (crate_folder.join("../../.venv/bin/python"), crate_folder.join("tests/services/count.py"));
        let [python, script, database] = [&python, &script, &database].map(|path| path.to_str().unwrap());
        Script::hairstreak(&[
            "worker",
            "--broker",
            &at,
            "--service",
            "count",
            "-j4",
            "--",
            python,
            script,
            database,
        ])
    };
    let mut workers = vec![start(), start()];
    let options =
        ClientOptions { timeout: None, failover_after: Duration::from_secs(1), ..ClientOptions::default() };
    let client = Client::with_options(&[&at], options).unwrap();
    for _ in 0..count {
        client.send("count", "one more").unwrap();
    }
    let mut replies = Vec::new();
    while let Some(reply) = client.recv() {
        let text = String::from_utf8(reply.result.unwrap().body().to_vec()).unwrap();
        replies.push(text.parse::<usize>().unwrap());
        if replies.len() % (count / 4) == count / 8 {
            workers.remove(0).kill();
            workers.push(start());
        }
    }
    replies.sort_unstable();
    assert_eq!(replies, (1..=count).collect::<Vec<_>>());
    let value = python(
        "import sqlite3, sys; print(sqlite3.connect(sys.argv[1]).execute('SELECT value FROM counter').fetchone()[0])",
    );
    assert_eq!(value.trim(), count.to_string());
}
