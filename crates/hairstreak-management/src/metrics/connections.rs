//! The metrics of connections: a row for each connection, or their sums.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use hairstreak_node::node::{ConnectionEntry, Node};

use super::exposition::{Group, group, labels};
use super::selection::{Registry, Selection};
use super::table::Table;

/// The figures of a connection, or the sums of all.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ConnectionFigures {
    read_bytes: u64,
    written_bytes: u64,
    channel_count: u64,
}

static BYTES: Group<ConnectionFigures> = group!("connection_coarse_metrics", |connection| {
    Counter "connection_incoming_bytes_total" "Bytes from the client" = connection.read_bytes as f64;
    Counter "connection_outgoing_bytes_total" "Bytes to the client" = connection.written_bytes as f64;
});

static STATE: Group<ConnectionFigures> = group!("connection_metrics", |connection| {
    Gauge "connection_channels" "Channels of the connection" = connection.channel_count as f64;
});

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
