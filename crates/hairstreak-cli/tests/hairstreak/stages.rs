//! The kinds of stages.

use std::fmt::Write;

use crate::harness::{Job, python};

#[test]
fn a_filter_of_lines_may_hold_its_output_back_until_the_end() {
    let job = Job::new(
        "[[stage]]\nname = 'upper'\ninstances = 3\ncommand = ['tr', 'a-z', 'A-Z']\nframing = 'lines'\n\
         [[stage]]\nname = 'number'\ncommand = \"awk '{ print NR, $0 }'\"\nframing = 'lines'\n\
         [input]\nlines = 'in'\n[output]\nfile = 'out'",
    );
    let mut input = String::new();
    for number in 0..5000 {
        writeln!(input, "line {number}").unwrap();
    }
    let report = job_with(&job, &input).measure();
    assert_eq!(report["messages"], 5000);
    assert_eq!(report["predicted_per_s"], serde_json::Value::Null);
    let output = job.read("out");
    let mut numbered: Vec<&str> = output.lines().map(|line| line.split_once(' ').unwrap().1).collect();
    let upper = input.to_uppercase();
    let mut expected: Vec<&str> = upper.lines().collect();
    numbered.sort_unstable();
    expected.sort_unstable();
    assert_eq!(numbered, expected);
    assert!(output.ends_with('\n') && output.lines().last().unwrap().starts_with("5000 "));
}

fn job_with<'a>(job: &'a Job, input: &str) -> &'a Job {
    std::fs::write(job.folder.join("in"), input).unwrap();
    job
}

#[test]
fn a_filter_with_lengths_takes_any_byte() {
    let filter = "import sys\n\
        while size := sys.stdin.buffer.read(4):\n\
        \x20   body = sys.stdin.buffer.read(int.from_bytes(size, 'big'))\n\
        \x20   sys.stdout.buffer.write(size + body[::-1])\n";
    let job = Job::new(&format!(
        "[[stage]]\nname = 'reverse'\ncommand = ['{}', 'reverse.py']\nframing = 'length'\n\
         [input]\nfiles = 'in'\n[output]\nfile = 'out'\nframing = 'length'",
        python()
    ));
    let large: Vec<u8> = (0..3_000_000u32).map(|index| (index % 251) as u8).collect();
    let job = job.with("reverse.py", filter).with("in/a", "").with("in/b", "\n\0\n!").with("in/c", &large);
    job.run(&[]).succeeded();
    let mut expected = b"\0\0\0\0\0\0\0\x04!\n\0\n".to_vec();
    expected.extend(3_000_000u32.to_be_bytes());
    expected.extend(large.iter().rev());
    assert!(std::fs::read(job.folder.join("out")).unwrap() == expected);
}

const WORKER: &str = "import os, zmq\n\
    context = zmq.Context()\n\
    pull = context.socket(zmq.PULL)\n\
    pull.connect(os.environ['HAIRSTREAK_IN'])\n\
    push = context.socket(zmq.PUSH)\n\
    push.connect(os.environ['HAIRSTREAK_OUT'])\n\
    name = os.environ['HAIRSTREAK_STAGE'] + os.environ['HAIRSTREAK_INSTANCE']\n";

#[test]
fn an_unmodified_zeromq_program_is_a_stage() {
    let worker = format!("{WORKER}while True:\n    push.send(name.encode() + b' ' + pull.recv())\n");
    let job = Job::new(&format!(
        "[[stage]]\nname = 'worker'\ninstances = 2\nprogram = ['{}', 'worker.py']\n\
         [input]\nlines = 'in'\n[output]\nstdout = true",
        python()
    ));
    let outcome = job.with("worker.py", worker).with("in", "a\nb\nc\nd\n").run(&[]);
    assert_eq!(outcome.status, 0, "{outcome:?}");
    assert_eq!(outcome.sorted_lines(), ["worker1 a", "worker1 c", "worker2 b", "worker2 d"]);
}

#[test]
fn a_program_may_end_when_its_work_is_done() {
    let worker = format!("{WORKER}for _ in range(3):\n    push.send(pull.recv())\ncontext.destroy()\n");
    let job = Job::new(&format!(
        "[[stage]]\nname = 'worker'\ninstances = 2\nprogram = ['{}', 'worker.py']\n[input]\nmessages = 6",
        python()
    ));
    assert_eq!(job.with("worker.py", worker).measure()["messages"], 6);
}

#[test]
fn messages_of_several_frames_pass_between_programs() {
    let split = format!("{WORKER}while True:\n    push.send_multipart([b'head', pull.recv()])\n");
    let join = format!("{WORKER}while True:\n    push.send(b'+'.join(pull.recv_multipart()))\n");
    let job = Job::new(&format!(
        "[[stage]]\nname = 'split'\nprogram = ['{0}', 'split.py']\n\
         [[stage]]\nname = 'echo'\necho = true\n\
         [[stage]]\nname = 'join'\nprogram = ['{0}', 'join.py']\n\
         [input]\nlines = 'in'\n[output]\nfile = 'out'",
        python()
    ));
    let job = job.with("split.py", split).with("join.py", join).with("in", "a\nb\n");
    job.run(&[]).succeeded();
    assert_eq!(job.read("out"), "head+a\nhead+b\n");
}
