//! `map-worker` processes join, leave and are killed while a map runs, and each record has its result once.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use hairstreak::pipeline::{PipelineOptions, Reply, Worker};
use hairstreak_testkit::{BoundedChild, until, until_eq};
use rustix::process::{Pid, Signal, kill_process};

use crate::harness::{Outcome, Running, children_of, command, folder, numbers, place, start};

fn worker(place: &str, words: &[&str]) -> Child {
    let mut command = command(&[&["map-worker", place], words].concat());
    command.stdin(Stdio::null()).spawn().unwrap()
}

/// The process behind `timeout`.
fn process_of(child: &Child) -> Pid {
    Pid::from_raw(until("hairstreak runs under its parent", || {
        children_of(child.id() as i32).first().copied()
    }))
    .unwrap()
}

fn end(child: Child) -> Outcome {
    child.end_with_output().into()
}

/// A map without commands of its own, after its line that workers can join.
fn waiting(place: &str, words: &[&str], count: usize) -> Running {
    start(&[&["-j0", "--listen", place], words].concat(), numbers(count))
}

/// The map must succeed, with no further line than the endpoint for workers.
fn sorted(outcome: Outcome) -> Vec<usize> {
    assert_eq!(outcome.status, 0, "{}", outcome.stderr);
    assert!(outcome.stderr.lines().all(|line| line.contains("worker")), "{}", outcome.stderr);
    let stderr = String::new();
    Outcome { stderr, ..outcome }.sorted()
}

#[test]
fn workers_elsewhere_do_the_work_and_end_with_it() {
    for words in [&["--", "cat"][..], &["-j2", "--", "sed", "s/a/b/"], &["--", "echo", "{}"]] {
        let place = place("elsewhere");
        let count = if words.contains(&"echo") { 200 } else { 20_000 };
        let map = waiting(&place, &["-k"], count);
        let workers = [(); 2].map(|()| worker(&place, words));
        let outcome = map.end();
        assert_eq!(outcome.status, 0, "{outcome:?}");
        assert_eq!(outcome.text(), numbers(count));
        for worker in workers {
            assert_eq!(end(worker).good(), "");
        }
    }
}

#[test]
fn a_map_says_where_to_join_and_that_it_waits() {
    let place = place("says");
    let mut map = waiting(&place, &[], 3);
    let mut lines = BufReader::new(map.child.stderr.take().unwrap()).lines().map(Result::unwrap);
    let expected = format!("hairstreak: workers can join: hairstreak map-worker {place} -- COMMAND");
    assert_eq!(lines.next().unwrap(), expected);
    assert_eq!(lines.next().unwrap(), "hairstreak: no worker has joined yet, waiting");
    let late = worker(&place, &["--", "cat"]);
    assert_eq!(map.end().sorted(), [1, 2, 3]);
    assert_eq!(end(late).good(), "");
}

#[test]
fn kill_9_of_workers_loses_nothing() {
    for filter in [&["cat"][..], &["sed", "s/a/b/"]] {
        kill_workers(&place("kill"), filter, |_| {});
    }
}

/// Starts a fabric, and waits until it is there.
fn fabric(name: &str) -> Child {
    // The fabric is started without `timeout`, because the test kills it.
    let mut fabric = Command::new(env!("CARGO_BIN_EXE_hairstreak"));
    let mut fabric = fabric.args(["fabric", "serve", name]).stdout(Stdio::piped()).spawn().unwrap();
    let line = BufReader::new(fabric.stdout.take().unwrap()).lines().next().unwrap().unwrap();
    assert!(line.starts_with(&format!("fabric {name} at vortex://{name}/")), "{line}");
    fabric
}

#[test]
fn kill_9_of_ranks_of_a_fabric_and_of_the_fabric_loses_nothing() {
    let name = format!("map-{}", std::process::id());
    let mut running = fabric(&name);
    for filter in [&["cat"][..], &["sed", "s/a/b/"]] {
        kill_workers(&format!("vortex://{name}/0:5700"), filter, |turn| {
            if turn == 5 {
                running.kill().unwrap();
                running.end();
                running = fabric(&name);
            }
        });
    }
    running.kill().unwrap();
    running.end();
}

