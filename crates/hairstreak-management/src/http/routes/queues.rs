//! Queues: lists, single ones, declaration, deletion, purge.

use std::sync::Arc;
use std::time::Instant;

use hairstreak_broker::queue::{QueueDeclaration, QueueKind};
use hairstreak_broker::view::QueueInfo;
use hairstreak_broker::without_line_breaks;
use hairstreak_node::access::{Operation, Resource};
use hairstreak_node::definitions::{Arguments, Fields, to_json};
use hairstreak_node::node::SharedHost;
use hairstreak_node::operator::queues;
use hairstreak_wire::amqp::{EncodedTable, SHORT_STRING_SIZE_MAX};
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::{Value, json};

use super::connections::{ConnectionIndex, Owner};
use super::consumers::{self, ConsumerRow};
use crate::http::call::{Answer, Call, deleted, nothing, put};
use crate::http::error::ApiError;
use crate::http::list::{Ranges, Rows};
use crate::http::rates::{Counted, Counter, MESSAGE_COUNTER_COUNT, MessageCounts, Row, StatsKind};
use crate::http::response::timestamp;
use crate::http::state::State;

/// The queues of some virtual hosts, read anew for each slice.
struct QueueRows {
    state: Arc<State>,
    hosts: Vec<(Arc<str>, Arc<SharedHost>)>,
    connections: ConnectionIndex,
    ranges: Ranges,
    shown: Shown,
}

/// The place of a host in the list, and the name of a queue.
type Key = (u32, Box<[u8]>);

pub(crate) async fn list(call: &Call<'_>) -> Answer {
    call.list(QueueRows::new(call, call.hosts()?)?).await
}

impl QueueRows {
    fn new(call: &Call<'_>, hosts: Vec<Arc<SharedHost>>) -> Result<QueueRows, ApiError> {
        let query = &call.request.query;
        Ok(QueueRows {
            state: Arc::clone(call.state),
            hosts: hosts.into_iter().map(|host| (host.name().into(), host)).collect(),
            connections: ConnectionIndex::new(call.node()),
            ranges: call.ranges()?,
            shown: match (query.is_true("disable_stats"), query.is_true("enable_queue_totals")) {
                (false, _) => Shown::Everything,
                (true, true) => Shown::Totals,
                (true, false) => Shown::Declaration,
            },
        })
    }

    fn row(&self, vhost: &Arc<str>, info: QueueInfo) -> QueueRow {
        let owner = info.owner.and_then(|id| self.connections.find(vhost, id));
        QueueRow {
            node_name: Arc::clone(&self.state.about.node_name),
            vhost: Arc::clone(vhost),
            rates: self.state.rates.lock().queue(vhost, &info.name),
            ranges: self.ranges,
            owner: owner.map(|connection| Owner(Arc::clone(connection))),
            shown: self.shown,
            now: self.state.node.clock.millis(Instant::now()),
            info,
        }
    }
}

impl Rows for QueueRows {
    type Key = Key;
    type Row = QueueRow;

    fn keys(&self) -> Vec<Key> {
        let mut keys = Vec::new();
        for (index, (vhost, _)) in self.hosts.iter().enumerate() {
            // A host that is deleted meanwhile has no queues.
            let names = queues::names(&self.state.node, vhost).unwrap_or_default();
            keys.extend(names.into_iter().map(|name| (index as u32, name)));
        }
        keys
    }

    fn name<'a>(&'a self, key: &'a Key) -> &'a [u8] {
        &key.1
    }

    fn rows(&self, keys: &[Key]) -> Vec<Option<QueueRow>> {
        let mut rows = Vec::with_capacity(keys.len());
        for of_host in keys.chunk_by(|one, other| one.0 == other.0) {
            let (vhost, host) = &self.hosts[of_host[0].0 as usize];
            let infos: Vec<Option<QueueInfo>> = {
                let locked = host.lock();
                let host = &locked.host;
                of_host.iter().map(|(_, name)| host.queue(name)).collect()
            };
            rows.extend(infos.into_iter().map(|info| info.map(|info| self.row(vhost, info))));
        }
        rows
    }
}

pub(crate) async fn show(call: &Call<'_>) -> Answer {
    let vhost: Arc<str> = call.vhost()?.name().into();
    let (info, consumers) = queues::find(call.node(), &vhost, call.bytes("queue"))?;
    let rows = QueueRows::new(call, Vec::new())?;
    let consumer = |info| consumers::row(call, &rows.connections, &vhost, info);
    let consumers: Vec<ConsumerRow> = consumers.into_iter().map(consumer).collect();
    let mut row = serde_json::to_value(rows.row(&vhost, info)).unwrap_or_default();
    if let Some(fields) = row.as_object_mut().filter(|_| rows.shown == Shown::Everything) {
        fields.insert("consumer_details".into(), json!(consumers));
        fields.insert("incoming".into(), json!([]));
        fields.insert("deliveries".into(), json!([]));
    }
    call.object(&row)
}

