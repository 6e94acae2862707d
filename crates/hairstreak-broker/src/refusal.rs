//! `Refusal`: why a virtual host refuses an operation.
//!
//! - `check_property`, `check_argument`: refuse a second declaration that differs from the existing object. The texts are
//!   RabbitMQ's.

use std::fmt::{self, Display};

use hairstreak_wire::amqp::{FieldValue, ReplyCode};

use crate::erlang;

/// Refusal of an operation: the reply code and RabbitMQ's text behind the name. The scope of the code says if the channel or the
/// connection is closed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The reply code.
    pub code: ReplyCode,
    /// The text, without the code's name.
    pub text: String,
}

impl Refusal {
    /// A refusal.
    pub fn new(code: ReplyCode, text: impl Into<String>) -> Refusal {
        Refusal { code, text: text.into() }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} - {}", self.code.name(), self.text)
    }
}

impl std::error::Error for Refusal {}

/// Checks a property that each declaration has. `resource` is such as `exchange 'x' in vhost '/'`.
///
/// # Errors
///
/// `PRECONDITION_FAILED`: the property is another.
pub(crate) fn check_property<T: PartialEq + Display>(
    resource: &str,
    name: &str,
    current: T,
    received: T,
) -> Result<(), Refusal> {
    if current == received {
        return Ok(());
    }
    Err(inequivalent(resource, name, &format!("'{current}'"), &format!("'{received}'")))
}

/// Checks the argument `name`, which a declaration need not have. `current` and `received` are its values.
///
/// # Errors
///
/// `PRECONDITION_FAILED`: the argument is another, or one of the two declarations lacks it.
pub(crate) fn check_argument(
    resource: &str,
    name: &str,
    current: Option<&FieldValue>,
    received: Option<&FieldValue>,
) -> Result<(), Refusal> {
    match (current, received) {
        (None, None) => Ok(()),
        (Some(current), Some(received)) if is_same(current, received) => Ok(()),
        (Some(current), Some(received)) => {
            let [current, received] = [current, received].map(|value| format!("'{}'", erlang::show(value)));
            Err(inequivalent(resource, name, &current, &received))
        }
        (current, received) => {
            Err(inequivalent(resource, name, &show_optional(current), &show_optional(received)))
        }
    }
}

/// Returns true if two values are the same to Erlang's pattern matching. A float never equals a whole number, even with the same
/// value.
fn is_same(current: &FieldValue, received: &FieldValue) -> bool {
    let [current_is_float, received_is_float] =
        [current, received].map(|value| matches!(value, FieldValue::F32(_) | FieldValue::F64(_)));
    current_is_float == received_is_float && erlang::is_equal(current, received)
}

fn show_optional(value: Option<&FieldValue>) -> String {
    value.map_or("none".to_owned(), |value| {
        format!("the value '{}' of type '{}'", erlang::show(value), value.type_name())
    })
}

fn inequivalent(resource: &str, name: &str, current: &str, received: &str) -> Refusal {
    let text =
        format!("inequivalent arg '{name}' for {resource}: received {received} but current is {current}");
    Refusal::new(ReplyCode::PreconditionFailed, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_the_same_whatever_their_size_and_floats_are_no_whole_numbers() {
        let check = |current, received| {
            check_argument("queue 'q' in vhost '/'", "x", Some(&current), Some(&received)).is_ok()
        };
        assert!(check(FieldValue::I32(60_000), FieldValue::I64(60_000)));
        assert!(check(FieldValue::F64(0.5), FieldValue::F32(0.5)));
        assert!(!check(FieldValue::I32(60_000), FieldValue::F64(60_000.0)));
        assert!(!check(FieldValue::F64(1.0), FieldValue::I64(1)));
    }
}
