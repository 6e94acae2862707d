//! Programs without credentials: on another host they can neither call, serve, register nor list. On this host they can, unless
//! the configuration forbids it.

use crate::network::Network;
use crate::node::{Host, NearNode, done, first_line};

/// The wait for a reply that does not come, in milliseconds.
const VAIN_MS: &str = "2000";
/// Longer than a reply takes.
const LONG_MS: &str = "60000";

/// The attempts of a client without credentials: call, serve, register, look up, list services, list names. Our commands are used
/// if there are some, else pyzmq.
fn found(node: &NearNode, host: Host, address: &str, patience_ms: &str) -> [bool; 9] {
    let (services, directory) = (format!("tcp://{address}:5555"), format!("tcp://{address}:5682"));
    let succeeds = |words: &[&str]| {
        let output = done(&mut node.command(host, words), "");
        let errors = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success() || errors.contains("refuses: a user has to log in"), "{errors}");
        assert!(output.status.success() || errors.lines().count() == 1, "{errors}");
        output.status.success()
    };
    let script = |words: &[&str]| first_line(&mut node.script(host, words));
    let ask = |verb: &str| script(&["directory", &directory, verb, "name", patience_ms, "null"]);
    let registers = ask("REGISTER") == "OK";
    [
        succeeds(&["call", "shout", "hello", "--broker", &services]),
        script(&["client", &services, "0.1", "shout", patience_ms, "null"]) == "HELLO",
        serves(node, host, &services, patience_ms),
        succeeds(&["services", "--json", "--broker", &services]),
        script(&["client", &services, "0.2", "mmi.service", patience_ms, "null"]) != "nothing",
        registers,
        ask("LOOKUP").starts_with("FOUND"),
        ask("LIST").starts_with("LIST"),
        succeeds(&["directory", "--at", &directory]),
    ]
}

/// Returns `true` if a worker of pyzmq gets a request from the node's own host.
fn serves(node: &NearNode, host: Host, services: &str, patience_ms: &str) -> bool {
    let mut script = node.script(host, &["worker", services, "0.1", "other", "null"]);
    let mut worker = script.stdout(std::process::Stdio::null()).spawn().unwrap();
    let patience = format!("{patience_ms}ms");
    let call = ["call", "other", "hello", "--broker", "tcp://127.0.0.1:5555", "--timeout", &patience];
    let password = node.file("password");
    let words = [&call[..], &["--user", "ann", "--password-file", &password]].concat();
    let output = done(&mut node.command(Host::Near, &words), "");
    let _ = worker.kill();
    let _ = worker.wait();
    output.status.success()
}

#[test]
fn without_credentials_another_host_can_do_nothing_and_the_nodes_own_everything() {
    let node = NearNode::start("");
    let _worker = node.worker(Host::Near, &[]);
    assert_eq!(found(&node, Host::Far, Network::NEAR, VAIN_MS), [false; 9]);
    // The address counts, not the host: a connection from the host's outer address is from another host.
    assert_eq!(found(&node, Host::Near, Network::NEAR, VAIN_MS), [false; 9]);
    assert_eq!(found(&node, Host::Near, "127.0.0.1", LONG_MS), [true; 9]);
    // Our worker on the other host is refused at once.
    let words =
        ["worker", "--service", "shout", "--broker", &format!("tcp://{}:5555", Network::NEAR), "--", "cat"];
    let output = done(&mut node.command(Host::Far, &words), "");
    let errors = String::from_utf8(output.stderr).unwrap();
    assert_eq!((output.status.code(), errors.contains("a user has to log in")), (Some(1), true), "{errors}");
}

#[test]
fn one_line_of_the_configuration_closes_the_nodes_own_host_too() {
    let node = NearNode::start("require_login = true");
    let password = node.file("password");
    let _worker = node.worker(Host::Near, &["--user", "ann", "--password-file", &password]);
    assert_eq!(found(&node, Host::Near, "127.0.0.1", VAIN_MS), [false; 9]);
}