pub(crate) async fn declare(call: &mut Call<'_>) -> Answer {
    let host = host_to_change(call)?;
    let body = call.body().await?;
    check_node(call, &body)?;
    let declaration = QueueDeclaration {
        log_id: 0,
        name: short("queue", &without_line_breaks(call.bytes("queue")))?,
        is_durable: body.boolean("durable")?.unwrap_or(false),
        is_exclusive: false,
        is_auto_delete: body.boolean("auto_delete")?.unwrap_or(false),
        arguments: arguments(&body)?.0.into(),
    };
    let queue = Resource::declared_queue(&declaration.name);
    check_declaration(call, &host, queue, &declaration.arguments, "x-dead-letter-exchange")?;
    put(queues::declare(call.node(), host.name(), &declaration)?).await
}

/// Checks the rights for a declaration. `argument` names an exchange that the object hands messages on to.
pub(super) fn check_declaration(
    call: &Call<'_>,
    host: &SharedHost,
    resource: Resource<'_>,
    arguments: &EncodedTable,
    argument: &str,
) -> Result<(), ApiError> {
    let mut rights = call.rights(host)?;
    let checked = rights.check(Operation::Configure, resource);
    let checked = checked.and_then(|()| rights.check_forwarding(resource, arguments, argument, || true));
    checked.map_err(ApiError::of_declaration)
}

/// The virtual host of a declaration. The error for a missing one has other words.
pub(super) fn host_to_change(call: &Call<'_>) -> Result<Arc<SharedHost>, ApiError> {
    call.vhost().map_err(|_| ApiError::missing("vhost_not_found"))
}

/// A name or a routing key, as long as AMQP has them. `kind`: RabbitMQ's word for it.
///
/// # Errors
///
/// 400: there are too many bytes.
pub(super) fn short(kind: &str, bytes: &[u8]) -> Result<Box<[u8]>, ApiError> {
    if bytes.len() > SHORT_STRING_SIZE_MAX {
        let text = format!("{kind} should be less than 255 bytes, actually was {}\n", bytes.len());
        return Err(ApiError::bad_request(text));
    }
    Ok(bytes.into())
}

/// The arguments of a declaration or a binding.
///
/// # Errors
///
/// 400: they are no object, or have values that AMQP does not.
pub(super) fn arguments(body: &Fields) -> Result<Arguments, ApiError> {
    let table = body.table("arguments")?;
    if table.values().any(has_null) {
        return Err(ApiError::bad_request("null_not_allowed"));
    }
    serde_json::from_value(Value::Object(table)).map_err(|error| ApiError::bad_request(error.to_string()))
}

/// Returns `true` if a value contains a null at any depth. RabbitMQ refuses nulls, though AMQP has a value for them.
pub(super) fn has_null(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(items) => items.iter().any(has_null),
        Value::Object(fields) => fields.values().any(has_null),
        _ => false,
    }
}

/// A body may name a node, which has to be this one.
pub(super) fn check_node(call: &Call<'_>, body: &Fields) -> Result<(), ApiError> {
    match body.text("node")? {
        Some(name) if *name != *call.state.about.node_name => {
            Err(ApiError::bad_request(format!("Node {name} could not be contacted")))
        }
        _ => Ok(()),
    }
}

pub(crate) async fn delete(call: &Call<'_>) -> Answer {
    let (host, name) = (call.vhost()?, call.bytes("queue"));
    queues::find(call.node(), host.name(), name)?;
    let checked = call.rights(&host)?.check(Operation::Configure, Resource::Queue(name));
    checked.map_err(ApiError::of_declaration)?;
    let query = &call.request.query;
    let (if_unused, if_empty) = (query.is_true("if-unused"), query.is_true("if-empty"));
    deleted(queues::delete(call.node(), host.name(), name, if_unused, if_empty)?).await
}

pub(crate) async fn purge(call: &Call<'_>) -> Answer {
    let (host, name) = (call.vhost()?, call.bytes("queue"));
    queues::find(call.node(), host.name(), name)?;
    let checked = call.rights(&host)?.check(Operation::Read, Resource::Queue(name));
    checked.map_err(ApiError::of_declaration)?;
    queues::purge(call.node(), host.name(), name)?;
    nothing()
}

/// Actions on mirrors, of which there are none.
pub(crate) async fn act(call: &mut Call<'_>) -> Answer {
    let host = call.vhost()?;
    queues::find(call.node(), host.name(), call.bytes("queue"))?;
    let body = call.body_with(&["action"]).await?;
    match body.text("action")?.as_deref() {
        Some("sync" | "cancel_sync") => nothing(),
        other => Err(ApiError::wrong_field("unknown", other)),
    }
}

/// The parts of a queue that a client asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shown {
    /// `disable_stats=true`: as it was declared.
    Declaration,
    /// With `enable_queue_totals=true`: also the numbers of messages.
    Totals,
    Everything,
}

