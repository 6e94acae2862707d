//! `start`: the API of a node on its listeners.

use std::io;
use std::sync::Arc;

use super::about::About;
use super::api::Api;
use super::options::HttpOptions;
use super::server::{HttpListener, HttpServer};
use super::state::State;
use crate::node::Node;

/// Serves the API of a node in a thread of its own.
///
/// # Errors
///
/// A listener cannot be used, or the thread cannot be started.
pub(crate) fn start(
    listeners: Vec<HttpListener>,
    options: HttpOptions,
    node: Arc<Node>,
    about: About,
) -> io::Result<HttpServer> {
    let state = Arc::new(State::new(node, options.clone(), about));
    HttpServer::start(listeners, options, Api(state))
}
