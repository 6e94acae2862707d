//! `Resource`: an exchange or a queue that a right is asked for, and RabbitMQ's words for a user who lacks the right.
//!
//! - `Permission` and `TopicPermission`: rows as definitions have them, and `Operation`, the operations that they allow.

use hairstreak_broker::Refusal;
use hairstreak_wire::amqp::ReplyCode;

/// The name of the default exchange in permissions and texts. Its own name is empty.
const DEFAULT_EXCHANGE: &[u8] = b"amq.default";
/// Stands for the name that a virtual host gives to a queue without one.
const GIVEN_NAME: &[u8] = b"amq.gen-0123456789abcdefghijkl";

/// An exchange or a queue by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resource<'a> {
    /// An exchange. An empty name is the default exchange.
    Exchange(&'a [u8]),
    /// A queue.
    Queue(&'a [u8]),
}

impl<'a> Resource<'a> {
    /// The queue that a declaration names. The virtual host makes up a name for an empty one.
    pub fn declared_queue(name: &'a [u8]) -> Resource<'a> {
        Resource::Queue(if name.is_empty() { GIVEN_NAME } else { name })
    }

    /// The name that permissions are matched with.
    pub fn name(self) -> &'a [u8] {
        match self {
            Resource::Exchange(b"") => DEFAULT_EXCHANGE,
            Resource::Exchange(name) | Resource::Queue(name) => name,
        }
    }

    /// The user has no right for this.
    pub(super) fn refuse(self, virtual_host: &str, user: &str) -> Refusal {
        let kind = match self {
            Resource::Exchange(_) => "exchange",
            Resource::Queue(_) => "queue",
        };
        let name = String::from_utf8_lossy(self.name());
        refuse(&format!("{kind} '{name}'"), virtual_host, user)
    }
}

/// The user may not use this key with a topic exchange.
pub(super) fn refuse_topic(exchange: &[u8], key: &[u8], virtual_host: &str, user: &str) -> Refusal {
    let (exchange, key) = (String::from_utf8_lossy(exchange), String::from_utf8_lossy(key));
    refuse(&format!("topic '{key}' in exchange '{exchange}'"), virtual_host, user)
}

/// RabbitMQ 3.10's words. Later versions name the permission that is missing.
fn refuse(what: &str, virtual_host: &str, user: &str) -> Refusal {
    let text = format!("access to {what} in vhost '{virtual_host}' refused for user '{user}'");
    Refusal::new(ReplyCode::AccessRefused, text)
}

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
