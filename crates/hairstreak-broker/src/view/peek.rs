//! `PeekInfo`: what there is to know of a waiting message beside the message.

/// A message that waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PeekInfo {
    /// How many messages are delivered before, unless others come in between.
    pub position: usize,
    /// How often the message came back.
    pub return_count: u16,
    /// The priority that counts in the queue.
    pub priority: u8,
    /// Whether the message is persistent.
    pub is_persistent: bool,
    /// When the message expires, in the host's milliseconds. An expired message goes when it is the first one.
    pub expires_at: Option<u64>,
}

impl PeekInfo {
    /// Whether the message was delivered before.
    pub fn is_redelivered(&self) -> bool {
        self.return_count > 0
    }
}
