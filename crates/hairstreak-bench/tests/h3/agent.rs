//! An agent as a process of its own, as a user starts it on a host.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use hairstreak_testkit::BoundedChild;

/// An agent. Dropping it kills it.
pub struct Agent {
    child: Child,
    /// Where it listens.
    pub address: String,
}

impl Agent {
    /// Starts one that listens on `bind`, by `command`, which is the benchmark's program.
    pub fn start(mut command: Command, bind: &str) -> Agent {
        let mut child = command.args(["h3-agent", "--bind", bind]).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address =
            line.trim().strip_prefix(&format!("h3 agent {} at ", env!("CARGO_PKG_VERSION"))).unwrap();
        Agent { child, address: address.to_owned() }
    }

    /// Kills it.
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
