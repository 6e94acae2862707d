//! The arguments of queues and consumers: the known ones, and the errors in the arguments of a declaration.
//!
//! The texts are RabbitMQ's, which are Erlang terms in part.

use std::fmt::Display;

use hairstreak_wire::amqp::{EncodedTable, FieldTable, FieldValue, ReplyCode, SHORT_STRING_SIZE_MAX};

use super::durability::{DURABILITY, Durability};
use super::kind::QueueKind;
use crate::message::EXPIRY_MS_MAX;
use crate::refusal::Refusal;

/// Checks the value of an argument; the second table has all known arguments.
type Check = fn(&FieldValue, &FieldTable) -> Result<(), String>;

/// An argument of a queue.
struct Argument {
    name: &'static str,
    check: Check,
    /// The kinds of queues that have the argument.
    kinds: &'static [QueueKind],
}

/// The argument with a text of its own for a wrong type.
const DEAD_LETTER_EXCHANGE: &str = "x-dead-letter-exchange";

const CLASSIC: &[QueueKind] = &[QueueKind::Classic];
const QUORUM: &[QueueKind] = &[QueueKind::Quorum];
const BOTH: &[QueueKind] = &[QueueKind::Classic, QueueKind::Quorum];
const STREAM: &[QueueKind] = &[];

macro_rules! arguments {
    ($($name:tt $kinds:ident $check:expr,)*) => {
        &[$(Argument { name: $name, check: $check, kinds: $kinds },)*]
    };
}

/// Every argument of a queue that RabbitMQ 3.10 to 4 knows, and `x-durability`. Other arguments have no effect, and are accepted.
const QUEUE_ARGUMENTS: &[Argument] = arguments! {
    "x-expires" BOTH check_expires,
    "x-message-ttl" BOTH check_message_ttl,
    DEAD_LETTER_EXCHANGE BOTH check_name,
    "x-dead-letter-routing-key" BOTH check_dead_letter_routing_key,
    "x-dead-letter-strategy" QUORUM |value, _| check_word(value, &["at-most-once", "at-least-once"], "invalid_dlx_strategy"),
    "x-max-length" BOTH check_count,
    "x-max-length-bytes" BOTH check_count,
    "x-max-in-memory-length" QUORUM check_count,
    "x-max-in-memory-bytes" QUORUM check_count,
    "x-max-priority" CLASSIC check_max_priority,
    "x-overflow" BOTH |value, _| check_word(value, &["drop-head", "reject-publish", "reject-publish-dlx"], "invalid_overflow"),
    "x-queue-mode" CLASSIC check_queue_mode,
    "x-queue-version" CLASSIC check_queue_version,
    "x-single-active-consumer" BOTH check_bool,
    "x-queue-type" BOTH |value, _| check_queue_type(value),
    "x-quorum-initial-group-size" QUORUM check_group_size,
    "x-quorum-target-group-size" QUORUM check_group_size,
    "x-delivery-limit" QUORUM |value, _| check_integer(value).map(drop),
    "x-consumer-timeout" BOTH check_count,
    "x-queue-leader-locator" BOTH |value, _| check_word(value, &["client-local", "balanced", "random", "least-leaders"], "invalid_queue_locator_arg"),
    "x-queue-master-locator" CLASSIC check_text,
    DURABILITY BOTH check_durability,
    "x-max-age" STREAM check_text,
    "x-stream-max-segment-size-bytes" STREAM check_count,
    "x-stream-filter-size-bytes" STREAM check_count,
    "x-initial-cluster-size" STREAM check_group_size,
};

/// The arguments of a consumer.
const CONSUMER_ARGUMENTS: &[(&str, Check)] = &[
    ("x-priority", |value, _| check_integer(value).map(drop)),
    ("x-cancel-on-ha-failover", check_bool),
    ("x-stream-offset", |_, _| Ok(())),
];

/// The arguments of a quorum queue in the order in which RabbitMQ compares them.
const QUORUM_ORDER: [&str; 15] = [
    "x-dead-letter-exchange",
    "x-dead-letter-routing-key",
    "x-dead-letter-strategy",
    "x-expires",
    "x-max-length",
    "x-max-length-bytes",
    "x-max-in-memory-length",
    "x-max-in-memory-bytes",
    "x-overflow",
    "x-single-active-consumer",
    "x-queue-type",
    "x-quorum-initial-group-size",
    "x-delivery-limit",
    "x-message-ttl",
    "x-queue-leader-locator",
];

