//! The server's process: what it runs, how it is started, and what the kernel says of it.

use std::io::{self, BufRead, BufReader, Write};
use std::net::SocketAddr;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::Arc;

use clap::ValueEnum;
use hairstreak_node::{ServeOptions, Server};
use hairstreak_transport::event_loop::{EventLoops, LoopOptions};
use hairstreak_transport::{Listener, Stream};

use super::error::{ConnectionsError, failed};
use crate::process::orders;

#[path = "../../../hairstreak-transport/examples/relay/relay.rs"]
mod relay;

use relay::Relay;

/// Ticks of the kernel's count of processor time in a second (`USER_HZ`).
const TICKS_PER_S: f64 = 100.0;

/// What a server's process runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ServerKind {
    /// Event loops with a relay.
    Relay,
    /// The node's broker of services.
    Node,
}

/// The server's process: prints where it listens, and serves until its standard input ends. `onward`: where the relay
/// connects to.
pub fn serve(kind: ServerKind, onward: Option<SocketAddr>) -> Result<(), ConnectionsError> {
    let orders = orders();
    match (kind, onward) {
        (ServerKind::Relay, Some(onward)) => {
            let any = SocketAddr::from(([127, 0, 0, 1], 0));
            let listener = Listener::bind_tcp(any, false).map_err(failed("relay"))?;
            print_line(&listener.endpoint().to_string())?;
            let loops = EventLoops::start(LoopOptions::default()).map_err(failed("relay"))?;
            let connect: relay::Connect = Arc::new(move || Stream::connect_tcp(onward));
            loops.listen(listener, move |_| Some(Relay::accepted(Arc::clone(&connect))));
            // Whether told to finish or left alone: the process ends.
            let _ = orders.recv();
        }
        (ServerKind::Relay, None) => return Err(ConnectionsError::Silent("relay")),
        (ServerKind::Node, _) => {
            let options = ServeOptions {
                bind: Vec::new(),
                services_bind: vec!["tcp://127.0.0.1:*".to_owned()],
                ..ServeOptions::default()
            };
            let server = Server::start(options)?;
            for endpoint in server.service_endpoints() {
                print_line(&endpoint.to_string())?;
            }
            // As above.
            let _ = orders.recv();
        }
    }
    Ok(())
}

fn print_line(line: &str) -> Result<(), ConnectionsError> {
    let mut output = io::stdout().lock();
    writeln!(output, "{line}").and_then(|()| output.flush()).map_err(failed("server"))
}

/// A running server's process. Dropping it ends it.
pub(super) struct Running {
    child: Child,
    _input: Option<ChildStdin>,
    pub address: SocketAddr,
}

impl Running {
    pub fn start(kind: ServerKind, onward: Option<SocketAddr>) -> Result<Running, ConnectionsError> {
        let name = if kind == ServerKind::Relay { "relay" } else { "node" };
        let program = std::env::current_exe().map_err(failed(name))?;
        let mut command = Command::new(program);
        command.args(["connection-server", name]).args(onward.map(|onward| onward.to_string()));
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().map_err(failed(name))?;
        let mut line = String::new();
        if let Some(output) = child.stdout.take() {
            BufReader::new(output).read_line(&mut line).map_err(failed(name))?;
        }
        let address = line.trim().strip_prefix("tcp://").and_then(|address| address.parse().ok());
        let input = child.stdin.take();
        match address {
            Some(address) => Ok(Running { child, _input: input, address }),
            None => Err(ConnectionsError::Silent(name)),
        }
    }

    /// Bytes that the process has in memory.
    pub fn resident_bytes(&self) -> Result<u64, ConnectionsError> {
        let status = self.proc_file("status")?;
        let kib = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kib = kib.and_then(|rest| rest.trim().trim_end_matches(" kB").parse::<u64>().ok());
        Ok(kib.ok_or(ConnectionsError::Silent("server"))? * 1024)
    }

    /// Processor time that the process has used, in seconds.
    pub fn cpu_s(&self) -> Result<f64, ConnectionsError> {
        let stat = self.proc_file("stat")?;
        // Behind the name in parentheses: state is field 3, user and system time are 14 and 15 (proc(5)).
        let fields = stat.rsplit_once(") ").map(|(_, rest)| rest.split(' ').skip(11).take(2));
        let ticks: Option<u64> =
            fields.and_then(|fields| fields.map(|field| field.parse::<u64>().ok()).sum());
        Ok(ticks.ok_or(ConnectionsError::Silent("server"))? as f64 / TICKS_PER_S)
    }

    fn proc_file(&self, name: &str) -> Result<String, ConnectionsError> {
        std::fs::read_to_string(format!("/proc/{}/{name}", self.child.id())).map_err(failed("server"))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Both fail only if it has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
