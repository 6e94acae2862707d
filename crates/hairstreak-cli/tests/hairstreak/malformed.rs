//! Invalid topologies and arguments: one line, status 2. The values of each key are tested beside the
//! code that reads them. These tests check that `plan` and `run` both print the error.

use hairstreak_testkit::BoundedCommand;

use crate::harness::{HAIRSTREAK, Job, Outcome};

fn hairstreak(arguments: &[&str]) -> Outcome {
    std::process::Command::new(HAIRSTREAK).args(arguments).run_to_end().into()
}

#[test]
fn a_malformed_topology_is_refused_in_one_line() {
    for (topology, reason) in [
        ("", "job.toml: 0 stages; write 1 to 64 sections [[stage]]"),
        ("[[stage]\n", "job.toml: line 1: "),
        ("[[stage]]\nname = 'a'\necho = true\nslep = '1s'", "job.toml: stage \"a\": unknown key `slep`"),
        ("[[stage]]\nname = 'a'\nsleep = '1 hour'", "job.toml: stage \"a\": \"1 hour\" is not a duration"),
        (
            "[[stage]]\nname = 'a'\ninstances = 0\necho = true",
            "job.toml: stage \"a\": instances = 0, allowed are",
        ),
        ("[[stage]]\nname = 'a'\necho = true\nprocess = '1ms'\ncpu = '59m'", "job.toml: stage \"a\": "),
        ("[[stage]]\nname = 'a'\ncommand = ['cat']", "job.toml: stage \"a\": command needs framing"),
        (
            "[[stage]]\nname = 'a'\necho = true\n[input]\nlines = 1",
            "job.toml: [input]: invalid type: integer",
        ),
    ] {
        let job = Job::new(topology);
        for outcome in [job.plan(&[]), job.run(&[])] {
            let line = outcome.refusal(2);
            assert!(line.starts_with(reason), "{line}");
            assert_eq!(outcome.stdout, "");
        }
    }
}

#[test]
fn a_topology_that_is_not_there_is_named() {
    let outcome = hairstreak(&["run", "nowhere.toml"]);
    assert!(outcome.refusal(2).starts_with("nowhere.toml: cannot read the topology: No such file"));
}

#[test]
fn a_topology_made_for_a_plan_cannot_run() {
    let only_planned = Job::new("[[stage]]\nname = 'a'\nprocess = '1ms'\n[input]\nmessages = 1");
    assert!(only_planned.run(&[]).refusal(2).starts_with("job.toml: stage \"a\" says no work to do"));
    let not_fed = Job::new("[[stage]]\nname = 'a'\necho = true");
    assert!(not_fed.run(&[]).refusal(2).starts_with("job.toml: the topology has no [input]"));
}

#[test]
fn a_topology_without_times_has_no_plan() {
    let job = Job::new("[[stage]]\nname = 'a'\ncommand = 'cat'\nframing = 'lines'");
    assert!(job.plan(&[]).refusal(2).starts_with("job.toml: stage \"a\": no time is known"));
}

#[test]
fn json_and_results_do_not_share_standard_output() {
    let job = Job::new("[[stage]]\nname = 'a'\necho = true\n[input]\nmessages = 1\n[output]\nstdout = true");
    assert!(job.run(&["--json"]).refusal(2).starts_with("--json prints on standard output"));
}

#[test]
fn wrong_arguments_have_the_status_of_usage() {
    for arguments in [
        &["fly"][..],
        &["plan"],
        &["run", "a.toml", "--progress", "sometimes"],
        &["plan", "a.toml", "--target", "-1"],
        &["plan", "a.toml", "--messages", "0"],
        &["plan", "a.toml", "--messages", "1000000000001"],
        &["run", "a.toml", "--connect-timeout", "soon"],
        &["run", "a.toml", "--connect-timeout", "0s"],
        &["run", "a.toml", "--connect-timeout", "86401s"],
    ] {
        hairstreak(arguments).refusal(2);
    }
}

#[test]
fn what_is_wrong_with_the_arguments_is_one_line() {
    for (arguments, line) in [
        (&["plan"][..], "the following required arguments were not provided: <FILE>"),
        (
            &["run", "a.toml", "--progress", "some\x1b\ntimes"],
            "invalid value 'some times' for '--progress <WHEN>' [possible values: auto, never, always]",
        ),
        (&["keyge"], "unrecognized subcommand 'keyge'; tip: a similar subcommand exists: 'keygen'"),
    ] {
        assert_eq!(hairstreak(arguments).refusal(2), line);
    }
    let nothing = hairstreak(&[]);
    assert_eq!(nothing.status, 2);
    assert!(nothing.stderr.contains("Usage: hairstreak"), "nothing typed gets the help: {nothing:?}");
}

#[test]
fn places_that_are_no_endpoints_are_wrong_arguments() {
    for place in ["PULL@", "PULL@tcp://127.0.0.1:x", "PULL@connect:tcp://*:5", "PULL@connect:nonsense"] {
        hairstreak(&["proxy", "--frontend", place, "--backend", "PUSH@tcp://127.0.0.1:*"]).refusal(2);
    }
    for endpoint in ["nonsense", "tcp://127.0.0.1:99999"] {
        hairstreak(&["serve", "--bind", endpoint]).refusal(2);
    }
}

#[test]
fn a_target_that_is_no_rate_says_what_is_one() {
    let job = Job::new("[[stage]]\nname = 'a'\nsleep = '1s'");
    for target in ["nan", "inf", "-inf", "-1", "0", "-0", "1e300", "1000000000001", "1e-320", "0.0000009"] {
        let outcome = job.plan(&[&format!("--target={target}")]);
        outcome.refusal(2);
        let allowed = "a rate is between 0.000001 and 1000000000000 messages a second\n";
        assert!(outcome.stderr.contains(allowed), "{target}: {outcome:?}");
    }
}

#[test]
fn every_command_explains_itself() {
    for command in ["plan", "run", "serve"] {
        let outcome = hairstreak(&[command, "--help"]).succeeded();
        assert!(outcome.stdout.contains("Usage: hairstreak"), "{outcome:?}");
    }
    let all = hairstreak(&["--help"]).succeeded().stdout;
    assert!(["plan", "run", "serve", "bench"].iter().all(|command| all.contains(command)), "{all}");
    assert!(!all.contains("\n  stage"), "stages are started by `run` only: {all}");
}
