//! `VirtualHostPermissions`: the things that one user may do in one virtual host, with compiled patterns.

use std::sync::Arc;

use hairstreak_broker::pattern::Pattern;

use super::pattern::{PatternTable, Variables, expand};
use super::resource::{Operation, Permission, TopicPermission};

/// A user's permissions in a virtual host, compiled. Never changes: after a change of permissions there is another.
#[derive(Debug)]
pub struct VirtualHostPermissions {
    configure: Arc<Pattern>,
    write: Arc<Pattern>,
    read: Arc<Pattern>,
    /// By exchange.
    topics: Box<[TopicPatterns]>,
}

#[derive(Debug)]
struct TopicPatterns {
    exchange: Box<[u8]>,
    write: Arc<Pattern>,
    read: Arc<Pattern>,
}

impl VirtualHostPermissions {
    /// Compiles a user's rows of one virtual host. An invalid pattern allows nothing. It comes from imported or older data,
    /// because patterns set here were compiled before.
    pub(super) fn compile(
        permission: &Permission,
        topic_permissions: &[TopicPermission],
        client_id: Option<&[u8]>,
        patterns: &PatternTable,
    ) -> VirtualHostPermissions {
        let variables =
            Variables { user: &permission.user, virtual_host: &permission.virtual_host, client_id };
        let mut topics: Vec<TopicPatterns> = topic_permissions
            .iter()
            .map(|row| TopicPatterns {
                exchange: row.exchange.as_bytes().into(),
                write: patterns.get_or_never(&expand(&row.write, variables)),
                read: patterns.get_or_never(&expand(&row.read, variables)),
            })
            .collect();
        topics.sort_unstable_by(|one, other| one.exchange.cmp(&other.exchange));
        VirtualHostPermissions {
            configure: patterns.get_or_never(&permission.configure),
            write: patterns.get_or_never(&permission.write),
            read: patterns.get_or_never(&permission.read),
            topics: topics.into(),
        }
    }

    /// Returns true if the user may do that with an exchange, a queue, or any other named object. The default exchange has the
    /// name from [`Resource::name`](super::Resource::name).
    pub fn allows(&self, operation: Operation, name: &[u8]) -> bool {
        let pattern = match operation {
            Operation::Configure => &self.configure,
            Operation::Write => &self.write,
            Operation::Read => &self.read,
        };
        pattern.matches(name)
    }

    /// Returns true if the user may use that routing key (write) or binding key (read) with a topic exchange. Callers ask for
    /// topic exchanges only, after [`VirtualHostPermissions::allows`]. Exchanges without a row allow every key; no row is about
    /// [`Operation::Configure`].
    pub fn allows_topic(&self, operation: Operation, exchange: &[u8], key: &[u8]) -> bool {
        let Ok(at) = self.topics.binary_search_by(|topic| (*topic.exchange).cmp(exchange)) else {
            return true;
        };
        match operation {
            Operation::Configure => true,
            Operation::Write => self.topics[at].write.matches(key),
            Operation::Read => self.topics[at].read.matches(key),
        }
    }
}
