//! Hosts that are network namespaces on one bridge: a hub for the controller, and two hosts for agents.

use std::process::Command;

const HOSTS: [&str; 3] = ["hub", "one", "two"];

/// The namespaces. Dropping it removes them.
pub struct Network {
    name: String,
}

impl Network {
    /// Needs root.
    pub fn new() -> Network {
        let network = Network { name: format!("h3-{}", std::process::id()) };
        for host in HOSTS {
            let namespace = network.namespace(host);
            ip(&["netns", "add", &namespace]);
            ip(&["-n", &namespace, "link", "set", "lo", "up"]);
        }
        let hub = network.namespace("hub");
        ip(&["-n", &hub, "link", "add", "bridge", "type", "bridge"]);
        ip(&["-n", &hub, "addr", "add", &format!("{}/24", Network::address("hub")), "dev", "bridge"]);
        ip(&["-n", &hub, "link", "set", "bridge", "up"]);
        for host in &HOSTS[1..] {
            let namespace = network.namespace(host);
            ip(&[
                "-n", &hub, "link", "add", host, "type", "veth", "peer", "name", "eth0", "netns", &namespace,
            ]);
            ip(&["-n", &hub, "link", "set", host, "master", "bridge", "up"]);
            ip(&["-n", &namespace, "addr", "add", &format!("{}/24", Network::address(host)), "dev", "eth0"]);
            ip(&["-n", &namespace, "link", "set", "eth0", "up"]);
        }
        network
    }

    /// The address of a host.
    pub fn address(host: &str) -> String {
        let number = HOSTS.iter().position(|name| *name == host).unwrap();
        format!("10.83.0.{}", number + 1)
    }

    /// `program`, to be run on a host.
    pub fn command(&self, host: &str, program: &str) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.namespace(host), program]);
        command
    }

    fn namespace(&self, host: &str) -> String {
        format!("{}-{host}", self.name)
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        for host in HOSTS {
            // A namespace that cannot be removed was not made.
            let _ = Command::new("ip").args(["netns", "del", &self.namespace(host)]).status();
        }
    }
}

fn ip(arguments: &[&str]) {
    let status = Command::new("ip").args(arguments).status().unwrap();
    assert!(status.success(), "ip {arguments:?}: network namespaces need root");
}
