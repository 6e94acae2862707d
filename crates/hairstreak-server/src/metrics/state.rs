//! `State`: what all requests share.

use std::sync::Arc;
use std::time::Instant;

use crate::http::About;
use crate::node::Node;

/// The state of the endpoint.
pub(super) struct State {
    pub(super) node: Arc<Node>,
    pub(super) about: About,
    pub(super) started: Instant,
}
