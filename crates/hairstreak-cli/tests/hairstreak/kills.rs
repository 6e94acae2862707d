//! Killed instances are started again, and each message still has its result, once.

use std::collections::HashMap;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, ChildStdin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use hairstreak::topology::{self, Observer, Progress, RunOptions, Topology};
use hairstreak_testkit::BoundedChild;
use rustix::process::{Signal, kill_process};

use crate::harness::{HAIRSTREAK, Job, PATIENCE, Target, process_of, python};

/// Results between two kills; as many are under way at a kill.
const ROUND: usize = 300;

/// The number of kills: more than the deaths in a row that end a run.
fn rounds() -> usize {
    if std::env::var_os("HAIRSTREAK_SOAK").is_some() { 300 } else { 12 }
}

/// A run of lines from its standard input to its standard output.
struct Run {
    job: Job,
    runner: Child,
    input: Option<ChildStdin>,
    results: Receiver<String>,
    /// Its standard error.
    lines: Receiver<String>,
    given: usize,
    had: HashMap<String, usize>,
}

impl Run {
    fn start(job: Job) -> Run {
        let mut runner = job.start(&["--verbose"]);
        let input = runner.stdin.take();
        let (results, lines) = (lines_of(runner.stdout.take()), lines_of(runner.stderr.take()));
        Run { job, runner, input, results, lines, given: 0, had: HashMap::new() }
    }

    /// Writes `count` further lines.
    fn give(&mut self, count: usize) {
        let lines: String =
            (self.given..self.given + count).map(|number| format!("line {number}\n")).collect();
        self.input.as_mut().unwrap().write_all(lines.as_bytes()).unwrap();
        self.given += count;
    }

    /// Writes `count` further equal lines of this length.
    fn give_lines(&mut self, count: usize, size: usize) {
        let line = format!("{}\n", "x".repeat(size));
        self.input.as_mut().unwrap().write_all(line.repeat(count).as_bytes()).unwrap();
    }

    /// Reads `count` results.
    fn take(&mut self, count: usize) {
        for _ in 0..count {
            let result = self.results.recv_timeout(PATIENCE);
            let said = || self.lines.try_iter().collect::<Vec<_>>();
            let result = result.unwrap_or_else(|_| panic!("{} results: {:?}", self.had.len(), said()));
            *self.had.entry(result).or_default() += 1;
        }
    }

    /// Writes messages and reads some results, so that other messages are always under way, and all instances progress within
    /// some rounds.
    fn pass_some(&mut self) {
        let missing = 2 * ROUND - (self.given - self.had.values().sum::<usize>());
        self.give(missing);
        self.take(ROUND);
    }

    /// Waits for a line with this text on standard error.
    fn wait_for(&self, said: &str) {
        let mut lines = Vec::new();
        while !lines.last().is_some_and(|line: &String| line.contains(said)) {
            lines
                .push(self.lines.recv_timeout(PATIENCE).unwrap_or_else(|_| panic!("no {said:?}: {lines:?}")));
        }
    }

    /// Kills an instance, without waiting for its restart.
    fn kill(&self, stage: &str, instance: usize, target: Target) {
        let process = process_of(self.runner.id(), stage, instance, target);
        kill_process(process, Signal::KILL).unwrap();
    }

    /// Waits until `count` instances are started again.
    fn wait_for_restarts(&self, count: usize) {
        (0..count).for_each(|_| self.wait_for("; it is started again"));
    }

    /// The run must succeed. Returns its remaining results.
    fn end(&mut self) -> Vec<String> {
        self.input = None;
        let mut results = Vec::new();
        loop {
            match self.results.recv_timeout(PATIENCE) {
                Ok(result) => results.push(result),
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => panic!("it does not end: {} results more", results.len()),
            }
        }
        let said = self.lines.iter().collect::<Vec<_>>();
        assert!(self.runner.end().success(), "{said:?}");
        results
    }

    /// Ends the input: each line must have its result once.
    fn check(mut self, result_of: impl Fn(&str) -> String) {
        for result in self.end() {
            *self.had.entry(result).or_default() += 1;
        }
        let expected = (0..self.given).map(|number| (result_of(&format!("line {number}")), 1));
        let expected = expected.collect::<HashMap<_, _>>();
        let differs = |(result, count): &(&String, &usize)| expected.get(*result) != Some(count);
        let wrong = self.had.iter().filter(differs).take(5).collect::<Vec<_>>();
        let missing =
            expected.keys().filter(|result| !self.had.contains_key(*result)).take(5).collect::<Vec<_>>();
        assert!(wrong.is_empty() && missing.is_empty(), "wrong: {wrong:?}, missing: {missing:?}");
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        // After a failed test the run may still be going on.
        let _ = self.runner.kill();
        let _ = self.runner.wait();
    }
}

