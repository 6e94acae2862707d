//! `Target`: a node that the programs of this folder are run against.

use std::fmt;
use std::net::SocketAddr;
use std::process::Command;

use crate::program::python;

/// The addresses of a node. Its text is what the programs take for an argument.
#[derive(Clone, Copy)]
pub struct Target {
    pub amqp: SocketAddr,
    pub http: SocketAddr,
    pub metrics: SocketAddr,
}

impl fmt::Display for Target {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "{}/{}/{}", self.amqp, self.http, self.metrics)
    }
}

/// A program of this folder, to be given targets.
pub fn management_program(name: &str) -> Command {
    python(&format!("../../../hairstreak-management/tests/management/{name}"))
}
