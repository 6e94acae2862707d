//! The node: memory, descriptors, disk, and the features that it has.

use hairstreak_node::node::Reason;
use hairstreak_node::process;
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::{Map, Value, json};

use super::overview::{CHURN, contexts, exchange_types};
use crate::http::call::{Answer, Call, nothing};
use crate::http::error::ApiError;
use crate::http::list::Held;
use crate::http::rates::{Counted, Figure, Keys, host_figures};
use crate::http::state::{PRODUCT_VERSION, now_ms};

/// RabbitMQ's names of plugins for features that the node has.
const PLUGINS: [&str; 3] =
    ["rabbitmq_management", "rabbitmq_prometheus", "rabbitmq_consistent_hash_exchange"];
/// Clients read the uptime into 32 bits.
const UPTIME_MS_MAX: u64 = u32::MAX as u64;
/// Seconds after which a node of a cluster counts as gone.
const NET_TICKTIME_S: u64 = 60;

/// The figures that have rates, with their keys.
const FIGURES: [(Figure, Keys); 5] = [
    (Figure::MemUsed, ("mem_used", "mem_used_details")),
    (Figure::FdUsed, ("fd_used", "fd_used_details")),
    (Figure::SocketsUsed, ("sockets_used", "sockets_used_details")),
    (Figure::ProcUsed, ("proc_used", "proc_used_details")),
    (Figure::DiskFree, ("disk_free", "disk_free_details")),
];

/// Counters of RabbitMQ for disks, that count nothing here.
const ZEROS: [&str; 17] = [
    "io_read_count",
    "io_read_bytes",
    "io_read_avg_time",
    "io_write_count",
    "io_write_bytes",
    "io_write_avg_time",
    "io_sync_count",
    "io_sync_avg_time",
    "io_seek_count",
    "io_seek_avg_time",
    "io_reopen_count",
    "queue_index_read_count",
    "queue_index_write_count",
    "msg_store_read_count",
    "msg_store_write_count",
    "mnesia_ram_tx_count",
    "mnesia_disk_tx_count",
];

/// The node of a list.
struct NodeRow<'a> {
    call: &'a Call<'a>,
    counted: Counted,
}

pub(crate) async fn list(call: &Call<'_>) -> Answer {
    let row = serde_json::to_value(row(call)?).unwrap_or_default();
    call.list(Held::new(vec![row])).await
}

pub(crate) async fn show(call: &Call<'_>) -> Answer {
    check_name(call)?;
    call.object(&row(call)?)
}

/// The memory, by RabbitMQ's uses of memory.
pub(crate) async fn show_memory(call: &Call<'_>) -> Answer {
    check_name(call)?;
    call.object(&json!({"memory": memory(call)}))
}

/// The memory in percent of all.
pub(crate) async fn show_relative_memory(call: &Call<'_>) -> Answer {
    check_name(call)?;
    let memory = memory(call);
    let total = memory["total"]["rss"].as_u64().unwrap_or_default().max(1);
    let mut shares = Map::new();
    for (key, value) in memory.as_object().into_iter().flatten() {
        if let Some(bytes) = value.as_u64() {
            shares.insert(key.clone(), (bytes * 100).div_ceil(total).into());
        }
    }
    shares.insert("total".into(), 100.into());
    call.object(&json!({"memory": shares}))
}

/// 404 if the path names another node.
pub(super) fn check_name(call: &Call<'_>) -> Result<(), ApiError> {
    if call.bytes("node") == call.state.about.node_name.as_bytes() {
        Ok(())
    } else {
        Err(ApiError::not_found())
    }
}

fn row<'a>(call: &'a Call<'a>) -> Result<NodeRow<'a>, ApiError> {
    let hosts = call.node().hosts.all();
    let figures = host_figures(call.state, hosts.iter().map(|host| &**host));
    let range = call.ranges()?.node;
    let rates = call.state.rates.lock();
    let counter = |(figure, keys): (Figure, Keys)| {
        (keys, figures.get(figure), rates.totals().detail(figure.index(), range, now_ms()))
    };
    Ok(NodeRow { call, counted: FIGURES.into_iter().chain(CHURN).map(counter).collect() })
}

fn memory(call: &Call<'_>) -> Value {
    let rss = process::memory_bytes();
    let messages = (call.node().account.alarm.bytes() as u64).min(rss);
    let mut memory: Map<String, Value> = [
        "connection_readers",
        "connection_writers",
        "connection_channels",
        "connection_other",
        "queue_procs",
        "quorum_queue_procs",
        "quorum_queue_dlx_procs",
        "stream_queue_procs",
        "stream_queue_replica_reader_procs",
        "stream_queue_coordinator_procs",
        "plugins",
        "metadata_store",
        "metrics",
        "mgmt_db",
        "mnesia",
        "quorum_ets",
        "metadata_store_ets",
        "other_ets",
        "msg_index",
        "code",
        "atom",
        "other_system",
        "allocated_unused",
        "reserved_unallocated",
    ]
    .into_iter()
    .map(|key| (key.to_owned(), 0.into()))
    .collect();
    // RabbitMQ keeps messages in binaries. All else is one program.
    memory.insert("binary".into(), messages.into());
    memory.insert("other_proc".into(), (rss - messages).into());
    memory.insert("strategy".into(), "rss".into());
    memory.insert("total".into(), json!({"rss": rss, "allocated": rss, "erlang": rss}));
    memory.into()
}

