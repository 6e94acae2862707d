//! `Replies`: the addresses of direct replies, which need no queue.

use std::collections::HashMap;

use super::outbox::ConsumerId;

/// The name that clients consume from, and put into the property reply-to.
pub(super) const REPLY_TO: &[u8] = b"amq.rabbitmq.reply-to";
/// The prefix of each address.
pub(super) const ADDRESS_PREFIX: &str = "amq.rabbitmq.reply-to.";

/// Whether a routing key is an address of direct replies.
#[inline]
pub(super) fn is_address(key: &[u8]) -> bool {
    key.starts_with(ADDRESS_PREFIX.as_bytes())
}

/// The reply consumers by address.
pub(super) type Replies = HashMap<Box<[u8]>, ConsumerId, foldhash::fast::RandomState>;
