//! `About`: what the API says of the node besides what the node knows of itself.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

/// Facts about a node, as they are when it starts.
#[derive(Clone, Debug)]
pub(crate) struct About {
    /// Such as `hairstreak@localhost`.
    pub(crate) node_name: Arc<str>,
    /// Everything that clients may connect to.
    pub(crate) listeners: Vec<ListenerInfo>,
    /// Bytes of messages at which publishers are stopped.
    pub(crate) memory_watermark: usize,
    /// The most AMQP connections.
    pub(crate) connections_max: usize,
    /// `None`: nothing is kept.
    pub(crate) data_directory: Option<PathBuf>,
    pub(crate) config_files: Vec<PathBuf>,
}

/// A listener.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ListenerInfo {
    /// RabbitMQ's word for it: `amqp`, `amqp/ssl`, `http`, `http/prometheus`.
    pub(crate) protocol: &'static str,
    pub(crate) address: SocketAddr,
}
