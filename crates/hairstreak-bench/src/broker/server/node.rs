//! Our node: `hairstreak serve` from beside this program, on a free port of the loopback interface.
//!
//! This is the one place that knows how the node is started and configured.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Child, Command};

use super::directory::{Directory, end, free_address};
use super::error::{ServerError, failed};

/// The node's program, beside this one.
const PROGRAM: &str = "hairstreak";

/// A running node.
#[derive(Debug)]
pub struct Node {
    child: Child,
    /// Where it speaks AMQP.
    pub address: SocketAddr,
    /// The address of HTTP.
    pub http: SocketAddr,
    directory: Directory,
}

impl Node {
    /// Starts it with so many event loops, or as many as it chooses, and waits until it answers.
    pub fn start(loop_count: Option<u32>) -> Result<Node, ServerError> {
        let directory = Directory::new("node")?;
        let (address, http, metrics) = (free_address()?, free_address()?, free_address()?);
        let configuration =
            configuration(loop_count, [("http", http), ("metrics", metrics), ("amqp", address)]);
        let configuration = directory.write("node.toml", &configuration)?;
        let program = program()?;
        let mut command = Command::new(&program);
        // The directory and the services are not measured here.
        command.args(["serve", "--port", "0", "--data-dir", "none", "--config"]).arg(configuration);
        let child = directory.spawn(&mut command)?;
        let mut node = Node { child, address, http, directory };
        node.directory.wait_for(&program, &mut node.child, address)?;
        Ok(node)
    }

    /// Its process.
    pub fn process_id(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        end(&mut self.child);
    }
}

/// The node's configuration file. `listeners` are tables and their addresses, AMQP's last, where the loops belong, too.
fn configuration(loop_count: Option<u32>, listeners: [(&str, SocketAddr); 3]) -> String {
    let tables = listeners.map(|(table, address)| format!("[{table}]\nbind = [\"tcp://{address}\"]\n"));
    let loops = loop_count.map(|count| format!("loops = {count}\n")).unwrap_or_default();
    tables.concat() + &loops
}

fn program() -> Result<PathBuf, ServerError> {
    let own = std::env::current_exe().map_err(failed("this program"))?;
    Ok(own.with_file_name(PROGRAM))
}
