//! Messages: publishing one by hand, and taking some from a queue.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hairstreak_broker::Refusal;
use hairstreak_node::access::{Operation, Resource};
use hairstreak_node::node::Commit;
use hairstreak_node::operator::messages::{self, AckMode, TakenMessage};
use hairstreak_node::operator::{OperatorError, queues};
use hairstreak_node::{NotPublished, OneMessage, publish_once};
use hairstreak_wire::amqp::ReplyCode;
use serde_json::{Map, Value, json};

use super::properties::{PropertyTexts, properties_json};
use super::queues::short;
use crate::http::call::{Answer, Call};
use crate::http::error::ApiError;
use crate::http::request::exchange_name;
use crate::http::response::Response;

/// The most messages that one request takes.
const MESSAGE_COUNT_MAX: i64 = 10_000;
/// The most bytes of encoded properties: a header has twelve bytes before them, and is one frame of 131,072 bytes at most.
const PROPERTIES_SIZE_MAX: usize = 131_072 - 8 - 12;
/// RabbitMQ's answer if a full queue refuses the message.
const REJECTED: &str = "rejected Unable to publish message. Check queue limits.";

pub(crate) async fn publish(call: &mut Call<'_>) -> Answer {
    // RabbitMQ opens a connection to the host.
    let host = call.vhost().map_err(|_| ApiError::not_authorised("Access refused."))?;
    let body = call.body_with(&["routing_key", "properties", "payload", "payload_encoding"]).await?;
    let payload = match body.get("payload") {
        Some(Value::String(text)) => text,
        _ => return Err(ApiError::bad_request("payload_not_string")),
    };
    let payload = match body.text("payload_encoding")?.as_deref() {
        Some("string") => payload.as_bytes().to_vec(),
        Some("base64") => {
            STANDARD.decode(payload).map_err(|_| ApiError::wrong_field("not_base64", payload.as_str()))?
        }
        other => return Err(ApiError::wrong_field("unsupported_encoding", other)),
    };
    let texts = PropertyTexts::read(&body.table("properties")?)?;
    let exchange = exchange_name(call.bytes("exchange"));
    let key = short("routing_key", body.text("routing_key")?.unwrap_or_default().as_bytes())?;
    let mut properties = Vec::new();
    texts.properties().encode(&mut properties);
    check_header_size(properties.len()).map_err(ApiError::of_publish)?;
    let message = OneMessage { exchange, routing_key: &key, properties: &properties, body: &payload };
    match publish_once(call.node(), &host, call.identity()?, &message) {
        Ok(durability) => {
            // The answer is a confirm: the message is as safe as its queues promise.
            let logged =
                durability.map_or(Commit::done(), |durability| call.node().logged(&host, durability));
            logged.await.map_err(|error| ApiError::unavailable(error.to_string()))?;
            Ok(Response::json(&json!({"routed": durability.is_some()})))
        }
        Err(NotPublished::NotAdmitted) => Err(ApiError::not_authorised("Access refused.")),
        // RabbitMQ publishes all the same.
        Err(NotPublished::Blocked(reasons)) => {
            Err(ApiError::unavailable(format!("{reasons}: publish again when the alarm is over")))
        }
        Err(NotPublished::Rejected) => Err(ApiError::bad_request(REJECTED)),
        Err(NotPublished::Refused(refusal)) => Err(ApiError::of_publish(refusal)),
    }
}

/// Checks that the encoded properties fit into one frame, as AMQP asks of clients.
fn check_header_size(size: usize) -> Result<(), Refusal> {
    if size <= PROPERTIES_SIZE_MAX {
        return Ok(());
    }
    let text = format!("the properties have {size} bytes, {PROPERTIES_SIZE_MAX} at most may be");
    Err(Refusal::new(ReplyCode::PreconditionFailed, text))
}

