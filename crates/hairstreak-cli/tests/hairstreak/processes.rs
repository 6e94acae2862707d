//! No process of a run is left after any kind of end.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use hairstreak::topology::{self, Observer, RunOptions, Topology};
use hairstreak_testkit::{BoundedChild, until, until_at_least, until_eq};
use rustix::process::{Pid, Signal, kill_process};

use crate::harness::{HAIRSTREAK, Job, Outcome, Target, process_of};

/// Stages of every kind, some of them with processes of their own, that would work for hours. Each
/// of the last two writes a line to standard error when it is running.
const BUSY: &str = "[[stage]]\nname = 'wait'\ninstances = 2\nsleep = '600s'\n\
    [[stage]]\nname = 'filter'\ncommand = 'sleep 1000 & setsid sleep 1000 & (setsid sleep 1000 &); echo up >&2; cat'\nframing = 'lines'\n\
    [[stage]]\nname = 'program'\nprogram = 'sleep 1000 & setsid sleep 1000 & (setsid sleep 1000 &); echo up >&2; sleep 1000'\n\
    [input]\nmessages = 10";

/// The child processes of a runner, and their child processes.
fn started_by(runner: u32) -> Vec<String> {
    let mark = format!("HAIRSTREAK_RUNNER={runner}");
    let named = |process: &fs::DirEntry| {
        let environment = fs::read(process.path().join("environ")).unwrap_or_default();
        environment.split(|&byte| byte == 0).any(|variable| variable == mark.as_bytes())
    };
    let command = |process: fs::DirEntry| fs::read_to_string(process.path().join("comm")).unwrap_or_default();
    fs::read_dir("/proc").unwrap().flatten().filter(named).map(command).collect()
}

/// Waits until no process of the runner is left. During an exec a process shows no environment for a moment.
fn wait_until_none_is_left(runner: u32) {
    until_eq("processes of the runner", Vec::<String>::new(), || started_by(runner));
}

/// Starts the busy job and waits until all its processes are there.
fn busy() -> (Job, Child) {
    let job = Job::new(BUSY);
    let mut runner = job.start(&["--verbose"]);
    let mut lines = BufReader::new(runner.stderr.as_mut().unwrap()).lines();
    for _ in 0..2 {
        assert!(lines.next().unwrap().unwrap().ends_with(" 1: up"));
    }
    // Two sleeps, two stages with commands, and the processes of these commands.
    until_at_least("processes of the runner", 11, || started_by(runner.id()).len());
    (job, runner)
}

fn kill(runner: &Child, signal: Signal) {
    kill_process(Pid::from_child(runner), signal).unwrap();
}

#[test]
fn kill_9_of_the_runner_leaves_no_orphans() {
    let (_job, mut runner) = busy();
    kill(&runner, Signal::KILL);
    runner.end();
    wait_until_none_is_left(runner.id());
}

#[test]
fn a_signal_stops_the_run_and_its_processes() {
    for (signal, status, name) in [(Signal::INT, 130, "SIGINT"), (Signal::TERM, 143, "SIGTERM")] {
        let (_job, runner) = busy();
        let id = runner.id();
        kill(&runner, signal);
        let outcome = Outcome::from(runner.end_with_output());
        assert_eq!(outcome.refusal(status), format!("stopped by {name} after 0 messages"));
        assert_eq!(started_by(id), Vec::<String>::new());
    }
}

#[test]
fn a_stopped_run_says_what_was_done() {
    let job = Job::new(
        "[[stage]]\nname = 'wait'\nsleep = '1ms'\n[input]\nmessages = 1000000\n[output]\nfile = 'out'",
    );
    let mut runner = job.start(&["--json", "--progress", "always"]);
    let mut lines = BufReader::new(runner.stderr.take().unwrap()).lines();
    lines.find(|line| !line.as_ref().unwrap().starts_with("0 of")).unwrap().unwrap();
    kill(&runner, Signal::INT);
    let outcome = Outcome::from(runner.end_with_output());
    assert_eq!(outcome.status, 130);
    let report = outcome.json();
    let messages = report["messages"].as_u64().unwrap();
    assert!(messages > 0 && messages < 1_000_000, "{report}");
    assert_eq!(report["complete"], false);
    assert!(job.read("out").lines().count() as u64 >= messages, "results until then are written");
}

