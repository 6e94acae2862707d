//! The metrics of the node: its process, its memory, its logins, its name and versions.

use std::time::Duration;

use hairstreak_node::access::LoginCounts;
use hairstreak_node::node::{Messages, Node, Reason, Totals};
use hairstreak_node::operator::parameters::{self, CLUSTER_ID, CLUSTER_NAME};
use hairstreak_node::process;

use super::exposition::{Group, group, labels};
use super::globals::PROTOCOL;
use super::selection::{Registry, Selection};
use super::table::{Block, Table};
use crate::http::{
    About, ERLANG_VERSION, Figure, Figures, Objects, PRODUCT_NAME, PRODUCT_VERSION, RABBITMQ_VERSION,
    add_churn, node_figures,
};

/// The figures of the node and its process.
#[derive(Clone, Copy, Debug)]
pub(super) struct NodeFigures {
    figures: Figures,
    descriptor_limit: u64,
    connections_max: u64,
    memory_limit: u64,
    disk_free_limit: u64,
    uptime_s: f64,
    is_memory_alarmed: bool,
    is_disk_alarmed: bool,
    cannot_write_definitions: bool,
    is_disk_slow: bool,
    cannot_write_messages: bool,
    disk_operation_s: f64,
}

static CHURN: Group<NodeFigures> = group!("connection_churn_metrics", |node| {
    Counter "connections_opened_total" "Connections that were opened" = node.of(Figure::ConnectionCreated);
    Counter "connections_closed_total" "Connections that were closed" = node.of(Figure::ConnectionClosed);
    Counter "channels_opened_total" "Channels that were opened" = node.of(Figure::ChannelCreated);
    Counter "channels_closed_total" "Channels that were closed" = node.of(Figure::ChannelClosed);
    Counter "queues_declared_total" "Declarations of queues" = node.of(Figure::QueueDeclared);
    Counter "queues_created_total" "Queues that were created" = node.of(Figure::QueueCreated);
    Counter "queues_deleted_total" "Queues that were deleted" = node.of(Figure::QueueDeleted);
});

static USED: Group<NodeFigures> = group!("node_coarse_metrics", |node| {
    Gauge "process_open_fds" "File descriptors in use" = node.of(Figure::FdUsed);
    Gauge "process_open_tcp_sockets" "AMQP connections" = node.of(Figure::SocketsUsed);
    Gauge "process_resident_memory_bytes" "Memory of the process" = node.of(Figure::MemUsed);
    Gauge "disk_space_available_bytes" "Bytes that are free on the disk of the data directory" = node.of(Figure::DiskFree);
});

static LIMITS: Group<NodeFigures> = group!("node_metrics", |node| {
    Gauge "process_max_fds" "File descriptors that the process may have" = node.descriptor_limit as f64;
    Gauge "process_max_tcp_sockets" "AMQP connections that there may be" = node.connections_max as f64;
    Gauge "resident_memory_limit_bytes" "Memory of messages at which publishers wait" = node.memory_limit as f64;
    Gauge "disk_space_available_limit_bytes" "Free bytes below which the disk counts as full" = node.disk_free_limit as f64;
    Gauge "erlang_uptime_seconds" "Time since the start of the node" = node.uptime_s;
});

static LOGINS: Group<LoginCounts> = group!("auth_attempt_metrics", |logins| {
    Counter "auth_attempts_total" "Logins" = (logins.succeeded + logins.failed) as f64;
    Counter "auth_attempts_succeeded_total" "Logins that were let in" = logins.succeeded as f64;
    Counter "auth_attempts_failed_total" "Logins that were refused" = logins.failed as f64;
});

