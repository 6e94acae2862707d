//! `Throttle`: what a connection has to do with the node's memory.
//!
//! Publishers wait while the node's messages have too much memory. A connection that publishes then is read no more until the alarm is over. Its client
//! is told, if it wants to be (connection.blocked). A connection that only consumes is read on: its acknowledgements free the memory. A
//! connection that does both is read on, too, for [`GRACE_BYTES`]: its acknowledgements come behind its messages.

use hairstreak_broker::Refusal;
use hairstreak_wire::amqp::ReplyCode;

/// What a connection that also consumes may send while the alarm is raised.
const GRACE_BYTES: usize = 16 * 1024 * 1024;
/// Messages whose bodies have not come whole may have so many times the size of the largest message, in all channels of a connection.
const PARTIAL_MESSAGES_MAX: u64 = 2;

/// What a connection has to do with the node's memory.
#[derive(Debug, Default)]
pub(super) struct Throttle {
    /// The connection has published while the alarm was raised.
    is_blocked: bool,
    /// The connection has consumers, or had some.
    pub has_consumed: bool,
    /// What came while the connection was blocked.
    grace_bytes: usize,
    /// The size of the messages whose bodies have not come whole.
    partial_bytes: u64,
    /// What the alarm knows of it.
    told_bytes: u64,
}

impl Throttle {
    /// The connection publishes while the alarm is raised. Returns whether that is new.
    pub fn block(&mut self) -> bool {
        !std::mem::replace(&mut self.is_blocked, true)
    }

    /// The alarm is over. Returns whether the connection was blocked.
    pub fn unblock(&mut self) -> bool {
        self.grace_bytes = 0;
        std::mem::take(&mut self.is_blocked)
    }

    /// Whether nothing more is read until the alarm is over.
    pub fn has_to_wait(&self) -> bool {
        self.is_blocked && (!self.has_consumed || self.grace_bytes >= GRACE_BYTES)
    }

    /// So many bytes of input were used.
    pub fn note_input(&mut self, size: usize) {
        self.grace_bytes += if self.is_blocked { size } else { 0 };
    }

    /// A message of `size` bytes begins to come. `message_size_max`: the size of the largest.
    ///
    /// Errors: too much of the connection has begun and not ended.
    pub fn begin_partial(&mut self, size: u64, message_size_max: u64) -> Result<(), Refusal> {
        let bytes = self.partial_bytes + size;
        let bytes_max = message_size_max * PARTIAL_MESSAGES_MAX;
        if bytes > bytes_max {
            let text = format!("messages that have begun would have {bytes} bytes, more than {bytes_max}");
            return Err(Refusal::new(ReplyCode::ResourceError, text));
        }
        self.partial_bytes = bytes;
        Ok(())
    }

    /// A message of `size` bytes has come, or comes no more.
    pub fn end_partial(&mut self, size: u64) {
        self.partial_bytes -= size;
    }

    /// The connection is over, and what was on its way with it.
    pub fn forget_partial(&mut self) {
        self.partial_bytes = 0;
    }

    /// What the alarm knows of messages on their way, and what it is to know.
    pub fn partial_change(&mut self) -> (usize, usize) {
        let told = std::mem::replace(&mut self.told_bytes, self.partial_bytes);
        (told as usize, self.partial_bytes as usize)
    }
}
