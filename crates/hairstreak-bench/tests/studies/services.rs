//! The services benchmark as its users see it: tiny runs of the real binary, their JSON, their words, their exit codes.

use std::process::{Command, Output, Stdio};

use hairstreak_testkit::{BoundedChild, BoundedCommand};
use serde_json::Value;

use crate::BINARY;

fn succeed(options: &str) -> String {
    let output = Command::new(BINARY).arg("services").args(options.split_whitespace()).run_to_end();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn number(value: &Value, field: &str) -> f64 {
    value[field].as_f64().unwrap_or_else(|| panic!("{field} of {value}"))
}

fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value[field].as_str().unwrap_or_else(|| panic!("{field} of {value}"))
}

/// Checks a row: a contender and so many requests.
fn check_row(row: &Value, requests: f64) {
    let (rate, real_s) = (&row["rate"], &row["real_s"]);
    assert!(number(rate, "min") > 0.0 && number(rate, "min") <= number(rate, "max"), "{row}");
    assert!((number(rate, "max") * number(real_s, "min") - requests).abs() < 1e-6 * requests, "{row}");
    assert_eq!((&row["requests"], &row["n"], &row["unit"]), (&300.into(), &2.into(), &"requests/s".into()));
}

#[test]
fn every_request_of_every_row_has_its_reply() {
    let report: Value = serde_json::from_str(&succeed("--json --repeat 2 --requests 300")).unwrap();
    assert_eq!(report["benchmark"], "services");
    assert!(report["machine"]["cores"].as_u64().unwrap() >= 1);
    let has_rival = !report["rivals"].as_array().unwrap().is_empty();
    let cases = report["cases"].as_array().unwrap();
    let row = |case: &Value| {
        (text(case, "case").to_owned(), text(case, "mode").to_owned(), number(case, "workers"))
    };
    let mut rows: Vec<_> = cases.iter().map(row).collect();
    rows.dedup();
    let mut expected = vec![("tripping", "sync", 1.0), ("tripping", "async", 1.0), ("services", "sync", 1.0)];
    expected.extend([1.0, 2.0, 4.0, 8.0, 10.0, 16.0].map(|workers| ("services", "async", workers)));
    if has_rival {
        // The workers are the rival's.
        expected.extend(["plain workers", "stocked plain workers"].map(|case| (case, "async", 1.0)));
    }
    let expected: Vec<_> = expected.into_iter().map(|(a, b, c)| (a.to_owned(), b.to_owned(), c)).collect();
    assert_eq!(rows, expected);
    let contenders: &[&str] = if has_rival { &["hairstreak", "libzmq"] } else { &["hairstreak"] };
    for pair in cases.chunks(contenders.len()) {
        let names: Vec<&str> = pair.iter().map(|case| text(case, "contender")).collect();
        assert_eq!(names, contenders);
        pair.iter().for_each(|case| check_row(case, 300.0));
        assert_eq!(pair[0]["ratio"].is_number(), has_rival, "{}", pair[0]);
        let of_row = report["processes"].as_array().unwrap().iter().filter(|used| row(used) == row(&pair[0]));
        let roles: Vec<&str> = of_row.clone().map(|used| text(used, "role")).collect();
        let is_tripping = pair[0]["case"] == "tripping";
        let expected: &[&str] = if is_tripping { &["all"] } else { &["broker", "workers", "client"] };
        assert_eq!(roles, expected.repeat(contenders.len()));
        for used in of_row {
            assert!(number(&used["real_s"], "min") > 0.0, "{used}");
            assert!(number(&used["user_s"], "median") >= 0.0 && number(&used["system_s"], "median") >= 0.0);
        }
    }
    let sentences = report["conclusion"].as_array().unwrap();
    assert_eq!(sentences.len(), if has_rival { 7 } else { 0 }, "{sentences:?}");
}

#[test]
fn without_the_rival_ours_is_measured_alone_and_it_says_so() {
    let text = succeed("--repeat 1 --requests 100 --libzmq libabsent.so.1");
    assert!(text.contains("measured alone") && text.contains("yields the processor"), "{text}");
    assert_eq!(text.lines().filter(|line| line.starts_with("tripping  ")).count(), 4, "{text}");
    assert_eq!(text.lines().filter(|line| line.starts_with("services  ")).count(), 7 + 21, "{text}");
    assert!(text.contains("note: plain workers are the rival's, and were left out with it"), "{text}");
    assert!(!text.contains("plain workers  ") && !text.contains("x libzmq"), "{text}");
}

#[test]
fn the_tables_have_times_and_costs_of_the_workers_asked_for() {
    let text = succeed("--repeat 1 --requests 100 --workers 3 --case services");
    let rows = text.lines().filter(|line| line.starts_with("services  async  3 ")).count();
    // One of times; broker, workers and client. As many of the rival, where it is.
    assert!([4, 8].contains(&rows), "{text}");
    assert!(!text.contains("tripping  ") && !text.contains("yields"), "{text}");
}

#[test]
fn a_part_that_cannot_do_its_task_says_why() {
    let task = |library: &str| {
        format!(
            r#"{{"scheme":"libzmq_majordomo","role":"broker","mode":"sync","request_count":1,"worker_count":1,"endpoint":"",
            "libzmq":"{library}"}}"#
        )
    };
    for (task, expected) in [
        ("nonsense".to_owned(), "hairstreak-bench: not a task: "),
        (task("libabsent.so.1"), "hairstreak-bench: cannot load libabsent.so.1"),
    ] {
        let output = fail(&task);
        assert_eq!(output.status.code(), Some(1));
        let words = String::from_utf8(output.stderr).unwrap();
        assert!(words.starts_with(expected), "{words}");
    }
}

/// Runs a part with its standard input open: closed it would end the part by itself.
fn fail(task: &str) -> Output {
    let part = Command::new(BINARY)
        .args(["worker", "services", task])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let mut part = part.unwrap();
    let input = part.stdin.take();
    let output = part.end_with_output();
    drop(input);
    output
}