static ALARMS: Group<NodeFigures> = group!("", |node| {
    Untyped "alarms_file_descriptor_limit" "1: all file descriptors are in use" = f64::from(node.figures.get(Figure::FdUsed) >= node.descriptor_limit);
    Untyped "alarms_free_disk_space_watermark" "1: the disk counts as full" = f64::from(node.is_disk_alarmed);
    Untyped "alarms_memory_used_watermark" "1: publishers wait until there is memory" = f64::from(node.is_memory_alarmed);
    Untyped "alarms_definitions_unwritten" "1: definitions cannot be written, and changes are refused" = f64::from(node.cannot_write_definitions);
    Untyped "alarms_messages_unwritten" "1: messages cannot be written, and publishers wait" = f64::from(node.cannot_write_messages);
    Untyped "alarms_slow_disk" "1: the disk has not answered the message log for 2 s, and publishers wait" = f64::from(node.is_disk_slow);
    Gauge "message_log_operation_seconds" "Time that the present write or sync of the message log has taken" = node.disk_operation_s;
});

static OBJECTS: Group<Objects> = group!("", |objects| {
    Gauge "connections" "AMQP connections" = objects.connections as f64;
    Gauge "channels" "Channels" = objects.channels as f64;
    Gauge "consumers" "Consumers of queues" = objects.consumers as f64;
    Gauge "queues" "Queues" = objects.queues as f64;
});

impl NodeFigures {
    pub(super) fn now(node: &Node, about: &About, uptime: Duration, totals: &Totals) -> NodeFigures {
        let mut figures = node_figures(node, about);
        add_churn(&mut figures, &totals.stats);
        let operation_time = node.messages.as_ref().and_then(Messages::operation_time);
        NodeFigures {
            figures,
            descriptor_limit: process::descriptor_limit(),
            connections_max: node.settings.connections_max() as u64,
            memory_limit: node.account.alarm.watermark() as u64,
            disk_free_limit: about.disk_free_limit,
            uptime_s: uptime.as_secs_f64(),
            is_memory_alarmed: node.account.alarm.has(Reason::Memory),
            is_disk_slow: node.account.alarm.has(Reason::SlowDisk),
            cannot_write_messages: node.account.alarm.has(Reason::FailingDisk),
            disk_operation_s: operation_time.unwrap_or_default().as_secs_f64(),
            is_disk_alarmed: about.is_disk_alarmed(node),
            cannot_write_definitions: node.journal.refusal().is_some(),
        }
    }

