//! Agents as processes of their own, and hosts that are network namespaces on one bridge: a hub for the controller, and two
//! hosts for agents.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use hairstreak_testkit::BoundedChild;

const HOSTS: [&str; 3] = ["hub", "one", "two"];

/// An agent as a user starts it on a host. Dropping it kills it.
pub struct Agent {
    child: Child,
    /// The address for controllers.
    pub address: String,
}

impl Agent {
    /// Starts an agent that listens on `bind`. `command` is the benchmark's program.
    pub fn start(mut command: Command, bind: &str) -> Agent {
        let mut child = command.args(["h3-agent", "--bind", bind]).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address =
            line.trim().strip_prefix(&format!("h3 agent {} at ", env!("CARGO_PKG_VERSION"))).unwrap();
        Agent { child, address: address.to_owned() }
    }

    /// Kills the agent.
    pub fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.end();
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The namespaces. Dropping the network removes them.
pub struct Network {
    name: String,
}

impl Network {
    /// Creates the namespaces. Needs root.
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