/// Messages that are taken off a queue, or put back where they were.
pub(crate) async fn take(call: &mut Call<'_>) -> Answer {
    let host = call.vhost()?;
    let body = call.body_with(&["ackmode", "count", "encoding"]).await?;
    let mode = match body.text("ackmode")?.as_deref() {
        Some("ack_requeue_true" | "reject_requeue_true") => AckMode::Return,
        Some("ack_requeue_false") => AckMode::Take,
        Some("reject_requeue_false") => AckMode::Reject,
        other => return Err(ApiError::wrong_field("unsupported_ackmode", other)),
    };
    let is_auto = match body.text("encoding")?.as_deref() {
        Some("auto") => true,
        Some("base64") => false,
        _ => return Err(ApiError::bad_request("Unsupported encoding. Please use auto or base64.")),
    };
    let size_max = body.integer("truncate")?.map_or(usize::MAX, |size| usize::try_from(size).unwrap_or(0));
    let count = match body.integer("count")?.unwrap_or(1) {
        // RabbitMQ takes all messages for a count below 0.
        count @ 0..=MESSAGE_COUNT_MAX => count,
        _ => MESSAGE_COUNT_MAX,
    };
    let queue = call.bytes("queue");
    queues::find(call.node(), host.name(), queue).map_err(|error| match error {
        OperatorError::NotFound => {
            let (name, vhost) = (String::from_utf8_lossy(queue), host.name());
            ApiError::missing(format!("NOT_FOUND - no queue '{name}' in vhost '{vhost}'"))
        }
        error => error.into(),
    })?;
    call.rights(&host)?.check(Operation::Read, Resource::Queue(queue)).map_err(ApiError::of_channel)?;
    let taken = messages::take(call.node(), host.name(), queue, (count as usize, mode), size_max);
    let taken = taken.map_err(|error| match error {
        OperatorError::Refused(refusal) => ApiError::of_channel(refusal),
        error => error.into(),
    })?;
    let messages: Vec<Value> = taken.iter().map(|message| json_of(message, is_auto)).collect();
    Ok(Response::json(&messages))
}

/// Messages that wait, as [`take`] shows them: nothing happens to them. RabbitMQ has no such route.
pub(crate) async fn peek(call: &Call<'_>) -> Answer {
    let (host, queue) = (call.vhost()?, call.bytes("queue"));
    let number = |name: &str, default: usize| match call.request.query.get(name) {
        None => Ok(default),
        Some(text) => text.parse().map_err(|_| ApiError::bad_request(format!("{name} is not a number"))),
    };
    let count = number("count", 1)?.min(MESSAGE_COUNT_MAX as usize);
    let (offset, size_max) = (number("offset", 0)?, number("truncate", usize::MAX)?);
    call.rights(&host)?.check(Operation::Read, Resource::Queue(queue)).map_err(ApiError::of_channel)?;
    let shown = messages::peek(call.node(), host.name(), queue, (offset, count), size_max)?;
    let is_auto = call.request.query.get("encoding").is_none_or(|encoding| encoding != "base64");
    let messages: Vec<Value> = shown.iter().map(|message| json_of(message, is_auto)).collect();
    Ok(Response::json(&messages))
}

fn json_of(message: &TakenMessage, is_auto: bool) -> Value {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (payload, encoding) = match std::str::from_utf8(&message.body) {
        Ok(payload) if is_auto => (payload.to_owned(), "string"),
        _ => (STANDARD.encode(&message.body), "base64"),
    };
    let properties = properties_json(&message.properties);
    // An empty object is a list in RabbitMQ, as everywhere where Erlang has a property list.
    let properties = if properties.is_empty() { Value::Array(Vec::new()) } else { properties.into() };
    let mut object = Map::new();
    object.insert("payload_bytes".into(), message.body_size.into());
    object.insert("redelivered".into(), message.is_redelivered.into());
    object.insert("exchange".into(), text(&message.exchange).into());
    object.insert("routing_key".into(), text(&message.routing_key).into());
    object.insert("message_count".into(), message.message_count.into());
    object.insert("properties".into(), properties);
    object.insert("payload".into(), payload.into());
    object.insert("payload_encoding".into(), encoding.into());
    object.into()
}