    fn of(&self, figure: Figure) -> f64 {
        self.figures.get(figure) as f64
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
pub(super) fn logins(node: &Node, selection: &Selection) -> Table<LoginCounts> {
    let mut table = Table::new(selection.registry.prefix(), selection.pick([&LOGINS]));
    for (protocol, counts) in node.access.login_counts() {
        table.push(&labels(&[(PROTOCOL.0, protocol.name().as_bytes())]), &counts);
    }
    table
}

/// The numbers of objects, as a table.
pub(super) fn objects(objects: &Objects, selection: &Selection) -> Box<dyn Block> {
    Box::new(Table::of_one(selection.registry.prefix(), [&OBJECTS], objects))
}

/// The memory of the process.
#[derive(Clone, Copy, Debug)]
pub(super) struct Memory {
    messages: u64,
    rest: u64,
}

static USES: Group<Memory> = group!("", |memory| {
    Gauge "memory_binary_heap_bytes" "Messages" = memory.messages as f64;
    Gauge "memory_other_erlang_process_bytes" "All else" = memory.rest as f64;
    Gauge "memory_code_module_bytes" "Not used here" = 0.0;
    Gauge "memory_client_connection_reader_bytes" "Not used here" = 0.0;
    Gauge "memory_client_connection_writer_bytes" "Not used here" = 0.0;
    Gauge "memory_client_connection_channel_bytes" "Not used here" = 0.0;
    Gauge "memory_client_connection_other_bytes" "Not used here" = 0.0;
    Gauge "memory_classic_queue_erlang_process_bytes" "Not used here" = 0.0;
    Gauge "memory_quorum_queue_erlang_process_bytes" "Not used here" = 0.0;
    Gauge "memory_quorum_queue_dlx_erlang_process_bytes" "Not used here" = 0.0;
    Gauge "memory_stream_erlang_process_bytes" "Not used here" = 0.0;
    Gauge "memory_stream_replica_reader_erlang_process_bytes" "Not used here" = 0.0;
    Gauge "memory_stream_coordinator_erlang_process_bytes" "Not used here" = 0.0;
    Gauge "memory_plugin_bytes" "Not used here" = 0.0;
    Gauge "memory_modern_metadata_store_bytes" "Not used here" = 0.0;
    Gauge "memory_metrics_bytes" "Not used here" = 0.0;
    Gauge "memory_management_stats_db_bytes" "Not used here" = 0.0;
    Gauge "memory_classic_metadata_store_bytes" "Not used here" = 0.0;
    Gauge "memory_quorum_queue_ets_table_bytes" "Not used here" = 0.0;
    Gauge "memory_modern_metadata_store_ets_table_bytes" "Not used here" = 0.0;
    Gauge "memory_other_ets_table_bytes" "Not used here" = 0.0;
    Gauge "memory_message_index_bytes" "Not used here" = 0.0;
    Gauge "memory_atom_table_bytes" "Not used here" = 0.0;
    Gauge "memory_other_system_bytes" "Not used here" = 0.0;
    Gauge "memory_runtime_allocated_unused_bytes" "Not used here" = 0.0;
    Gauge "memory_runtime_reserved_unallocated_bytes" "Not used here" = 0.0;
});

/// The memory of the process as a table. The sum of its values is the resident memory.
pub(super) fn memory(node: &Node) -> Table<Memory> {
    let resident = process::memory_bytes();
    let messages = (node.account.alarm.bytes() as u64).min(resident);
    let memory = Memory { messages, rest: resident - messages };
    Table::of_one(Registry::MemoryBreakdown.prefix(), [&USES], &memory)
}

/// The names of the node and of the versions have no other prefix on any page.
const PREFIX: &str = "rabbitmq_";

static IDENTITY: Group<()> = group!("", |_object| {
    Untyped "identity_info" "The node and its cluster" = 1.0;
});

static BUILD: Group<()> = group!("", |_object| {
    Untyped "build_info" "The versions" = 1.0;
});

/// `rabbitmq_identity_info` and `rabbitmq_build_info`, which the boards of RabbitMQ's makers multiply all other metrics with.
pub(super) fn identity(node: &Node, about: &About, registry: Registry) -> [Box<dyn Block>; 2] {
    let node_name = about.node_name.as_bytes();
    let parameters = parameters::all_global(node);
    let parameter = |name: &str| parameters::text(&parameters, name).map(str::as_bytes);
    let own = labels(&[
        ("rabbitmq_node", node_name),
        ("rabbitmq_cluster", parameter(CLUSTER_NAME).unwrap_or(node_name)),
        ("rabbitmq_cluster_permanent_id", parameter(CLUSTER_ID).unwrap_or_default()),
        ("rabbitmq_endpoint", registry.endpoint().as_bytes()),
    ]);
    let mut identity = Table::new(PREFIX, [&IDENTITY]);
    identity.push(&own, &());
    let own = labels(&[
        ("rabbitmq_version", RABBITMQ_VERSION.as_bytes()),
        ("prometheus_plugin_version", RABBITMQ_VERSION.as_bytes()),
        ("prometheus_client_version", PRODUCT_VERSION.as_bytes()),
        ("erlang_version", ERLANG_VERSION.as_bytes()),
        ("product_name", PRODUCT_NAME.as_bytes()),
        ("product_version", PRODUCT_VERSION.as_bytes()),
    ]);
    let mut build = Table::new(PREFIX, [&BUILD]);
    build.push(&own, &());
    [Box::new(build), Box::new(identity)]
}
