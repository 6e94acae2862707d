//! `Permission` and `TopicPermission`: rows as definitions have them, and `Operation`, what they are for.

/// A kind of use of an exchange or a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Operation {
    /// Declare and delete.
    Configure,
    /// Publish, and bind to a queue.
    Write,
    /// Get, consume, purge, and bind from an exchange.
    Read,
}

/// A user's row for a virtual host: a pattern for each operation. Without a row the user has no access to the host.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Permission {
    /// The name of the user.
    pub user: String,
    /// The name of the virtual host.
    pub virtual_host: String,
    /// Names that may be declared and deleted.
    pub configure: String,
    /// Names that may be written to.
    pub write: String,
    /// Names that may be read from.
    pub read: String,
}

/// The routing keys that a user may use with a topic exchange. Without a row all are allowed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TopicPermission {
    /// The name of the user.
    pub user: String,
    /// The name of the virtual host.
    pub virtual_host: String,
    /// The name of the exchange.
    pub exchange: String,
    /// Routing keys to publish with. `{username}`, `{vhost}` and `{client_id}` are filled in.
    pub write: String,
    /// Binding keys.
    pub read: String,
}
