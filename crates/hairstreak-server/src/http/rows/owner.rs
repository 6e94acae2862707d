//! `Owner`: a connection as other objects name it.

use std::sync::Arc;

use serde::ser::{Serialize, SerializeStruct, Serializer};

use crate::node::ConnectionEntry;

/// The object `connection_details` of a channel, and `owner_pid_details` of an exclusive queue.
#[derive(Clone, Debug)]
pub(crate) struct Owner(pub(crate) Arc<ConnectionEntry>);

impl Serialize for Owner {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("Owner", 3)?;
        fields.serialize_field("name", &self.0.name)?;
        fields.serialize_field("peer_host", &peer_host(&self.0))?;
        fields.serialize_field("peer_port", &peer_port(&self.0))?;
        fields.end()
    }
}

/// The address of the client; `undefined`, as in RabbitMQ, where there is none.
pub(super) fn peer_host(connection: &ConnectionEntry) -> String {
    connection.peer.remote.map_or_else(|| "undefined".into(), |address| address.ip().to_string())
}

/// The port of the client; 0 where there is none.
pub(super) fn peer_port(connection: &ConnectionEntry) -> u16 {
    connection.peer.remote.map_or(0, |address| address.port())
}