/// A queue of a list.
#[derive(Clone, Debug)]
pub(crate) struct QueueRow {
    pub(crate) node_name: Arc<str>,
    pub(crate) vhost: Arc<str>,
    pub(crate) info: QueueInfo,
    pub(crate) rates: Row<MESSAGE_COUNTER_COUNT>,
    pub(crate) ranges: Ranges,
    pub(crate) owner: Option<Owner>,
    pub(crate) shown: Shown,
    /// The node's milliseconds.
    pub(crate) now: u64,
}

impl QueueRow {
    fn put_declaration<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
        let info = &self.info;
        map.serialize_entry("name", &String::from_utf8_lossy(&info.name))?;
        map.serialize_entry("vhost", &*self.vhost)?;
        map.serialize_entry("type", info.kind.name())?;
        map.serialize_entry("durable", &info.is_durable)?;
        map.serialize_entry("auto_delete", &info.is_auto_delete)?;
        map.serialize_entry("exclusive", &info.is_exclusive)?;
        map.serialize_entry("arguments", &to_json(&info.arguments.decode()))?;
        map.serialize_entry("node", &*self.node_name)?;
        map.serialize_entry("state", "running")?;
        if info.kind == QueueKind::Quorum {
            // The nodes of the queue: this node alone.
            map.serialize_entry("leader", &*self.node_name)?;
            map.serialize_entry("members", &[&*self.node_name])?;
            map.serialize_entry("online", &[&*self.node_name])?;
        }
        Ok(())
    }

    fn put_totals<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
        map.serialize_entry("messages", &(self.info.ready + self.info.unacknowledged))?;
        map.serialize_entry("messages_ready", &self.info.ready)?;
        map.serialize_entry("messages_unacknowledged", &self.info.unacknowledged)
    }

    fn put_lengths<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
        let info = &self.info;
        let counts = MessageCounts::of_queue(info);
        let detail = |counter: Counter, range| self.rates.detail(counter as usize, range);
        Counted::lengths(&counts, |counter| detail(counter, self.ranges.lengths)).put(map)?;
        let ready_in_memory = info.ready - info.storage.paged;
        map.serialize_entry("messages_ram", &(ready_in_memory + info.unacknowledged))?;
        map.serialize_entry("messages_ready_ram", &ready_in_memory)?;
        map.serialize_entry("messages_unacknowledged_ram", &info.unacknowledged)?;
        map.serialize_entry("messages_persistent", &0)?;
        map.serialize_entry("messages_paged_out", &info.storage.paged)?;
        let bytes = info.ready_bytes + info.unacknowledged_bytes;
        map.serialize_entry("message_bytes", &bytes)?;
        map.serialize_entry("message_bytes_ready", &info.ready_bytes)?;
        map.serialize_entry("message_bytes_unacknowledged", &info.unacknowledged_bytes)?;
        map.serialize_entry("message_bytes_ram", &(bytes - info.storage.paged_bytes))?;
        map.serialize_entry("message_bytes_persistent", &0)?;
        map.serialize_entry("message_bytes_paged_out", &info.storage.paged_bytes)?;
        map.serialize_entry("head_message_timestamp", &info.head_timestamp)?;
        map.serialize_entry("memory", &info.storage.memory_bytes)?;
        if self.rates.is_still() {
            map.serialize_entry("idle_since", &timestamp(info.used_at))?;
        }
        let stats = |counter| detail(counter, self.ranges.messages);
        Counted::messages(&counts, StatsKind::Queue, stats).put_stats(map)
    }

    fn put_consumers<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
        let info = &self.info;
        let tag = |tag: &Option<Box<[u8]>>| tag.as_ref().map(|tag| String::from_utf8_lossy(tag).into_owned());
        map.serialize_entry("consumers", &info.consumer_count)?;
        map.serialize_entry("exclusive_consumer_tag", &tag(&info.exclusive_consumer))?;
        map.serialize_entry("single_active_consumer_tag", &tag(&info.single_active_consumer))?;
        let capacity = if info.consumer_count == 0 { 0.0 } else { info.capacity.at(self.now) };
        map.serialize_entry("consumer_capacity", &capacity)?;
        map.serialize_entry("consumer_utilisation", &capacity)?;
        if let Some(owner) = &self.owner {
            map.serialize_entry("owner_pid_details", owner)?;
        }
        Ok(())
    }

    fn put_policies<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
        map.serialize_entry("durability", self.info.storage.durability.name())?;
        map.serialize_entry("policy", &self.info.policies.user)?;
        map.serialize_entry("operator_policy", &self.info.policies.operator)?;
        map.serialize_entry("effective_policy_definition", &to_json(&self.info.policies.effective))?;
        map.serialize_entry("garbage_collection", &json!({}))?;
        map.serialize_entry("storage_version", &1)
    }
}

impl Serialize for QueueRow {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        self.put_declaration(&mut map)?;
        match self.shown {
            Shown::Declaration => {}
            Shown::Totals => self.put_totals(&mut map)?,
            Shown::Everything => {
                self.put_lengths(&mut map)?;
                self.put_consumers(&mut map)?;
                self.put_policies(&mut map)?;
            }
        }
        map.end()
    }
}
