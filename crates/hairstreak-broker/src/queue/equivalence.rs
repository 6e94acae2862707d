//! Equivalence: whether a second declaration of a queue asks for the same.

use super::arguments::{compared_arguments, known_arguments};
use super::declaration::QueueDeclaration;
use super::kind::{QUEUE_TYPE, QueueKind};
use super::live::Queue;
use crate::equivalence::{check_argument, check_property};
use crate::refusal::Refusal;

/// Checks that a second declaration is equivalent to the first. `queue` is `queue 'q' in vhost '/'`.
///
/// # Errors
///
/// `PRECONDITION_FAILED`: a property or an argument is another.
pub(crate) fn check_equivalence(
    current: &Queue,
    received: &QueueDeclaration,
    queue: &str,
) -> Result<(), Refusal> {
    let (current_arguments, received_arguments) = (&current.arguments, known_arguments(&received.arguments));
    let current = &current.declaration;
    check_property(queue, "durable", current.is_durable, received.is_durable)?;
    check_property(queue, "auto_delete", current.is_auto_delete, received.is_auto_delete)?;
    let kind = QueueKind::of(current_arguments);
    let is_same_kind = kind == QueueKind::of(&received_arguments);
    compared_arguments(kind).filter(|name| *name != QUEUE_TYPE || !is_same_kind).try_for_each(|name| {
        check_argument(queue, name, current_arguments.get(name), received_arguments.get(name))
    })
}
