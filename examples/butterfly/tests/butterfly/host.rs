//! Where programs run: this machine as it is, or network namespaces that are made and removed here.

use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

/// A network of hosts: a hub for the node and the workers, and others joined to it by a bridge.
/// Dropping it removes them.
pub struct Network {
    name: String,
    hosts: Vec<String>,
}

/// A machine to run programs on.
#[derive(Clone, Debug)]
pub enum Host {
    /// This one.
    Own,
    /// The network namespace of that name.
    Namespace(String),
}

/// The hub's address in a [`Network`].
pub const HUB: &str = "10.79.0.1";

impl Network {
    /// A network with nothing but its hub. Needs root.
    pub fn new() -> Network {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!("hs{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let mut network = Network { name, hosts: Vec::new() };
        let hub = network.add_namespace();
        ip(&["-n", &hub, "link", "add", "bridge", "type", "bridge"]);
        ip(&["-n", &hub, "addr", "add", &format!("{HUB}/16"), "dev", "bridge"]);
        ip(&["-n", &hub, "link", "set", "bridge", "up"]);
        network
    }

    pub fn hub(&self) -> Host {
        Host::Namespace(self.hosts[0].clone())
    }

    /// A new host, whose interface to the others is `eth0`.
    pub fn add_host(&mut self) -> Host {
        let number = self.hosts.len();
        let namespace = self.add_namespace();
        let (hub, port) = (&self.hosts[0], format!("port{number}"));
        ip(&["-n", hub, "link", "add", &port, "type", "veth", "peer", "name", "eth0", "netns", &namespace]);
        ip(&["-n", hub, "link", "set", &port, "master", "bridge", "up"]);
        ip(&["-n", &namespace, "addr", "add", &format!("10.79.1.{number}/16"), "dev", "eth0"]);
        ip(&["-n", &namespace, "link", "set", "eth0", "up"]);
        Host::Namespace(namespace)
    }

    fn add_namespace(&mut self) -> String {
        let namespace = format!("{}-{}", self.name, self.hosts.len());
        ip(&["netns", "add", &namespace]);
        self.hosts.push(namespace.clone());
        ip(&["-n", &namespace, "link", "set", "lo", "up"]);
        namespace
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        for host in &self.hosts {
            // What cannot be removed was not made.
            let _ = Command::new("ip").args(["netns", "del", host]).status();
        }
    }
}

impl Host {
    /// A command that will run here.
    pub fn command(&self, program: &str) -> Command {
        match self {
            Host::Own => Command::new(program),
            Host::Namespace(name) => {
                let mut command = Command::new("ip");
                command.args(["netns", "exec", name, program]);
                command
            }
        }
    }
}

fn ip(arguments: &[&str]) {
    let output = Command::new("ip").args(arguments).output();
    let output = output.unwrap_or_else(|error| panic!("this test needs iproute2: {error}"));
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "this test needs root: ip {}: {text}", arguments.join(" "));
}
