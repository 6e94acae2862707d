//! `our_node()`: Hairstreak's node with what checks.py needs of a broker.

use std::net::SocketAddr;

use hairstreak_server::{AmqpOptions, ServeOptions, Server};

/// The needs of checks.py that our node does not meet.
pub const WITHOUT: &[&str] = &[
    // These come with the operator's side of the node, and with messages on disk.
    "permissions",
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
}

/// Starts our node on loopback, with the users and virtual hosts of `checks.py`.
pub fn our_node() -> OurNode {
    start(AmqpOptions { message_size_max: 16 << 20, ..AmqpOptions::default() })
}

/// A node whose messages may take 8 MiB of memory.
pub fn our_small_node() -> OurNode {
    start(AmqpOptions { memory_watermark: 8 << 20, ..AmqpOptions::default() })
}

fn start(amqp: AmqpOptions) -> OurNode {
    let virtual_hosts = ["/", "checks", "other"].map(str::to_owned).to_vec();
    let options = ServeOptions {
        bind: Vec::new(),
        amqp_bind: vec!["tcp://127.0.0.1:*".into()],
        amqp: AmqpOptions { virtual_hosts, ..amqp },
        ..ServeOptions::default()
    };
    let server = Server::start(options).unwrap();
    let address = server.amqp_endpoints()[0].to_string();
    let address = address.strip_prefix("tcp://").unwrap().parse().unwrap();
    OurNode { address, _server: server }
}
