//! The metrics of the node and its process.

use std::time::Instant;

use hairstreak_node::access::LoginCounts;
use hairstreak_node::node::Totals;
use hairstreak_node::process;

use super::exposition::labels;
use super::family::{Group, counter, gauge, untyped};
use super::globals::PROTOCOL;
use super::selection::Selection;
use super::state::State;
use super::table::{Block, Table};

/// The figures of the node and its process.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct NodeFigures {
    churn: [u64; 7],
    descriptor_count: u64,
    descriptor_limit: u64,
    connection_count: u64,
    connections_max: u64,
    memory_bytes: u64,
    memory_limit: u64,
    disk_free: u64,
    disk_free_limit: u64,
    uptime_s: f64,
    is_memory_alarmed: bool,
    is_disk_alarmed: bool,
    cannot_write_definitions: bool,
}

static CHURN: Group<NodeFigures> = Group {
    name: "connection_churn_metrics",
    columns: &[
        counter("connections_opened_total", "Connections that were opened", |node| node.churn[0] as f64),
        counter("connections_closed_total", "Connections that were closed", |node| node.churn[1] as f64),
        counter("channels_opened_total", "Channels that were opened", |node| node.churn[2] as f64),
        counter("channels_closed_total", "Channels that were closed", |node| node.churn[3] as f64),
        counter("queues_declared_total", "Declarations of queues", |node| node.churn[4] as f64),
        counter("queues_created_total", "Queues that were created", |node| node.churn[5] as f64),
        counter("queues_deleted_total", "Queues that were deleted", |node| node.churn[6] as f64),
    ],
};

static USED: Group<NodeFigures> = Group {
    name: "node_coarse_metrics",
    columns: &[
        gauge("process_open_fds", "File descriptors in use", |node| node.descriptor_count as f64),
        gauge("process_open_tcp_sockets", "AMQP connections", |node| node.connection_count as f64),
        gauge("process_resident_memory_bytes", "Memory of the process", |node| node.memory_bytes as f64),
        gauge(
            "disk_space_available_bytes",
            "Bytes that are free on the disk of the data directory",
            |node| node.disk_free as f64,
        ),
    ],
};

static LIMITS: Group<NodeFigures> = Group {
    name: "node_metrics",
    columns: &[
        gauge("process_max_fds", "File descriptors that the process may have", |node| {
            node.descriptor_limit as f64
        }),
        gauge("process_max_tcp_sockets", "AMQP connections that there may be", |node| {
            node.connections_max as f64
        }),
        gauge("resident_memory_limit_bytes", "Memory of messages at which publishers wait", |node| {
            node.memory_limit as f64
        }),
        gauge("disk_space_available_limit_bytes", "Free bytes below which the disk counts as full", |node| {
            node.disk_free_limit as f64
        }),
        gauge("erlang_uptime_seconds", "Time since the start of the node", |node| node.uptime_s),
    ],
};

static LOGINS: Group<LoginCounts> = Group {
    name: "auth_attempt_metrics",
    columns: &[
        counter("auth_attempts_total", "Logins", |logins| (logins.succeeded + logins.failed) as f64),
        counter("auth_attempts_succeeded_total", "Logins that were let in", |logins| logins.succeeded as f64),
        counter("auth_attempts_failed_total", "Logins that were refused", |logins| logins.failed as f64),
    ],
};

static ALARMS: Group<NodeFigures> = Group {
    name: "",
    columns: &[
        untyped("alarms_file_descriptor_limit", "1: all file descriptors are in use", |node| {
            f64::from(node.descriptor_count >= node.descriptor_limit)
        }),
        untyped("alarms_free_disk_space_watermark", "1: the disk counts as full", |node| {
            f64::from(node.is_disk_alarmed)
        }),
        untyped("alarms_memory_used_watermark", "1: publishers wait until there is memory", |node| {
            f64::from(node.is_memory_alarmed)
        }),
        untyped(
            "alarms_definitions_unwritten",
            "1: definitions cannot be written, and changes are refused",
            |node| f64::from(node.cannot_write_definitions),
        ),
    ],
};

/// How many objects there are.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Objects {
    pub(super) connections: usize,
    pub(super) channels: usize,
    pub(super) consumers: usize,
    pub(super) queues: usize,
    pub(super) exchanges: usize,
}

static OBJECTS: Group<Objects> = Group {
    name: "",
    columns: &[
        gauge("connections", "AMQP connections", |objects| objects.connections as f64),
        gauge("channels", "Channels", |objects| objects.channels as f64),
        gauge("consumers", "Consumers of queues", |objects| objects.consumers as f64),
        gauge("queues", "Queues", |objects| objects.queues as f64),
    ],
};

impl NodeFigures {
    pub(super) fn now(state: &State, totals: &Totals) -> NodeFigures {
        let (node, about, stats) = (&state.node, &state.about, &totals.stats);
        let (opened, closed) = node.connections.churn();
        NodeFigures {
            churn: [
                opened,
                closed,
                stats.channels_opened,
                stats.channels_closed,
                stats.queues_declared,
                stats.queues_created,
                stats.queues_deleted,
            ],
            descriptor_count: process::descriptor_count(),
            descriptor_limit: process::descriptor_limit(),
            connection_count: opened.saturating_sub(closed),
            connections_max: node.settings.connections_max() as u64,
            memory_bytes: process::memory_bytes(),
            memory_limit: node.account.alarm.watermark() as u64,
            disk_free: about.disk_free(),
            disk_free_limit: about.disk_free_limit,
            uptime_s: Instant::now().duration_since(state.started).as_secs_f64(),
            is_memory_alarmed: node.is_alarmed(),
            is_disk_alarmed: about.is_disk_alarmed(),
            cannot_write_definitions: node.journal.refusal().is_some(),
        }
    }

    /// The groups that are asked for.
    pub(super) fn table(&self, selection: &Selection) -> Table<NodeFigures> {
        Table::of_one(selection.registry.prefix(), selection.pick([&CHURN, &USED, &LIMITS]), self)
    }

    /// The alarms, which only the pages with everything have.
    pub(super) fn alarms(&self, selection: &Selection) -> Table<NodeFigures> {
        Table::of_one(selection.registry.prefix(), [&ALARMS], self)
    }
}

/// The logins by protocol.
pub(super) fn logins(state: &State, selection: &Selection) -> Table<LoginCounts> {
    let mut table = Table::new(selection.registry.prefix(), selection.pick([&LOGINS]));
    for (protocol, counts) in state.node.access.login_counts() {
        table.push(&labels(&[(PROTOCOL.0, protocol.name().as_bytes())]), &counts);
    }
    table
}

/// How many objects there are, as a table.
pub(super) fn objects(objects: &Objects, selection: &Selection) -> Box<dyn Block> {
    Box::new(Table::of_one(selection.registry.prefix(), [&OBJECTS], objects))
}