#[test]
fn a_failed_stage_takes_the_others_with_it() {
    let topology = BUSY.replace("echo up >&2; sleep 1000'", "exit 3'");
    assert_ne!(topology, BUSY);
    let job = Job::new(&topology);
    let runner = job.start(&[]);
    let id = runner.id();
    let outcome = Outcome::from(runner.end_with_output());
    assert_eq!(outcome.refusal(1), "stage \"program\" instance 1 exited with status 3");
    assert_eq!(started_by(id), Vec::<String>::new());
}

#[test]
fn a_command_that_fails_is_noticed_though_its_child_holds_its_output() {
    let topology = "[[stage]]\nname = 'work'\ncommand = 'sleep 1000 & echo why >&2; exit 2'\n\
                    framing = 'lines'\n[input]\nmessages = 10";
    let job = Job::new(topology);
    let outcome = Outcome::from(job.start_guarded(&[]).end_with_output());
    assert_eq!(outcome.refusal(1), "stage \"work\" instance 1 exited with status 2: why");
}

#[test]
fn a_stage_whose_process_is_told_to_end_is_started_again() {
    let job = Job::new("[[stage]]\nname = 'work'\nsleep = '1ms'\n[input]\nlines = '-'");
    let mut runner = job.start(&[]);
    let input = runner.stdin.take();
    let process = process_of(runner.id(), "work", 1, Target::Stage);
    wait_until_term_is_caught(process.as_raw_nonzero().get());
    kill_process(process, Signal::TERM).unwrap();
    let mut line = String::new();
    BufReader::with_capacity(1, runner.stderr.as_mut().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "work 1 was killed by signal 15; it is started again\n");
    drop(input);
    assert!(runner.end().success());
}

#[test]
fn a_stage_that_is_killed_whenever_it_starts_ends_the_run() {
    let stage = "command = 'kill -TERM $PPID; exec sleep 1000'\nframing = 'lines'";
    let job = Job::new(&format!("[[stage]]\nname = 'work'\n{stage}\n[input]\nlines = '-'"));
    let mut runner = job.start(&[]);
    let _open = runner.stdin.take();
    let outcome = Outcome::from(runner.end_with_output());
    assert_eq!(outcome.status, 1);
    let lines: Vec<_> = outcome.stderr.lines().collect();
    assert_eq!(lines[..9], ["work 1 was killed by signal 15; it is started again"; 9]);
    let last = "hairstreak: stage \"work\" instance 1 was killed by signal 15; 10 times in a row without a new result, \
                though it had been given nothing";
    assert_eq!(lines[9..], [last]);
}

/// Waits until the process catches SIGTERM. An earlier signal would end it like any other process.
fn wait_until_term_is_caught(process: i32) {
    let caught = || {
        let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap();
        let mask = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).unwrap();
        u64::from_str_radix(mask.trim(), 16).unwrap() & (1 << 14) != 0
    };
    until("the process catches SIGTERM", caught);
}

#[test]
fn a_stage_whose_process_is_killed_leaves_nothing_either() {
    let topology = BUSY.replace("echo up >&2; sleep 1000'", "kill -9 $PPID; sleep 1000'");
    assert_ne!(topology, BUSY);
    let job = Job::new(&topology);
    let runner = job.start(&[]);
    let id = runner.id();
    let outcome = Outcome::from(runner.end_with_output());
    let why = "a program is not started again, for what it had is lost";
    assert_eq!(outcome.refusal(1), format!("stage \"program\" instance 1 was killed by signal 9; {why}"));
    assert_eq!(started_by(id), Vec::<String>::new());
}

