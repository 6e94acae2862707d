//! `ExchangeRow`: an exchange.

use std::sync::Arc;

use hairstreak_broker::view::ExchangeInfo;
use hairstreak_node::definitions::to_json;
use serde::ser::{Serialize, SerializeMap, Serializer};

use super::counted::Counted;
use crate::http::list::Named;
use crate::http::rates::{Range, Row};

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
    fn stats(&self) -> Counted {
        let stats = &self.info.stats;
        let mut counted = Counted::default();
        if stats.publish_in > 0 {
            let keys = ("publish_in", "publish_in_details");
            counted.add(keys, stats.publish_in, self.rates.detail(0, self.range));
        }
        if stats.publish_out > 0 {
            let keys = ("publish_out", "publish_out_details");
            counted.add(keys, stats.publish_out, self.rates.detail(1, self.range));
        }
        counted
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
        let stats = self.stats();
        if self.has_stats && !stats.is_empty() {
            map.serialize_entry("message_stats", &stats)?;
        }
        map.end()
    }
}
