//! `our_node()`: Hairstreak's node with what checks.py needs of a broker.

#[path = "../../../hairstreak-transport/examples/relay/relay.rs"]
mod relay;

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use hairstreak_node::{AmqpConfig, NodeConfig, Server};
use hairstreak_transport::event_loop::{EventLoops, LoopOptions};
use hairstreak_transport::vortex::{Fabric, FabricOptions};
use hairstreak_transport::{Endpoint, Listener, Stream};

use self::relay::Relay;
use crate::setup::definitions;

/// The needs of checks.py that our node does not meet.
pub const WITHOUT: &[&str] = &[
    // These come with messages on disk.
    "streams",
    // The watermark cannot be changed while the node runs: `watermark.py` has a node with a low one.
    "alarm",
    // We refuse a message that is too large when its header has come, and RabbitMQ when all of its body has.
    "late refusal of large messages",
    // Tables within tables end at 64.
    "tables of any depth",
    // RabbitMQ 4 accepts this argument for classic queues, 3.10 does not; and 3.10 a prefetch for the whole channel for quorum queues, as we do for all.
    "strictness of 3.10",
];

/// Our node while a test runs.
pub struct OurNode {
    pub address: SocketAddr,
    _server: Server,
    _relay: Option<EventLoops<Relay>>,
}

impl OurNode {
    /// Starts our node with a data directory.
    pub fn start_at(data: &Path) -> OurNode {
        start(NodeConfig { data_dir: Some(data.to_owned()), ..NodeConfig::default() }, AmqpConfig::default())
    }
}

/// Starts our node on loopback, with the users and virtual hosts of `checks.py`.
pub fn our_node() -> OurNode {
    start(NodeConfig::default(), AmqpConfig { message_size_max: 16 << 20, ..AmqpConfig::default() })
}

/// A node whose messages may take 8 MiB of memory.
pub fn our_small_node() -> OurNode {
    start(NodeConfig::default(), AmqpConfig { memory_watermark: 8 << 20, ..AmqpConfig::default() })
}

/// As [`our_node`], at a fabric whose name begins so. A relay is at the address, and all bytes between relay and node go through the fabric.
pub fn our_node_at_a_fabric(name: &str) -> OurNode {
    let name = format!("{name}-{}", std::process::id());
    let mut fabric =
        Fabric::bind(&FabricOptions { heights: 4, angles: 2, networks: 4, name: name.clone() }).unwrap();
    std::thread::spawn(move || fabric.run().unwrap());
    let server = serve(
        NodeConfig::default(),
        AmqpConfig { message_size_max: 16 << 20, ..AmqpConfig::default() },
        &format!("vortex://{name}/0:*"),
    );
    let Endpoint::Vortex(place) = server.amqp_endpoints()[0].clone() else { panic!("no port of a fabric") };
    let listener = Listener::bind_tcp("127.0.0.1:0".parse().unwrap(), false).unwrap();
    let address = listener.endpoint().to_string().strip_prefix("tcp://").unwrap().parse().unwrap();
    let relay = EventLoops::start(LoopOptions::default()).unwrap();
    let connect: relay::Connect = Arc::new(move || Stream::connect_vortex(&place));
    relay.listen(listener, move |_| Some(Relay::accepted(Arc::clone(&connect))));
    OurNode { address, _server: server, _relay: Some(relay) }
}

fn start(config: NodeConfig, amqp: AmqpConfig) -> OurNode {
    let server = serve(config, amqp, "tcp://127.0.0.1:*");
    let address = server.amqp_endpoints()[0].to_string();
    let address = address.strip_prefix("tcp://").unwrap().parse().unwrap();
    OurNode { address, _server: server, _relay: None }
}

fn serve(config: NodeConfig, amqp: AmqpConfig, at: &str) -> Server {
    let amqp = AmqpConfig { bind: Some(vec![at.into()]), ..amqp };
    let load_definitions = Some(definitions());
    Server::start(NodeConfig { load_definitions, amqp, ..config }).unwrap()
}
