//! `State`: the node, for all requests; `visit`: a table of a virtual host in slices. Other requests run between two slices.

use std::sync::Arc;
use std::time::Instant;

use hairstreak_broker::vhost::VirtualHost;
use hairstreak_node::node::{Node, SharedHost};
use parking_lot::MutexGuard;

use crate::http::About;

/// The state of the endpoint.
pub(super) struct State {
    pub(super) node: Arc<Node>,
    pub(super) about: About,
    pub(super) started: Instant,
}

/// Rows of a table that are copied while the lock is held.
const SLICE_COUNT: usize = 256;

/// Calls `add` with the rows of a table. `list` appends up to so many rows from a cursor on, and returns the next cursor.
pub(super) async fn visit<T>(
    host: &SharedHost,
    list: impl Fn(&VirtualHost, usize, usize, &mut Vec<T>) -> Option<usize>,
    mut add: impl FnMut(T),
) {
    let (mut rows, mut cursor) = (Vec::new(), Some(0));
    while let Some(from) = cursor {
        {
            let state = host.lock();
            cursor = list(&state.host, from, SLICE_COUNT, &mut rows);
            // A connection that waits for the lock has it next.
            MutexGuard::unlock_fair(state);
        }
        rows.drain(..).for_each(&mut add);
        tokio::task::yield_now().await;
    }
}
