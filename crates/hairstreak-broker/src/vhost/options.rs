//! `Limits`: the bounds of a virtual host, with the defaults. `HostSettings`: the settings that operators change while it lives.

use crate::queue::{QUEUE_TYPE, QueueDeclaration, QueueKind};

/// The limits of a virtual host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Queues. One more is refused when it is declared.
    pub queues_max: usize,
    /// Maximum memory of the names and arguments of queues, in bytes. Exchanges with their bindings have the same limit, and so
    /// have consumers. One object more is refused.
    pub declared_bytes_max: usize,
    /// Channels. One more is refused when it is opened.
    pub channels_max: usize,
    /// Consumers of one channel. One more is refused.
    pub consumers_per_channel_max: usize,
    /// Unacknowledged deliveries of one channel. At the limit the channel's consumers that acknowledge wait.
    pub unacknowledged_per_channel_max: usize,
    /// Maximum number of messages in memory, waiting or unacknowledged. One more is refused (nack).
    pub messages_max: usize,
    /// Maximum number of messages that expire, or are dead-lettered because a queue is too long, in one call. The others follow
    /// in `handle_timeout`, which is due at once.
    pub slice_max: usize,
    /// Maximum number of steps of one call, each about a queue entry. The rest of the work follows in `handle_timeout`, which is
    /// due at once.
    pub steps_max: usize,
    /// Bytes of messages that a queue keeps in memory in front of messages on disk, and that it writes to the disk at least.
    pub page_bytes: u64,
}

/// The settings that operators change while a virtual host lives. Existing queues stay.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostSettings {
    /// Queues, beside [`Limits::queues_max`].
    pub queues_max: Option<usize>,
    /// The value of `x-queue-type` for queues whose declarations have no type. A queue with properties that the type does not allow is a
    /// classic queue.
    pub default_queue_type: Option<Box<str>>,
}

impl HostSettings {
    /// Sets the default type of a declaration without a type.
    pub(super) fn complete(&self, declaration: &mut QueueDeclaration) {
        let Some(queue_type) = &self.default_queue_type else { return };
        let arguments = &mut declaration.arguments;
        if arguments.get(QUEUE_TYPE).is_none() {
            let QueueDeclaration { is_durable, is_exclusive, is_auto_delete, .. } = *declaration;
            let is_for_all_types = is_durable && !is_exclusive && !is_auto_delete;
            let queue_type = if is_for_all_types { queue_type } else { QueueKind::Classic.name() };
            *arguments = arguments.with(QUEUE_TYPE.as_bytes(), &queue_type.into());
        }
    }
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            queues_max: 1_000_000,
            declared_bytes_max: 536_870_912,
            channels_max: 1_000_000,
            consumers_per_channel_max: 8_192,
            unacknowledged_per_channel_max: 4_194_304,
            messages_max: 1_000_000_000,
            slice_max: 1_024,
            steps_max: 16_384,
            page_bytes: 65_536,
        }
    }
}
