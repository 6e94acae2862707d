//! `{}` and `--each`: a command for each record.

use crate::harness::{map, numbers};

#[test]
fn a_record_takes_its_place_as_it_is() {
    let input = "a b\n'\"\n$(date) `date` *\n\n\\n\n{}\n";
    let expected: String = input.lines().map(|line| format!("<{line}|{line}>\n")).collect();
    assert_eq!(map(&["-k", "-j3", "--", "printf", "<%s|%s>\\n", "{}", "{}"], input).good(), expected);
    assert_eq!(map(&["-k", "--", "sh", "-c", "echo $1.", "sh", "x{}y"], "1\n2\n").good(), "x1y.\nx2y.\n");
}

#[test]
fn a_record_stands_on_standard_input_with_each() {
    assert_eq!(map(&["-k", "-j3", "--each", "--", "wc", "-c"], "a\nbcd\n\n").good(), "2\n4\n1\n");
    assert_eq!(map(&["-k", "-0", "--each", "--", "wc", "-c"], "a\0b\nd\0").good(), "1\n3\n");
    // A command with a place for the record gets no record on its standard input.
    assert_eq!(map(&["-k", "--", "sh", "-c", "cat; echo {}"], "1\n").good(), "1\n");
    assert_eq!(map(&["-k", "--each", "--", "sh", "-c", "cat; echo {}"], "1\n").good(), "1\n1\n");
}

#[test]
fn output_of_any_length_is_kept_together() {
    let outcome = map(&["-k", "-j4", "--", "seq", "{}"], "30000\n0\n3\n20000\n").good();
    assert_eq!(outcome, [numbers(30_000), numbers(3), numbers(20_000)].concat());
}

#[test]
fn a_large_record_that_is_not_read_harms_nobody() {
    let large = "x".repeat(300_000);
    let outcome = map(&["-k", "--each", "--", "echo", "done"], format!("{large}\n{large}\n"));
    assert_eq!(outcome.good(), "done\ndone\n");
    assert_eq!(map(&["-k", "--each", "--", "cat"], format!("{large}\n")).good(), format!("{large}\n"));
    // This command writes nothing before the end of its input.
    assert_eq!(map(&["-k", "--each", "--", "wc", "-c"], format!("{large}\n")).good(), "300001\n");
}

#[test]
fn failed_records_are_named_counted_and_keep_their_output() {
    let script = "echo out {}; [ {} != 2 ] || exit 9; [ {} != 4 ] || kill -9 $$";
    let outcome = map(&["-k", "-j2", "--", "sh", "-c", script], numbers(5));
    let said = "hairstreak: record 2 failed: exited with status 9\nhairstreak: record 4 failed: was killed by signal 9\n";
    assert_eq!((outcome.status, outcome.stderr.as_str()), (2, said));
    assert_eq!(outcome.text(), "out 1\nout 2\nout 3\nout 4\nout 5\n");
    let outcome = map(&["-j2", "--", "false", "{}"], numbers(120));
    assert_eq!((outcome.status, outcome.stderr.lines().count()), (101, 120));
}

#[test]
fn a_record_that_fails_is_tried_again_if_asked() {
    let folder = crate::harness::folder("retries");
    let script = "echo x >> $1/{}; [ $(wc -l < $1/{}) = 3 ] && echo {} at last";
    let place = folder.to_str().unwrap();
    let outcome = map(&["-k", "--retries", "3", "--", "sh", "-c", script, "sh", place], "a\nb\n");
    assert_eq!(outcome.good(), "a at last\nb at last\n");
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn a_record_that_no_command_line_can_hold_fails_alone() {
    let input = format!("a\n{}\nb\n", "x".repeat(3 << 20));
    let outcome = map(&["-k", "--", "echo", "{}"], input);
    assert_eq!(
        outcome.stderr,
        "hairstreak: record 2 failed: cannot start echo: Argument list too long (os error 7)\n"
    );
    assert_eq!((outcome.status, outcome.text().as_str()), (1, "a\nb\n"));
    let outcome = map(&["-k", "--", "{}"], "no-such-command\ntrue\n");
    let said =
        "hairstreak: record 1 failed: cannot start no-such-command: No such file or directory (os error 2)\n";
    assert_eq!((outcome.status, outcome.stderr.as_str()), (1, said));
}
