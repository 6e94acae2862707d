//! Filters: one answer for each record, even if filters hold answers back, are slow, or are killed.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use hairstreak_testkit::BoundedChild;
use rustix::process::{Pid, Signal, kill_process};

use crate::harness::{children_of, command, folder, map, numbers, start};

/// Filters that echo each line, at once or when a buffer is full.
const ECHOES: [&[&str]; 4] = [
    &["cat"],
    &["sed", "s/x/y/"],
    &["awk", "{ print }"],
    &["sh", "-c", "while read -r line; do echo $line; done"],
];

#[test]
fn each_line_has_its_answer_whatever_the_window_and_the_filter() {
    for filter in ECHOES {
        for (jobs, window, count) in
            [("1", "1", 20), ("2", "3", 50), ("3", "1000", 5000), ("2", "10000", 20_000)]
        {
            let words = [&["-j", jobs, "--window", window, "--"], filter].concat();
            assert_eq!(map(&words, numbers(count)).sorted(), (1..=count).collect::<Vec<_>>(), "{words:?}");
        }
    }
}

#[test]
fn results_come_in_order_where_that_is_asked() {
    for filter in ECHOES {
        let words = [&["-k", "-j3", "-w", "500", "--"], filter].concat();
        assert_eq!(map(&words, numbers(5000)).good(), numbers(5000), "{words:?}");
    }
    // Later lines are answered sooner.
    let slower = "while read -r line; do sleep 0.0$((9 - line)); echo $line; done";
    assert_eq!(map(&["-k", "-j4", "-w4", "--", "sh", "-c", slower], numbers(8)).good(), numbers(8));
}

#[test]
fn no_input_gives_no_output() {
    for words in
        [&["--", "cat"][..], &["-k", "--", "sed", "s/a/b/"], &["--", "echo", "{}"], &["--each", "--", "cat"]]
    {
        assert_eq!(map(words, "").good(), "");
    }
}

#[test]
fn an_empty_line_is_a_record_and_the_last_needs_no_newline() {
    assert_eq!(map(&["-k", "--", "cat"], "\n\na\n\nb").good(), "\n\na\n\nb\n");
}

