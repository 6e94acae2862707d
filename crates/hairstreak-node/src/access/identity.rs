//! `Identity`: a user who logged in.

use std::fmt;
use std::sync::Arc;

use super::registry::{Record, Registry};
use super::state::State;
use super::tags::Tags;
use super::usage::{ConnectionSlot, LimitError, Usage};
use super::virtual_host_permissions::VirtualHostPermissions;

/// A logged-in user. Name and tags are from the login; permissions and limits are current. After the user is deleted nothing is
/// allowed, even if a new user has that name.
#[derive(Clone)]
pub struct Identity {
    user: Arc<str>,
    tags: Tags,
    usage: Arc<Usage>,
    state: Arc<State>,
}

impl Identity {
    pub(super) fn new(state: &Arc<State>, record: &Record) -> Identity {
        Identity {
            user: Arc::clone(&record.name),
            tags: record.user.tags.clone(),
            usage: Arc::clone(&record.usage),
            state: Arc::clone(state),
        }
    }

    /// The name of the user.
    pub fn user(&self) -> &Arc<str> {
        &self.user
    }

    /// The tags of the user at the login.
    pub fn tags(&self) -> &Tags {
        &self.tags
    }

    /// Returns the tags of the user as of now. `None`: the user is deleted.
    pub fn tags_of_now(&self) -> Option<Tags> {
        self.look(|_, record| record.user.tags.clone())
    }

    /// Returns the number of changes of users and permissions so far. The result of a check holds while this number is the same.
    #[inline]
    pub fn generation(&self) -> u64 {
        self.state.generation()
    }

    /// The user's permissions in a virtual host, as of now. None if the user has no access to the host or was deleted.
    ///
    /// Takes a read lock, and the first time compiles patterns: microseconds. A connection that checks often
    /// keeps its [`super::Rights`].
    pub fn permissions(&self, virtual_host: &str) -> Option<Arc<VirtualHostPermissions>> {
        self.state.permissions(&self.usage, virtual_host, None).1
    }

    /// Likewise for a client of MQTT with an id, which topic permissions may name.
    pub fn permissions_of_client(
        &self,
        virtual_host: &str,
        client_id: &[u8],
    ) -> Option<Arc<VirtualHostPermissions>> {
        self.state.permissions(&self.usage, virtual_host, Some(client_id)).1
    }

    /// Likewise, with the generation.
    pub(super) fn permissions_and_generation(
        &self,
        virtual_host: &str,
    ) -> (u64, Option<Arc<VirtualHostPermissions>>) {
        self.state.permissions(&self.usage, virtual_host, None)
    }

    /// Returns true if the user has a permission for a virtual host, with any patterns.
    pub fn may_access(&self, virtual_host: &str) -> bool {
        self.look(|registry, record| {
            registry.has_virtual_host(virtual_host) && record.has_permission(virtual_host)
        })
        .unwrap_or(false)
    }

    /// The virtual hosts that the user has a permission for, in order.
    pub fn virtual_hosts(&self) -> Vec<String> {
        self.look(|registry, record| {
            let names = record.permissions().map(|row| &row.virtual_host);
            names.filter(|name| registry.has_virtual_host(name)).cloned().collect()
        })
        .unwrap_or_default()
    }

    /// Returns true if the user was deleted since the login. RabbitMQ closes such a connection with 320 (CONNECTION_FORCED).
    pub fn is_deleted(&self) -> bool {
        self.look(|_, _| ()).is_none()
    }

    /// Takes a place for a connection of the user, to be kept as long as the connection.
    ///
    /// Errors: the user has reached its limit of connections.
    pub fn take_connection(&self) -> Result<ConnectionSlot, LimitError> {
        self.usage.take_connection()
    }

    fn look<T>(&self, look: impl FnOnce(&Registry, &Record) -> T) -> Option<T> {
        self.state.read(|registry| registry.user_of(&self.usage).map(|record| look(registry, record)))
    }
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Identity").field("user", &self.user).field("tags", &self.tags).finish_non_exhaustive()
    }
}
