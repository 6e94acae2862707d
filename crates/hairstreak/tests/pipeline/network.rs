//! Hosts that are network namespaces, joined to a hub by wires that a test can cut and delay.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

/// The hub's address.
pub const HUB: &str = "10.80.0.1";

/// A hub and its hosts. Dropping it removes them.
pub struct Network {
    name: String,
    host_count: usize,
    wires: Option<Wires>,
}

struct Wires {
    child: Child,
    orders: ChildStdin,
    answers: BufReader<ChildStdout>,
}

/// The fate of the frames that a wire carries in one direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// Each frame is delayed by the first number of milliseconds, and by a random part of the second.
    Late(u32, u32),
    Lost,
}

impl Network {
    /// Creates a hub and its hosts. Needs root.
    pub fn new(host_count: usize) -> Network {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!("hp{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let mut network = Network { name, host_count, wires: None };
        let hub = network.add_namespace(0);
        ip(&["-n", &hub, "link", "add", "bridge", "type", "bridge"]);
        ip(&["-n", &hub, "addr", "add", &format!("{HUB}/16"), "dev", "bridge"]);
        ip(&["-n", &hub, "link", "set", "bridge", "up"]);
        let mut interfaces = Vec::new();
        for host in 1..=host_count {
            let namespace = network.add_namespace(host);
            let (port, near, far) = (format!("port{host}"), format!("near{host}"), format!("far{host}"));
            ip(&[
                "-n", &hub, "link", "add", &port, "type", "veth", "peer", "name", "eth0", "netns", &namespace,
            ]);
            ip(&["-n", &hub, "link", "add", &near, "type", "veth", "peer", "name", &far]);
            ip(&["-n", &hub, "link", "set", &near, "master", "bridge", "up"]);
            ip(&["-n", &hub, "link", "set", &far, "up"]);
            ip(&["-n", &hub, "link", "set", &port, "up"]);
            ip(&["-n", &namespace, "addr", "add", &format!("{}/16", Network::address(host)), "dev", "eth0"]);
            ip(&["-n", &namespace, "link", "set", "eth0", "up"]);
            interfaces.extend([port, far]);
        }
        network.wires = Some(Wires::start(&hub, &interfaces));
        network
    }

    fn add_namespace(&self, host: usize) -> String {
        let namespace = self.namespace(host);
        ip(&["netns", "add", &namespace]);
        ip(&["-n", &namespace, "link", "set", "lo", "up"]);
        namespace
    }

    fn namespace(&self, host: usize) -> String {
        format!("{}-{host}", self.name)
    }

    /// Returns the address of a host, from 1.
    pub fn address(host: usize) -> String {
        format!("10.80.1.{host}")
    }

    /// Returns a command that runs this program on a host; 0 is the hub.
    pub fn command(&self, host: usize) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.namespace(host)]).arg(std::env::current_exe().unwrap());
        command
    }

    /// Sets the fate of the frames that the host sends, and of the frames sent to it.
    pub fn set(&mut self, host: usize, out: Fate, back: Fate) {
        let wires = self.wires.as_mut().unwrap();
        for (side, fate) in [out, back].into_iter().enumerate() {
            let words = match fate {
                Fate::Late(delay_ms, jitter_ms) => format!("0 {delay_ms} {jitter_ms}"),
                Fate::Lost => "1 0 0".to_string(),
            };
            writeln!(wires.orders, "{} {side} {words}", host - 1).unwrap();
            wires.wait();
        }
    }

    /// Takes the host's interface down, or up again.
    pub fn set_interface(&self, host: usize, is_up: bool) {
        ip(&["-n", &self.namespace(host), "link", "set", "eth0", if is_up { "up" } else { "down" }]);
    }
}

impl Wires {
    fn start(hub: &str, interfaces: &[String]) -> Wires {
        let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
        let mut child = Command::new("ip")
            .args(["netns", "exec", hub, &format!("{root}/.venv/bin/python")])
            .args(["-c", include_str!("wire.py")])
            .args(interfaces)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let orders = child.stdin.take().unwrap();
        let answers = BufReader::new(child.stdout.take().unwrap());
        let mut wires = Wires { child, orders, answers };
        wires.wait();
        wires
    }

    fn wait(&mut self) {
        let mut answer = String::new();
        self.answers.read_line(&mut answer).unwrap();
        assert_eq!(answer, "ok\n", "this test needs root, and what scripts/test-setup installs");
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        if let Some(mut wires) = self.wires.take() {
            let _ = wires.child.kill();
            let _ = wires.child.wait();
        }
        for host in 0..=self.host_count {
            // A namespace that cannot be removed was not created.
            let _ = Command::new("ip").args(["netns", "del", &self.namespace(host)]).status();
        }
    }
}

fn ip(arguments: &[&str]) {
    let output = Command::new("ip").args(arguments).output();
    let output = output.unwrap_or_else(|error| panic!("this test needs iproute2: {error}"));
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "this test needs root: ip {}: {text}", arguments.join(" "));
}
