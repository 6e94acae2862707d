//! `Target`: a node that the programs of this folder are run against.

use std::fmt;
use std::net::SocketAddr;
use std::process::Command;

use crate::program::python;
use crate::rabbitmq::RabbitMq;

/// The addresses of a node. Its text is what the programs take for an argument.
#[derive(Clone, Copy)]
pub struct Target {
    pub amqp: SocketAddr,
    pub http: SocketAddr,
    pub metrics: SocketAddr,
}

impl Target {
    pub fn of_rabbitmq(rabbitmq: &RabbitMq) -> Target {
        let [amqp, http, metrics] = ["AMQP", "HTTP", "METRICS"].map(|port| rabbitmq.address(port));
        Target { amqp, http, metrics }
    }

    /// A node of a machine of its own.
    pub fn at_default_ports(address: &str) -> Target {
        let [amqp, http, metrics] =
            [5672, 15672, 15692].map(|port| SocketAddr::new(address.parse().unwrap(), port));
        Target { amqp, http, metrics }
    }

    /// The same ports at another address.
    pub fn at(self, address: &str) -> Target {
        let moved = |at: SocketAddr| SocketAddr::new(address.parse().unwrap(), at.port());
        Target { amqp: moved(self.amqp), http: moved(self.http), metrics: moved(self.metrics) }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "{}/{}/{}", self.amqp, self.http, self.metrics)
    }
}

/// A program of this folder, to be given targets.
pub fn management_program(name: &str) -> Command {
    python(&format!("../management/{name}"))
}
