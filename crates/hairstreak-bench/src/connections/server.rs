//! The server under measurement, a process of its own.

use std::net::SocketAddr;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use hairstreak_node::{NodeConfig, Server};
use hairstreak_transport::event_loop::{EventLoops, LoopOptions};
use hairstreak_transport::{Listener, Stream};
use serde::{Deserialize, Serialize};

use crate::frame::processes::{Answer, Processes, orders};
use crate::frame::usage::{processor_times, status_bytes};

#[path = "../../../hairstreak-transport/examples/relay/relay.rs"]
mod relay;

use relay::Relay;

/// The longest time of a start.
const START_TIME_MAX: Duration = Duration::from_secs(30);

/// A server.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) enum ServerKind {
    /// Event loops with a relay, which connects to this address.
    Relay(SocketAddr),
    /// The node's broker of services.
    Node,
}

/// Serves until the benchmark ends. `task` is a `ServerKind` in JSON.
pub fn take_part(task: &str) -> Result<()> {
    let orders = orders();
    let serve = |endpoints| {
        Answer::<()>::Bound(endpoints).print()?;
        // The server ends with its process.
        orders.recv().context("the benchmark is gone")
    };
    match serde_json::from_str(task)? {
        ServerKind::Relay(onward) => {
            let listener = Listener::bind_tcp(SocketAddr::from(([127, 0, 0, 1], 0)), false)?;
            let endpoint = listener.endpoint().to_string();
            let loops = EventLoops::start(LoopOptions::default())?;
            let connect: relay::Connect = Arc::new(move || Stream::connect_tcp(onward));
            loops.listen(listener, move |_| Some(Relay::accepted(Arc::clone(&connect))));
            serve(vec![endpoint])
        }
        ServerKind::Node => {
            let services_bind = vec!["tcp://127.0.0.1:*".to_owned()];
            let server = Server::start(NodeConfig { services_bind, ..NodeConfig::default() })?;
            serve(server.service_endpoints().iter().map(ToString::to_string).collect())
        }
    }
}

/// A server's process.
pub(super) struct Running {
    _processes: Processes<ServerKind, ()>,
    id: u32,
    pub address: SocketAddr,
}

impl Running {
    pub fn start(kind: ServerKind) -> Result<Running> {
        let mut processes = Processes::new("connections".to_owned(), START_TIME_MAX);
        processes.start(kind, Command::new, "connections", &kind)?;
        let (_, Some(endpoints)) = processes.next_answer()? else { bail!("{kind:?} does not listen") };
        let address = endpoints.first().and_then(|endpoint| endpoint.strip_prefix("tcp://")?.parse().ok());
        let address = address.with_context(|| format!("{kind:?} listens at {}", endpoints.join(" ")))?;
        let id = processes.last_id().context("no process")?;
        Ok(Running { _processes: processes, id, address })
    }

    pub fn resident_bytes(&self) -> Result<u64> {
        status_bytes(self.id, "VmRSS")
    }

    /// Processor time, in steps of 10 ms.
    pub fn cpu_s(&self) -> Result<f64> {
        Ok(processor_times(self.id, false)?.iter().sum())
    }
}