/// The lines of a pipe, read by a thread.
fn lines_of(pipe: Option<impl Read + Send + 'static>) -> Receiver<String> {
    let (sender, lines) = mpsc::channel();
    let pipe = BufReader::new(pipe.unwrap());
    thread::spawn(move || pipe.lines().map_while(Result::ok).try_for_each(|line| sender.send(line)));
    lines
}

/// A topology of these stages from standard input to standard output.
fn job(stages: &str) -> Job {
    Job::new(&format!("{stages}\n[input]\nlines = '-'\n[output]\nstdout = true"))
}

const UPPER: &str = "import sys\n\
    while size := sys.stdin.buffer.read(4):\n\
    \x20   body = sys.stdin.buffer.read(int.from_bytes(size, 'big'))\n\
    \x20   sys.stdout.buffer.write(size + body.upper())\n\
    \x20   sys.stdout.buffer.flush()\n";

fn upper(line: &str) -> String {
    line.to_uppercase()
}

#[test]
fn filters_that_are_killed() {
    let by_length = format!("command = ['{}', 'upper.py']\nframing = 'length'", python());
    for work in ["command = ['sed', '-u', 's/.*/\\U&/']\nframing = 'lines'", &by_length] {
        for target in [Target::Stage, Target::Command] {
            let job =
                job(&format!("[[stage]]\nname = 'upper'\ninstances = 3\n{work}")).with("upper.py", UPPER);
            let mut run = Run::start(job);
            for round in 0..rounds() {
                run.pass_some();
                run.kill("upper", 1 + round % 3, target);
                run.wait_for_restarts(1);
            }
            run.check(upper);
        }
    }
}

#[test]
fn built_in_stages_that_are_killed() {
    let job = job("[[stage]]\nname = 'echo'\ninstances = 2\necho = true\n\
                   [[stage]]\nname = 'sleep'\ninstances = 2\nsleep = '10us'");
    let mut run = Run::start(job);
    for round in 0..2 * rounds() {
        run.pass_some();
        run.kill(["echo", "sleep"][round % 2], 1 + round / 2 % 2, Target::Stage);
        run.wait_for_restarts(1);
    }
    run.check(str::to_owned);
}

#[test]
fn all_instances_killed_at_once() {
    let job = job("[[stage]]\nname = 'echo'\ninstances = 2\necho = true\n\
                   [[stage]]\nname = 'upper'\ninstances = 2\ncommand = ['sed', '-u', 's/.*/\\U&/']\nframing = 'lines'\n\
                   [[stage]]\nname = 'cat'\ncommand = ['cat']\nframing = 'length'");
    let mut run = Run::start(job);
    for round in 0..rounds() {
        run.pass_some();
        let commands = if round % 2 == 0 { Target::Stage } else { Target::Command };
        (1..=2).for_each(|instance| run.kill("echo", instance, Target::Stage));
        (1..=2).for_each(|instance| run.kill("upper", instance, commands));
        run.kill("cat", 1, commands);
        run.wait_for_restarts(5);
    }
    run.check(upper);
}

#[test]
fn filters_that_hold_back_all_until_their_input_ends_are_killed() {
    let filter = "import os, sys, time\n\
        first = sys.stdin.readline()\n\
        print('begun', file=sys.stderr, flush=True)\n\
        lines = [first, *sys.stdin.readlines()]\n\
        while not os.path.exists('go'): time.sleep(0.01)\n\
        sys.stdout.writelines(line.upper() for line in lines)\n";
    let stage = format!("command = ['{}', 'hold.py']\nframing = 'lines'", python());
    let job = Job::new(&format!(
        "[[stage]]\nname = 'hold'\ninstances = 2\n{stage}\n[input]\nlines = 'in'\n[output]\nfile = 'out'"
    ));
    let input: Vec<String> = (0..50_000).map(|number| format!("line {number}")).collect();
    let job = job.with("hold.py", filter).with("in", input.join("\n"));
    let mut run = Run::start(job);
    // More deaths than a message may cause before it is handed out alone.
    for _ in 0..4 {
        for target in [Target::Stage, Target::Command] {
            run.wait_for("hold 1: begun");
            run.kill("hold", 1, target);
            run.wait_for_restarts(1);
        }
    }
    fs::write(run.job.folder.join("go"), "").unwrap();
    run.end();
    let output = run.job.read("out");
    let mut results: Vec<&str> = output.lines().collect();
    let mut expected: Vec<String> = input.iter().map(|line| upper(line)).collect();
    results.sort_unstable();
    expected.sort_unstable();
    assert!(results == expected, "{} results", results.len());
}

