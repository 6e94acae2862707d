//! `About`: what the API says of the node besides what the node knows of itself.
//!
//! - The versions that the API says.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use hairstreak_node::{CertificateFiles, process};

/// Facts about a node, as they are when it starts.
#[derive(Clone, Debug)]
pub(crate) struct About {
    /// Such as `hairstreak@localhost`.
    pub(crate) node_name: Arc<str>,
    /// Everything that clients may connect to.
    pub(crate) listeners: Vec<ListenerInfo>,
    /// Free bytes below which the disk of the data directory counts as full.
    pub(crate) disk_free_limit: u64,
    /// `None`: nothing is kept.
    pub(crate) data_directory: Option<PathBuf>,
    pub(crate) config_files: Vec<PathBuf>,
    /// The certificates of AMQP, if it has TLS.
    pub(crate) amqp_certificates: Option<CertificateFiles>,
    /// The certificates of operators' HTTP, if it has TLS.
    pub(crate) http_certificates: Option<CertificateFiles>,
}

impl About {
    /// The bytes that are free on the disk of the data directory.
    pub(crate) fn disk_free(&self) -> u64 {
        process::disk_free_bytes(self.data_directory.as_deref())
    }

    /// The certificates of a listener.
    pub(crate) fn certificates(&self, listener: &ListenerInfo) -> Option<&CertificateFiles> {
        match listener.protocol {
            "amqp/ssl" => self.amqp_certificates.as_ref(),
            "https" => self.http_certificates.as_ref(),
            _ => None,
        }
    }

    /// Whether the disk is short of room: an alarm, which stops no publisher, because messages are in memory. A node without a data directory writes nothing and has no such alarm.
    pub(crate) fn is_disk_alarmed(&self) -> bool {
        self.data_directory.is_some() && self.disk_free() < self.disk_free_limit
    }
}

/// A listener.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ListenerInfo {
    /// RabbitMQ's word for it: `amqp`, `amqp/ssl`, `http`, `https`, `http/prometheus`.
    pub(crate) protocol: &'static str,
    pub(crate) address: SocketAddr,
}

/// The version of RabbitMQ whose clients and tools are answered; the same as over AMQP.
pub(crate) const RABBITMQ_VERSION: &str = "3.13.7";
pub(crate) const PRODUCT_NAME: &str = "Hairstreak";
pub(crate) const PRODUCT_VERSION: &str = env!("CARGO_PKG_VERSION");
/// There is no Erlang; some tools want one to be there.
pub(crate) const ERLANG_VERSION: &str = "26.2.5";
pub(crate) const ERLANG_FULL_VERSION: &str = "none: Hairstreak is written in Rust";
