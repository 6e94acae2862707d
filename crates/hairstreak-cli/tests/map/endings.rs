//! Signals: no process is left running, and no result is torn.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use hairstreak_testkit::{BoundedChild, BoundedCommand, until, until_eq};
use rustix::io::ioctl_fionread;
use rustix::process::{Pid, Signal, kill_process};

use crate::harness::{HAIRSTREAK, Running, children_of, command, folder, lives, map, numbers, start};

fn tell(process: i32, signal: Signal) {
    kill_process(Pid::from_raw(process).unwrap(), signal).unwrap();
}

/// Waits until the process has this number of children.
fn family(running: &Running, count: usize) -> (i32, Vec<i32>) {
    let id = running.id();
    let look =
        || Some(children_of(id)).filter(|children| children.len() == count).ok_or_else(|| children_of(id));
    (id, until(&format!("{count} commands run"), look))
}

/// Waits until all these processes are dead.
#[track_caller]
fn until_none_lives(processes: &[i32]) {
    until_eq("live processes", vec![], || {
        processes.iter().copied().filter(|&process| lives(process)).collect::<Vec<_>>()
    });
}

#[test]
fn a_signal_stops_it_and_its_commands() {
    let at_work: [&[&str]; 2] =
        [&["-j2", "-w2", "--", "sh", "-c", "sleep 1000; cat"], &["-j2", "--", "sleep", "100{}"]];
    for words in at_work {
        let signals =
            [(Signal::INT, 130, "SIGINT"), (Signal::TERM, 143, "SIGTERM"), (Signal::HUP, 129, "SIGHUP")];
        for (signal, status, name) in signals {
            let running = start(words, numbers(1000));
            let (id, children) = family(&running, 2);
            let all: Vec<i32> =
                children.iter().flat_map(|&child| [children_of(child), vec![child]].concat()).collect();
            tell(id, signal);
            let outcome = running.end();
            assert_eq!(outcome.status, status, "{outcome:?}");
            let said = outcome.stderr.lines().last().unwrap();
            assert!(
                said.starts_with(&format!("hairstreak: stopped by {name} with 0 records done and ")),
                "{said}"
            );
            until_none_lives(&all);
        }
    }
}

/// Returns `true` if the process is stopped (proc(5)).
fn is_stopped(process: i32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('T'))
}

#[test]
fn a_stop_and_its_end_reach_its_commands() {
    let running = start(&["-j2", "-w2", "--", "sh", "-c", "sleep 1000; cat"], numbers(10));
    let (id, shells) = family(&running, 2);
    // A shell cannot be stopped between the fork of its command and the start of the program: it waits in the kernel's vfork.
    let sleeps = until("each shell has started its command", || {
        let started: Vec<_> = shells.iter().flat_map(|&shell| children_of(shell)).collect();
        let names = started.iter().filter_map(|id| fs::read_to_string(format!("/proc/{id}/comm")).ok());
        if names.filter(|name| name == "sleep\n").count() == 2 { Ok(started) } else { Err(started) }
    });
    let all = [&shells[..], &sleeps, &[id]].concat();
    for _ in 0..3 {
        tell(id, Signal::TSTP);
        let stopped = || all.iter().copied().filter(|&process| is_stopped(process)).collect::<Vec<_>>();
        until_eq("stopped processes", all.clone(), stopped);
        tell(id, Signal::CONT);
        until_eq("stopped processes", vec![], stopped);
    }
    // A stopped command ends, too.
    tell(shells[0], Signal::STOP);
    tell(id, Signal::TERM);
    assert_eq!(running.end().status, 143);
    until_none_lives(&all);
}