/// Kills ten workers. Each record must have its result once. `at_turn` is called in each turn.
fn kill_workers(place: &str, filter: &[&str], mut at_turn: impl FnMut(usize)) {
    let map = start(&["-j1", "--listen", place, "--", "cat"], numbers(20_000));
    let words = [&["-j2", "--"], filter].concat();
    for turn in 0..10 {
        let mut victim = worker(place, &words);
        let process = process_of(&victim);
        until_eq("filters", 2, || children_of(process.as_raw_nonzero().get()).len());
        at_turn(turn);
        kill_process(process, Signal::KILL).unwrap();
        victim.end();
    }
    assert_eq!(sorted(map.end()), (1..=20_000).collect::<Vec<_>>());
}

#[test]
fn a_worker_that_is_killed_with_records_has_them_done_by_another() {
    let place = place("holds");
    let map = waiting(&place, &["-w100"], 500);
    // This worker takes records and never answers.
    let mut holder = worker(&place, &["-j1", "--", "sh", "-c", "sleep 1000; cat"]);
    let process = process_of(&holder);
    let filters = until("a filter runs", || {
        Some(children_of(process.as_raw_nonzero().get())).filter(|filters| !filters.is_empty())
    });
    let helper = worker(&place, &["--", "cat"]);
    kill_process(process, Signal::KILL).unwrap();
    holder.end();
    assert_eq!(sorted(map.end()), (1..=500).collect::<Vec<_>>());
    assert_eq!(end(helper).good(), "");
    for filter in filters.into_iter().filter_map(Pid::from_raw) {
        // The shell waits for its `sleep`.
        let _ = rustix::process::kill_process_group(filter, Signal::KILL);
    }
}

#[test]
fn a_worker_that_is_asked_to_leave_finishes_what_it_has() {
    for signal in [Signal::TERM, Signal::INT] {
        let place = place("leaves");
        let map = waiting(&place, &["-w50"], 3000);
        let first = worker(&place, &["-j2", "--", "sed", "s/a/b/"]);
        let process = process_of(&first);
        until_eq("filters", 2, || children_of(process.as_raw_nonzero().get()).len());
        kill_process(process, signal).unwrap();
        assert_eq!(end(first).good(), "");
        let second = worker(&place, &["--", "cat"]);
        assert_eq!(sorted(map.end()), (1..=3000).collect::<Vec<_>>());
        assert_eq!(end(second).good(), "");
    }
}

#[test]
fn a_worker_says_when_the_map_is_gone_or_never_was() {
    let place = place("gone");
    let nowhere = end(worker(&place, &["--patience", "200ms", "--", "cat"]));
    assert_eq!(nowhere.status, 255);
    assert!(
        nowhere.stderr.starts_with(&format!("hairstreak: no map has been found at {place} for ")),
        "{nowhere:?}"
    );
    let map = waiting(&place, &[], 10);
    let left = worker(&place, &["--patience", "200ms", "--", "sh", "-c", "echo up >&2; sleep 1000"]);
    // The worker has records once its filter is running.
    let mut left = left;
    let mut lines = BufReader::new(left.stderr.take().unwrap()).lines().map(Result::unwrap);
    assert_eq!(lines.next().unwrap(), "up");
    kill_process(Pid::from_raw(map.id()).unwrap(), Signal::KILL).unwrap();
    let said = lines.find(|line| line != "up").unwrap();
    let never = format!("hairstreak: no map has been found at {place} for ");
    let gone = format!("hairstreak: the map at {place} is gone, for ");
    assert!(said.starts_with(&gone) || said.starts_with(&never), "{said}");
    assert_eq!(left.end().code(), Some(255));
    drop(map);
}