#[test]
fn what_a_filter_was_printing_when_it_was_killed_is_no_result() {
    let lines =
        "if mkdir was_here; then read -r line; printf 'line'; echo torn >&2; exec sleep 1000; fi; exec cat";
    let length =
        "if mkdir was_here; then printf '\\0\\0\\0\\011li'; echo torn >&2; exec sleep 1000; fi; exec cat";
    for (command, framing) in [(lines, "lines"), (length, "length")] {
        let stage = format!("[[stage]]\nname = 'work'\ncommand = ['sh', 'work.sh']\nframing = '{framing}'");
        let job = job(&stage).with("work.sh", command);
        let mut run = Run::start(job);
        run.give(10);
        run.wait_for("work 1: torn");
        run.kill("work", 1, Target::Command);
        run.wait_for_restarts(1);
        run.check(str::to_owned);
    }
}

#[test]
fn a_filter_whose_shell_says_that_its_command_was_killed_is_started_again() {
    let command = "if mkdir was_here; then exit 137; fi; exec cat";
    let job = job("[[stage]]\nname = 'work'\ncommand = ['sh', 'work.sh']\nframing = 'lines'");
    let mut run = Run::start(job.with("work.sh", command));
    run.give(10);
    run.wait_for("work 1 exited with status 137; it is started again");
    run.check(str::to_owned);
}

#[test]
fn a_filter_that_is_killed_when_it_has_answered_all_is_not_missed() {
    let job = job("[[stage]]\nname = 'work'\ncommand = ['sh', 'work.sh']\nframing = 'lines'");
    let mut run = Run::start(job.with("work.sh", "cat; kill -9 $$"));
    run.give(10);
    run.check(str::to_owned);
}

#[test]
fn a_filter_that_is_killed_after_each_answer_gets_on() {
    // The answer is so large that a part is still unread when the filter is dead.
    let line = "x".repeat(200_000);
    let topology = "[[stage]]\nname = 'work'\ncommand = ['sh', 'work.sh']\nframing = 'lines'\n\
                    [input]\nlines = 'in'\n[output]\nfile = 'out'";
    let lines: String = (0..30).map(|number| format!("{number} {line}\n")).collect();
    let job = Job::new(topology).with("in", &lines).with("work.sh", "head -n 1; kill -9 $$");
    let outcome = job.run(&["--json"]);
    assert_eq!(outcome.status, 0, "{outcome:?}");
    assert!(job.read("out") == lines, "in order, as one instance does them");
}

#[test]
fn what_is_settled_is_not_done_again() {
    let job = job("[[stage]]\nname = 'work'\ncommand = 'exec tee -a log'\nframing = 'lines'");
    let mut run = Run::start(job);
    run.give_lines(20_000, 1000);
    run.take(20_000);
    run.kill("work", 1, Target::Stage);
    run.wait_for_restarts(1);
    run.give_lines(1, 1000);
    run.take(1);
    let done = run.job.read("log").lines().count();
    assert!((20_001..30_000).contains(&done), "{done}");
    run.end();
}

#[test]
fn what_is_settled_is_not_kept() {
    let mut run = Run::start(job("[[stage]]\nname = 'echo'\necho = true"));
    for _ in 0..30 {
        run.give_lines(10_000, 1000);
        run.take(10_000);
    }
    let status = fs::read_to_string(format!("/proc/{}/status", run.runner.id())).unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB"));
    let peak: u64 = peak.unwrap().trim().parse().unwrap();
    assert!(peak < 150_000, "{peak} KiB of 300,000 that have passed");
    run.end();
}

