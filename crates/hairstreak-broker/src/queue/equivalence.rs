//! Equivalence: whether a second declaration of a queue asks for the same.

use std::fmt::Display;

use hairstreak_wire::amqp::{FieldTable, FieldValue, ReplyCode};

use super::arguments::compared_arguments;
use super::declaration::QueueDeclaration;
use crate::refusal::Refusal;

/// The argument that may be missing where the default is meant.
const QUEUE_TYPE: &str = "x-queue-type";

/// Checks that a second declaration is equivalent to the first. `queue` is `queue 'q' in vhost '/'`.
pub(crate) fn check_equivalence(
    current: &QueueDeclaration,
    received: &QueueDeclaration,
    queue: &dyn Display,
) -> Result<(), Refusal> {
    check_flag("durable", current.is_durable, received.is_durable, queue)?;
    check_flag("auto_delete", current.is_auto_delete, received.is_auto_delete, queue)?;
    compared_arguments()
        .try_for_each(|name| check_argument(name, &current.arguments, &received.arguments, queue))
}

fn check_flag(name: &str, current: bool, received: bool, queue: &dyn Display) -> Result<(), Refusal> {
    if current == received {
        return Ok(());
    }
    inequivalent(name, queue, &format!("'{received}'"), &format!("'{current}'"))
}

fn check_argument(
    name: &str,
    current: &FieldTable,
    received: &FieldTable,
    queue: &dyn Display,
) -> Result<(), Refusal> {
    match (current.get(name), received.get(name)) {
        (None, None) => Ok(()),
        (Some(current), Some(received)) if current.is_equivalent(received) => Ok(()),
        (Some(current), Some(received)) => {
            let (received, current) = (show(received), show(current));
            inequivalent(name, queue, &format!("'{received}'"), &format!("'{current}'"))
        }
        (None, Some(kind)) | (Some(kind), None) if name == QUEUE_TYPE && is_classic(kind) => Ok(()),
        (current, received) => inequivalent(name, queue, &show_typed(received), &show_typed(current)),
    }
}

fn is_classic(kind: &FieldValue) -> bool {
    kind.as_bytes() == Some(b"classic")
}

fn inequivalent(name: &str, queue: &dyn Display, received: &str, current: &str) -> Result<(), Refusal> {
    let text = format!("inequivalent arg '{name}' for {queue}: received {received} but current is {current}");
    Err(Refusal::new(ReplyCode::PreconditionFailed, text))
}

fn show_typed(value: Option<&FieldValue>) -> String {
    match value {
        None => "none".to_owned(),
        Some(value) => format!("the value '{}' of type '{}'", show(value), value.type_name()),
    }
}

fn show(value: &FieldValue) -> String {
    match value {
        FieldValue::Bool(value) => value.to_string(),
        FieldValue::F32(value) => value.to_string(),
        FieldValue::F64(value) => value.to_string(),
        value => match (value.as_i64(), value.as_bytes()) {
            (Some(number), _) => number.to_string(),
            (None, Some(bytes)) => String::from_utf8_lossy(bytes).into_owned(),
            (None, None) => format!("{value:?}"),
        },
    }
}
