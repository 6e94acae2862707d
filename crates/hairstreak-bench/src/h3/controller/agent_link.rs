//! `AgentLink`: the controller's conversation with one agent, which it starts unless the agent runs already.

use std::io::{BufRead, BufReader, ErrorKind, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use hairstreak_process::end_with_parent;
use rustix::net::sockopt;
use serde::de::DeserializeOwned;

use crate::h3::agent::{Greeting, Order};

/// A host has this time to answer a connect.
const CONNECT_TIME: Duration = Duration::from_secs(10);
/// A host that does not answer for a minute is gone: the system asks after 30 s, then twice.
const KEEPALIVE_IDLE: Duration = Duration::from_secs(30);
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(10);
const KEEPALIVE_COUNT: u32 = 3;
/// A process that was killed has closed all its connections within this time.
const GONE_TIME: Duration = Duration::from_millis(200);
/// The address of an agent that the controller starts.
const LOCAL: &str = "127.0.0.1:0";

/// A conversation with an agent.
#[derive(Debug)]
pub struct AgentLink {
    /// Role and place, for people.
    pub name: String,
    /// The host, from the agent's greeting.
    pub host: Greeting,
    control: BufReader<TcpStream>,
    /// The agent's process, if the controller has started the agent. It ends with the conversation.
    _local: Option<LocalAgent>,
}

impl AgentLink {
    /// Connects to the agent at `address`, or starts an agent on this host. `vortex` is the agent's place on the fabric.
    pub fn open(
        name: String,
        address: Option<SocketAddr>,
        rabbitmq: &str,
        vortex: Option<String>,
    ) -> Result<AgentLink> {
        let (local, address) = match address {
            Some(address) => (None, address),
            None => start_local(rabbitmq).context("a local agent")?,
        };
        let control = BufReader::new(connect(address).with_context(|| name.clone())?);
        let mut link = AgentLink { name, host: Greeting::default(), control, _local: local };
        link.order(&Order::Greet { version: env!("CARGO_PKG_VERSION").to_owned(), vortex })?;
        link.host = link.answer()?;
        Ok(link)
    }

    /// Sends an order to the agent.
    pub fn order(&mut self, order: &Order) -> Result<()> {
        let line = serde_json::to_string(order)? + "\n";
        let sent = self.control.get_mut().write_all(line.as_bytes());
        sent.ok().with_context(|| format!("{} is gone", self.name))
    }

    /// Waits for the agent's next answer.
    ///
    /// Errors: the agent could not follow an order, or is gone.
    pub fn answer<T: DeserializeOwned>(&mut self) -> Result<T> {
        let (mut line, agent) = (String::new(), &self.name);
        if self.control.read_line(&mut line).unwrap_or(0) == 0 {
            bail!("{agent} is gone");
        }
        match serde_json::from_str::<Result<T, String>>(&line) {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(reason)) => bail!("{agent}: {reason}"),
            Err(_) => bail!("{agent} answered {:?}", line.trim()),
        }
    }

    /// Returns whether the agent has ended the conversation.
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
}

/// The process of an agent on this host. It is killed when dropped.
#[derive(Debug)]
struct LocalAgent(Child);

impl Drop for LocalAgent {
    fn drop(&mut self) {
        // Both fail only if it has ended and been reaped already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts this program as an agent. Returns its process and its address.
fn start_local(rabbitmq: &str) -> Result<(Option<LocalAgent>, SocketAddr)> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["h3-agent", "--bind", LOCAL, "--rabbitmq", rabbitmq]);
    command.stdin(Stdio::null()).stdout(Stdio::piped());
    end_with_parent(&mut command);
    let mut agent = LocalAgent(command.spawn()?);
    let mut line = String::new();
    if let Some(output) = agent.0.stdout.take() {
        BufReader::new(output).read_line(&mut line)?;
    }
    let address = line.trim().rsplit(' ').next().and_then(|address| address.parse().ok());
    Ok((Some(agent), address.with_context(|| format!("{line:?}"))?))
}

fn connect(address: SocketAddr) -> Result<TcpStream> {
    let control = TcpStream::connect_timeout(&address, CONNECT_TIME)?;
    control.set_nodelay(true)?;
    sockopt::set_socket_keepalive(&control, true)?;
    sockopt::set_tcp_keepidle(&control, KEEPALIVE_IDLE)?;
    sockopt::set_tcp_keepintvl(&control, KEEPALIVE_INTERVAL)?;
    sockopt::set_tcp_keepcnt(&control, KEEPALIVE_COUNT)?;
    Ok(control)
}
