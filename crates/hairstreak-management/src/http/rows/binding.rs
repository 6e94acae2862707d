//! `BindingRow`: a binding.

use std::sync::Arc;

use hairstreak_broker::view::BindingInfo;
use hairstreak_node::definitions::to_json;
use serde::ser::{Serialize, SerializeStruct, Serializer};

use super::properties_key::properties_key;
use crate::http::list::Named;

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