#[test]
fn a_line_is_answered_though_the_input_goes_on() {
    for filter in ECHOES {
        let words = [&["map", "-j2", "--"], filter].concat();
        let mut child = command(&words).spawn().unwrap();
        let (mut stdin, stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let mut lines = BufReader::new(stdout).lines();
        for number in 0..3 {
            writeln!(stdin, "{number}").unwrap();
            assert_eq!(lines.next().unwrap().unwrap(), number.to_string(), "{filter:?}");
        }
        drop(stdin);
        assert!(lines.next().is_none());
        assert_eq!(child.end().code(), Some(0));
    }
}

#[test]
fn filters_that_are_killed_again_and_again_lose_nothing_and_double_nothing() {
    for (order, filter) in [("-k", ECHOES[0]), ("-j2", ECHOES[1]), ("-k", ECHOES[3])] {
        let words = [&[order, "-j2", "--window", "1000", "--retries", "1000", "--"], filter].concat();
        let words = if order == "-k" { words } else { [&["--window", "1000"][..], &words[4..]].concat() };
        let running = start(&words, numbers(20_000));
        let id = running.id();
        let is_over = AtomicBool::new(false);
        let outcome = thread::scope(|scope| {
            scope.spawn(|| {
                let mut turn = 0;
                while !is_over.load(Ordering::Acquire) {
                    thread::sleep(Duration::from_millis(5)); // tidy: allow(sleeps) deaths come at intervals, whatever happens
                    let filters = children_of(id);
                    if let Some(&victim) = filters.get(turn % 2)
                        && !is_over.load(Ordering::Acquire)
                    {
                        // The filter may have ended by itself.
                        let _ = kill_process(Pid::from_raw(victim).unwrap(), Signal::KILL);
                    }
                    turn += 1;
                }
            });
            let outcome = running.end();
            is_over.store(true, Ordering::Release);
            outcome
        });
        if order == "-k" {
            assert_eq!(outcome.good(), numbers(20_000), "{words:?}");
        } else {
            assert_eq!(outcome.sorted(), (1..=20_000).collect::<Vec<_>>(), "{words:?}");
        }
    }
}

#[test]
fn a_filter_that_dies_of_itself_is_started_again() {
    // Each filter dies after ten lines, some of them unanswered.
    let mortal = "for turn in 1 2 3 4 5 6 7 8 9 10; do read -r line && echo $line || exit 0; done; read -r line && exit 3; exit 0";
    let outcome = map(&["-k", "-j2", "--", "sh", "-c", mortal], numbers(300));
    assert_eq!(outcome.good(), numbers(300));
}

#[test]
fn no_record_is_to_blame_for_deaths_before_it_was_read() {
    let folder = folder("unread");
    // Four of five die at once; the fifth answers one record, and dies then.
    let script =
        "echo x >> $1; [ $(($(wc -l < $1) % 5)) = 0 ] || kill -9 $$; read -r line && echo $line; kill -9 $$";
    let lives = folder.join("lives");
    let words = ["-k", "-j1", "--", "sh", "-c", script, "sh", lives.to_str().unwrap()];
    assert_eq!(map(&words, numbers(20)).good(), numbers(20));
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn what_a_filter_that_answers_as_it_goes_has_left_is_given_to_one_process() {
    let folder = folder("lives");
    // The filter reads far ahead. Each of the first twenty instances dies with its third record, the next one lives.
    let perl = "$n = shift; $| = 1; while (<STDIN>) { kill 9, $$ if $. == 3 && $n <= 20; print }";
    let script = "echo x >> $1; exec perl -e \"$2\" $(wc -l < $1)";
    let lives = folder.join("lives");
    let words = ["-k", "-j1", "--", "sh", "-c", script, "sh", lives.to_str().unwrap(), perl];
    assert_eq!(map(&words, numbers(5000)).good(), numbers(5000));
    // Twenty-one instances, or more if a slow instance seems to hold its answer back.
    let count = std::fs::read_to_string(lives).unwrap().lines().count();
    assert!((21..26).contains(&count), "{count}");
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_filter_may_say_nothing_until_it_has_had_everything() {
    // More than the pipes hold.
    let words = ["-j1", "-w100000", "--", "sort", "-R"];
    assert_eq!(map(&words, numbers(50_000)).sorted(), (1..=50_000).collect::<Vec<_>>());
}

#[test]
fn all_filters_are_at_work() {
    let folder = folder("all");
    // Each filter waits until three are running.
    let script = "touch $1/$$; until [ $(ls $1 | wc -l) = 3 ]; do sleep 0.01; done; cat";
    let place = folder.to_str().unwrap();
    let words = ["-j3", "-w3", "--", "sh", "-c", script, "sh", place];
    assert_eq!(map(&words, numbers(100)).sorted(), (1..=100).collect::<Vec<_>>());
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn what_filters_complain_of_is_passed_on() {
    let outcome = map(&["-j1", "--", "sh", "-c", "echo why >&2; cat"], "a\n");
    assert_eq!((outcome.status, outcome.stderr.as_str()), (0, "why\n"));
}

#[test]
fn a_reader_that_has_enough_ends_it_quietly() {
    let mut child = command(&["map", "--", "cat"]).stderr(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let feeder = thread::spawn(move || while stdin.write_all(numbers(1000).as_bytes()).is_ok() {});
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    stdout.read_line(&mut String::new()).unwrap();
    drop(stdout);
    assert_eq!(child.end().code(), Some(141));
    feeder.join().unwrap();
    let mut stderr = String::new();
    child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
    assert_eq!(stderr, "");
}
