//! Credentials by options, by the environment and by key files, from another host.

use hairstreak::{PASSWORD_VARIABLE, USER_VARIABLE};

use crate::network::Network;
use crate::node::{Host, NearNode, PASSWORD, done};

#[test]
fn each_command_takes_credentials_by_options_and_by_the_environment() {
    let node = NearNode::start("");
    let (services, directory) =
        (format!("tcp://{}:5555", Network::NEAR), format!("tcp://{}:5682", Network::NEAR));
    let (password, wrong, key) = (node.file("password"), node.file("wrong"), node.file("ann.key"));
    let server_key = node.node_keys.public().to_string();
    let by_password = vec!["--user", "ann", "--password-file", &password];
    let by_key = vec!["--curve-key", &key, "--server-key", &server_key];
    let commands = [
        vec!["call", "shout", "hello", "--broker", &services],
        vec!["services", "--json", "--broker", &services],
        vec!["directory", "--json", "--at", &directory],
    ];
    for options in [&by_password, &by_key] {
        let _worker = node.worker(Host::Far, options);
        for command in &commands {
            let output = done(&mut node.command(Host::Far, &[&command[..], options].concat()), "");
            assert!(output.status.success(), "{command:?} {options:?}: {output:?}");
        }
    }
    let _worker = node.worker(Host::Far, &by_key);
    let variables = [
        [("HAIRSTREAK_USER", "ann"), ("HAIRSTREAK_PASSWORD", PASSWORD)],
        [("HAIRSTREAK_USER", "ann"), ("HAIRSTREAK_PASSWORD_FILE", &password)],
        [("HAIRSTREAK_CURVE_KEY", &key), ("HAIRSTREAK_SERVER_KEY", &server_key)],
    ];
    for command in &commands {
        for variables in variables {
            let output = done(node.command(Host::Far, command).envs(variables), "");
            assert!(output.status.success(), "{command:?} {variables:?}: {output:?}");
        }
        for (options, said) in [
            (vec!["--user", "ann", "--password-file", &wrong], "the user name or the password is wrong"),
            (
                vec!["--user", "nobody", "--password-file", &password],
                "the user name or the password is wrong",
            ),
            (vec!["--user", "host", "--password-file", &password], "may not log in from this host"),
        ] {
            let output = done(&mut node.command(Host::Far, &[&command[..], &options].concat()), "");
            let errors = String::from_utf8(output.stderr).unwrap();
            assert_eq!((output.status.code(), errors.lines().count()), (Some(1), 1), "{errors}");
            assert!(errors.contains(said), "{errors}");
        }
        let half = done(node.command(Host::Far, command).env("HAIRSTREAK_PASSWORD", PASSWORD), "");
        let errors = String::from_utf8(half.stderr).unwrap();
        assert_eq!(half.status.code(), Some(2), "{errors}");
        assert_eq!(errors, "hairstreak: the environment: HAIRSTREAK_PASSWORD without HAIRSTREAK_USER\n");
    }
}

#[test]
fn a_workers_command_does_not_see_its_password() {
    let node = NearNode::start("require_login = true");
    let services = "tcp://127.0.0.1:5555";
    let words = ["worker", "--service", "show", "--broker", services, "--", "env"];
    let variables = [(USER_VARIABLE, "ann"), (PASSWORD_VARIABLE, PASSWORD)];
    let mut worker = node.command(Host::Near, &words).envs(variables).spawn().unwrap();
    let call = node
        .command(Host::Near, &["call", "show", "", "--broker", services, "--timeout", "60s"])
        .envs(variables)
        .output();
    let _ = worker.kill();
    let _ = worker.wait();
    let shown = String::from_utf8(call.unwrap().stdout).unwrap();
    assert!(shown.contains("HAIRSTREAK_USER=ann") && !shown.contains(PASSWORD), "{shown}");
}
