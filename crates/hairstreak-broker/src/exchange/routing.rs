//! `Routing` and `Cacheable`: the parts of a message that exchanges use, and the validity of a route for the next message.

use foldhash::{HashSet, HashSetExt};
use hairstreak_wire::amqp::FieldTable;

/// The parts of a message that determine its route.
#[derive(Clone, Copy, Debug, Default)]
pub struct Routing<'a> {
    /// The exchange that the message is published to. Empty: the default exchange.
    pub exchange: &'a [u8],
    /// The routing key.
    pub key: &'a [u8],
    /// Further routing keys, from the headers CC and BCC.
    pub extra_keys: &'a [&'a [u8]],
    /// The headers.
    pub headers: Option<&'a FieldTable>,
    /// The property `correlation-id`.
    pub correlation_id: Option<&'a [u8]>,
    /// The property `message-id`.
    pub message_id: Option<&'a [u8]>,
    /// The property `timestamp`.
    pub timestamp: Option<u64>,
}

impl<'a> Routing<'a> {
    /// A message without properties.
    pub fn new(exchange: &'a [u8], key: &'a [u8]) -> Routing<'a> {
        Routing { exchange, key, ..Routing::default() }
    }

    /// The routing key and the further ones.
    pub(crate) fn keys(&self) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        self.keys_from(0)
    }

    /// The keys behind the first `count`.
    pub(super) fn keys_from(&self, count: usize) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        let further = self.extra_keys.get(count.saturating_sub(1)..).unwrap_or_default();
        (count == 0).then_some(self.key).into_iter().chain(further.iter().copied())
    }
}

/// Returns the further keys of a message, each once, without the routing key.
pub(crate) fn distinct<'a>(key: &[u8], mut extra_keys: Vec<&'a [u8]>) -> Vec<&'a [u8]> {
    if extra_keys.len() > 1 {
        let mut met = HashSet::with_capacity(extra_keys.len());
        extra_keys.retain(|extra| met.insert(*extra));
    }
    extra_keys.retain(|extra| *extra != key);
    extra_keys
}

/// Validity of a route for later messages with the same exchange and routing key. A valid route holds until the generation
/// changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cacheable {
    /// Exchange and routing key alone decided.
    Yes,
    /// Something else decided too: headers, further keys, other properties, or the load.
    No,
}

impl Cacheable {
    /// Returns `Yes` if both are cacheable.
    pub(super) fn and(self, other: Cacheable) -> Cacheable {
        match self {
            Cacheable::Yes => other,
            Cacheable::No => Cacheable::No,
        }
    }
}
