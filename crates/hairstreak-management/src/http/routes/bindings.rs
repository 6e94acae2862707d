//! Bindings: lists, single ones, and making and taking back.

use std::sync::Arc;

use hairstreak_broker::view::BindingInfo;
use hairstreak_broker::without_line_breaks;
use hairstreak_node::access::{Operation, Resource};
use hairstreak_node::definitions::to_json;
use hairstreak_node::node::SharedHost;
use hairstreak_node::operator::bindings::{self, Which};
use hairstreak_node::operator::{OperatorError, queues};
use hyper::{StatusCode, header};
use serde::ser::{Serialize, SerializeStruct, Serializer};

use super::properties_key::{is_named, properties_key, quote_plus};
use super::queues::{arguments, host_to_change, short};
use crate::http::call::{Answer, Call, deleted, kept};
use crate::http::error::ApiError;
use crate::http::list::{Held, Named};
use crate::http::request::exchange_name;
use crate::http::response::Response;

/// All bindings of some virtual hosts, including the bindings of the default exchange.
pub(crate) async fn list(call: &Call<'_>) -> Answer {
    let mut rows = Vec::new();
    for host in call.hosts()? {
        let vhost: Arc<str> = host.name().into();
        rows.extend(of_default_exchange(call, &vhost));
        rows.extend(rows_of(call, &vhost, Which::All)?);
    }
    answer(call, rows).await
}

/// The bindings from an exchange.
pub(crate) async fn list_from(call: &Call<'_>) -> Answer {
    let vhost: Arc<str> = call.vhost()?.name().into();
    let rows = match exchange_name(call.bytes("exchange")) {
        b"" => of_default_exchange(call, &vhost),
        name => rows_of(call, &vhost, Which::From(name))?,
    };
    answer(call, rows).await
}

/// The bindings to an exchange.
pub(crate) async fn list_to(call: &Call<'_>) -> Answer {
    let vhost: Arc<str> = call.vhost()?.name().into();
    let rows = rows_of(call, &vhost, Which::ToExchange(exchange_name(call.bytes("exchange"))))?;
    answer(call, rows).await
}

/// The bindings to a queue.
pub(crate) async fn list_of_queue(call: &Call<'_>) -> Answer {
    let (vhost, queue): (Arc<str>, _) = (call.vhost()?.name().into(), call.bytes("queue"));
    let mut rows = vec![BindingRow::of_default_exchange(&vhost, queue)];
    rows.extend(rows_of(call, &vhost, Which::ToQueue(queue))?);
    answer(call, rows).await
}

/// The bindings from one exchange to one queue or exchange.
pub(crate) async fn list_between(call: &Call<'_>) -> Answer {
    let rows = between(call, &Ends::of(call)?)?;
    answer(call, rows).await
}

pub(crate) async fn show(call: &Call<'_>) -> Answer {
    call.object(&find(call, &Ends::of(call)?)?)
}

pub(crate) async fn bind(call: &mut Call<'_>) -> Answer {
    host_to_change(call)?;
    let body = call.body().await?;
    let ends = Ends::of(call)?;
    let (to, is_to_exchange) = match ends.destination {
        Resource::Queue(name) => (name, false),
        Resource::Exchange(name) => (name, true),
    };
    let binding = BindingInfo {
        source: without_line_breaks(ends.source).into(),
        destination: without_line_breaks(to).into(),
        is_to_exchange,
        routing_key: short("routing_key", body.text("routing_key")?.unwrap_or_default().as_bytes())?,
        arguments: arguments(&body)?.0.into(),
    };
    check_rights(call, &ends.host, &binding)?;
    kept(bindings::bind(call.node(), ends.host.name(), &binding)?).await?;
    let key = properties_key(&binding);
    let location = format!("{}/{}", quote_plus(&binding.destination), quote_plus(key.as_bytes()));
    Ok(Response::empty(StatusCode::CREATED).with_header(header::LOCATION, &location))
}

pub(crate) async fn unbind(call: &Call<'_>) -> Answer {
    let ends = Ends::of(call)?;
    let row = find(call, &ends)?;
    check_rights(call, &ends.host, &row.info)?;
    deleted(bindings::unbind(call.node(), ends.host.name(), &row.info)?).await
}

/// The two ends of the path.
struct Ends<'a> {
    host: Arc<SharedHost>,
    source: &'a [u8],
    destination: Resource<'a>,
}

impl<'a> Ends<'a> {
    fn of(call: &'a Call<'_>) -> Result<Ends<'a>, ApiError> {
        let name = call.bytes("destination");
        let destination = match call.bytes("type") {
            b"q" => Resource::Queue(name),
            b"e" => Resource::Exchange(exchange_name(name)),
            _ => return Err(ApiError::not_found()),
        };
        Ok(Ends { host: call.vhost()?, source: exchange_name(call.bytes("source")), destination })
    }
}

