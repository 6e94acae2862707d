//! `our_node()`: Hairstreak's node with the users of RabbitMQ's setup.

use std::net::SocketAddr;

use hairstreak_management::{Management, ManagementListeners};
use hairstreak_node::{AmqpConfig, HttpConfig, MetricsConfig, NodeConfig, Server};

use crate::target::Target;

/// Our node while a test runs.
pub struct OurNode {
    pub target: Target,
    _management: Management,
    _server: Server,
}

/// A node of this process on loopback, without a data directory.
pub fn our_node() -> OurNode {
    let bind = Some(vec!["tcp://127.0.0.1:*".to_owned()]);
    let config = NodeConfig {
        amqp: AmqpConfig { bind: bind.clone(), ..AmqpConfig::default() },
        http: HttpConfig { bind: bind.clone(), ..HttpConfig::default() },
        metrics: MetricsConfig { bind, ..MetricsConfig::default() },
        ..NodeConfig::default()
    };
    let listeners = ManagementListeners::bind(&config).unwrap();
    let server = Server::start(config).unwrap();
    let management = listeners.serve(&server).unwrap();
    let amqp: SocketAddr =
        server.amqp_endpoints()[0].to_string().strip_prefix("tcp://").unwrap().parse().unwrap();
    let target =
        Target { amqp, http: management.http_addresses()[0], metrics: management.metrics_addresses()[0] };
    OurNode { target, _management: management, _server: server }
}
