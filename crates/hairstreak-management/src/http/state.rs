//! `State`: the state that all requests of the API share.
//!
//! - `About`: facts about the node that the node itself does not know, and the versions that the API shows
//! - `visit`: the tables of a virtual host, in slices

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use hairstreak_broker::vhost::VirtualHost;
use hairstreak_node::node::{Messages, Node, Reason, SharedHost};
use hairstreak_node::operator::parameters::{self, CLUSTER_NAME};
use hairstreak_node::{CertificateFiles, process};
use parking_lot::Mutex;

use super::options::HttpOptions;
use super::rates::Rates;
use super::worker::Workers;

/// The version of RabbitMQ whose clients and tools are answered; the same as over AMQP.
pub(crate) const RABBITMQ_VERSION: &str = "3.13.7";
pub(crate) const PRODUCT_NAME: &str = "Hairstreak";
pub(crate) const PRODUCT_VERSION: &str = env!("CARGO_PKG_VERSION");
/// There is no Erlang; some tools want one to be there.
pub(crate) const ERLANG_VERSION: &str = "26.2.5";
pub(crate) const ERLANG_FULL_VERSION: &str = "none: Hairstreak is written in Rust";

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
    /// The bytes that are free on the disk of the data directory. With messages on disk they are those of the last look: a disk that
    /// does not answer holds up no operator.
    pub(crate) fn disk_free(&self, node: &Node) -> u64 {
        let look = || process::disk_free_bytes(self.data_directory.as_deref());
        node.messages.as_ref().map_or_else(look, Messages::free_bytes)
    }

    /// The certificates of a listener.
    pub(crate) fn certificates(&self, listener: &ListenerInfo) -> Option<&CertificateFiles> {
        match listener.protocol {
            "amqp/ssl" => self.amqp_certificates.as_ref(),
            "https" => self.http_certificates.as_ref(),
            _ => None,
        }
    }

    /// Returns `true` if the disk is short of room. Publishers wait if messages are on disk. A node without a data directory writes
    /// nothing and has no such alarm.
    pub(crate) fn is_disk_alarmed(&self, node: &Node) -> bool {
        match node.messages {
            Some(_) => node.account.alarm.has(Reason::DiskSpace),
            None => self.data_directory.is_some() && self.disk_free(node) < self.disk_free_limit,
        }
    }
}

/// A listener.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ListenerInfo {
    /// RabbitMQ's word for it: `amqp`, `amqp/ssl`, `http`, `https`, `http/prometheus`.
    pub(crate) protocol: &'static str,
    pub(crate) address: SocketAddr,
}

/// The state of the API.
pub(crate) struct State {
    pub(crate) node: Arc<Node>,
    pub(crate) options: HttpOptions,
    pub(crate) about: About,
    /// Used by one thread only; the lock is never waited for.
    pub(crate) rates: Mutex<Rates>,
    pub(crate) started: Instant,
    pub(crate) workers: Workers,
}

impl State {
    pub(crate) fn new(node: Arc<Node>, options: HttpOptions, about: About) -> State {
        let rates = Mutex::new(Rates::new(now_ms()));
        State { node, options, about, rates, started: Instant::now(), workers: Workers::default() }
    }

    /// The name of the cluster: that of the node, unless an operator has set another.
    pub(crate) fn cluster_name(&self) -> String {
        let parameters = parameters::all_global(&self.node);
        parameters::text(&parameters, CLUSTER_NAME).unwrap_or(&self.about.node_name).to_owned()
    }
}

/// Milliseconds since 1970.
pub(crate) fn now_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis() as u64
}

/// Calls `add` with the rows of a table, slice by slice. `list` appends some rows from a cursor on, and returns the next cursor. Other requests run
/// between two slices.
pub(crate) async fn visit<T>(
    host: &SharedHost,
    list: impl Fn(&VirtualHost, usize, usize, &mut Vec<T>) -> Option<usize>,
    mut add: impl FnMut(std::vec::Drain<'_, T>),
) {
    let (mut rows, mut cursor) = (Vec::new(), Some(0));
    while let Some(from) = cursor {
        cursor = host.slice(&list, from, &mut rows);
        add(rows.drain(..));
        tokio::task::yield_now().await;
    }
}
