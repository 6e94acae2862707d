//! `start`: the metrics of a node on their listeners.

use std::io;
use std::sync::Arc;
use std::time::Instant;

use super::options::Readers;
use super::service::Metrics;
use super::state::State;
use crate::http::{About, HttpListener, HttpOptions, HttpServer};
use crate::node::Node;

/// Connections at a time. A scraper has one.
const CONNECTIONS_MAX: usize = 256;
/// Rows of all pages together that are being sent: about 100 MiB.
const ROWS_MAX: usize = 1 << 18;

/// Serves the metrics of a node in a thread of its own.
///
/// # Errors
///
/// A listener cannot be used, or the thread cannot be started.
pub(crate) fn start(
    listeners: Vec<HttpListener>,
    node: Arc<Node>,
    about: About,
    readers: Readers,
) -> io::Result<HttpServer> {
    let options =
        HttpOptions { connections_max: CONNECTIONS_MAX, rows_max: ROWS_MAX, ..HttpOptions::default() };
    let state = Arc::new(State { node, about, started: Instant::now() });
    HttpServer::start(listeners, options, Metrics { state, readers })
}
