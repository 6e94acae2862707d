//! `AmqpOptions`: who may connect to the node by AMQP, and the bounds.

use hairstreak_broker::vhost::Limits;

use super::memory;
use super::users::User;

/// Options of AMQP: users, virtual hosts and bounds.
#[derive(Clone, Debug)]
pub struct AmqpOptions {
    /// The users that may log in.
    pub users: Vec<User>,
    /// Virtual hosts by name.
    pub virtual_hosts: Vec<String>,
    /// Loops, and so threads. None: one for each core.
    pub loop_count: Option<usize>,
    /// Connections at a time; more are closed as they are accepted.
    pub connections_max: usize,
    /// Bytes of messages in memory at which publishers are stopped.
    pub memory_watermark: usize,
    /// The largest body, in bytes.
    pub message_size_max: u64,
    /// Bounds of each virtual host.
    pub limits: Limits,
}

impl Default for AmqpOptions {
    fn default() -> AmqpOptions {
        AmqpOptions {
            users: vec![User::guest()],
            virtual_hosts: vec!["/".into()],
            loop_count: None,
            connections_max: 65_536,
            memory_watermark: memory::default_watermark(),
            message_size_max: 128 * 1024 * 1024,
            limits: Limits::default(),
        }
    }
}