/// Kills the only instance of the stage `lame` as soon as a message has passed it, and finally stops the run.
struct Killer {
    looks: u32,
    has_killed: bool,
    stop: Arc<AtomicBool>,
}

impl Observer for Killer {
    fn progress(&mut self, progress: &Progress) {
        self.looks += 1;
        if self.looks == 300 {
            self.stop.store(true, Ordering::Relaxed);
        }
        if progress.messages > 0 && !std::mem::replace(&mut self.has_killed, true) {
            let process = process_of(std::process::id(), "lame", 1, Target::Stage);
            kill_process(process, Signal::KILL).unwrap();
        }
    }
}

#[test]
fn an_instance_that_does_not_connect_when_it_is_started_again_ends_the_run() {
    let script =
        format!("#!/bin/sh\nmkdir was_here 2>/dev/null && exec {HAIRSTREAK} \"$@\"\nexec sleep 1000\n");
    let job = Job::new("[[stage]]\nname = 'lame'\nsleep = '20ms'\n[input]\nmessages = 1000000");
    let job = job.with("stage.sh", script);
    let executable = job.folder.join("stage.sh");
    fs::set_permissions(&executable, fs::Permissions::from_mode(0o755)).unwrap();
    let topology = Topology::load(&job.folder.join("job.toml")).unwrap();
    let connect_timeout = Duration::from_secs(3);
    let options = RunOptions { stage_executable: Some(executable), connect_timeout, ..RunOptions::default() };
    let mut killer = Killer { looks: 0, has_killed: false, stop: options.stop.clone() };
    let error = topology::run(&topology, &options, &mut killer).unwrap_err();
    let reason = "stage \"lame\" instance 1 did not connect to HAIRSTREAK_IN within 3000 ms";
    assert_eq!(error.to_string(), reason);
}

/// Runs a filter of lines that kills itself. Returns the standard error of the run.
fn suspect_of(command: &str, job: Job) -> String {
    let outcome = job.with("work.sh", command).run(&[]);
    assert_eq!(outcome.status, 1, "{outcome:?}");
    let last = outcome.stderr.lines().last().unwrap();
    let line = last.strip_prefix("hairstreak: stage \"work\" instance 1 was killed by signal 9; ").unwrap();
    line.strip_prefix("10 times in a row without a new result, perhaps of ").unwrap().to_owned()
}

#[test]
fn a_message_that_kills_every_filter_is_named() {
    let at_once = "while read -r line; do case $line in poison) kill -9 $$; esac; echo $line; done";
    let at_the_end = "lines=$(cat); case $lines in *poison*) kill -9 $$; esac; echo \"$lines\"";
    let stage = "[[stage]]\nname = 'work'\ninstances = 2\ncommand = ['sh', 'work.sh']\nframing = 'lines'\n";
    let lines = || {
        let job = Job::new(&format!("{stage}[input]\nlines = 'in'"));
        job.with("in", "1\n2\n3\n4\npoison\n6\n7\n8\n9\n10")
    };
    assert_eq!(suspect_of(at_once, lines()), "message 5 or another of the 3 that it had");
    assert_eq!(suspect_of(at_the_end, lines()), "message 1 or another of the 5 that it had");
    let files = Job::new(&format!("{stage}[input]\nfiles = 'in'"));
    let files = files.with("in/a", "1").with("in/b", "2").with("in/c", "poison");
    assert_eq!(suspect_of(at_once, files), "message 3 (./in/c)");
}

#[test]
fn a_program_that_is_killed_ends_the_run() {
    let worker = "import os, zmq\n\
        pull = zmq.Context.instance().socket(zmq.PULL)\n\
        pull.connect(os.environ['HAIRSTREAK_IN'])\n\
        push = zmq.Context.instance().socket(zmq.PUSH)\n\
        push.connect(os.environ['HAIRSTREAK_OUT'])\n\
        while True:\n\
        \x20   push.send(pull.recv())\n";
    for target in [Target::Stage, Target::Command] {
        let stage = format!("[[stage]]\nname = 'work'\nprogram = ['{}', 'worker.py']", python());
        let job = job(&stage).with("worker.py", worker);
        let mut run = Run::start(job);
        run.give(10);
        run.take(10);
        run.kill("work", 1, target);
        run.wait_for(
            "stage \"work\" instance 1 was killed by signal 9; a program is not started again, for what it had is lost",
        );
        assert_eq!(run.runner.end().code(), Some(1));
    }
}