/// Checks that the user may make or take back this very binding.
fn check_rights(call: &Call<'_>, host: &SharedHost, binding: &BindingInfo) -> Result<(), ApiError> {
    let destination = match binding.is_to_exchange {
        true => Resource::Exchange(&binding.destination),
        false => Resource::Queue(&binding.destination),
    };
    let mut rights = call.rights(host)?;
    let BindingInfo { source, routing_key, .. } = binding;
    let checked = rights.check(Operation::Write, destination);
    let checked = checked.and_then(|()| rights.check(Operation::Read, Resource::Exchange(source)));
    let checked = checked.and_then(|()| {
        let mut state = host.lock();
        rights.check_topic(Operation::Read, source, routing_key, state.host.exchanges_mut())
    });
    checked.map_err(ApiError::of_declaration)
}

/// The bindings between two ends. Ends that do not exist have none.
fn between(call: &Call<'_>, ends: &Ends<'_>) -> Result<Vec<BindingRow>, ApiError> {
    let vhost: Arc<str> = ends.host.name().into();
    let which = match ends.destination {
        Resource::Queue(name) if ends.source.is_empty() => {
            let row = queues::find(call.node(), &vhost, name);
            let row = row.map(|_| BindingRow::of_default_exchange(&vhost, name));
            return Ok(row.into_iter().collect());
        }
        Resource::Exchange(_) if ends.source.is_empty() => return Ok(Vec::new()),
        Resource::Queue(name) => Which::ToQueue(name),
        Resource::Exchange(name) => Which::ToExchange(name),
    };
    let mut rows = rows_of(call, &vhost, which)?;
    rows.retain(|row| *row.info.source == *ends.source);
    Ok(rows)
}

/// The binding whose name is in the path.
fn find(call: &Call<'_>, ends: &Ends<'_>) -> Result<BindingRow, ApiError> {
    let key = call.bytes("key");
    let rows = between(call, ends)?.into_iter();
    let mut found = rows.filter(|row| is_named(&row.info, key));
    found.next().ok_or_else(ApiError::not_found)
}

/// The rows of a listing; none if the exchange or the queue does not exist, as in RabbitMQ.
fn rows_of(call: &Call<'_>, vhost: &Arc<str>, which: Which<'_>) -> Result<Vec<BindingRow>, ApiError> {
    let infos = match bindings::list(call.node(), vhost, which) {
        Err(OperatorError::NotFound) => Vec::new(),
        infos => infos?,
    };
    Ok(infos.into_iter().map(|info| BindingRow { vhost: Arc::clone(vhost), info }).collect())
}

fn of_default_exchange(call: &Call<'_>, vhost: &Arc<str>) -> Vec<BindingRow> {
    let names = queues::names(call.node(), vhost).unwrap_or_default();
    names.iter().map(|name| BindingRow::of_default_exchange(vhost, name)).collect()
}

async fn answer(call: &Call<'_>, rows: Vec<BindingRow>) -> Answer {
    let key = |row: &BindingRow| {
        let BindingInfo { source, destination, is_to_exchange, routing_key, .. } = &row.info;
        let ends = (source.clone(), *is_to_exchange, destination.clone());
        (Arc::clone(&row.vhost), ends, routing_key.clone(), properties_key(&row.info))
    };
    call.list(Held::sorted_by_key(rows, key)).await
}

/// A binding of a list.
#[derive(Clone, Debug)]
pub(crate) struct BindingRow {
    pub(crate) vhost: Arc<str>,
    pub(crate) info: BindingInfo,
}

impl BindingRow {
    /// The binding that each queue has to the default exchange.
    pub(crate) fn of_default_exchange(vhost: &Arc<str>, queue: &[u8]) -> BindingRow {
        let info =
            BindingInfo { destination: queue.into(), routing_key: queue.into(), ..BindingInfo::default() };
        BindingRow { vhost: Arc::clone(vhost), info }
    }
}

impl Named for BindingRow {
    /// Bindings have no names. A list filtered by name is that of the routing keys.
    fn name(&self) -> &[u8] {
        &self.info.routing_key
    }
}

impl Serialize for BindingRow {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let BindingInfo { source, destination, is_to_exchange, routing_key, arguments } = &self.info;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let mut fields = serializer.serialize_struct("BindingRow", 7)?;
        fields.serialize_field("source", &text(source))?;
        fields.serialize_field("vhost", &*self.vhost)?;
        fields.serialize_field("destination", &text(destination))?;
        fields.serialize_field("destination_type", if *is_to_exchange { "exchange" } else { "queue" })?;
        fields.serialize_field("routing_key", &text(routing_key))?;
        fields.serialize_field("arguments", &to_json(&arguments.decode()))?;
        fields.serialize_field("properties_key", &properties_key(&self.info))?;
        fields.end()
    }
}
