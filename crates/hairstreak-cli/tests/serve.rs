//! `hairstreak serve`, as it is started and ended by hand.

#[path = "workbench/daemon.rs"]
#[allow(dead_code, reason = "shared with the tests of services, which look at its memory")]
mod daemon;

use std::time::Duration;

use hairstreak::{Node, Scope};
use rustix::process::Signal;

use daemon::{Daemon, End};

fn start(arguments: &[&str]) -> Daemon {
    Daemon::start("serve", arguments)
}

#[test]
fn it_says_where_it_is_and_reports_names_and_ends_well_on_a_signal() {
    for signal in [Signal::TERM, Signal::INT] {
        let mut serving = start(&["--bind", "tcp://127.0.0.1:*", "-v"]);
        let endpoint = serving.place("directory");
        let node = Node::builder().directory(&endpoint).patience(Duration::from_secs(20)).build().unwrap();
        let queue = node.queue("Q").scope(Scope::Global).interface("127.0.0.1:*").open().unwrap();
        let expected = format!("registered Q at {}", queue.endpoint().unwrap());
        assert_eq!(serving.error_line(), expected);
        drop(queue);
        assert_eq!(serving.error_line(), "unregistered Q");
        let expected = End { status: Some(0), output: String::new(), errors: String::new() };
        assert_eq!(serving.end_by(signal), expected);
    }
}

#[test]
fn it_listens_on_every_endpoint_it_is_given() {
    let mut serving = start(&["--bind", "tcp://127.0.0.1:*", "--bind", "tcp://lo:*"]);
    for endpoint in [serving.place("directory"), serving.place("directory")] {
        let node = Node::builder().directory(&endpoint).patience(Duration::from_secs(20)).build().unwrap();
        node.queue(&endpoint).scope(Scope::Global).open().unwrap();
    }
    assert_eq!(serving.end_by(Signal::TERM).status, Some(0));
}

#[test]
fn a_port_in_use_is_one_clear_line() {
    let mut first = start(&["--port", "0"]);
    let endpoint = first.place("directory");
    let port = endpoint.strip_prefix("tcp://*:").unwrap();
    let End { status, errors, .. } = start(&["--port", port]).end();
    assert_eq!(status, Some(1));
    assert_eq!(errors, format!("hairstreak: cannot bind {endpoint}: it is in use\n"));
    assert_eq!(first.end_by(Signal::TERM).status, Some(0));
}

#[test]
fn arguments_that_make_no_sense_are_refused() {
    for arguments in [&["--port", "65536"][..], &["--lease", "0s"], &["--port", "1", "--bind", "ipc://x"]] {
        let End { status, errors, .. } = start(arguments).end();
        assert_eq!(status, Some(2), "{errors}");
    }
    let End { status, errors, .. } = start(&["--bind", "tcp://127.0.0.1:*", "--bind", "inproc://x"]).end();
    let reason = "nobody outside this process could reach it there, use tcp:// or ipc://";
    assert_eq!((status, errors), (Some(2), format!("hairstreak: --bind inproc://x: {reason}\n")));
    let End { status, errors, .. } = start(&["--bind", "nonsense"]).end();
    assert_eq!((status, errors.lines().count()), (Some(2), 1), "{errors}");
}
