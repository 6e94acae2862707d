//! `ChannelsMut`: what the server notes of channels, because only the server knows.

use super::channels::ChannelMode;
use super::outbox::ChannelId;
use super::parts::Parts;

/// Notes of the server on channels.
pub struct ChannelsMut<'a> {
    pub(super) parts: &'a mut Parts,
}

impl ChannelsMut<'_> {
    /// Notes what the client of an open channel has asked for.
    pub fn set_mode(&mut self, channel: ChannelId, mode: ChannelMode) {
        self.parts.channels.get_mut(channel).mode = mode;
    }
}
