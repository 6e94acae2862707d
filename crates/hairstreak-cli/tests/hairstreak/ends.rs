//! The sources of messages and the destinations of results.

use hairstreak_testkit::BoundedChild;

use crate::harness::Job;

const ECHO: &str = "[[stage]]\nname = 'echo'\necho = true\n";

#[test]
fn lines_of_a_file_arrive_in_a_file() {
    let topology = format!("{ECHO}[input]\nlines = 'in.txt'\n[output]\nfile = 'out.txt'");
    let job = Job::new(&topology).with("in.txt", "one\n\nthree\r\nfour without newline");
    let report = job.measure();
    assert_eq!(report["messages"], 4);
    assert_eq!(job.read("out.txt"), "one\n\nthree\r\nfour without newline\n");
}

#[test]
fn lines_of_standard_input_arrive_on_standard_output() {
    let job = Job::new(&format!("{ECHO}[input]\nlines = '-'\n[output]\nstdout = true"));
    let outcome = job.run_on("one\ntwo\n");
    assert_eq!((outcome.status, outcome.stdout.as_str()), (0, "one\ntwo\n"));
    assert!(outcome.stderr.contains("2 messages in "), "the table goes to standard error: {outcome:?}");
}

#[test]
fn a_result_is_there_before_the_next_line_is_typed() {
    use std::io::{BufRead, BufReader, Write};
    let job = Job::new(&format!("{ECHO}[input]\nlines = '-'\n[output]\nstdout = true"));
    let mut process = job.start(&[]);
    let mut stdin = process.stdin.take().unwrap();
    let mut results = BufReader::new(process.stdout.take().unwrap()).lines();
    for line in ["one", "two"] {
        writeln!(stdin, "{line}").unwrap();
        assert_eq!(results.next().unwrap().unwrap(), line);
    }
    drop(stdin);
    assert_eq!(process.end().code(), Some(0));
}

#[test]
fn files_below_a_folder_are_messages_in_the_order_of_their_paths() {
    let topology =
        |rest| format!("{ECHO}[input]\nfiles = 'texts'\n{rest}\n[output]\nfile = 'out'\nframing = 'length'");
    for (rest, result) in [
        ("", "\0\0\0\u{2}b\n\0\0\0\u{1}c\0\0\0\0\0\0\0\u{1}a"),
        ("extensions = ['txt', '.tar.gz']", "\0\0\0\u{1}c\0\0\0\0"),
    ] {
        let job = Job::new(&topology(rest))
            .with("texts/z", "a")
            .with("texts/b/1.md", "b\n")
            .with("texts/b/c/2.txt", "c")
            .with("texts/b/d.tar.gz", "");
        std::os::unix::fs::symlink("nowhere", job.folder.join("texts/dangling.txt")).unwrap();
        std::os::unix::fs::symlink(".", job.folder.join("texts/loop.txt")).unwrap();
        job.run(&[]).succeeded();
        assert_eq!(job.read("out"), result, "{rest}");
    }
}

#[test]
fn generated_messages_have_their_size() {
    let job = Job::new(&format!("{ECHO}[input]\nmessages = 3\nsize = 5\n[output]\nfile = 'out'"));
    job.run(&[]).succeeded();
    assert_eq!(job.read("out"), "xxxxx\nxxxxx\nxxxxx\n");
}

#[test]
fn an_empty_input_gives_an_empty_result() {
    let job = Job::new(&format!("{ECHO}[input]\nlines = '/dev/null'\n[output]\nfile = 'out'"));
    let report = job.measure();
    assert_eq!((&report["messages"], &report["throughput_per_s"]), (&0.into(), &0.0.into()));
    assert_eq!((&report["complete"], &report["stages"][0]["processed"]), (&true.into(), &0.into()));
    assert_eq!(job.read("out"), "");
    assert_eq!(job.run(&[]).succeeded().stdout, "no messages, for the input is empty\n");
    let piped = Job::new(&format!("{ECHO}[input]\nlines = '-'\n[output]\nstdout = true"));
    let outcome = piped.run_on("");
    assert_eq!((outcome.status, outcome.stdout.as_str()), (0, ""));
    assert_eq!(outcome.stderr, "no messages, for the input is empty\n");
    let one = piped.run_on("one line\n");
    assert!(one.stderr.contains("\n1 message in "), "{one:?}");
}

#[test]
fn an_end_that_cannot_be_opened_is_named() {
    for (ends, reason) in [
        ("[input]\nlines = 'none.txt'", "cannot read ./none.txt: No such file"),
        ("[input]\nfiles = 'none'", "cannot read ./none: No such file"),
        ("[input]\nfiles = '.'\nextensions = ['none']", "cannot read ./.: it has no such file"),
        ("[input]\nmessages = 1\n[output]\nfile = 'none/out'", "cannot write ./none/out: No such file"),
    ] {
        let outcome = Job::new(&format!("{ECHO}{ends}")).run(&[]);
        assert!(outcome.refusal(1).starts_with(reason), "{outcome:?}");
    }
}