/// A shell that forks when the signal arrives ends before its child has seen a signal.
#[test]
fn a_command_that_starts_another_at_its_end_leaves_nobody() {
    let folder = folder("late");
    let script =
        "trap 'sleep 1000 & echo $! > $1/late; exit' TERM; touch $1/ready; while :; do sleep 0.01; done";
    let words = ["-j1", "-w1", "--", "sh", "-c", script, "sh", folder.to_str().unwrap()];
    let running = start(&words, numbers(10));
    until("the command is ready", || folder.join("ready").exists());
    tell(running.id(), Signal::TERM);
    assert_eq!(running.end().status, 143);
    // A shell without a turn within half a second was killed, with its children.
    if let Ok(late) = fs::read_to_string(folder.join("late")).unwrap_or_default().trim().parse() {
        until_none_lives(&[late]);
    }
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn it_outlives_its_terminal_where_it_was_told_to() {
    let words = ["-c", "trap '' HUP; exec \"$0\" map -j1 -w1 -- cat", HAIRSTREAK];
    let mut child =
        Command::new("sh").args(words).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let (mut stdin, stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    let mut lines = BufReader::new(stdout).lines();
    for line in ["before\n", "behind\n"] {
        stdin.write_all(line.as_bytes()).unwrap();
        // The result arrives with the next record, or soon without it.
        assert_eq!(lines.next().unwrap().unwrap(), line.trim_end());
        tell(child.id() as i32, Signal::HUP);
    }
    drop(stdin);
    assert!(child.end().success());
}

#[test]
fn a_signal_ends_it_though_nobody_reads_what_it_says() {
    let mut running = start(&["-j2", "--", "false", "{}"], numbers(100_000));
    let id = running.id();
    let stderr = running.child.stderr.take().unwrap();
    let mut last = (0, Instant::now());
    // The pipe is full, and every writer waits.
    until("the pipe stays full", || {
        let size = ioctl_fionread(&stderr).unwrap();
        if size != last.0 {
            last = (size, Instant::now());
        }
        if size > 60_000 && last.1.elapsed() > Duration::from_millis(300) { Ok(()) } else { Err(last) }
    });
    tell(id, Signal::TERM);
    assert_eq!(running.child.end().code(), Some(143));
    drop(stderr);
}

#[test]
fn no_socket_is_left_in_the_file_system() {
    let folder = folder("sockets");
    let place = format!("ipc://{}/map", folder.to_str().unwrap());
    for is_stopped in [false, true] {
        let words =
            ["-j1", "--listen", &place, "--", "sh", "-c", if is_stopped { "sleep 1000" } else { "cat" }];
        let mut running = start(&words, numbers(10));
        let mut lines = BufReader::new(running.child.stderr.take().unwrap()).lines();
        assert!(lines.next().unwrap().unwrap().contains("workers can join"));
        if is_stopped {
            assert_eq!(fs::read_dir(&folder).unwrap().count(), 2);
            tell(running.id(), Signal::TERM);
        }
        assert_eq!(running.end().status, if is_stopped { 143 } else { 0 });
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
    }
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn results_until_a_signal_are_whole() {
    let running = start(&["-k", "-j2", "--", "cat"], numbers(3_000_000));
    let id = running.id();
    until_eq("commands", 2, || children_of(id).len());
    tell(id, Signal::TERM);
    let outcome = running.end();
    assert_eq!(outcome.status, 143, "{}", outcome.stderr);
    let text = String::from_utf8(outcome.stdout).unwrap();
    assert!(text.is_empty() || text.ends_with('\n'));
    assert!(numbers(3_000_000).starts_with(&text));
}

#[test]
fn commands_that_do_not_listen_are_killed_and_a_second_signal_waits_for_nobody() {
    let folder = folder("deaf");
    // `sleep` is the child of the shell and ignores the signal like the shell.
    let script = "trap '' TERM INT; touch $1/$$; while :; do sleep 1000; done";
    for signals in 1..=2 {
        let words = ["-j2", "-w2", "--", "sh", "-c", script, "sh", folder.to_str().unwrap()];
        let running = start(&words, numbers(10));
        until_eq("files", 2, || fs::read_dir(&folder).unwrap().count());
        let (id, children) = family(&running, 2);
        for _ in 0..signals {
            // The first signal may have ended the map.
            let _ = kill_process(Pid::from_raw(id).unwrap(), Signal::TERM);
        }
        assert_eq!(running.end().status, 143);
        until_none_lives(&children);
        fs::read_dir(&folder).unwrap().flatten().for_each(|file| fs::remove_file(file.path()).unwrap());
    }
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn commands_that_have_ended_are_waited_for_no_longer() {
    // The background processes ignore signals. They are killed only if a command does not end in time.
    let deaf = "(trap '' INT TERM; touch $1/$$; exec sleep 1000 > $1/$$ 2>&1) & exec sleep 1000";
    for count in 1..=3 {
        let folder = folder(&format!("ended-{count}"));
        let jobs = format!("-j{count}");
        let running = start(&[&jobs, "--", "sh", "-c", deaf, "sh", folder.to_str().unwrap()], numbers(10));
        until_eq("files", count, || fs::read_dir(&folder).unwrap().count());
        let (id, commands) = family(&running, count);
        let left: Vec<i32> = commands.iter().flat_map(|&command| children_of(command)).collect();
        assert_eq!(left.len(), count);
        tell(id, Signal::INT);
        assert_eq!(running.end().status, 130);
        let alive = left.iter().filter(|&&process| lives(process)).count();
        left.iter().filter(|&&process| lives(process)).for_each(|&process| tell(process, Signal::KILL));
        assert_eq!(alive, count);
        fs::remove_dir_all(folder).unwrap();
    }
}

#[test]
fn kill_9_of_the_map_leaves_no_filters() {
    let running =
        start(&["-j2", "-w2", "--", "sh", "-c", "while read -r line; do sleep 0.01; done"], numbers(1000));
    let (id, children) = family(&running, 2);
    tell(id, Signal::KILL);
    until_none_lives(&children);
    drop(running);
}

#[test]
fn progress_is_shown_where_it_is_asked_for() {
    let outcome = map(&["-k", "-j1", "--progress", "--", "cat"], numbers(10));
    let last = outcome.stderr.lines().last().unwrap();
    assert!(last.starts_with("10 done, ") && last.ends_with("/s, 0 in flight, 0 redone, 0 failed"), "{last}");
    assert_eq!((outcome.status, outcome.text()), (0, numbers(10)));
    let outcome = map(&["-j1", "--progress=never", "--", "false", "{}"], "a\n");
    assert_eq!(outcome.stderr, "hairstreak: record 1 failed: exited with status 1\n");
}

#[test]
fn progress_counts_what_is_done_while_the_input_goes_on() {
    let mut child = command(&["map", "-j1", "--progress", "--", "cat"]).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(b"a\nb\n").unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let line = lines.find(|line| line.as_ref().unwrap().starts_with("2 done, ")).unwrap().unwrap();
    assert!(line.contains("0 in flight"), "{line}");
    drop(stdin);
    assert!(child.end_with_output().status.success());
}

#[test]
fn results_for_a_standard_output_that_is_closed_are_a_failure() {
    // With and without a standard input.
    for (records, status) in [("seq 100 | ", 255), ("exec <&-; ", 0)] {
        let script = format!("{records}timeout 60 \"$0\" map -- cat >&-");
        let output = Command::new("sh").args(["-c", &script, HAIRSTREAK]).run_to_end();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(status), "{said}");
        let why = "hairstreak: cannot write to standard output: Bad file descriptor (os error 9)\n";
        assert_eq!(said, if status == 0 { "" } else { why });
    }
}
