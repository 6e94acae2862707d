//! A proxy that cannot connect reports it, and keeps trying.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use hairstreak_testkit::BoundedChild;
use rustix::process::{Pid, Signal, kill_process};

use crate::harness::{HAIRSTREAK, Outcome};

#[test]
fn an_endpoint_that_cannot_be_connected_to_is_named() {
    let place = "PULL@connect:tcp://nosuch.invalid:5";
    // The time limit is a minute: without the line the test would wait for ever.
    let mut command = Command::new("timeout");
    command.args([
        "--foreground",
        "60",
        HAIRSTREAK,
        "proxy",
        "--frontend",
        place,
        "--backend",
        "PUSH@tcp://127.0.0.1:*",
    ]);
    let mut proxy = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::with_capacity(1, proxy.stderr.as_mut().unwrap()).read_line(&mut line).unwrap();
    let named = "frontend: cannot connect to tcp://nosuch.invalid:5: host \"nosuch.invalid\" ";
    assert!(line.starts_with(named) && line.ends_with("; trying again\n"), "{line}");
    kill_process(Pid::from_child(&proxy), Signal::TERM).unwrap();
    let outcome = Outcome::from(proxy.end_with_output()).succeeded();
    assert!(outcome.stdout.contains("frontend"), "{outcome:?}");
}
