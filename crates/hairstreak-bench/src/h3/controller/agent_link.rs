//! `AgentLink`: the controller's conversation with one agent, which it starts unless the agent runs already.

use std::io::{BufRead, BufReader, Error, ErrorKind, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use hairstreak_process::end_with_parent;
use rustix::net::sockopt;

use super::error::H3Error;
use crate::h3::agent::{Order, Reply};

/// How long a host has to answer a connect.
const CONNECT_TIME: Duration = Duration::from_secs(10);
/// A host that does not answer for a minute is gone: the system asks after 30 s, then twice.
const KEEPALIVE_IDLE: Duration = Duration::from_secs(30);
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(10);
const KEEPALIVE_COUNT: u32 = 3;
/// A process that was killed has closed all its connections within this time.
const GONE_TIME: Duration = Duration::from_millis(200);
/// Where agents that the controller starts listen.
const LOCAL: &str = "127.0.0.1:0";

/// An agent's process on this host. Dropping it ends it.
#[derive(Debug)]
pub struct LocalAgent {
    child: Child,
    /// Where it listens.
    pub address: SocketAddr,
}

impl LocalAgent {
    /// Starts this program as an agent.
    pub fn start(rabbitmq: &str) -> Result<LocalAgent, H3Error> {
        let failed = |error| H3Error::Agent { agent: "a local agent".to_owned(), error };
        let mut command = Command::new(std::env::current_exe().map_err(failed)?);
        command.args(["h3-agent", "--bind", LOCAL, "--rabbitmq", rabbitmq]);
        command.stdin(Stdio::null()).stdout(Stdio::piped());
        end_with_parent(&mut command);
        let mut child = command.spawn().map_err(failed)?;
        let mut line = String::new();
        if let Some(output) = child.stdout.take() {
            BufReader::new(output).read_line(&mut line).map_err(failed)?;
        }
        let address = line.trim().rsplit(' ').next().and_then(|address| address.parse().ok());
        let mut agent = LocalAgent { child, address: SocketAddr::from(([0; 4], 0)) };
        agent.address =
            address.ok_or_else(|| failed(Error::new(ErrorKind::InvalidData, format!("{line:?}"))))?;
        Ok(agent)
    }
}

impl Drop for LocalAgent {
    fn drop(&mut self) {
        // Both fail only if it has ended and been reaped already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A conversation with an agent.
#[derive(Debug)]
pub struct AgentLink {
    /// Its role and place, for people.
    pub name: String,
    /// Its machine, as it says.
    pub machine: String,
    /// Bytes of memory that it can give.
    pub memory_bytes: u64,
    /// Whether RabbitMQ is installed there.
    pub has_rabbitmq: bool,
    control: BufReader<TcpStream>,
}

impl AgentLink {
    /// Connects to the agent at `address`, says where the agent listens on the fabric, and asks who it is.
    pub fn connect(name: String, address: SocketAddr, vortex: Option<String>) -> Result<AgentLink, H3Error> {
        let failed = |error| H3Error::Agent { agent: name.clone(), error };
        let control = TcpStream::connect_timeout(&address, CONNECT_TIME).map_err(failed)?;
        control.set_nodelay(true).map_err(failed)?;
        keep_alive(&control).map_err(|error| failed(error.into()))?;
        let control = BufReader::new(control);
        let (machine, memory_bytes, has_rabbitmq) = (String::new(), 0, false);
        let mut link = AgentLink { name, machine, memory_bytes, has_rabbitmq, control };
        link.order(&Order::Greet { version: env!("CARGO_PKG_VERSION").to_owned(), vortex })?;
        match link.reply()? {
            Reply::Greeting { machine, memory_bytes, has_rabbitmq, .. } => {
                (link.machine, link.memory_bytes, link.has_rabbitmq) = (machine, memory_bytes, has_rabbitmq);
                Ok(link)
            }
            other => Err(link.surprised(&other)),
        }
    }

    /// Tells the agent what to do.
    pub fn order(&mut self, order: &Order) -> Result<(), H3Error> {
        let line = serde_json::to_string(order)? + "\n";
        let sent = self.control.get_mut().write_all(line.as_bytes());
        sent.map_err(|_| H3Error::Gone(self.name.clone()))
    }

    /// Waits for the agent's next answer.
    ///
    /// Errors: the agent could not do what it was told, or is gone.
    pub fn reply(&mut self) -> Result<Reply, H3Error> {
        let mut line = String::new();
        match self.control.read_line(&mut line) {
            Ok(0) | Err(_) => return Err(H3Error::Gone(self.name.clone())),
            Ok(_) => {}
        }
        match serde_json::from_str(&line) {
            Ok(Reply::Failed(reason)) => Err(H3Error::Failed { agent: self.name.clone(), reason }),
            Ok(reply) => Ok(reply),
            Err(_) => Err(H3Error::Reply { agent: self.name.clone(), line: line.trim().to_owned() }),
        }
    }

    /// Whether the agent has ended the conversation.
    pub fn is_gone(&self) -> bool {
        let control = self.control.get_ref();
        let peeked = control.set_read_timeout(Some(GONE_TIME)).and_then(|()| control.peek(&mut [0]));
        // Without a timeout again; it fails only for a timeout of zero.
        let _ = control.set_read_timeout(None);
        match peeked {
            Ok(count) => count == 0,
            Err(error) => error.kind() != ErrorKind::WouldBlock,
        }
    }

    /// The error of an answer that does not belong to what was asked.
    pub fn surprised(&self, reply: &Reply) -> H3Error {
        H3Error::Reply { agent: self.name.clone(), line: format!("{reply:?}") }
    }
}

fn keep_alive(control: &TcpStream) -> rustix::io::Result<()> {
    sockopt::set_socket_keepalive(control, true)?;
    sockopt::set_tcp_keepidle(control, KEEPALIVE_IDLE)?;
    sockopt::set_tcp_keepintvl(control, KEEPALIVE_INTERVAL)?;
    sockopt::set_tcp_keepcnt(control, KEEPALIVE_COUNT)
}