#[test]
fn a_worker_gives_up_results_that_no_map_is_there_to_take() {
    let folder = folder("untaken");
    for is_asked_to_leave in [false, true] {
        let place = place("untaken");
        let is_gone = folder.join(is_asked_to_leave.to_string());
        let mut map = waiting(&place, &[], 100);
        let mut said_by_map = BufReader::new(map.child.stderr.take().unwrap()).lines();
        assert!(said_by_map.next().unwrap().unwrap().contains("workers can join"));
        let script =
            "read -r line; echo taken >&2; until [ -e $1 ]; do sleep 0.01; done; echo $line; exec cat";
        let words = ["--patience", "2s", "-j1", "--", "sh", "-c", script, "sh", is_gone.to_str().unwrap()];
        let mut left = worker(&place, &words);
        let mut lines = BufReader::new(left.stderr.take().unwrap()).lines().map(Result::unwrap);
        assert_eq!(lines.next().unwrap(), "taken");
        kill_process(Pid::from_raw(map.id()).unwrap(), Signal::KILL).unwrap();
        assert_eq!(map.end().status, -9);
        std::fs::write(is_gone, "").unwrap();
        if is_asked_to_leave {
            kill_process(process_of(&left), Signal::TERM).unwrap();
        }
        let said = lines.next().unwrap();
        assert!(said.starts_with(&format!("hairstreak: the map at {place} is gone, for ")), "{said}");
        assert_eq!(left.end().code(), Some(255));
    }
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_command_of_a_worker_that_does_not_exist_ends_it_at_once() {
    let outcome = end(worker(&place("none"), &["--", "no-such-command"]));
    let said = "hairstreak: cannot start no-such-command: No such file or directory (os error 2)\n";
    assert_eq!((outcome.status, outcome.stderr.as_str()), (127, said));
    for wrong in [&["inproc://x", "--", "cat"][..], &["tcp://x:65535", "--", "cat"], &["tcp://x:1"]] {
        let outcome = end(worker(wrong[0], &wrong[1..]));
        assert_eq!((outcome.status, outcome.stderr.lines().count()), (2, 1), "{outcome:?}");
    }
}

#[test]
fn a_record_that_a_worker_cannot_write_to_its_filter_fails() {
    let place = place("other");
    let map = start(&["-j0", "-0", "--listen", &place], "a\0b\nc\0d\0");
    let done = worker(&place, &["--", "cat"]);
    let outcome = map.end();
    assert!(outcome.stderr.contains("hairstreak: record 2 failed: there is a newline in it"), "{outcome:?}");
    assert_eq!(outcome.status, 1);
    assert_eq!(end(done).status, 0);
}

#[test]
fn a_tcp_port_and_the_one_above_are_enough() {
    // Two free adjacent ports. Another process may take one between the search and the listen.
    let outcome = (0..20).find_map(|_| {
        let first = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = first.local_addr().unwrap().port();
        drop((std::net::TcpListener::bind(("127.0.0.1", port.checked_add(1)?)).ok()?, first));
        let place = format!("tcp://127.0.0.1:{port}");
        let map = waiting(&place, &[], 1000);
        let workers = [(); 2].map(|()| worker(&place, &["--patience", "5s", "--", "cat"]));
        let outcome = map.end();
        workers.into_iter().for_each(|worker| drop(end(worker)));
        (outcome.status == 0).then_some(outcome)
    });
    assert_eq!(sorted(outcome.unwrap()), (1..=1000).collect::<Vec<_>>());
}

#[test]
fn every_record_that_a_worker_rejects_is_named() {
    // All records of the window are rejected at once. Large records wait until earlier ones are reported.
    for (count, size, window) in [(20_000, 10, "10000"), (12_000, 4096, "10000"), (3_000, 10, "7")] {
        let place = place(&format!("rejects-{size}-{window}"));
        let records: String = (1..=count).map(|number| format!("{number:>size$}\n")).collect();
        let map = start(&["-j0", "-w", window, "--listen", &place], records);
        let results = format!("{place}.results");
        // The worker runs in another thread, because a map without a reader of its standard error waits.
        let outcome = std::thread::scope(|scope| {
            let report = scope.spawn(|| {
                let worker = Worker::connect(&place, &results, &PipelineOptions::default()).unwrap();
                worker.run(|_| Reply::Reject("too hard".into())).unwrap()
            });
            let outcome = map.end();
            assert_eq!(report.join().unwrap().task_count, count);
            outcome
        });
        assert_eq!(outcome.status, 101);
        let said = outcome.stderr.lines().filter_map(|line| {
            let rest = line.strip_prefix("hairstreak: record ")?;
            rest.strip_suffix(" failed: too hard")?.parse::<u64>().ok()
        });
        let mut said: Vec<u64> = said.collect();
        said.sort_unstable();
        assert_eq!(said, (1..=count).collect::<Vec<_>>(), "of {size} bytes, window {window}");
        assert_eq!(outcome.stdout, b"");
    }
}
