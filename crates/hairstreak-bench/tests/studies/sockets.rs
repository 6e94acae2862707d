//! The benchmark as its users see it: tiny runs of the real binary, their JSON, their words, their exit codes.

use std::io::{BufRead, BufReader};
use std::process::{Command, Output, Stdio};

use hairstreak_testkit::{BoundedChild, BoundedCommand};
use serde_json::Value;

use crate::BINARY;

fn run(options: &str) -> Output {
    Command::new(BINARY).arg("sockets").args(options.split_whitespace()).run_to_end()
}

/// The report of a run that has to succeed.
fn report(options: &str) -> Value {
    let output = run(&format!("--quick --json --repeat 2 {options}"));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Checks that `case` has every field, each null or of its type, and figures that fit together.
fn check_case(case: &Value, has_rival: bool) {
    for field in ["case", "transport", "calls", "unit", "limit_name"] {
        assert!(case[field].is_string(), "{field} of {case}");
    }
    let numbers = [
        "size",
        "n",
        "messages",
        "percent_of_limit",
        "cpu_s_per_million",
        "allocations_per_message",
        "wake_ups_per_message",
    ];
    for field in numbers {
        assert!(case[field].is_number(), "{field} of {case}");
    }
    for field in ["median", "min", "max"] {
        assert!(case["ours"][field].is_number() && case["limit"][field].is_number(), "{field} of {case}");
        assert_eq!(case["rival"][field].is_number(), has_rival, "{field} of {case}");
    }
    for field in ["ratio", "rival_cpu_s_per_million"] {
        assert_eq!(case[field].is_number(), has_rival, "{field} of {case}");
    }
    assert!(case.as_object().unwrap().contains_key("system_calls_per_message"));
    let number = |field: &str| case[field].as_f64().unwrap();
    let ours = |field: &str| case["ours"][field].as_f64().unwrap();
    assert!(ours("min") <= ours("median") && ours("median") <= ours("max"));
    assert!(ours("min") > 0.0 && number("cpu_s_per_million") > 0.0);
    if has_rival {
        assert!((number("ratio") - ours("median") / case["rival"]["median"].as_f64().unwrap()).abs() < 1e-9);
    }
}

fn check_report(report: &Value, rows: &[(&str, &str, u64, &str)]) {
    assert!(report["machine"]["cpu"].is_string() && report["machine"]["kernel"].is_string());
    assert!(report["machine"]["cores"].as_u64().unwrap() >= 1);
    assert!(report["compiler"].as_str().unwrap().starts_with("rustc "));
    let rivals = report["rivals"].as_array().unwrap();
    let cases = report["cases"].as_array().unwrap();
    let found: Vec<(&str, &str, u64, &str)> = cases
        .iter()
        .map(|case| {
            let text = |field: &str| case[field].as_str().unwrap();
            (text("case"), text("transport"), case["size"].as_u64().unwrap(), text("calls"))
        })
        .collect();
    assert_eq!(found, rows);
    for case in cases {
        assert_eq!(case["n"], 2);
        check_case(case, !rivals.is_empty());
    }
}

#[test]
fn one_way_between_threads_has_a_row_per_way_of_calling() {
    let report = report("--case throughput --transport inproc --size 8");
    check_report(&report, &[("throughput", "inproc", 8, "one"), ("throughput", "inproc", 8, "batch")]);
}

#[test]
fn one_way_between_processes_is_verified_at_every_kind_of_size() {
    let report = report("--case throughput --transport tcp,ipc --size 1024,131072 --calls one");
    check_report(
        &report,
        &[
            ("throughput", "tcp", 1024, "one"),
            ("throughput", "tcp", 131_072, "one"),
            ("throughput", "ipc", 1024, "one"),
            ("throughput", "ipc", 131_072, "one"),
        ],
    );
}

#[test]
fn round_trips_are_counted_as_such() {
    let report = report("--case round_trip --transport tcp,inproc --calls one");
    check_report(&report, &[("round_trip", "tcp", 8, "one"), ("round_trip", "inproc", 8, "one")]);
    assert_eq!(report["cases"][0]["unit"], "round_trips/s");
}

#[test]
fn who_looks_before_sleeping_has_a_row_over_every_transport() {
    let report = report("--case round_trip --calls spin --transport tcp,ipc,shm,inproc");
    check_report(
        &report,
        &[
            ("round_trip", "tcp", 8, "spin"),
            ("round_trip", "ipc", 8, "spin"),
            ("round_trip", "shm", 8, "spin"),
            ("round_trip", "inproc", 8, "spin"),
        ],
    );
}

#[test]
fn four_subscribers_get_every_message() {
    let report = report("--case pub_sub --transport tcp,ipc,inproc --calls one");
    check_report(
        &report,
        &[("pub_sub", "tcp", 64, "one"), ("pub_sub", "ipc", 64, "one"), ("pub_sub", "inproc", 64, "one")],
    );
    assert_eq!(report["cases"][0]["unit"], "messages/s");
}

#[test]
fn sealed_messages_are_verified_at_short_and_long_sizes() {
    let report = report("--case curve --size 64,8192 --calls batch");
    check_report(&report, &[("curve", "tcp", 64, "batch"), ("curve", "tcp", 8192, "batch")]);
}

#[test]
fn a_thousand_echoes_are_under_way_whatever_their_size() {
    let report = report("--case echo --transport tcp,inproc --size 64,16384");
    let mut rows = Vec::new();
    for transport in ["tcp", "inproc"] {
        for size in [64, 16384] {
            rows.extend(["one", "batch"].map(|calls| ("echo", transport, size, calls)));
        }
    }
    check_report(&report, &rows);
    assert_eq!(report["cases"][0]["unit"], "round_trips/s");
}

#[test]
fn without_the_rival_ours_is_measured_alone_and_it_says_so() {
    let options = "--case throughput --transport inproc --size 64 --calls one --libzmq libabsent.so.1";
    let report = report(options);
    check_report(&report, &[("throughput", "inproc", 64, "one")]);
    assert_eq!(report["rivals"], Value::Array(Vec::new()));
    assert!(report["cases"][0]["rival"].is_null());
    let note = report["notes"][0].as_str().unwrap();
    assert!(note.contains("measured alone") && note.contains("libabsent.so.1"), "{note}");
}

#[test]
fn a_table_says_that_the_rival_was_left_out() {
    let output =
        run("--quick --no-rival --repeat 1 --case throughput --transport inproc --size 8 --calls one");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let table = String::from_utf8(output.stdout).unwrap();
    assert!(table.contains("against no rival"), "{table}");
    assert!(table.contains("hairstreak is measured alone"), "{table}");
    assert_eq!(table.lines().filter(|line| line.starts_with("throughput")).count(), 1, "{table}");
}

#[test]
fn options_that_leave_nothing_are_refused_in_one_line() {
    let output = run("--case round_trip --calls batch");
    assert_eq!(output.status.code(), Some(1));
    let words = String::from_utf8(output.stderr).unwrap();
    assert!(words.starts_with("hairstreak-bench: nothing to measure"), "{words}");
    assert_eq!(words.lines().count(), 1, "{words}");
}

#[test]
fn a_worker_whose_benchmark_is_gone_exits() {
    let task = r#"{"case":"throughput","transport":"tcp","size":8,"calls":"one","contender":"limit",
        "role":"measurer","stream_count":1,"message_count":10,"endpoints":[],"is_counting":false,"libzmq":""}"#;
    let mut worker = Command::new(BINARY)
        .args(["worker", "sockets", task])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(worker.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert!(line.contains("bound"), "{line}");
    // It waits for a peer that never comes; the closed standard input ends it.
    drop(worker.stdin.take());
    assert_eq!(worker.end().code(), Some(1));
}
