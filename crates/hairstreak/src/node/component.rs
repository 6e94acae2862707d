//! `Node`: the handle.

use std::sync::Arc;
use std::time::Duration;

use hairstreak_socket::Context;

use super::builder::NodeBuilder;
use super::names::{Key, Space};
use crate::directory::Client;
use crate::exchange::ExchangeBuilder;
use crate::queue::QueueBuilder;

/// A component: the place where exchanges and queues are opened and bound. Clones share it.
///
/// What a thread opens here shares one engine: while the thread waits in any of its exchanges and
/// queues, all of them make progress.
#[derive(Clone)]
pub struct Node {
    pub(super) inner: Arc<Inner>,
}

pub(super) struct Inner {
    pub id: u64,
    pub context: Context,
    pub directory: Option<Arc<Client>>,
    /// How long to wait for the directory, and for a name to appear in it.
    pub patience: Duration,
}

impl Node {
    /// Starts describing a node.
    pub fn builder() -> NodeBuilder {
        NodeBuilder::default()
    }

    /// Starts describing an exchange.
    pub fn exchange(&self, name: &str) -> ExchangeBuilder<'_> {
        ExchangeBuilder::new(self, name)
    }

    /// Starts describing a queue.
    pub fn queue(&self, name: &str) -> QueueBuilder<'_> {
        QueueBuilder::new(self, name)
    }

    /// The spaces in which this node finds names, in its order.
    pub(super) fn keys(&self, name: &str) -> Vec<Key> {
        let mut spaces = vec![Space::Node(self.inner.id), Space::Process];
        spaces.extend(self.inner.directory.as_ref().map(|client| Space::Directory(client.endpoint().into())));
        spaces.into_iter().map(|space| Key { space, name: name.into() }).collect()
    }
}

impl std::fmt::Debug for Node {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let directory = self.inner.directory.as_ref().map(|client| client.endpoint());
        f.debug_struct("Node").field("directory", &directory).finish_non_exhaustive()
    }
}
