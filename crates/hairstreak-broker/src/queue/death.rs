//! Deaths: the headers that a message gets when it is dead-lettered or comes back, as RabbitMQ writes them.

use hairstreak_wire::amqp::{FieldTable, FieldValue, Properties};

/// Reason for which a message is dead-lettered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reason {
    /// A consumer rejected the message.
    Rejected,
    /// The message expired.
    Expired,
    /// The queue was too long.
    MaxLength,
    /// The message came back too often.
    DeliveryLimit,
}

impl Reason {
    fn name(self) -> &'static str {
        match self {
            Reason::Rejected => "rejected",
            Reason::Expired => "expired",
            Reason::MaxLength => "maxlen",
            Reason::DeliveryLimit => "delivery_limit",
        }
    }
}

/// Queue and reason of a message's death.
pub(crate) struct Death<'a> {
    pub(crate) queue: &'a [u8],
    pub(crate) reason: Reason,
    /// The exchange and the key that the message had been published to.
    pub(crate) exchange: &'a [u8],
    pub(crate) routing_key: &'a [u8],
    /// Seconds since 1970.
    pub(crate) time: u64,
}

/// Writes a death into the properties of a message: `x-death`, `x-first-death-...`, no expiration. `has_new_key`: the dead letter
/// has a key of its own, so that the CC keys no longer apply.
pub(crate) fn add_death(properties: &mut Properties<'_>, death: &Death<'_>, has_new_key: bool) {
    let mut headers = properties.headers.take().unwrap_or_default();
    let expiration = properties.expiration.take();
    let deaths = match headers.get("x-death") {
        Some(FieldValue::Array(deaths)) => with_death(deaths, death, expiration, &headers),
        _ => {
            headers.insert("x-first-death-reason", death.reason.name());
            headers.insert("x-first-death-queue", death.queue);
            headers.insert("x-first-death-exchange", death.exchange);
            vec![FieldValue::Table(new_entry(death, expiration, &headers))]
        }
    };
    headers.insert("x-death", deaths);
    if has_new_key {
        headers.remove("CC");
    }
    properties.headers = Some(sorted(&headers));
}

/// The table with its fields in the order of their names, as RabbitMQ leaves a table that it has changed.
fn sorted(table: &FieldTable) -> FieldTable {
    let mut fields: Vec<(&[u8], &FieldValue)> = table.iter().collect();
    fields.sort_by_key(|(name, _)| *name);
    fields.into_iter().map(|(name, value)| (name, value.clone())).collect()
}

/// Returns the deaths with one more. The count of an entry of the same queue and reason rises, and it comes first. The fields of
/// the first entry are sorted then.
fn with_death(
    deaths: &[FieldValue],
    death: &Death<'_>,
    expiration: Option<&[u8]>,
    headers: &FieldTable,
) -> Vec<FieldValue> {
    let same = |entry: &&FieldValue| {
        text_of(entry, "queue") == Some(death.queue)
            && text_of(entry, "reason") == Some(death.reason.name().as_bytes())
    };
    let counted = deaths.iter().find(same).and_then(FieldValue::as_table).map(|entry| {
        let mut entry = entry.clone();
        let count = entry.get("count").and_then(FieldValue::as_i64).unwrap_or(0);
        entry.insert("count", FieldValue::I64(count.saturating_add(1)));
        entry
    });
    let first = counted.unwrap_or_else(|| new_entry(death, expiration, headers));
    std::iter::once(FieldValue::Table(sorted(&first)))
        .chain(deaths.iter().filter(|entry| !same(entry)).cloned())
        .collect()
}

fn new_entry(death: &Death<'_>, expiration: Option<&[u8]>, headers: &FieldTable) -> FieldTable {
    let keys = std::iter::once(death.routing_key).chain(extra_keys(headers));
    let mut entry = FieldTable::new();
    entry.insert("count", FieldValue::I64(1));
    entry.insert("reason", death.reason.name());
    entry.insert("queue", death.queue);
    entry.insert("time", FieldValue::Timestamp(death.time));
    entry.insert("exchange", death.exchange);
    entry.insert("routing-keys", keys.map(FieldValue::from).collect::<Vec<_>>());
    if let Some(expiration) = expiration {
        entry.insert("original-expiration", expiration);
    }
    entry
}

/// The keys in the header CC.
pub(crate) fn extra_keys(headers: &FieldTable) -> impl Iterator<Item = &[u8]> {
    headers.get("CC").and_then(FieldValue::as_array).into_iter().flatten().filter_map(FieldValue::as_bytes)
}

/// Returns true if the message has been in that queue before and no consumer rejected it since. Such a dead letter would
/// circulate for ever without any client's action.
pub(crate) fn is_cycle(headers: &FieldTable, queue: &[u8]) -> bool {
    let Some(deaths) = headers.get("x-death").and_then(FieldValue::as_array) else { return false };
    match deaths.iter().position(|entry| text_of(entry, "queue") == Some(queue)) {
        Some(last) => deaths[..=last].iter().all(|entry| text_of(entry, "reason") != Some(b"rejected")),
        None => false,
    }
}

/// Writes how often a message came back to its queue. The headers are sorted then, as RabbitMQ sorts them.
pub(crate) fn add_delivery_count(properties: &mut Properties<'_>, count: u16) {
    let headers = properties.headers.get_or_insert_default();
    headers.insert("x-delivery-count", FieldValue::I64(count.into()));
    *headers = sorted(headers);
}

fn text_of<'a>(entry: &'a FieldValue, name: &str) -> Option<&'a [u8]> {
    entry.as_table()?.get(name)?.as_bytes()
}
