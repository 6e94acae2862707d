//! `Network`: two network namespaces joined by a wire, so that each is another machine for the other. Needs root.

use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Two namespaces, removed on drop.
pub struct Network {
    name: String,
}

impl Network {
    /// The address of each namespace.
    pub const NEAR: &str = "10.82.0.1";
    const FAR: &str = "10.82.0.2";

    /// A network with `name` in the names of its namespaces.
    pub fn new(name: &str) -> Network {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let network = Network { name: format!("hairstreak-{name}-{}-{number}", std::process::id()) };
        let [near, far] = [network.near(), network.far()];
        for namespace in [&near, &far] {
            ip(&["netns", "add", namespace]);
            ip(&["-n", namespace, "link", "set", "lo", "up"]);
        }
        ip(&["-n", &near, "link", "add", "eth0", "type", "veth", "peer", "name", "eth0", "netns", &far]);
        for (namespace, address) in [(&near, Network::NEAR), (&far, Network::FAR)] {
            ip(&["-n", namespace, "addr", "add", &format!("{address}/24"), "dev", "eth0"]);
            ip(&["-n", namespace, "link", "set", "eth0", "up"]);
        }
        network
    }

    pub fn near(&self) -> String {
        format!("{}-near", self.name)
    }

    pub fn far(&self) -> String {
        format!("{}-far", self.name)
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        for namespace in [self.near(), self.far()] {
            // The second namespace is removed even if the first cannot be.
            let _ = Command::new("ip").args(["netns", "del", &namespace]).status();
        }
    }
}

/// The words that run a command in a namespace.
pub fn within(namespace: &str) -> [&str; 4] {
    ["ip", "netns", "exec", namespace]
}

/// A command that runs in a namespace.
pub fn from_within(namespace: &str, command: &Command) -> Command {
    let [program, arguments @ ..] = within(namespace);
    let mut outer = Command::new(program);
    outer.args(arguments).arg(command.get_program()).args(command.get_args());
    outer
}

fn ip(arguments: &[&str]) {
    let status = Command::new("ip").args(arguments).status().unwrap();
    assert!(status.success(), "ip {arguments:?}: {status}; network namespaces need root");
}
