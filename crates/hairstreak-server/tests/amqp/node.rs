//! `our_node()`: Hairstreak's node with what checks.py needs of a broker.

use std::net::SocketAddr;

/// What of checks.py our node is not asked for.
pub const WITHOUT: &[&str] = &["permissions", "streams", "alarm"];

/// Our node while a test runs.
pub struct OurNode {
    pub address: SocketAddr,
}

/// Starts our node on loopback, with the users and virtual hosts of `checks.py`.
///
/// # Errors
///
/// It does not speak AMQP yet.
pub fn our_node() -> Result<OurNode, &'static str> {
    Err("our node does not speak AMQP yet")
}
