//! The type `x-consistent-hash`: messages with the same hashed value go to the same destination, and each destination
//! gets a share of the values that its weight says. The routing key of a binding is the weight.
//!
//! Hashed is the routing key, or the header that the argument `hash-header` names, or the property that `hash-property`
//! names (`correlation_id`, `message_id`, `timestamp`). All messages without that header or property go to one destination.
//!
//! Each destination has as many buckets as its weight, and jump consistent hashing (Lamping and Veach, 2014) chooses one of n
//! buckets. New buckets come last, so that a new destination of weight w moves w of n + w values, all of them to itself. The last
//! buckets fill the gaps of a removed destination, which moves at most twice its share.
//!
//! As in RabbitMQ's plugin, the first of several bindings to a destination sets the weight.

use std::hash::{BuildHasher, Hash, Hasher};

use foldhash::HashMap;
use foldhash::quality::FixedState;
use hairstreak_wire::amqp::{FieldTable, FieldValue, ReplyCode};

use super::binding::{Binding, BindingId};
use super::destination::Destination;
use super::exchange_type::{ExchangeType, Visit};
use super::routing::{Cacheable, Routing};
use crate::erlang;
use crate::refusal::Refusal;

const HASH_HEADER: &str = "hash-header";
const HASH_PROPERTY: &str = "hash-property";

/// The greatest weight of a binding: RabbitMQ's since 4.2.
const WEIGHT_MAX: u32 = 10_000;
/// The buckets of an exchange: the sum of the weights. A binding that would make more is refused.
const BUCKET_COUNT_MAX: usize = 1 << 20;
/// Buckets that are visited in one step.
const BUCKETS_PER_STEP: usize = 64;
/// The hash is the same after a restart.
const SEED: u64 = 0x68_61_73_68;

#[derive(Debug)]
pub(super) struct ConsistentHash {
    hashed: Hashed,
    buckets: Vec<Destination>,
    /// The bindings to each destination, with their weights, the first one first.
    weights: HashMap<Destination, Vec<(BindingId, u32)>>,
}

/// The part of a message that is hashed.
#[derive(Debug)]
enum Hashed {
    RoutingKey,
    Header(Box<[u8]>),
    CorrelationId,
    MessageId,
    Timestamp,
}

impl ConsistentHash {
    /// An exchange with the arguments of its declaration.
    pub(super) fn new(arguments: &FieldTable) -> Result<ConsistentHash, Refusal> {
        let hashed = Hashed::from_arguments(arguments)?;
        Ok(ConsistentHash { hashed, buckets: Vec::new(), weights: HashMap::default() })
    }

    fn fill(&mut self, destination: Destination, weight: u32) {
        self.buckets.extend(std::iter::repeat_n(destination, weight as usize));
    }

    fn empty(&mut self, destination: Destination) {
        for index in (0..self.buckets.len()).rev() {
            if self.buckets[index] == destination {
                self.buckets.swap_remove(index);
            }
        }
    }
}

impl ExchangeType for ConsistentHash {
    fn check(&self, key: &[u8], _: &FieldTable) -> Result<(), Refusal> {
        let weight = parse_weight(key)?;
        if self.buckets.len() + weight as usize > BUCKET_COUNT_MAX {
            return refuse(format!("The weights of an exchange must not exceed {BUCKET_COUNT_MAX} together"));
        }
        Ok(())
    }

    fn bind(&mut self, id: BindingId, binding: &Binding) {
        let Ok(weight) = parse_weight(&binding.key) else { return };
        let weights = self.weights.entry(binding.destination).or_default();
        weights.push((id, weight));
        if weights.len() == 1 {
            self.fill(binding.destination, weight);
        }
    }

    fn unbind(&mut self, id: BindingId, binding: &Binding) {
        let Some(weights) = self.weights.get_mut(&binding.destination) else { return };
        let Some(index) = weights.iter().position(|(other, _)| *other == id) else { return };
        weights.remove(index);
        let next = weights.first().map(|(_, weight)| *weight);
        if next.is_none() {
            self.weights.remove(&binding.destination);
        }
        if index == 0 {
            self.empty(binding.destination);
            self.fill(binding.destination, next.unwrap_or(0));
        }
    }

    fn unbind_steps(&self) -> usize {
        1 + self.buckets.len() / BUCKETS_PER_STEP
    }

    fn route(&mut self, Visit { message, found, .. }: Visit<'_>) -> bool {
        if !self.buckets.is_empty() {
            found.push(self.buckets[jump(self.hashed.hash(message), self.buckets.len())]);
        }
        true
    }