#[test]
fn orphans_that_end_are_not_kept_as_zombies() {
    // Each message leaves an orphan that ends at once; its zombie would be a child of the stage's process.
    let filter = r#"lines=$(while read -r line; do (setsid true &); echo $line; done)
        for attempt in $(seq 1000); do
          states=$(for child in $(cat /proc/$PPID/task/*/children); do cat /proc/$child/status; done 2>/dev/null)
          case $states in *"State:"?"Z"*) sleep 0.01 ;; *) echo "$lines"; exit 0 ;; esac
        done
        exit 9"#;
    let topology = format!(
        "[[stage]]\nname = 'work'\ncommand = '''{filter}'''\nframing = 'lines'\n[input]\nmessages = 20"
    );
    Job::new(&topology).run(&[]).succeeded();
}

#[test]
fn a_program_is_asked_before_it_is_ended() {
    let worker = "import os, signal, sys, zmq\n\
        pull = zmq.Context.instance().socket(zmq.PULL)\n\
        pull.connect(os.environ['HAIRSTREAK_IN'])\n\
        push = zmq.Context.instance().socket(zmq.PUSH)\n\
        push.connect(os.environ['HAIRSTREAK_OUT'])\n\
        def end(*_):\n\
        \x20   open('ended', 'w').write('in order')\n\
        \x20   sys.exit()\n\
        signal.signal(signal.SIGTERM, end)\n\
        while True:\n\
        \x20   push.send(pull.recv())\n";
    let topology = format!(
        "[[stage]]\nname = 'work'\nprogram = ['{}', 'worker.py']\n[input]\nmessages = 3",
        crate::harness::python()
    );
    let job = Job::new(&topology).with("worker.py", worker);
    job.run(&[]).succeeded();
    assert_eq!(job.read("ended"), "in order");
}

/// An observer that returns from the first line of a stage when the stage is done or waits.
#[derive(Default)]
struct Slow {
    folder: std::path::PathBuf,
    lines: u64,
    grown_bytes: u64,
}

impl Observer for Slow {
    fn stage_line(&mut self, _stage: &str, _instance: u32, _line: &str) {
        self.lines += 1;
        if self.lines > 1 {
            return;
        }
        let before = resident_bytes();
        let mut seen = (before, 0);
        while seen.1 < 20 && !self.folder.join("flooded").exists() {
            // tidy: allow(sleeps) nothing tells that a process waits for its pipe; too early is no failure
            std::thread::sleep(Duration::from_millis(50));
            let now = resident_bytes();
            seen = if now == seen.0 { (now, seen.1 + 1) } else { (now, 0) };
        }
        self.grown_bytes = resident_bytes().saturating_sub(before);
    }
}

fn resident_bytes() -> u64 {
    let statm = fs::read_to_string("/proc/self/statm").unwrap();
    statm.split(' ').nth(1).unwrap().parse::<u64>().unwrap() * rustix::param::page_size() as u64
}

#[test]
fn a_stage_that_floods_its_standard_error_waits_until_that_is_read() {
    // 100,000 lines of 1,000 bytes: more than the runner may keep.
    let flood = "yes $(printf %0999d 0) | head -n 100000 >&2; touch flooded; cat";
    let topology =
        format!("[[stage]]\nname = 'flood'\ncommand = '{flood}'\nframing = 'lines'\n[input]\nmessages = 1");
    let job = Job::new(&topology);
    let topology = Topology::load(&job.folder.join("job.toml")).unwrap();
    let options = RunOptions { stage_executable: Some(HAIRSTREAK.into()), ..RunOptions::default() };
    let mut observer = Slow { folder: job.folder.clone(), ..Slow::default() };
    let report = topology::run(&topology, &options, &mut observer).unwrap();
    assert_eq!((report.messages, observer.lines), (1, 100_000));
    assert!(observer.grown_bytes < 32 << 20, "{} bytes", observer.grown_bytes);
}

#[test]
fn children_of_the_shell_that_became_the_runner_are_left_alone() {
    let job = Job::new(
        "[[stage]]\nname = 'a'\ncommand = '(setsid sleep 1000 &); touch begun; cat'\nframing = 'lines'\n[input]\nmessages = 5",
    );
    // The second process loses its parent during the run, and is adopted.
    let script = r#"sleep 1000 & echo $! >own
        (sleep 1000 & echo $! >grandchild; until test -e begun; do sleep 0.01; done) &
        until test -s grandchild; do sleep 0.01; done
        exec "$0" run job.toml --verbose"#;
    let mut shell = Command::new("bash");
    shell.args(["-c", script, HAIRSTREAK]).current_dir(&job.folder).stdin(Stdio::null());
    let runner = shell.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let id = runner.id();
    let ended = runner.end_with_output();
    assert!(ended.status.success(), "{ended:?}");
    wait_until_none_is_left(id);
    for name in ["own", "grandchild"] {
        let id = job.read(name).trim().parse().ok().and_then(Pid::from_raw).unwrap();
        let left = kill_process(id, Signal::KILL);
        assert!(left.is_ok(), "{name} was ended: {left:?}");
    }
}
