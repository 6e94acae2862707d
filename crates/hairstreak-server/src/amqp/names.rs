//! The queue that an empty name means: the one that the channel declared last.

use hairstreak_broker::Refusal;
use hairstreak_wire::amqp::ReplyCode;

/// The queue that `name` means: without a name the one that the channel declared last.
///
/// Errors: the name is empty and the channel has declared none.
pub(super) fn queue<'a>(last_queue: &'a [u8], name: &'a [u8]) -> Result<&'a [u8], Refusal> {
    match (name, last_queue) {
        ([], []) => Err(Refusal::new(ReplyCode::NotFound, "no previously declared queue")),
        ([], last) => Ok(last),
        (name, _) => Ok(name),
    }
}

/// The routing key that goes with [`queue`]: where neither a queue nor a key was given, the queue's name.
pub(super) fn routing_key<'a>(last_queue: &'a [u8], queue: &[u8], key: &'a [u8]) -> &'a [u8] {
    if queue.is_empty() && key.is_empty() { last_queue } else { key }
}