    fn cacheable(&self) -> Cacheable {
        match self.hashed {
            Hashed::RoutingKey => Cacheable::Yes,
            _ => Cacheable::No,
        }
    }
}

impl Hashed {
    fn from_arguments(arguments: &FieldTable) -> Result<Hashed, Refusal> {
        match (text(arguments, HASH_HEADER)?, text(arguments, HASH_PROPERTY)?) {
            (None, None) => Ok(Hashed::RoutingKey),
            (Some(header), None) => Ok(Hashed::Header(header.into())),
            (None, Some(b"correlation_id")) => Ok(Hashed::CorrelationId),
            (None, Some(b"message_id")) => Ok(Hashed::MessageId),
            (None, Some(b"timestamp")) => Ok(Hashed::Timestamp),
            (None, Some(property)) => {
                refuse(format!("Unsupported property: {}", String::from_utf8_lossy(property)))
            }
            (Some(_), Some(_)) => refuse("hash-header and hash-property are mutually exclusive".to_owned()),
        }
    }

    fn hash(&self, message: &Routing<'_>) -> u64 {
        let mut hasher = FixedState::with_seed(SEED).build_hasher();
        match self {
            Hashed::RoutingKey => hasher.write(message.key),
            Hashed::Header(name) => {
                if let Some(value) = message.headers.and_then(|headers| headers.get(name)) {
                    hash_value(value, &mut hasher);
                }
            }
            Hashed::CorrelationId => hasher.write(message.correlation_id.unwrap_or_default()),
            Hashed::MessageId => hasher.write(message.message_id.unwrap_or_default()),
            Hashed::Timestamp => message.timestamp.hash(&mut hasher),
        }
        hasher.finish()
    }
}

/// Returns an argument that must be a string if it is present.
fn text<'a>(arguments: &'a FieldTable, name: &str) -> Result<Option<&'a [u8]>, Refusal> {
    match arguments.get(name) {
        None => Ok(None),
        Some(FieldValue::LongString(text)) => Ok(Some(text)),
        Some(value) => refuse(format!("invalid type '{}' for arg '{name}'", value.type_name())),
    }
}

fn hash_value(value: &FieldValue, hasher: &mut impl Hasher) {
    match value {
        FieldValue::LongString(bytes) | FieldValue::Bytes(bytes) => hasher.write(bytes),
        FieldValue::Bool(value) => value.hash(hasher),
        FieldValue::F32(value) => f64::from(*value).to_bits().hash(hasher),
        FieldValue::F64(value) => value.to_bits().hash(hasher),
        FieldValue::Timestamp(value) => value.hash(hasher),
        FieldValue::Decimal { scale, value } => (scale, value).hash(hasher),
        FieldValue::Array(values) => values.iter().for_each(|value| hash_value(value, hasher)),
        FieldValue::Table(table) => table.iter().for_each(|(name, value)| {
            hasher.write(name);
            hash_value(value, hasher);
        }),
        value => value.as_i64().hash(hasher),
    }
}

/// The weight that a binding's routing key is, as Erlang reads integers.
fn parse_weight(key: &[u8]) -> Result<u32, Refusal> {
    let (is_negative, digits) = match key {
        [b'-', digits @ ..] => (true, digits),
        [b'+', digits @ ..] | digits => (false, digits),
    };
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return refuse(format!("The binding key must be an integer: {}", erlang::print_binary(key)));
    }
    if is_negative || digits.iter().all(|digit| *digit == b'0') {
        return refuse("The binding key must be greater than 0".to_owned());
    }
    let weight = digits
        .iter()
        .fold(0_u32, |weight, digit| weight.saturating_mul(10).saturating_add(u32::from(digit - b'0')));
    if weight > WEIGHT_MAX {
        return refuse(format!("The binding key must not exceed {WEIGHT_MAX}"));
    }
    Ok(weight)
}

fn refuse<T>(text: String) -> Result<T, Refusal> {
    Err(Refusal::new(ReplyCode::PreconditionFailed, text))
}

/// The bucket of a key, of `count` buckets, at least one.
fn jump(mut key: u64, count: usize) -> usize {
    let (mut bucket, mut next) = (0, 0);
    while next < count as u64 {
        bucket = next;
        key = key.wrapping_mul(2_862_933_555_777_941_757).wrapping_add(1);
        next = ((bucket + 1) as f64 * ((1_u64 << 31) as f64 / ((key >> 33) + 1) as f64)) as u64;
    }
    bucket as usize
}
