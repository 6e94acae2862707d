//! The memory by its use, as `/metrics/memory-breakdown` has it.

use hairstreak_node::node::Node;
use hairstreak_node::process;

use super::family::{Column, Group, gauge};
use super::selection::Registry;
use super::table::Table;

/// The memory of the process.
#[derive(Clone, Copy, Debug)]
pub(super) struct Memory {
    messages: u64,
    rest: u64,
}

/// A use of memory that only RabbitMQ has.
const fn none(name: &'static str) -> Column<Memory> {
    gauge(name, "Not used here", |_| 0.0)
}

static USES: Group<Memory> = Group {
    name: "",
    columns: &[
        gauge("memory_binary_heap_bytes", "Messages", |memory| memory.messages as f64),
        gauge("memory_other_erlang_process_bytes", "All else", |memory| memory.rest as f64),
        none("memory_code_module_bytes"),
        none("memory_client_connection_reader_bytes"),
        none("memory_client_connection_writer_bytes"),
        none("memory_client_connection_channel_bytes"),
        none("memory_client_connection_other_bytes"),
        none("memory_classic_queue_erlang_process_bytes"),
        none("memory_quorum_queue_erlang_process_bytes"),
        none("memory_quorum_queue_dlx_erlang_process_bytes"),
        none("memory_stream_erlang_process_bytes"),
        none("memory_stream_replica_reader_erlang_process_bytes"),
        none("memory_stream_coordinator_erlang_process_bytes"),
        none("memory_plugin_bytes"),
        none("memory_modern_metadata_store_bytes"),
        none("memory_metrics_bytes"),
        none("memory_management_stats_db_bytes"),
        none("memory_classic_metadata_store_bytes"),
        none("memory_quorum_queue_ets_table_bytes"),
        none("memory_modern_metadata_store_ets_table_bytes"),
        none("memory_other_ets_table_bytes"),
        none("memory_message_index_bytes"),
        none("memory_atom_table_bytes"),
        none("memory_other_system_bytes"),
        none("memory_runtime_allocated_unused_bytes"),
        none("memory_runtime_reserved_unallocated_bytes"),
    ],
};

/// The memory of the process as a table. The sum of its values is the resident memory.
pub(super) fn table(node: &Node) -> Table<Memory> {
    let resident = process::memory_bytes();
    let messages = (node.account.alarm.bytes() as u64).min(resident);
    let memory = Memory { messages, rest: resident - messages };
    Table::of_one(Registry::MemoryBreakdown.prefix(), [&USES], &memory)
}
