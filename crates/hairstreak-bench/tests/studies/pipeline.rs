//! The pipeline benchmark as its users see it: tiny runs of the real binary, their JSON, their words, their exit codes.

use std::process::{Command, Output, Stdio};

use hairstreak_testkit::{BoundedChild, BoundedCommand};
use serde_json::Value;

use crate::BINARY;

fn run(options: &str) -> Output {
    Command::new(BINARY).arg("pipeline").args(options.split_whitespace()).run_to_end()
}

fn succeed(options: &str) -> String {
    let output = run(options);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn number(value: &Value, field: &str) -> f64 {
    value[field].as_f64().unwrap_or_else(|| panic!("{field} of {value}"))
}

fn check_use(consumption: &Value, tasks: u64) {
    assert_eq!(consumption["tasks"], tasks, "{consumption}");
    assert!(number(consumption, "cpu_s_per_million") > 0.0, "{consumption}");
    for field in ["ventilator_peak_size", "worker_peak_size", "sink_peak_size"] {
        assert!(number(consumption, field) > 1e6, "{field} of {consumption}");
    }
    let shares: Vec<f64> =
        consumption["worker_share_percent"].as_array().unwrap().iter().filter_map(Value::as_f64).collect();
    assert!(shares.len() == 4 && shares.is_sorted(), "{shares:?}");
    assert!((shares.iter().sum::<f64>() - 100.0).abs() < 1e-6, "{shares:?}");
}

/// Checks a row with so many in flight and such a window.
fn check_case(report: &Value, case: &Value, row: (u64, Option<u64>), tasks: u64, has_rival: bool) {
    assert_eq!((case["in_flight"].as_u64().unwrap(), case["window"].as_u64()), row);
    assert_eq!((&case["case"], &case["unit"]), (&Value::from("pipeline"), &Value::from("tasks/s")));
    assert_eq!((&case["size"], &case["workers"], &case["n"]), (&8.into(), &4.into(), &2.into()));
    let ours = &case["ours"];
    assert!(number(ours, "min") <= number(ours, "median") && number(ours, "median") <= number(ours, "max"));
    assert!(number(ours, "min") > 0.0);
    let costs =
        report["costs"].as_array().unwrap().iter().filter(|costs| costs["in_flight"] == case["in_flight"]);
    let contenders: Vec<&Value> = costs.clone().map(|costs| &costs["contender"]).collect();
    let expected: &[&str] = if has_rival { &["ours", "batches", "blocks"] } else { &["ours"] };
    assert_eq!(contenders, expected);
    costs.for_each(|costs| check_use(costs, tasks));
    for field in ["ratio", "blocks_ratio"] {
        assert_eq!(case[field].is_number(), has_rival, "{field} of {case}");
    }
    if has_rival {
        let ratio = number(ours, "median") / number(&case["rival"], "median");
        assert!((number(case, "ratio") - ratio).abs() < 1e-9 && case["blocks"].is_object());
    }
}

#[test]
fn every_contender_does_every_task_with_few_and_many_in_flight() {
    // The last batch and the last block are not full.
    let report: Value = serde_json::from_str(&succeed(
        "--json --repeat 2 --tasks 2005 --task-us 0 --in-flight 1,10,1000,1000000",
    ))
    .unwrap();
    assert_eq!(report["benchmark"], "pipeline");
    assert!(report["machine"]["cores"].as_u64().unwrap() >= 1);
    let has_rival = !report["rivals"].as_array().unwrap().is_empty();
    let cases = report["cases"].as_array().unwrap();
    let rows = [(1_000_000, None), (1000, Some(1000)), (10, Some(10)), (1, Some(1))];
    assert_eq!(cases.len(), rows.len());
    for (case, row) in cases.iter().zip(rows) {
        check_case(&report, case, row, 2005, has_rival);
    }
    let targets: Vec<Option<f64>> = cases.iter().map(|case| case["target_ratio"].as_f64()).collect();
    assert_eq!(targets, [Some(4.0), Some(5.0), Some(2.5), None]);
    let sentences = report["conclusion"].as_array().unwrap();
    // Each target's verdict, and the smallest window.
    assert_eq!(sentences.len(), if has_rival { 3 + 1 } else { 1 }, "{sentences:?}");
}

#[test]
fn tasks_that_take_time_are_done_no_faster_than_four_workers_can() {
    let options = "--json --quick --repeat 1 --tasks 400 --task-us 20,2000 --in-flight 100,10";
    let report: Value = serde_json::from_str(&succeed(options)).unwrap();
    let has_rival = !report["rivals"].as_array().unwrap().is_empty();
    let cases = report["timed_cases"].as_array().unwrap();
    let row = |case: &Value| (case["task_us"].as_u64().unwrap(), case["in_flight"].as_u64().unwrap());
    assert_eq!(cases.iter().map(row).collect::<Vec<_>>(), [(20, 100), (20, 10), (2000, 100), (2000, 10)]);
    for case in cases {
        // A worker that wakes up late makes the next task shorter, and only that one.
        let fastest = 4e6 / number(case, "task_us") * 1.05;
        assert!(number(&case["ours"], "max") <= fastest, "{case}");
        assert!(!has_rival || number(&case["rival"], "max") <= fastest, "{case}");
        assert!(case["blocks"].is_null() && case["target_ratio"].is_null(), "{case}");
        assert!(case["cost_percent"].is_number(), "{case}");
        assert_eq!(case["rival_cost_percent"].is_number(), has_rival, "{case}");
    }
    let sentences: Vec<&str> =
        report["conclusion"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    let starts = ["Tasks of 20 us: ", "Tasks of 2000 us: "];
    assert!(
        sentences.len() == 2
            && sentences.iter().zip(starts).all(|(sentence, start)| sentence.starts_with(start))
    );
}

#[test]
fn the_table_of_tasks_that_take_time_has_their_costs() {
    let text = succeed("--no-rival --repeat 1 --tasks 400 --task-us 500 --in-flight 50,10");
    for row in ["500      50 ", "500      10 "] {
        // One of rates, one of costs.
        assert_eq!(text.lines().filter(|line| line.starts_with(row)).count(), 2, "{text}");
    }
    assert!(!text.contains("REQ/REP") && text.contains("\nTasks of 500 us: "), "{text}");
}

#[test]
fn without_the_rival_ours_is_measured_alone_and_it_says_so() {
    let options = "--json --repeat 2 --tasks 500 --in-flight 10 --task-us 0 --libzmq libabsent.so.1";
    let report: Value = serde_json::from_str(&succeed(options)).unwrap();
    check_case(&report, &report["cases"][0], (10, Some(10)), 500, false);
    assert_eq!(report["conclusion"], Value::Array(Vec::new()));
    let note = report["notes"][0].as_str().unwrap();
    assert!(note.contains("measured alone") && note.contains("libabsent.so.1"), "{note}");
}

#[test]
fn the_tables_have_rates_and_costs_of_each_row() {
    let text = succeed("--no-rival --repeat 1 --tasks 500 --task-us 0 --in-flight 50,10");
    assert!(text.contains("against no rival") && text.contains("measured alone"), "{text}");
    for row in ["0        50 ", "0        10 "] {
        assert_eq!(text.lines().filter(|line| line.starts_with(row)).count(), 2, "{text}");
    }
}

#[test]
fn a_part_that_cannot_do_its_task_says_why() {
    let task = r#"{"scheme":"batches","role":{"worker":0},"transport":"tcp","in_flight_count":1,"task_count":1,"task_us":0,"endpoints":[],
        "libzmq":"libabsent.so.1"}"#;
    // The standard input stays open: closed it would end the part by itself.
    let part = Command::new(BINARY)
        .args(["worker", "pipeline", task])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let output = wait_with_open_input(part);
    assert_eq!(output.status.code(), Some(1));
    let words = String::from_utf8(output.stderr).unwrap();
    assert!(words.starts_with("hairstreak-bench: libzmq: cannot load libabsent.so.1"), "{words}");
}

fn wait_with_open_input(mut part: std::process::Child) -> Output {
    let input = part.stdin.take();
    let output = part.end_with_output();
    drop(input);
    output
}
