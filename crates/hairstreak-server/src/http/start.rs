//! `start`: the API of a node on its listeners.

use std::io;
use std::sync::Arc;

use super::about::About;
use super::api::Api;
use super::options::HttpOptions;
use super::server::{HttpListener, HttpServer};
use super::state::State;
use crate::node::Node;
use crate::process;

/// The part of the process's descriptors that connections may take: one of four.
const CONNECTIONS_PART: u64 = 4;

/// Serves the API of a node in a thread of its own.
///
/// # Errors
///
/// A listener cannot be used, or the thread cannot be started.
pub(crate) fn start(
    listeners: Vec<HttpListener>,
    mut options: HttpOptions,
    node: Arc<Node>,
    about: About,
) -> io::Result<HttpServer> {
    let descriptors = usize::try_from(process::descriptor_limit() / CONNECTIONS_PART).unwrap_or(usize::MAX);
    options.connections_max = options.connections_max.min(descriptors.max(1));
    let state = Arc::new(State::new(node, options.clone(), about));
    HttpServer::start(listeners, options, Api(state))
}
