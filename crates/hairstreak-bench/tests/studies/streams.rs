//! The multi-core test as its users see it: tiny runs of the real binary, their JSON, their words, their charts.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};

use hairstreak_testkit::BoundedCommand;
use serde_json::Value;

use crate::BINARY;

/// A run of two sizes with one and two streams, its charts in a directory of the test's own.
fn run(name: &str, options: &str) -> (Output, PathBuf) {
    let directory = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("streams-{name}"));
    let fixed = "streams --size 8,64 --streams 1,2 --messages 2000 --repeat 1 --out";
    let output = Command::new(BINARY)
        .args(fixed.split_whitespace())
        .arg(&directory)
        .args(options.split_whitespace())
        .run_to_end();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    (output, directory)
}

fn number(value: &Value, field: &str) -> f64 {
    value[field].as_f64().unwrap_or_else(|| panic!("{field} of {value}"))
}

fn check_cases(report: &Value, has_rival: bool) {
    let cases = report["cases"].as_array().unwrap();
    let rows = cases.iter().map(|case| (case["size"].as_u64().unwrap(), case["streams"].as_u64().unwrap()));
    assert_eq!(rows.collect::<Vec<_>>(), [(8, 1), (8, 2), (64, 1), (64, 2)]);
    for case in cases {
        assert_eq!(
            (&case["case"], &case["transport"], &case["calls"]),
            (&Value::from("streams"), &Value::from("tcp"), &Value::from("one"))
        );
        assert_eq!((number(case, "n"), number(case, "messages")), (1.0, 2000.0));
        let ours = number(&case["ours"], "median");
        assert!(ours > 0.0 && number(case, "cpu_s_per_million") > 0.0, "{case}");
        let mbit = ours * number(case, "size") * 8.0 / 1e6;
        assert!((number(case, "ours_mbit") - mbit).abs() < 1e-6 * mbit, "{case}");
        for field in ["rival_mbit", "ratio", "rival_cpu_s_per_million"] {
            assert_eq!(case[field].is_number(), has_rival, "{field} of {case}");
        }
        assert_eq!(case["rival"].is_object(), has_rival, "{case}");
    }
}

fn check_controls(report: &Value, expected: &[(&str, &str)]) {
    let controls = report["controls"].as_array().unwrap();
    let found: Vec<(&str, &str, u64)> = controls
        .iter()
        .map(|control| {
            let text = |field: &str| control[field].as_str().unwrap();
            (text("contender"), text("transport"), control["streams"].as_u64().unwrap())
        })
        .collect();
    let expected: Vec<(&str, &str, u64)> = expected
        .iter()
        .flat_map(|&(contender, transport)| [1, 2].map(|count| (contender, transport, count)))
        .collect();
    assert_eq!(found, expected);
    for pair in controls.chunks(2) {
        assert!(number(&pair[0], "n") >= 7.0);
        assert_eq!(number(&pair[0], "rise_percent"), 0.0);
        let of = |index: usize| number(&pair[index]["cpu_s_per_million"], "median");
        let rise = 100.0 * (of(1) / of(0) - 1.0);
        assert!((number(&pair[1], "rise_percent") - rise).abs() < 1e-6, "{pair:?}");
    }
}

#[test]
fn every_size_and_number_of_streams_has_a_row_and_the_controls_a_conclusion() {
    let (output, directory) = run("json", "--json");
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(report["machine"]["cores"].as_u64().unwrap() >= 1);
    let has_rival = !report["rivals"].as_array().unwrap().is_empty();
    check_cases(&report, has_rival);
    let mut controls = vec![("hairstreak", "tcp")];
    controls.extend(has_rival.then_some(("libzmq", "tcp")));
    controls.extend([("hairstreak", "shm"), ("hairstreak", "inproc")]);
    check_controls(&report, &controls);
    let conclusion: Vec<&str> =
        report["conclusion"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    for (sentence, start) in
        conclusion.iter().zip(["From 1 to 2 streams", "Network card", "Kernel", "Memory", "So "])
    {
        assert!(sentence.starts_with(start), "{sentence}");
    }
    assert_eq!(conclusion.len(), 5);
    for (chart, file) in
        report["charts"].as_array().unwrap().iter().zip(["streams-messages.svg", "streams-megabits.svg"])
    {
        assert_eq!(chart.as_str().unwrap(), directory.join(file).display().to_string());
        let text = fs::read_to_string(directory.join(file)).unwrap();
        assert!(text.starts_with("<svg") && text.trim_end().ends_with("</svg>"), "{file}");
        for label in ["hairstreak, 1 stream", "hairstreak, 2 streams", "bytes per message"] {
            assert!(text.contains(label), "{label} in {file}");
        }
        assert_eq!(text.contains("libzmq, 2 streams"), has_rival, "{file}");
    }
}

#[test]
fn without_the_rival_ours_is_measured_alone_and_it_says_so() {
    let (output, _) = run("alone", "--json --libzmq libabsent.so.1");
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    check_cases(&report, false);
    check_controls(&report, &[("hairstreak", "tcp"), ("hairstreak", "shm"), ("hairstreak", "inproc")]);
    let note = report["notes"][0].as_str().unwrap();
    assert!(note.contains("measured alone") && note.contains("libabsent.so.1"), "{note}");
}

#[test]
fn the_tables_have_a_line_per_size_and_a_conclusion() {
    let (output, _) = run("table", "--no-rival");
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("against no rival") && text.contains("measured alone"), "{text}");
    for size in ["8 ", "64 "] {
        assert_eq!(text.lines().filter(|line| line.starts_with(size)).count(), 2, "{text}");
    }
    assert_eq!(text.lines().filter(|line| line.starts_with("hairstreak  ")).count(), 6, "{text}");
    assert!(text.contains("\nNetwork card: ") && text.contains("\nSo "), "{text}");
}

#[test]
fn a_place_where_no_chart_can_go_is_refused_before_anything_is_measured() {
    let output = Command::new(BINARY).args(["streams", "--quick", "--out", "/dev/null/charts"]).run_to_end();
    assert_eq!(output.status.code(), Some(1));
    let words = String::from_utf8(output.stderr).unwrap();
    assert!(words.starts_with("hairstreak-bench: cannot make the directory"), "{words}");
    assert_eq!(words.lines().count(), 1, "{words}");
}
