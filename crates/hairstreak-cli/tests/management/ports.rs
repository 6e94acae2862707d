//! The default ports.

use std::net::SocketAddr;

use crate::target::Target;

impl Target {
    /// A node of a machine of its own.
    pub fn at_default_ports(address: &str) -> Target {
        let [amqp, http, metrics] =
            [5672, 15672, 15692].map(|port| SocketAddr::new(address.parse().unwrap(), port));
        Target { amqp, http, metrics }
    }
}
