//! `Component`: opens and binds exchanges and queues, and lists the names in the directory.

use std::sync::Arc;
use std::time::{Duration, Instant};

use hairstreak_services::names::client::{AskError, Client, Follow, Found};
use hairstreak_socket::Context;
use hairstreak_wire::directory::Name;

use super::bind::{BindError, Place, expect_kind, expect_kind_told, join};
use super::builder::ComponentBuilder;
use super::list::{DirectoryEntry, ListError, add_page};
use super::names::{self, Key, Space};
use super::object::{Kind, Object};
use super::open::{ExchangeBuilder, ObjectBuilder, QueueBuilder};
use crate::exchange::Style;

/// Interval at which names of this process are checked while the directory is asked.
const GLANCE: Duration = Duration::from_millis(500);

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
        ObjectBuilder::new(self, name).style(Style::default())
    }

    /// Returns a builder of a queue.
    pub fn queue(&self, name: &str) -> QueueBuilder<'_> {
        ObjectBuilder::new(self, name)
    }

    /// Binds the exchange to the queue: from now on the queue gets the exchange's messages, by the exchange's style.
    /// Waits for a name that is not there yet. Does not wait until the connection is up.
    pub fn bind(&self, exchange: &str, queue: &str) -> Result<(), BindError> {
        let here = |name, kind| {
            let object = names::find(&self.keys(name));
            object.map(|object| expect_kind(object, name, kind)).transpose()
        };
        let both = || (exchange.to_owned(), queue.to_owned());
        let (from, to) = match (here(exchange, Kind::Exchange)?, here(queue, Kind::Queue)?) {
            (None, None) => {
                let (exchange, queue) = both();
                return Err(BindError::BothElsewhere { exchange, queue });
            }
            (Some(from), Some(to)) => (Place::Here(from), Place::Here(to)),
            (Some(from), None) => (Place::Here(from), self.wait_for(queue, Kind::Queue)?),
            (None, Some(to)) => (self.wait_for(exchange, Kind::Exchange)?, Place::Here(to)),
        };
        let is_bound = match (from, to) {
            (Place::Here(from), Place::Here(to)) => !join(&from, queue, &to)?,
            (Place::Here(from), Place::Elsewhere(found)) => !self.connect(&from, queue, &found)?,
            (Place::Elsewhere(found), Place::Here(to)) => !self.connect(&to, exchange, &found)?,
            (Place::Elsewhere(_), Place::Elsewhere(_)) => false,
        };
        let (exchange, queue) = both();
        if is_bound { Err(BindError::AlreadyBound { exchange, queue }) } else { Ok(()) }
    }

    /// Returns the names in the directory that begin with `prefix`, in the order of their bytes. A user sees the names
    /// for which the user has any permission.
    ///
    /// # Errors
    ///
    /// There is no directory, it does not answer within the component's patience, or it refuses.
    pub fn list(&self, prefix: &str) -> Result<Vec<DirectoryEntry>, ListError> {
        let client = self.inner.directory.as_ref().ok_or(ListError::NoDirectory)?;
        let deadline = Instant::now() + self.inner.patience;
        let mut entries: Vec<DirectoryEntry> = Vec::new();
        loop {
            let after = entries.last().map(|entry| entry.name.clone()).unwrap_or_default();
            let more = add_page(client, prefix, after, deadline, &mut entries)?;
            if !more {
                return Ok(entries);
            }
        }
    }

    /// Returns the keys of `name` in the spaces in which this component finds names, in its order.
    fn keys(&self, name: &str) -> Vec<Key> {
        let mut spaces = vec![Space::Component(self.inner.id), Space::Process];
        spaces.extend(self.inner.directory.as_ref().map(|client| Space::Directory(client.endpoint().into())));
        spaces.into_iter().map(|space| Key { space, name: name.into() }).collect()
    }

    /// Waits until a name appears, at most for the component's patience.
    fn wait_for(&self, text: &str, kind: Kind) -> Result<Place, BindError> {
        let name = Name::new(text)
            .map_err(|reason| BindError::Invalid { name: text.escape_debug().to_string(), reason })?;
        let deadline = Instant::now() + self.inner.patience;
        let keys = self.keys(text);
        let Some(client) = &self.inner.directory else {
            let object = names::wait_for(&keys, deadline);
            let object = object.ok_or_else(|| self.unknown(text, kind, "this process"))?;
            return Ok(Place::Here(expect_kind(object, text, kind)?));
        };
        loop {
            if let Some(object) = names::find(&keys) {
                return Ok(Place::Here(expect_kind(object, text, kind)?));
            }
            let glance = deadline.min(Instant::now() + GLANCE);
            let answer = client.look_up(&name, glance);
            let is_over = Instant::now() >= deadline;
            match answer {
                Ok(Some(found)) => {
                    expect_kind_told(&found, text, kind)?;
                    return Ok(Place::Elsewhere(found));
                }
                Ok(None) if is_over => {
                    return Err(self.unknown(text, kind, &format!("the directory at {}", client.endpoint())));
                }
                Err(error) if is_over || !matches!(error, AskError::NoAnswer { .. }) => {
                    let (name, waited_s) = (text.to_owned(), self.inner.patience.as_secs_f32());
                    return Err(BindError::Directory { name, waited_s, error });
                }
                Ok(None) | Err(_) => {}
            }
        }
    }

    fn unknown(&self, name: &str, kind: Kind, searched: &str) -> BindError {
        BindError::UnknownName {
            kind,
            name: name.to_owned(),
            searched: searched.to_owned(),
            waited: self.inner.patience,
        }
    }

    /// Connects an object of this process to a remote object, and follows its name in the directory. Returns false if
    /// the two are linked already.
    fn connect(&self, object: &Object, other: &str, found: &Found) -> Result<bool, BindError> {
        if object.is_linked(other) {
            return Ok(false);
        }
        let refused = |source| BindError::Connect { name: other.to_owned(), source };
        object.plug.connect(found.endpoint.as_str()).map_err(refused)?;
        let name = Name::new(other)
            .map_err(|reason| BindError::Invalid { name: other.escape_debug().to_string(), reason })?;
        let plug = object.plug.clone();
        let follow = self.inner.directory.as_ref().map(|client| {
            Follow::start(client, &name, &found.endpoint, move |from, to| {
                plug.move_to(from.as_str(), to.as_str())
            })
        });
        object.add_link(other, follow);
        Ok(true)
    }
}

impl std::fmt::Debug for Component {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let directory = self.inner.directory.as_ref().map(|client| client.endpoint());
        f.debug_struct("Component").field("directory", &directory).finish_non_exhaustive()
    }
}
