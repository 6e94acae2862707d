//! Virtual hosts: lists, single ones, creation, deletion, protection.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use hairstreak_node::definitions::{Fields, VirtualHostDefinition};
use hairstreak_node::operator::{connections, virtual_hosts};
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::{Map, Value, json};

use crate::http::call::{Answer, Call, deleted, nothing, put};
use crate::http::error::ApiError;
use crate::http::list::{Held, Named, Ranges};
use crate::http::rates::{
    Counted, Counter, HOST_COUNTER_COUNT, MESSAGE_COUNTER_COUNT, MessageCounts, Row, StatsKind, host_messages,
};

/// A virtual host of a list.
#[derive(Clone, Debug)]
struct VhostRow {
    definition: VirtualHostDefinition,
    node_name: Arc<str>,
    /// `None`: as it was defined.
    counts: Option<Counts>,
    rates: Row<HOST_COUNTER_COUNT>,
    ranges: Ranges,
}

#[derive(Clone, Copy, Debug)]
struct Counts {
    messages: MessageCounts,
    received: u64,
    sent: u64,
}

impl Named for VhostRow {
    fn name(&self) -> &[u8] {
        self.definition.name.as_bytes()
    }
}

impl VhostRow {
    fn put_counts<M: SerializeMap>(&self, counts: &Counts, map: &mut M) -> Result<(), M::Error> {
        let detail = |counter: usize, range| self.rates.detail(counter, range);
        Counted::lengths(&counts.messages, |counter| detail(counter as usize, self.ranges.lengths))
            .put(map)?;
        let octets = |index| detail(MESSAGE_COUNTER_COUNT + index, self.ranges.data);
        Counted::octets([counts.received, counts.sent], octets).put(map)?;
        let messages = |counter: Counter| detail(counter as usize, self.ranges.messages);
        Counted::messages(&counts.messages, StatsKind::Channel, messages).put_stats(map)
    }
}

impl Serialize for VhostRow {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let definition = &self.definition;
        let kind = definition.default_queue_type.as_deref().unwrap_or("classic");
        let metadata = json!({"description": definition.description, "tags": definition.tags,
            "default_queue_type": kind});
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("name", &definition.name)?;
        map.serialize_entry("description", &definition.description)?;
        map.serialize_entry("tags", &definition.tags)?;
        map.serialize_entry("default_queue_type", kind)?;
        map.serialize_entry("protected_from_deletion", &definition.protected_from_deletion)?;
        map.serialize_entry("metadata", &metadata)?;
        map.serialize_entry("tracing", &false)?;
        let state: Map<String, Value> =
            [(self.node_name.to_string(), "running".into())].into_iter().collect();
        map.serialize_entry("cluster_state", &state)?;
        if let Some(counts) = &self.counts {
            self.put_counts(counts, &mut map)?;
        }
        map.end()
    }
}

pub(crate) async fn list(call: &Call<'_>) -> Answer {
    let identity = call.identity()?;
    let mut definitions = virtual_hosts::all(call.node());
    if !identity.tags().sees_all_virtual_hosts() {
        definitions.retain(|definition| identity.may_access(&definition.name));
    }
    let rows = definitions.into_iter().map(|definition| row(call, definition)).collect::<Result<_, _>>()?;
    call.list(Held::new(rows)).await
}

pub(crate) async fn show(call: &Call<'_>) -> Answer {
    let definition = virtual_hosts::find(call.node(), call.text("vhost")?)?;
    call.object(&row(call, definition)?)
}

fn row(call: &Call<'_>, definition: VirtualHostDefinition) -> Result<VhostRow, ApiError> {
    let has_counts = !call.request.query.is_true("disable_stats");
    let counts = has_counts.then(|| counts(call, &definition.name));
    Ok(VhostRow {
        rates: call.state.rates.lock().host(&definition.name),
        node_name: Arc::clone(&call.state.about.node_name),
        ranges: call.ranges()?,
        counts,
        definition,
    })
}

fn counts(call: &Call<'_>, name: &str) -> Counts {
    let messages = call.node().hosts.find(name).map(|host| host_messages(&host)).unwrap_or_default();
    let mut counts = Counts { messages, received: 0, sent: 0 };
    for connection in connections::all(call.node()).iter().filter(|one| &*one.virtual_host == name) {
        counts.received += connection.figures.read_bytes.load(Relaxed);
        counts.sent += connection.figures.written_bytes.load(Relaxed);
    }
    counts
}

pub(crate) async fn create(call: &mut Call<'_>) -> Answer {
    let body = call.body().await?;
    let name = call.text("vhost")?.to_owned();
    let before = virtual_hosts::find(call.node(), &name).unwrap_or_default();
    let definition = changed(before, name, &body)?;
    let creator = call.identity()?.user();
    put(virtual_hosts::put(call.node(), definition, Some(creator))?).await
}

/// The definition with the fields of the body. Fields that are missing stay as they are.
fn changed(
    before: VirtualHostDefinition,
    name: String,
    body: &Fields,
) -> Result<VirtualHostDefinition, ApiError> {
    let kind = body.text("default_queue_type")?.filter(|kind| kind != "undefined");
    let protected = body.boolean("protected_from_deletion")?;
    Ok(VirtualHostDefinition {
        name,
        description: body.text("description")?.unwrap_or(before.description),
        tags: body.words("tags")?.unwrap_or(before.tags),
        default_queue_type: kind.or(before.default_queue_type),
        protected_from_deletion: protected.unwrap_or(before.protected_from_deletion),
        limits: before.limits,
    })
}

pub(crate) async fn delete(call: &Call<'_>) -> Answer {
    deleted(virtual_hosts::delete(call.node(), call.text("vhost")?)?).await
}

/// Protects a host from deletion, or no longer.
pub(crate) async fn protect(call: &Call<'_>, protected_from_deletion: bool) -> Answer {
    let before = virtual_hosts::find(call.node(), call.text("vhost")?)?;
    let definition = VirtualHostDefinition { protected_from_deletion, ..before };
    deleted(virtual_hosts::put(call.node(), definition, None)?.commit).await
}

/// Starts a host on a node: every host runs.
pub(crate) async fn start(call: &Call<'_>) -> Answer {
    call.vhost()?;
    let node = call.text("node")?;
    if *node != *call.state.about.node_name {
        return Err(ApiError::bad_request(format!("Request to node {node} failed with nodedown")));
    }
    nothing()
}

/// RabbitMQ declared a queue, published and consumed here; later versions only answer.
pub(crate) async fn test_aliveness(call: &Call<'_>) -> Answer {
    call.vhost()?;
    call.object(&json!({"status": "ok"}))
}
