//! Exchanges: lists, single ones, declaration, deletion.

use std::sync::Arc;

use hairstreak_broker::exchange::ExchangeDeclaration;
use hairstreak_broker::stats::ExchangeStats;
use hairstreak_broker::view::ExchangeInfo;
use hairstreak_broker::without_line_breaks;
use hairstreak_node::access::{Operation, Resource};
use hairstreak_node::definitions::to_json;
use hairstreak_node::operator::exchanges;
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::json;

use super::queues::{arguments, check_declaration, check_node, host_to_change, short};
use crate::http::call::{Answer, Call, deleted, put};
use crate::http::error::ApiError;
use crate::http::list::{Held, Named, Range};
use crate::http::rates::{Counted, Row};
use crate::http::request::exchange_name;

/// The default type of a declared exchange.
const DEFAULT_TYPE: &str = "direct";

pub(crate) async fn list(call: &Call<'_>) -> Answer {
    let range = call.ranges()?.messages;
    let mut rows = Vec::new();
    for host in call.hosts()? {
        let vhost: Arc<str> = host.name().into();
        let infos = exchanges::all(call.node(), &vhost).unwrap_or_default();
        rows.extend(infos.into_iter().map(|info| row(call, &vhost, info, range)));
    }
    call.list(Held::sorted_by_key(rows, |row| (Arc::clone(&row.vhost), row.info.name.clone()))).await
}

fn row(call: &Call<'_>, vhost: &Arc<str>, info: ExchangeInfo, range: Option<Range>) -> ExchangeRow {
    ExchangeRow {
        vhost: Arc::clone(vhost),
        rates: call.state.rates.lock().exchange(vhost, &info.name),
        info,
        range,
        has_stats: !call.request.query.is_true("disable_stats"),
    }
}

pub(crate) async fn show(call: &Call<'_>) -> Answer {
    let vhost: Arc<str> = call.vhost()?.name().into();
    let info = exchanges::find(call.node(), &vhost, exchange_name(call.bytes("exchange")))?;
    let row = row(call, &vhost, info, call.ranges()?.messages);
    let mut value = serde_json::to_value(&row).unwrap_or_default();
    if let Some(fields) = value.as_object_mut().filter(|_| row.has_stats) {
        fields.insert("incoming".into(), json!([]));
        fields.insert("outgoing".into(), json!([]));
    }
    call.object(&value)
}

pub(crate) async fn declare(call: &mut Call<'_>) -> Answer {
    let host = host_to_change(call)?;
    let body = call.body().await?;
    check_node(call, &body)?;
    let kind = body.text("type")?.unwrap_or_else(|| DEFAULT_TYPE.into());
    let declaration = ExchangeDeclaration {
        name: short("exchange", &without_line_breaks(exchange_name(call.bytes("exchange"))))?,
        kind: short("type", kind.as_bytes())?,
        is_durable: body.boolean("durable")?.unwrap_or(false),
        is_auto_delete: body.boolean("auto_delete")?.unwrap_or(false),
        is_internal: body.boolean("internal")?.unwrap_or(false),
        arguments: arguments(&body)?.0.into(),
    };
    let exchange = Resource::Exchange(&declaration.name);
    check_declaration(call, &host, exchange, &declaration.arguments, "alternate-exchange")?;
    put(exchanges::declare(call.node(), host.name(), &declaration)?).await
}

pub(crate) async fn delete(call: &Call<'_>) -> Answer {
    let (host, name) = (call.vhost()?, exchange_name(call.bytes("exchange")));
    exchanges::find(call.node(), host.name(), name)?;
    let checked = call.rights(&host)?.check(Operation::Configure, Resource::Exchange(name));
    checked.map_err(ApiError::of_declaration)?;
    let if_unused = call.request.query.is_true("if-unused");
    deleted(exchanges::delete(call.node(), host.name(), name, if_unused)?).await
}

/// An exchange of a list.
#[derive(Clone, Debug)]
pub(crate) struct ExchangeRow {
    pub(crate) vhost: Arc<str>,
    pub(crate) info: ExchangeInfo,
    /// The rates of `publish_in` and `publish_out`.
    pub(crate) rates: Row<2>,
    pub(crate) range: Option<Range>,
    /// `false`: as it was declared.
    pub(crate) has_stats: bool,
}

impl Named for ExchangeRow {
    fn name(&self) -> &[u8] {
        &self.info.name
    }
}

impl ExchangeRow {
    /// The counters that have begun to count.
    fn stats(&self) -> Counted {
        let ExchangeStats { publish_in, publish_out, .. } = self.info.stats;
        let counters = [("publish_in", "publish_in_details"), ("publish_out", "publish_out_details")];
        let counters = counters.into_iter().zip([publish_in, publish_out]).enumerate();
        let begun = counters.filter(|(_, (_, value))| *value > 0);
        begun.map(|(index, (keys, value))| (keys, value, self.rates.detail(index, self.range))).collect()
    }
}

impl Serialize for ExchangeRow {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let info = &self.info;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("name", &String::from_utf8_lossy(&info.name))?;
        map.serialize_entry("vhost", &*self.vhost)?;
        map.serialize_entry("type", &String::from_utf8_lossy(&info.kind))?;
        map.serialize_entry("durable", &info.is_durable)?;
        map.serialize_entry("auto_delete", &info.is_auto_delete)?;
        map.serialize_entry("internal", &info.is_internal)?;
        map.serialize_entry("arguments", &to_json(&info.arguments.decode()))?;
        if let Some(policy) = &info.policy {
            map.serialize_entry("policy", policy)?;
        }
        if self.has_stats {
            self.stats().put_stats(&mut map)?;
        }
        map.end()
    }
}
