//! `Entry`: one message in one queue.

use crate::message::MessageId;

/// The expiry of a message that does not expire.
pub(crate) const NEVER: u64 = u64::MAX;

/// One message in one queue, waiting or delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    /// The message's place in its queue: later messages have larger numbers.
    pub(crate) sequence: u64,
    /// When the message expires; [`NEVER`].
    pub(crate) expires_at: u64,
    /// The message.
    pub(crate) message: MessageId,
    /// How often the message came back.
    pub(crate) return_count: u16,
    /// The list of the queue that holds the message.
    pub(crate) priority: u8,
}

const _: () = assert!(size_of::<Entry>() == 24);

impl Entry {
    /// Whether the message was delivered before.
    #[inline]
    pub(crate) fn is_redelivered(&self) -> bool {
        self.return_count > 0
    }
}
