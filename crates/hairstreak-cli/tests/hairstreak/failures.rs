//! Runs that fail: one line with the reason, status 1.

use hairstreak_testkit::BoundedChild;

use crate::harness::{Job, python};

/// A topology of one stage with these keys, fed with ten short messages.
fn check(keys: &str, reason: &str) {
    let job = Job::new(&format!("[[stage]]\nname = 'work'\n{keys}\n[input]\nmessages = 10\nsize = 4"));
    let outcome = job.run(&[]);
    let line = outcome.refusal(1);
    assert!(line.starts_with(reason), "{line:?} for {keys:?}");
    assert_eq!(outcome.stdout, "");
}

#[test]
fn a_command_that_is_missing() {
    check(
        "command = ['no-such-command']\nframing = 'lines'",
        "stage \"work\": command \"no-such-command\": not found",
    );
    check("program = ['./none']", "stage \"work\": command \"./none\": no such executable file");
    check(
        "command = 'no-such-command'\nframing = 'lines'",
        "stage \"work\" instance 1 exited with status 127: sh: 1: no-such-command: not found",
    );
}

#[test]
fn a_stage_that_exits_with_a_status() {
    let fails = "'echo first >&2; echo why >&2; exit 3'";
    check(
        &format!("command = {fails}\nframing = 'lines'"),
        "stage \"work\" instance 1 exited with status 3: why",
    );
    check(&format!("program = {fails}"), "stage \"work\" instance 1 exited with status 3: why");
    check("program = 'exit 0'", "stage \"work\" instance 1 exited with status 0 before its work was done");
    check(
        "program = 'kill -9 $$'",
        "stage \"work\" instance 1 was killed by signal 9; a program is not started again, for what it had is lost",
    );
}

#[test]
fn what_a_stage_wrote_last_does_nothing_to_the_terminal() {
    check(
        r"program = 'printf %b a\\033[2Jb\\007 >&2; exit 3'",
        r#"stage "work" instance 1 exited with status 3: a\u{1b}[2Jb\u{7}"#,
    );
}

#[test]
fn one_instance_of_several_that_fails() {
    check(
        "instances = 3\nprogram = 'if [ $HAIRSTREAK_INSTANCE = 2 ]; then exit 3; fi; sleep 1000'",
        "stage \"work\" instance 2 exited with status 3",
    );
}

#[test]
fn a_program_that_fails_in_the_middle() {
    let worker = "import os, zmq\n\
        pull = zmq.Context.instance().socket(zmq.PULL)\n\
        pull.connect(os.environ['HAIRSTREAK_IN'])\n\
        push = zmq.Context.instance().socket(zmq.PUSH)\n\
        push.connect(os.environ['HAIRSTREAK_OUT'])\n\
        push.send(pull.recv())\n\
        raise ValueError('message 2 is odd')\n";
    let topology = format!(
        "[[stage]]\nname = 'before'\necho = true\n\
         [[stage]]\nname = 'work'\nprogram = ['{}', 'worker.py']\n[input]\nmessages = 10",
        python()
    );
    let outcome = Job::new(&topology).with("worker.py", worker).run(&[]);
    let reason = "stage \"work\" instance 1 exited with status 1: ValueError: message 2 is odd";
    assert_eq!(outcome.refusal(1), reason);
}

#[test]
fn a_program_that_sends_more_results_than_it_got_messages() {
    let worker = "import os, zmq\n\
        pull = zmq.Context.instance().socket(zmq.PULL)\n\
        pull.connect(os.environ['HAIRSTREAK_IN'])\n\
        push = zmq.Context.instance().socket(zmq.PUSH)\n\
        push.connect(os.environ['HAIRSTREAK_OUT'])\n\
        while True:\n\
        \x20   message = pull.recv()\n\
        \x20   push.send(message)\n\
        \x20   push.send(message)\n";
    let topology = format!(
        "[[stage]]\nname = 'slowly'\nsleep = '300ms'\n\
         [[stage]]\nname = 'twice'\nprogram = ['{}', 'worker.py']\n[input]\nmessages = 10",
        python()
    );
    let outcome = Job::new(&topology).with("worker.py", worker).run(&[]);
    assert_eq!(
        outcome.refusal(1),
        "stage \"twice\" sent more results than messages it got (1); one for each is due"
    );
}