/// The names of the arguments that a second declaration must repeat. Which one is reported depends on the order.
pub(super) fn compared_arguments(kind: Option<QueueKind>) -> impl Iterator<Item = &'static str> {
    let first = if kind == Some(QueueKind::Quorum) { &QUORUM_ORDER[..] } else { &[] };
    let others = QUEUE_ARGUMENTS.iter().map(|argument| argument.name).filter(|name| !first.contains(name));
    first.iter().copied().chain(others)
}

/// The arguments that mean something to a queue.
pub(crate) fn known_arguments(all: &EncodedTable) -> FieldTable {
    all.select(|name| {
        name.starts_with(b"x-") && QUEUE_ARGUMENTS.iter().any(|argument| argument.name.as_bytes() == name)
    })
}

/// Checks the arguments of a queue that is new, and returns the kind. `queue` is `queue 'q' in vhost '/'`.
pub(crate) fn check_queue_arguments(all: &EncodedTable, queue: &dyn Display) -> Result<QueueKind, Refusal> {
    // The default type of the virtual host may be one field too many.
    if let Err(error) = all.check() {
        return Err(Refusal::new(ReplyCode::PreconditionFailed, format!("arguments of {queue}: {error}")));
    }
    let arguments = &known_arguments(all);
    if let Some(value) = arguments.get("x-queue-type") {
        check_queue_type(value).map_err(|reason| invalid("x-queue-type", queue, &reason))?;
    }
    let Some(kind) = QueueKind::of(arguments) else {
        let text = format!("queue type 'stream' of {queue} is not supported by this broker");
        return Err(Refusal::new(ReplyCode::PreconditionFailed, text));
    };
    let given =
        || QUEUE_ARGUMENTS.iter().filter_map(|argument| Some((argument, arguments.get(argument.name)?)));
    if let Some((argument, _)) = given().find(|(argument, _)| !argument.kinds.contains(&kind)) {
        let (name, kind) = (argument.name, kind.module_name());
        let text = format!("invalid arg '{name}' for {queue} of queue type {kind}");
        return Err(Refusal::new(ReplyCode::PreconditionFailed, text));
    }
    if let Some(value) = arguments.get(DEAD_LETTER_EXCHANGE)
        && !matches!(value, FieldValue::LongString(_))
    {
        let kind = value.type_name();
        let text = format!("invalid type '{kind}' for arg '{DEAD_LETTER_EXCHANGE}' in {queue}");
        return Err(Refusal::new(ReplyCode::PreconditionFailed, text));
    }
    for (argument, value) in given() {
        (argument.check)(value, arguments).map_err(|reason| invalid(argument.name, queue, &reason))?;
    }
    Ok(kind)
}

/// Checks the arguments of a consumer of that queue.
pub(crate) fn check_consumer_arguments(arguments: &FieldTable, queue: &dyn Display) -> Result<(), Refusal> {
    for (name, check) in CONSUMER_ARGUMENTS {
        if let Some(value) = arguments.get(name) {
            check(value, arguments).map_err(|reason| invalid(name, queue, &reason))?;
        }
    }
    Ok(())
}

fn invalid(name: &str, queue: &dyn Display, reason: &str) -> Refusal {
    Refusal::new(ReplyCode::PreconditionFailed, format!("invalid arg '{name}' for {queue}: {reason}"))
}

fn unacceptable<T>(value: &FieldValue) -> Result<T, String> {
    Err(format!("{{unacceptable_type,{}}}", value.type_name()))
}

fn check_integer(value: &FieldValue) -> Result<i64, String> {
    value.as_i64().ok_or_else(|| format!("\"expected integer, got {}\"", value.type_name()))
}

fn check_queue_type(value: &FieldValue) -> Result<(), String> {
    check_supported(value, "type", &["classic", "quorum", "stream"])
}

fn check_queue_mode(value: &FieldValue, _: &FieldTable) -> Result<(), String> {
    check_supported(value, "mode", &["default", "lazy"])
}

fn check_supported(value: &FieldValue, what: &str, words: &[&str]) -> Result<(), String> {
    match value {
        FieldValue::LongString(word) => {
            let word = String::from_utf8_lossy(word);
            let is_known = words.contains(&&*word);
            is_known.then_some(()).ok_or_else(|| format!("\"unsupported queue {what} '{word}'\""))
        }
        other => unacceptable(other),
    }
}

