//! Short butterflies: repeated runs, late workers, a directory that is killed, wrong arguments.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use hairstreak_testkit::{BoundedChild, BoundedCommand};

use crate::host::{Host, Network};
use crate::stage::{
    COMPONENT1, COMPONENT2, INTERMEDIATE, RECEIVE_REPLIES, SEND_REQUESTS, Singletons, serve, start_workers,
};

#[test]
fn runs_are_repeatable_and_end_with_the_input() {
    let own = Host::Own;
    let (_node, port) = serve(&own, "0");
    let directory = format!("127.0.0.1:{port}");
    let mut singletons = Singletons::start([&own; 3], &directory, Some("lo"), "12");
    let _workers = start_workers(&own, &directory, [(2, "10"), (3, "20")]);
    for _ in 0..3 {
        let throughput = singletons.run();
        assert!(throughput > 0.0 && throughput < 200.0, "{throughput}");
    }
    assert!(singletons.send_requests.end_input().success());
}

#[test]
fn a_directory_killed_amid_a_run_loses_nothing_and_late_workers_find_their_names() {
    let own = Host::Own;
    let (node, port) = serve(&own, "0");
    let directory = format!("127.0.0.1:{port}");
    let mut singletons = Singletons::start([&own; 3], &directory, None, "300");
    let _workers = start_workers(&own, &directory, [(2, "10"), (2, "10")]);
    singletons.begin();
    drop(node);
    let (_node, _) = serve(&own, &port);
    let _late = start_workers(&own, &directory, [(1, "10"), (1, "10")]);
    // It ends when all 300 replies came.
    singletons.finish();
    singletons.run();
}

#[test]
fn wrong_arguments_get_the_usage_line() {
    for (program, wrong) in [
        (SEND_REQUESTS, &["SVR001"][..]),
        (SEND_REQUESTS, &["SVR001", "eth0", "100"]),
        (INTERMEDIATE, &[]),
        (INTERMEDIATE, &["SVR001", "eth0"]),
        (RECEIVE_REPLIES, &["SVR001", "0"]),
        (COMPONENT1, &["SVR001"]),
        (COMPONENT2, &["SVR001", "soon"]),
    ] {
        let output = Command::new(program).args(wrong).run_to_end();
        let text = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1));
        assert!(text.starts_with("usage: ") && text.lines().count() == 1, "{text}");
    }
}

#[test]
fn an_interface_that_is_none_is_named() {
    let (_node, port) = serve(&Host::Own, "0");
    let directory = format!("127.0.0.1:{port}");
    let arguments = [directory.as_str(), "no-such-nic", "lo"];
    let output = Command::new(INTERMEDIATE).args(arguments).run_to_end();
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!((output.status.code(), text.lines().count()), (Some(1), 1), "{text}");
    assert!(text.starts_with("intermediate: INTERMEDIATE_IN: "), "{text}");
    assert!(text.contains("no-such-nic"), "{text}");
}

#[test]
fn a_directory_on_an_unknown_host_is_given_up_at_once() {
    for (program, name, arguments) in [
        (INTERMEDIATE, "intermediate: INTERMEDIATE_IN", &["-"][..]),
        (COMPONENT1, "component1: SEND_REQUESTS_OUT", &["-", "5"]),
    ] {
        let output = Command::new(program).args(arguments).run_to_end();
        let text = String::from_utf8(output.stderr).unwrap();
        let reason = "host \"-\" cannot be resolved: Name or service not known";
        assert_eq!(text, format!("{name}: the directory at tcp://-:5682 cannot be reached: {reason}\n"));
        assert_eq!(output.status.code(), Some(1));
    }
}

#[test]
fn a_resolver_that_does_not_answer_now_is_asked_again_and_that_is_told() {
    // No name server can be reached from a network of its own.
    let network = Network::new();
    let mut command = network.hub().command(COMPONENT1);
    let mut component = command.args(["SVR001", "5"]).stderr(Stdio::piped()).spawn().unwrap();
    let mut told = String::new();
    BufReader::new(component.stderr.as_mut().unwrap()).read_line(&mut told).unwrap();
    let running = component.try_wait().unwrap().is_none();
    component.kill().unwrap();
    component.end();
    let reason = "host \"SVR001\" cannot be resolved: Temporary failure in name resolution";
    assert_eq!((told, running), (format!("{reason}, trying again\n"), true));
}

#[test]
fn a_name_in_use_is_one_clear_line() {
    let own = Host::Own;
    let (_node, port) = serve(&own, "0");
    let directory = format!("127.0.0.1:{port}");
    let _singletons = Singletons::start([&own; 3], &directory, None, "1");
    let output = Command::new(INTERMEDIATE).arg(&directory).run_to_end();
    let text = String::from_utf8(output.stderr).unwrap();
    let expected = format!(
        "intermediate: INTERMEDIATE_IN is taken: the directory at tcp://{directory} has it at tcp://"
    );
    assert!(text.starts_with(&expected) && text.lines().count() == 1, "{text}");
    assert_eq!(output.status.code(), Some(1));
}