#[test]
fn filters_that_print_fewer_or_more_results_than_they_got_messages() {
    let filter = |command: &str| format!("command = '{command}'\nframing = 'lines'");
    check(&filter("sed 3d"), "stage \"work\" instance 1: the filter printed 9 results for 10 messages");
    check(&filter("sed p"), "stage \"work\" instance 1: the filter printed ");
    check(&filter("head -n 4"), "stage \"work\" instance 1: the filter ");
    check(&filter("echo hello; cat"), "stage \"work\" instance 1: the filter printed ");
}

#[test]
fn a_filter_that_sends_results_by_a_socket_of_its_own() {
    let filter = "import os, sys, zmq\n\
        push = zmq.Context.instance().socket(zmq.PUSH)\n\
        push.connect(os.environ['HAIRSTREAK_OUT'])\n\
        push.send(b'surplus')\n\
        sys.stdin.read()\n";
    let topology = format!(
        "[[stage]]\nname = 'work'\ncommand = ['{}', 'filter.py']\nframing = 'lines'\n[input]\nlines = '-'",
        python()
    );
    let job = Job::new(&topology).with("filter.py", filter);
    let mut runner = job.start_guarded(&[]);
    let _open = runner.stdin.take();
    let outcome = crate::harness::Outcome::from(runner.end_with_output());
    assert_eq!(outcome.refusal(1), "the hub failed: stage \"work\" sent a result of no message");
}

#[test]
fn a_message_with_a_newline_for_a_filter_of_lines() {
    let topology = "[[stage]]\nname = 'work'\ncommand = 'cat'\nframing = 'lines'\n[input]\nfiles = 'in'";
    let job = Job::new(topology).with("in/a", "one line").with("in/b", "one line\n");
    let outcome = job.run(&[]);
    let line = outcome.refusal(1);
    assert!(
        line.starts_with("message 2 (./in/b) contains a newline, which framing = \"lines\" of"),
        "{line}"
    );
    let topology = "[[stage]]\nname = 'first'\ncommand = 'cat'\nframing = 'length'\n\
                    [[stage]]\nname = 'second'\ncommand = 'cat'\nframing = 'lines'\n[input]\nfiles = 'in'";
    let outcome = Job::new(topology).with("in/a", "two\nlines").run(&[]);
    let line = outcome.refusal(1);
    assert!(line.starts_with("result 1 of stage \"first\" contains a newline"), "{line}");
}

#[test]
fn a_program_that_does_not_connect() {
    let job = Job::new("[[stage]]\nname = 'work'\nprogram = 'sleep 1000'\n[input]\nmessages = 1");
    let outcome = job.run(&["--connect-timeout", "100ms"]);
    let reason = "stage \"work\" instance 1 did not connect to HAIRSTREAK_IN within 100 ms";
    assert_eq!(outcome.refusal(1), reason);
}

#[test]
fn verbose_shows_all_that_stages_wrote_to_standard_error() {
    let job = Job::new(
        "[[stage]]\nname = 'work'\ncommand = 'echo one >&2; echo two >&2; exec cat'\nframing = 'lines'\n[input]\nmessages = 1",
    );
    assert_eq!(job.run(&[]).stderr, "");
    assert_eq!(job.run(&["--verbose"]).stderr, "work 1: one\nwork 1: two\n");
}

#[test]
fn a_benchmark_that_is_not_built_is_named() {
    let alone = Job::new("");
    let copy = alone.folder.join("hairstreak");
    std::fs::copy(crate::harness::HAIRSTREAK, &copy).unwrap();
    let output = loop {
        match std::process::Command::new(&copy).args(["bench", "sockets"]).output() {
            // Another test forked while the copy was being written: its child holds it open for a moment.
            Err(error) if error.kind() == std::io::ErrorKind::ExecutableFileBusy => {}
            output => break output.unwrap(),
        }
    };
    let outcome = crate::harness::Outcome::from(output);
    assert!(
        outcome.refusal(1).ends_with("cargo build --release -p hairstreak-bench builds it"),
        "{outcome:?}"
    );
}
