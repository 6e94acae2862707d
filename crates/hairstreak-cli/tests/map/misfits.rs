//! Filters that break the rule of one answer for each record, or die of a record: one clear line, and always an end.

use crate::harness::{map, numbers};

fn error(words: &[&str], input: &str, status: i32) -> String {
    let outcome = map(words, input);
    assert_eq!(outcome.status, status, "{outcome:?}");
    outcome.stderr
}

#[test]
fn a_filter_that_leaves_records_out_is_reported() {
    for words in [&["-j1", "--", "grep", "1"][..], &["-j2", "-w2", "--", "grep", "--line-buffered", "1"]] {
        let said = error(words, &numbers(30), 255);
        let line = said.lines().last().unwrap();
        assert!(line.starts_with("hairstreak: the filter has ended with "), "{said}");
        assert!(line.contains("answers for") && line.contains("--each"), "{said}");
    }
}

#[test]
fn a_filter_that_answers_too_much_is_reported() {
    for script in ["while read -r line; do echo $line; echo $line; done", "echo hello; cat"] {
        let said = error(&["-j1", "--", "sh", "-c", script], &numbers(30), 255);
        assert!(
            said.starts_with("hairstreak: the filter has given more answers than it had records"),
            "{said}"
        );
        assert_eq!(said.lines().count(), 1);
    }
}

#[test]
fn a_filter_that_ends_early_is_started_again_and_reported_once() {
    let outcome = map(&["-k", "-j1", "--", "sh", "-c", "read -r line && echo $line || exit 0"], numbers(50));
    assert_eq!(outcome.status, 0, "{outcome:?}");
    assert!(outcome.stderr.starts_with("hairstreak: the filter ended early, with "), "{outcome:?}");
    assert_eq!(outcome.stderr.lines().count(), 1);
    assert_eq!(outcome.text(), numbers(50));
}

#[test]
fn a_command_that_does_not_exist_ends_it_at_once() {
    for words in [
        &["--", "no-such-command"][..],
        &["--each", "--", "no-such-command"],
        &["--", "no-such-command", "{}"],
    ] {
        let said = error(words, &numbers(1000), 127);
        assert_eq!(
            said,
            "hairstreak: cannot start no-such-command: No such file or directory (os error 2)\n"
        );
    }
    let said = error(&["--", "sed s/a/b/"], "a\n", 127);
    assert!(said.ends_with("; there is no shell: each word is one argument, or sh -c '...'\n"), "{said}");
    let said = error(&["--", "/dev/null"], "", 126);
    assert_eq!(said, "hairstreak: cannot start /dev/null: Permission denied (os error 13)\n");
}

#[test]
fn a_filter_that_never_answers_is_given_up() {
    for (script, how) in
        [("exit 3", "exited with status 3"), ("read -r line; kill -9 $$", "was killed by signal 9")]
    {
        let said = error(&["-j1", "--", "sh", "-c", script], &numbers(1000), 255);
        let last = said.lines().last().unwrap();
        assert!(last.starts_with("hairstreak: the filter has ended "), "{said}");
        assert!(last.ends_with(&format!(" times without ever giving an answer: it {how}")), "{said}");
        // No record is blamed for the death of a filter that has read nothing.
        assert!(said.lines().count() <= if script == "exit 3" { 1 } else { 10 }, "{said}");
    }
}

#[test]
fn a_record_that_kills_its_filter_fails_and_the_others_are_done() {
    // One filter answers at once, the other holds its answers back until a buffer is full.
    let prompt = "while read -r line; do [ $line = 777 ] && kill -9 $$; echo $line; done";
    let awk = "$1 == 777 { exit 5 } { print }";
    let filters: [(&[&str], &str); 2] =
        [(&["sh", "-c", prompt], "was killed by signal 9"), (&["awk", awk], "exited with status 5")];
    for (filter, how) in filters {
        for window in ["4", "10000"] {
            let words = [&["-k", "-j2", "-w", window, "--"], filter].concat();
            let outcome = map(&words, numbers(1000));
            assert_eq!(outcome.stderr, format!("hairstreak: record 777 failed: the filter {how}, 3 times\n"));
            assert_eq!(outcome.status, 1);
            let expected: String = numbers(1000).replace("777\n", "");
            assert_eq!(outcome.text(), expected);
        }
    }
}

#[test]
fn as_many_records_fail_as_the_status_says_up_to_101() {
    for (failing, status) in [(5, 5), (150, 101)] {
        let script = format!("while read -r line; do [ $line -le {failing} ] && exit 9; echo $line; done");
        // The first answer shows that the command does answer.
        let input = format!("1000\n{}", numbers(failing + 5));
        let outcome = map(&["-k", "-j1", "--retries", "1", "--", "sh", "-c", &script], input);
        assert_eq!(outcome.status, status, "{outcome:?}");
        assert_eq!(outcome.stderr.lines().count(), failing);
        assert_eq!(outcome.stdout.split(|byte| *byte == b'\n').count(), 7);
    }
}

#[test]
fn a_filter_that_fails_behind_its_last_answer_counts() {
    let outcome = map(&["-k", "-j1", "--", "sh", "-c", "cat; exit 7"], numbers(5));
    assert_eq!(outcome.stderr, "hairstreak: the filter exited with status 7 after its last answer\n");
    assert_eq!((outcome.status, outcome.text()), (1, numbers(5)));
}

#[test]
fn arguments_that_make_no_sense_are_one_line() {
    for words in
        [&["-j0", "--", "cat"][..], &["-j1"], &["-0", "--length", "--", "cat"], &["--window=0", "--", "cat"]]
    {
        let said = error(words, "", 2);
        assert_eq!(said.lines().count(), 1, "{said}");
    }
}
