//! The overview: the node's versions, totals and listeners.

use std::collections::BTreeSet;
use std::sync::Arc;

use hairstreak_node::node::SharedHost;
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::{Value, json};

use crate::http::call::{Answer, Call};
use crate::http::list::{Range, Ranges};
use crate::http::rates::{Counted, Counter, Detail, Figure, Keys, StatsKind, host_figures};
use crate::http::state::{
    ERLANG_FULL_VERSION, ERLANG_VERSION, ListenerInfo, PRODUCT_NAME, PRODUCT_VERSION, RABBITMQ_VERSION,
    now_ms,
};

/// The types of exchanges and their descriptions.
const EXCHANGE_TYPES: [(&str, &str); 5] = [
    ("direct", "AMQP direct exchange, as per the AMQP specification"),
    ("fanout", "AMQP fanout exchange, as per the AMQP specification"),
    ("headers", "AMQP headers exchange, as per the AMQP specification"),
    ("topic", "AMQP topic exchange, as per the AMQP specification"),
    ("x-consistent-hash", "Consistent Hashing Exchange"),
];

/// The figures of `churn_rates`, with their keys.
pub(super) const CHURN: [(Figure, Keys); 7] = [
    (Figure::ConnectionCreated, ("connection_created", "connection_created_details")),
    (Figure::ConnectionClosed, ("connection_closed", "connection_closed_details")),
    (Figure::ChannelCreated, ("channel_created", "channel_created_details")),
    (Figure::ChannelClosed, ("channel_closed", "channel_closed_details")),
    (Figure::QueueDeclared, ("queue_declared", "queue_declared_details")),
    (Figure::QueueCreated, ("queue_created", "queue_created_details")),
    (Figure::QueueDeleted, ("queue_deleted", "queue_deleted_details")),
];

/// The numbers of objects.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Objects {
    pub(crate) connections: usize,
    pub(crate) channels: usize,
    pub(crate) consumers: usize,
    pub(crate) queues: usize,
    pub(crate) exchanges: usize,
}

impl Objects {
    /// Counts the objects of virtual hosts, without the connections.
    pub(crate) fn count(hosts: &[Arc<SharedHost>]) -> Objects {
        let mut objects = Objects::default();
        for host in hosts {
            let locked = host.lock();
            let host = &locked.host;
            objects.channels += host.channels().count();
            objects.consumers += host.consumer_count();
            objects.queues += host.queue_count();
            objects.exchanges += host.topology().exchange_count();
        }
        objects
    }
}

/// The overview, as much of it as the user may see.
struct Overview<'a> {
    call: &'a Call<'a>,
    hosts: Vec<Arc<SharedHost>>,
    is_monitor: bool,
    ranges: Ranges,
}

pub(crate) async fn show(call: &Call<'_>) -> Answer {
    let identity = call.identity()?;
    let is_monitor = identity.tags().may_monitor();
    let mut hosts = call.node().hosts.all();
    if !is_monitor {
        hosts.retain(|host| identity.may_access(host.name()));
    }
    call.object(&Overview { call, hosts, is_monitor, ranges: call.ranges()? })
}

pub(crate) async fn version(call: &Call<'_>) -> Answer {
    call.object(&json!({"version": RABBITMQ_VERSION, "rabbitmq_version": RABBITMQ_VERSION,
        "product_name": PRODUCT_NAME, "product_version": PRODUCT_VERSION}))
}

/// The types of exchanges as tools list them.
pub(super) fn exchange_types() -> Value {
    let row = |(name, description): (&str, &str)| json!({"name": name, "description": description, "enabled": true});
    EXCHANGE_TYPES.into_iter().map(row).collect()
}

/// The web contexts: the API itself.
pub(super) fn contexts(call: &Call<'_>) -> Value {
    let listeners = call.state.about.listeners.iter();
    let of_api = listeners.filter(|listener| ["http", "https"].contains(&listener.protocol));
    let row = |listener: &ListenerInfo| {
        let mut row = json!({"node": &*call.state.about.node_name, "description": "Hairstreak Management",
            "path": "/", "ip": listener.address.ip().to_string(), "port": listener.address.port().to_string()});
        if listener.protocol == "https" {
            row["ssl"] = true.into();
        }
        row
    };
    of_api.map(row).collect()
}

