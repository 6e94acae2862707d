//! The metrics of connections, and their names.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use hairstreak_broker::vhost::ConnectionId;
use hairstreak_node::node::{ConnectionEntry, Node};

use super::exposition::labels;
use super::family::{Group, counter, gauge};
use super::selection::{Registry, Selection};
use super::table::Table;

/// The figures of a connection, or the sums of all.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ConnectionFigures {
    read_bytes: u64,
    written_bytes: u64,
    channel_count: u64,
}

static BYTES: Group<ConnectionFigures> = Group {
    name: "connection_coarse_metrics",
    columns: &[
        counter("connection_incoming_bytes_total", "Bytes from the client", |connection| {
            connection.read_bytes as f64
        }),
        counter("connection_outgoing_bytes_total", "Bytes to the client", |connection| {
            connection.written_bytes as f64
        }),
    ],
};

static STATE: Group<ConnectionFigures> = Group {
    name: "connection_metrics",
    columns: &[gauge("connection_channels", "Channels of the connection", |connection| {
        connection.channel_count as f64
    })],
};

/// From the numbers that virtual hosts give connections to the connections' names.
pub(super) struct ConnectionNames {
    hosts: HashMap<Box<str>, HashMap<ConnectionId, Arc<ConnectionEntry>>>,
}

impl ConnectionNames {
    pub(super) fn new(connections: &[Arc<ConnectionEntry>]) -> ConnectionNames {
        let mut hosts: HashMap<Box<str>, HashMap<ConnectionId, Arc<ConnectionEntry>>> = HashMap::new();
        for connection in connections {
            let host = hosts.entry(connection.virtual_host.clone()).or_default();
            host.insert(connection.id, Arc::clone(connection));
        }
        ConnectionNames { hosts }
    }

    pub(super) fn find(&self, virtual_host: &str, id: ConnectionId) -> Option<&str> {
        Some(&self.hosts.get(virtual_host)?.get(&id)?.name)
    }
}

/// A table of connections that are asked for.
pub(super) fn table(connections: &[Arc<ConnectionEntry>], selection: &Selection) -> Table<ConnectionFigures> {
    let mut table = Table::new(selection.registry.prefix(), selection.pick([&BYTES, &STATE]));
    if !table.is_empty() {
        for connection in connections.iter().filter(|one| selection.has_virtual_host(&one.virtual_host)) {
            // RabbitMQ has a process id in this label.
            let labels = labels(&[("channel", connection.name.as_bytes())]);
            table.push(&labels, &ConnectionFigures::of(connection));
        }
    }
    table
}

/// The sums over all connections, as a table.
pub(super) fn sums(node: &Node, connections: &[Arc<ConnectionEntry>]) -> Table<ConnectionFigures> {
    let [read_bytes, written_bytes] = node.connections.bytes();
    let counts = connections.iter().map(|connection| ConnectionFigures::of(connection).channel_count);
    let sums = ConnectionFigures { read_bytes, written_bytes, channel_count: counts.sum() };
    Table::of_one(Registry::Aggregated.prefix(), [&BYTES, &STATE], &sums)
}

impl ConnectionFigures {
    fn of(connection: &ConnectionEntry) -> ConnectionFigures {
        let figures = &connection.figures;
        ConnectionFigures {
            read_bytes: figures.read_bytes.load(Relaxed),
            written_bytes: figures.written_bytes.load(Relaxed),
            channel_count: figures.channel_count.load(Relaxed).into(),
        }
    }
}
