//! `About`: what the API says of the node besides what the node knows of itself.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use crate::process;
use crate::tls::CertificateFiles;

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