impl Overview<'_> {
    fn put_head<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
        let query = &self.call.request.query;
        let kept = json!({"global": [600, 3600, 28_800, 86_400], "basic": [600], "detailed": [600]});
        map.serialize_entry("management_version", RABBITMQ_VERSION)?;
        map.serialize_entry("rates_mode", "basic")?;
        map.serialize_entry("sample_retention_policies", &kept)?;
        map.serialize_entry("exchange_types", &exchange_types())?;
        map.serialize_entry("product_version", PRODUCT_VERSION)?;
        map.serialize_entry("product_name", PRODUCT_NAME)?;
        map.serialize_entry("rabbitmq_version", RABBITMQ_VERSION)?;
        map.serialize_entry("cluster_name", &self.call.state.cluster_name())?;
        map.serialize_entry("cluster_tags", &json!({}))?;
        map.serialize_entry("node_tags", &json!({}))?;
        map.serialize_entry("erlang_version", ERLANG_VERSION)?;
        map.serialize_entry("erlang_full_version", ERLANG_FULL_VERSION)?;
        map.serialize_entry("crypto_lib_version", "ring")?;
        map.serialize_entry("release_series_support_status", "supported")?;
        map.serialize_entry("disable_stats", &query.is_true("disable_stats"))?;
        map.serialize_entry("enable_queue_totals", &query.is_true("enable_queue_totals"))
    }

    fn put_stats<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
        let figures = host_figures(self.call.state, self.hosts.iter().map(|host| &**host));
        let messages = figures.messages();
        let detail = |counter: Counter, range| self.detail(counter as usize, Some(counter), range);
        let mut stats =
            Counted::messages(&messages, StatsKind::Channel, |counter| detail(counter, self.ranges.messages));
        stats.add_disk();
        map.serialize_entry("message_stats", &stats)?;
        let churn = |(figure, keys): (Figure, Keys)| {
            (keys, figures.get(figure), self.detail(figure.index(), None, self.ranges.messages))
        };
        map.serialize_entry("churn_rates", &CHURN.into_iter().map(churn).collect::<Counted>())?;
        let lengths = Counted::lengths(&messages, |counter| detail(counter, self.ranges.lengths));
        map.serialize_entry("queue_totals", &lengths)?;
        map.serialize_entry("statistics_db_event_queue", &0)
    }

    /// The rate of a figure. A user who sees only some virtual hosts gets the sum of these.
    fn detail(&self, index: usize, counter: Option<Counter>, range: Option<Range>) -> Detail {
        let rates = self.call.state.rates.lock();
        match counter {
            Some(counter) if !self.is_monitor => {
                let mut sum = Detail::default();
                for host in &self.hosts {
                    sum.add(rates.host(host.name()).detail(counter as usize, range));
                }
                sum
            }
            _ => rates.totals().detail(index, range, now_ms()),
        }
    }

    fn object_totals(&self) -> Value {
        let Objects { channels, consumers, exchanges, queues, .. } = Objects::count(&self.hosts);
        let names: BTreeSet<&str> = self.hosts.iter().map(|host| host.name()).collect();
        let all = self.call.node().connections.all();
        let connections = all.iter().filter(|connection| names.contains(&*connection.virtual_host)).count();
        json!({"channels": channels, "connections": connections, "consumers": consumers,
            "exchanges": exchanges, "queues": queues})
    }

    fn put_node<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
        let about = &self.call.state.about;
        map.serialize_entry("node", &*about.node_name)?;
        let listeners: Vec<Value> = about
            .listeners
            .iter()
            .map(|listener| {
                json!({"node": &*about.node_name, "protocol": listener.protocol,
                    "ip_address": listener.address.ip().to_string(), "port": listener.address.port(),
                    "socket_opts": {}})
            })
            .collect();
        map.serialize_entry("listeners", &listeners)?;
        map.serialize_entry("contexts", &contexts(self.call))
    }
}

impl Serialize for Overview<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        self.put_head(&mut map)?;
        if !self.call.request.query.is_true("disable_stats") {
            self.put_stats(&mut map)?;
        }
        map.serialize_entry("object_totals", &self.object_totals())?;
        if self.is_monitor {
            self.put_node(&mut map)?;
        }
        map.end()
    }
}
