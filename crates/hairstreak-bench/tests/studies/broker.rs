//! The broker benchmark as its users see it: tiny runs of the real binary, their JSON, their words, their exit codes.
//!
//! Figures are not tested: this machine may be busy and the build is not optimised. Our node is left out: other tests cover
//! it, and the limit has every case that the node has.

use std::process::{Command, Output, Stdio};

use hairstreak_testkit::{BoundedChild, BoundedCommand};
use serde_json::Value;

use crate::{BINARY, alone_with_rabbitmq};

const TINY: &str = "--no-node --repeat 2 --sample-ms 20 --connections 20";

fn run(options: &str) -> Output {
    Command::new(BINARY).arg("broker").args(options.split_whitespace()).run_to_end()
}

fn succeed(options: &str) -> String {
    let output = run(options);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn number(value: &Value, field: &str) -> f64 {
    value[field].as_f64().unwrap_or_else(|| panic!("{field} of {value}"))
}

/// The rows of a table that are about the case and the size of `case`.
fn rows<'a>(report: &'a Value, table: &str, case: &Value) -> Vec<&'a Value> {
    let is_of_case = |row: &&Value| row["case"] == case["case"] && row["size"] == case["size"];
    report[table].as_array().unwrap().iter().filter(is_of_case).collect()
}

/// Checks the figures of the limit, the only contender, in a row.
fn check_case(report: &Value, case: &Value) {
    assert_eq!(case["n"], 2);
    let rate = &case["limit"];
    assert!(number(rate, "min") > 0.0 && number(rate, "min") <= number(rate, "max"), "{case}");
    let absent = ["hairstreak", "RabbitMQ", "ratio", "percent_of_limit"];
    assert!(absent.iter().all(|key| case[key].is_null()), "{case}");
    let expected: &[&str] = match case["case"].as_str().unwrap() {
        "publish" => &["broker", "producer"],
        "round trip" => &["broker", "client"],
        _ => &["broker", "consumer", "producer"],
    };
    let costs = rows(report, "costs", case);
    let roles: Vec<&str> = costs.iter().map(|cost| cost["role"].as_str().unwrap()).collect();
    assert_eq!(roles, expected);
    for cost in costs {
        assert_eq!(cost["contender"], "limit");
        let (cpu_us, wake_ups) = (number(&cost["cpu_us"], "median"), number(&cost["wake_ups"], "median"));
        assert!(cpu_us >= 0.0 && wake_ups >= 0.0, "{cost}");
    }
    let latencies = rows(report, "latencies", case);
    let has_latency = ["round trip", "half of the peak"].contains(&case["case"].as_str().unwrap());
    assert_eq!(latencies.len(), usize::from(has_latency), "{case}");
    for latency in latencies {
        assert!(number(&latency["p50_us"], "median") <= number(&latency["p999_us"], "median"), "{latency}");
    }
}

#[test]
fn every_message_of_every_row_arrives_at_the_limit() {
    let report: Value = serde_json::from_str(&succeed(&format!("{TINY} --no-rival --json"))).unwrap();
    assert_eq!(report["benchmark"], "broker");
    assert!(report["rivals"].as_array().unwrap().is_empty());
    let cases = report["cases"].as_array().unwrap();
    assert_eq!(cases.len(), 11);
    cases.iter().for_each(|case| check_case(&report, case));
    assert!(report["conclusion"].as_array().unwrap().is_empty());
}

#[test]
fn every_durable_row_has_the_figures_of_its_disk() {
    let options =
        format!("{TINY} --no-rival --json --durable --sync-delay 1ms").replace("--connections 20", "");
    let report: Value = serde_json::from_str(&succeed(&options)).unwrap();
    let cases = report["cases"].as_array().unwrap();
    let names: Vec<&str> = cases.iter().map(|case| case["case"].as_str().unwrap()).collect();
    let queues = ["1 queue", "100 queues", "1000 queues"];
    assert_eq!(names, [&["persistent", "persistent", "one confirm", "100 publishers"][..], &queues].concat());
    for case in cases {
        assert!(case["n"] == 2 && number(&case["limit"], "min") > 0.0, "{case}");
        let [disk] = rows(&report, "disk", case)[..] else { panic!("{report}") };
        let speeds =
            ["sync_us", "write_mib_per_s", "read_mib_per_s"].map(|speed| number(&disk[speed], "min"));
        assert!(speeds.iter().all(|speed| *speed > 0.0) && disk["are_cached"] == true, "{disk}");
    }
    assert!(report["starts"].as_array().unwrap().is_empty());
    let notes = report["notes"].to_string();
    assert!(notes.contains("each sync of our node and of the limit took 1 ms longer"), "{notes}");
}

#[test]
fn a_durable_case_without_a_disk_is_refused() {
    for (options, word) in [("--case persistent", "with"), ("--durable --case in-out", "without")] {
        let output = run(&format!("--no-node --no-rival {options}"));
        let words = String::from_utf8(output.stderr).unwrap();
        let expected = format!("can only be measured {word} --durable");
        assert!(output.status.code() == Some(1) && words.contains(&expected), "{words}");
    }
}

#[test]
fn rabbitmq_has_everything_of_its_own_and_leaves_nothing_behind() {
    let _alone = alone_with_rabbitmq();
    let text = succeed(&format!("{TINY} --case in-out,connections --size 16"));
    if text.contains("no RabbitMQ here") {
        return;
    }
    assert!(text.contains("against RabbitMQ 3.") || text.contains("against RabbitMQ 4."), "{text}");
    let row = text.lines().find(|line| line.starts_with("RabbitMQ")).unwrap();
    assert!(row.contains(" 20 ") && row.contains("KiB"), "{row}");
}

#[test]
fn a_rival_that_is_not_installed_is_left_out_and_the_report_says_so() {
    let text = succeed(&format!("{TINY} --case round-trip --rabbitmq /nowhere/rabbitmq-server"));
    assert!(text.contains("no RabbitMQ here (/nowhere/rabbitmq-server is not there"), "{text}");
    assert!(text.contains("note: our node was left out"), "{text}");
    let row = text.lines().find(|line| line.starts_with("round trip")).unwrap();
    assert!(row.contains("round trips/s"), "{row}");
}

#[test]
fn a_node_that_is_not_there_is_named() {
    let output = run("--no-rival --case round-trip --node tcp://127.0.0.1:1");
    assert_eq!(output.status.code(), Some(1));
    let words = String::from_utf8(output.stderr).unwrap();
    assert!(words.contains("round trip 16 B, hairstreak: the connection failed: "), "{words}");
    assert_eq!(run("--node localhost").status.code(), Some(2));
}

#[test]
fn a_client_that_cannot_do_its_task_says_why() {
    // With its standard input open: closed it would end the client by itself.
    for study in ["broker-client", "broker-server"] {
        let mut part = Command::new(BINARY);
        part.args(["worker", study, "nonsense"]).stdin(Stdio::piped()).stderr(Stdio::piped());
        let mut part = part.spawn().unwrap();
        let input = part.stdin.take();
        let output = part.end_with_output();
        drop(input);
        assert_eq!(output.status.code(), Some(1));
        let words = String::from_utf8(output.stderr).unwrap();
        assert!(words.contains("not a task") || words.contains("not for a keeper"), "{words}");
    }
}
