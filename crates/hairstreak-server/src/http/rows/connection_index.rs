//! `ConnectionIndex`: from the numbers that virtual hosts give connections to the connections.

use std::sync::Arc;

use foldhash::HashMap;
use hairstreak_broker::vhost::ConnectionId;

use crate::node::{ConnectionEntry, Node};

/// All connections as they were when the index was made, by virtual host and number.
#[derive(Clone, Debug, Default)]
pub(crate) struct ConnectionIndex {
    hosts: HashMap<Box<str>, HashMap<ConnectionId, Arc<ConnectionEntry>>>,
}

impl ConnectionIndex {
    pub(crate) fn new(node: &Node) -> ConnectionIndex {
        let mut index = ConnectionIndex::default();
        for connection in node.connections.all() {
            let host = index.hosts.entry(connection.virtual_host.clone()).or_default();
            host.insert(connection.id, connection);
        }
        index
    }

    pub(crate) fn find(&self, virtual_host: &str, id: ConnectionId) -> Option<&Arc<ConnectionEntry>> {
        self.hosts.get(virtual_host)?.get(&id)
    }
}
