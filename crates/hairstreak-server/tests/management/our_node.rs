//! `our_node()`: Hairstreak's node with the users of RabbitMQ's setup.

use std::net::SocketAddr;

use hairstreak_server::{ServeOptions, Server};

use crate::target::Target;

/// Our node while a test runs.
pub struct OurNode {
    pub target: Target,
    _server: Server,
}

/// A node of this process on loopback, without a data directory.
pub fn our_node() -> OurNode {
    let anywhere = || vec!["tcp://127.0.0.1:*".to_owned()];
    let options = ServeOptions {
        bind: Vec::new(),
        amqp_bind: anywhere(),
        http_bind: anywhere(),
        metrics_bind: anywhere(),
        ..ServeOptions::default()
    };
    let server = Server::start(options).unwrap();
    let amqp: SocketAddr =
        server.amqp_endpoints()[0].to_string().strip_prefix("tcp://").unwrap().parse().unwrap();
    let target = Target { amqp, http: server.http_addresses()[0], metrics: server.metrics_addresses()[0] };
    OurNode { target, _server: server }
}
