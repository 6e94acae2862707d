//! `Limits`: what a virtual host may grow to, with the defaults.

/// The limits of a virtual host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Queues. One more is refused when it is declared.
    pub queues_max: usize,
    /// Channels. One more is refused when it is opened.
    pub channels_max: usize,
    /// Consumers of one channel. One more is refused.
    pub consumers_per_channel_max: usize,
    /// Unacknowledged deliveries of one channel. At the limit the channel's consumers that acknowledge wait.
    pub unacknowledged_per_channel_max: usize,
    /// Messages in memory, those that wait and those unacknowledged. One more is refused (nack).
    pub messages_max: usize,
    /// Messages that expire, or are dead-lettered because a queue is too long, in one call. The others follow in
    /// `handle_timeout`, which is due at once.
    pub slice_max: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            queues_max: 1_000_000,
            channels_max: 1_000_000,
            consumers_per_channel_max: 65_536,
            unacknowledged_per_channel_max: 4_194_304,
            messages_max: 1_000_000_000,
            slice_max: 1_024,
        }
    }
}
