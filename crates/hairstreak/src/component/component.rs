//! `Component`: the handle.

use std::sync::Arc;
use std::time::Duration;

use hairstreak_services::names::client::Client;
use hairstreak_socket::Context;

use super::builder::ComponentBuilder;
use super::names::{Key, Space};
use crate::exchange::ExchangeBuilder;
use crate::queue::QueueBuilder;

/// A component opens and binds exchanges and queues. Clones share it.
///
/// The exchanges and queues that a thread opens share one engine. While the thread waits in any of them, all of them
/// make progress.
#[derive(Clone)]
pub struct Component {
    pub(super) inner: Arc<Inner>,
}

pub(super) struct Inner {
    pub id: u64,
    pub context: Context,
    pub directory: Option<Arc<Client>>,
    /// Longest wait for the directory, and for a name to appear in it.
    pub patience: Duration,
}

impl Component {
    /// Returns a builder of a component.
    pub fn builder() -> ComponentBuilder {
        ComponentBuilder::default()
    }

    /// Returns a builder of an exchange.
    pub fn exchange(&self, name: &str) -> ExchangeBuilder<'_> {
        ExchangeBuilder::new(self, name)
    }

    /// Returns a builder of a queue.
    pub fn queue(&self, name: &str) -> QueueBuilder<'_> {
        QueueBuilder::new(self, name)
    }

    /// Returns the keys of `name` in the spaces in which this component finds names, in its order.
    pub(super) fn keys(&self, name: &str) -> Vec<Key> {
        let mut spaces = vec![Space::Component(self.inner.id), Space::Process];
        spaces.extend(self.inner.directory.as_ref().map(|client| Space::Directory(client.endpoint().into())));
        spaces.into_iter().map(|space| Key { space, name: name.into() }).collect()
    }
}

impl std::fmt::Debug for Component {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let directory = self.inner.directory.as_ref().map(|client| client.endpoint());
        f.debug_struct("Component").field("directory", &directory).finish_non_exhaustive()
    }
}
