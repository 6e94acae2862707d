//! `State`: what all requests of the API share.

use std::sync::Arc;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use hairstreak_node::node::Node;
use hairstreak_node::operator::parameters::{self, CLUSTER_NAME};
use parking_lot::Mutex;

use super::about::About;
use super::options::HttpOptions;
use super::rates::Rates;
use super::worker::Workers;

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