fn check_bool(value: &FieldValue, _: &FieldTable) -> Result<(), String> {
    value.as_bool().map_or_else(|| unacceptable(value), |_| Ok(()))
}

fn check_text(value: &FieldValue, _: &FieldTable) -> Result<(), String> {
    match value {
        FieldValue::LongString(_) => Ok(()),
        other => unacceptable(other),
    }
}

/// A text that messages may carry as the name of an exchange or as a routing key.
fn check_name(value: &FieldValue, arguments: &FieldTable) -> Result<(), String> {
    check_text(value, arguments)?;
    match value.as_bytes().map_or(0, <[u8]>::len) {
        0..=SHORT_STRING_SIZE_MAX => Ok(()),
        size => Err(format!("{size} bytes, {SHORT_STRING_SIZE_MAX} at most may be")),
    }
}

fn check_word(value: &FieldValue, words: &[&str], reason: &str) -> Result<(), String> {
    match value {
        FieldValue::LongString(word) if words.iter().any(|other| other.as_bytes() == &**word) => Ok(()),
        FieldValue::LongString(_) => Err(reason.to_owned()),
        other => unacceptable(other),
    }
}

fn check_count(value: &FieldValue, _: &FieldTable) -> Result<(), String> {
    match check_integer(value)? {
        count if count < 0 => Err(format!("{{value_negative,{count}}}")),
        _ => Ok(()),
    }
}

fn check_message_ttl(value: &FieldValue, arguments: &FieldTable) -> Result<(), String> {
    check_count(value, arguments)?;
    match check_integer(value)? {
        ms if ms as u64 > EXPIRY_MS_MAX => Err(format!("{{value_too_large,{ms}}}")),
        _ => Ok(()),
    }
}

fn check_expires(value: &FieldValue, arguments: &FieldTable) -> Result<(), String> {
    match check_integer(value)? {
        0 => Err("{value_zero,0}".to_owned()),
        _ => check_message_ttl(value, arguments),
    }
}

fn check_max_priority(value: &FieldValue, arguments: &FieldTable) -> Result<(), String> {
    check_count(value, arguments)?;
    match check_integer(value)? {
        0..=255 => Ok(()),
        priority => Err(format!("{{max_value_exceeded,{priority}}}")),
    }
}

fn check_durability(value: &FieldValue, arguments: &FieldTable) -> Result<(), String> {
    check_supported(value, "durability", &Durability::NAMES)?;
    let is_synced = Durability::of(value) == Some(Durability::Synced);
    let is_quorum = QueueKind::of(arguments) == Some(QueueKind::Quorum);
    if is_synced || !is_quorum { Ok(()) } else { Err("\"quorum queues are always 'synced'\"".to_owned()) }
}

/// Checks that a queue can have the durability in its arguments. `has_log`: the host has a message log.
pub(crate) fn check_durability_of(
    all: &EncodedTable,
    (is_durable, has_log): (bool, bool),
    queue: &dyn Display,
) -> Result<(), Refusal> {
    let arguments = known_arguments(all);
    let durability = arguments.get(DURABILITY).and_then(Durability::of).unwrap_or(Durability::Memory);
    let lacks = match durability {
        Durability::Memory => return Ok(()),
        _ if !is_durable => "a durable queue that is not exclusive",
        _ if !has_log => "a data directory, and the node has none",
        _ => return Ok(()),
    };
    Err(invalid(DURABILITY, queue, &format!("\"'{}' needs {lacks}\"", durability.name())))
}

fn check_group_size(value: &FieldValue, arguments: &FieldTable) -> Result<(), String> {
    match check_integer(value)? {
        0 => Err("{value_zero,0}".to_owned()),
        _ => check_count(value, arguments),
    }
}

fn check_queue_version(value: &FieldValue, arguments: &FieldTable) -> Result<(), String> {
    check_count(value, arguments)?;
    match check_integer(value)? {
        1 | 2 => Ok(()),
        version => Err(format!("\"unsupported queue version '{version}'\"")),
    }
}

fn check_dead_letter_routing_key(value: &FieldValue, arguments: &FieldTable) -> Result<(), String> {
    check_name(value, arguments)?;
    match arguments.get(DEAD_LETTER_EXCHANGE) {
        Some(_) => Ok(()),
        None => Err("routing_key_but_no_dlx_defined".to_owned()),
    }
}
