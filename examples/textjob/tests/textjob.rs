//! Runs the program itself, on a little text.

use std::process::{Command, Output};

use hairstreak_testkit::BoundedCommand;

fn textjob(arguments: &[&str]) -> (Output, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_textjob")).args(arguments).run_to_end();
    let printed = String::from_utf8(output.stdout.clone()).unwrap();
    (output, printed)
}

#[test]
fn a_small_job_is_predicted_first_and_comes_to_the_same_both_ways() {
    let (output, printed) = textjob(&["4"]);
    assert!(output.status.success(), "{printed}{}", String::from_utf8_lossy(&output.stderr));
    assert!(
        printed.ends_with("bytes)\n") && printed.contains("results identical: yes (60 lines"),
        "{printed}"
    );
    let place = |words: &str| printed.find(words).unwrap_or_else(|| panic!("no {words:?} in {printed}"));
    assert!(place("prediction:") < place("running the butterfly"));
}

#[test]
fn what_cannot_be_run_is_one_line_and_a_failure() {
    for (arguments, reason) in
        [(&["none"], "usage: textjob [MIB]"), (&["1"], "chunks of 65536 bytes of text")]
    {
        let (output, printed) = textjob(arguments);
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!((output.status.code(), error.lines().count()), (Some(1), 1), "{printed}{error}");
        assert!(error.contains(reason), "{error}");
    }
}