impl NodeRow<'_> {
    fn put_limits<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
        let (state, about) = (self.call.state, &self.call.state.about);
        let uptime = (state.started.elapsed().as_millis() as u64).min(UPTIME_MS_MAX);
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        let descriptors = process::descriptor_limit();
        map.serialize_entry("os_pid", &std::process::id().to_string())?;
        map.serialize_entry("uptime", &uptime)?;
        map.serialize_entry("run_queue", &0)?;
        map.serialize_entry("processors", &processors)?;
        map.serialize_entry("fd_total", &descriptors)?;
        map.serialize_entry("sockets_total", &self.call.node().settings.connections_max())?;
        map.serialize_entry("proc_total", &descriptors)?;
        map.serialize_entry("mem_limit", &self.call.node().account.alarm.watermark())?;
        map.serialize_entry("mem_alarm", &self.call.node().account.alarm.has(Reason::Memory))?;
        map.serialize_entry("mem_calculation_strategy", "rss")?;
        map.serialize_entry("disk_free_limit", &about.disk_free_limit)?;
        map.serialize_entry("disk_free_alarm", &about.is_disk_alarmed(self.call.node()))?;
        map.serialize_entry("rates_mode", "basic")?;
        map.serialize_entry("net_ticktime", &NET_TICKTIME_S)?;
        map.serialize_entry("being_drained", &false)
    }

    fn put_parts<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
        let about = &self.call.state.about;
        let application =
            json!({"name": "hairstreak", "description": "Hairstreak", "version": PRODUCT_VERSION});
        let mechanism =
            |name: &str| json!({"name": name, "description": format!("SASL {name}"), "enabled": true});
        let mechanisms: Vec<Value> = ["PLAIN", "AMQPLAIN", "EXTERNAL"].into_iter().map(mechanism).collect();
        let path = about.data_directory.as_ref().map(|path| path.display().to_string());
        let files: Vec<String> = about.config_files.iter().map(|path| path.display().to_string()).collect();
        map.serialize_entry("enabled_plugins", &PLUGINS)?;
        map.serialize_entry("applications", &[application])?;
        map.serialize_entry("exchange_types", &exchange_types())?;
        map.serialize_entry("auth_mechanisms", &mechanisms)?;
        map.serialize_entry("contexts", &contexts(self.call))?;
        map.serialize_entry("log_files", &["<stdout>"])?;
        map.serialize_entry("db_dir", &path.unwrap_or_default())?;
        map.serialize_entry("config_files", &files)?;
        map.serialize_entry("partitions", &json!([]))?;
        map.serialize_entry("cluster_links", &json!([]))?;
        map.serialize_entry("metrics_gc_queue_length", &json!({}))?;
        map.serialize_entry("ra_open_file_metrics", &json!({}))
    }
}

impl Serialize for NodeRow<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("name", &*self.call.state.about.node_name)?;
        map.serialize_entry("type", "disc")?;
        map.serialize_entry("running", &true)?;
        self.put_limits(&mut map)?;
        self.put_parts(&mut map)?;
        self.counted.put(&mut map)?;
        for key in ZEROS {
            map.serialize_entry(key, &0)?;
            map.serialize_entry(&format!("{key}_details"), &json!({"rate": 0.0}))?;
        }
        map.end()
    }
}

/// RabbitMQ's feature flags, each enabled, and their purposes. Operators and upgrade scripts ask for nothing more.
const FLAGS: [(&str, &str); 16] = [
    ("classic_mirrored_queue_version", "Support setting version for classic mirrored queues"),
    ("classic_queue_type_delivery_support", "Bug fix for classic queue deliveries using mixed versions"),
    ("detailed_queues_endpoint", "Add a detailed queues HTTP API endpoint"),
    ("direct_exchange_routing_v2", "v2 direct exchange routing implementation"),
    ("drop_unroutable_metric", "Count unroutable publishes to be dropped in stats"),
    ("empty_basic_get_metric", "Count AMQP `basic.get` on empty queues in stats"),
    ("feature_flags_v2", "Feature flags subsystem V2"),
    (
        "implicit_default_bindings",
        "Default bindings are now implicit, instead of being stored in the database",
    ),
    ("listener_records_in_ets", "Store listener records in ETS instead of Mnesia"),
    ("maintenance_mode_status", "Maintenance mode status"),
    ("quorum_queue", "Support queues of type `quorum`"),
    ("restart_streams", "Support for restarting streams with optional preferred next leader argument"),
    ("stream_queue", "Support queues of type `stream`"),
    (
        "stream_sac_coordinator_unblock_group",
        "Bug fix to unblock a group of consumers in a super stream partition",
    ),
    ("tracking_records_in_ets", "Store tracking records in ETS instead of Mnesia"),
    ("user_limits", "Configure connection and channel limits for a user"),
];

pub(crate) async fn list_feature_flags(call: &Call<'_>) -> Answer {
    let row = |(name, description): (&str, &str)| {
        json!({"name": name, "desc": description, "doc_url": "", "state": "enabled", "stability": "required",
            "provided_by": "rabbit"})
    };
    call.list(Held::values(FLAGS.into_iter().map(row).collect())).await
}

pub(crate) async fn enable_feature_flag(call: &Call<'_>) -> Answer {
    let name = call.text("name")?;
    if name == "all" || FLAGS.iter().any(|(flag, _)| *flag == name) {
        return nothing();
    }
    Err(ApiError::bad_request("unsupported"))
}

/// A list that is empty here: shovels, links of federations, deprecated features in use, plugins of the web page.
pub(crate) async fn list_nothing(call: &Call<'_>) -> Answer {
    call.list(Held::<Value>::default()).await
}

/// An operation without an effect: there are no other nodes to move queues to, and statistics are not kept apart from the objects.
pub(crate) async fn do_nothing(_: &Call<'_>) -> Answer {
    nothing()
}
