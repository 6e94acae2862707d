//! `ChannelsMut`: what the server notes of channels, because only the server knows.

use super::channels::ChannelMode;
use super::outbox::ChannelId;
use super::parts::Parts;
use super::publishing::Outcome;
use super::route::{Published, Route};
use crate::exchange::ExchangeId;

/// Deliveries that one step moves.
const MOVES_A_STEP: usize = 8;

/// Notes of the server on channels.
pub struct ChannelsMut<'a> {
    pub(super) parts: &'a mut Parts,
}

impl ChannelsMut<'_> {
    /// Notes what the client of an open channel has asked for.
    pub fn set_mode(&mut self, channel: ChannelId, mode: ChannelMode) {
        self.parts.channels.get_mut(channel).mode = mode;
    }

    /// The outcome of a message that an open channel has published slowly, once.
    #[inline]
    pub fn take_outcome(&mut self, channel: ChannelId) -> Option<Box<Outcome>> {
        self.parts.channels.get_mut(channel).outcome.take()
    }

    /// The transaction is over without a commit: the channel has to settle what was held.
    pub fn release_held(&mut self, channel: ChannelId) {
        let moved_count = self.parts.channels.release_held(channel);
        self.parts.steps.charge(moved_count / MOVES_A_STEP);
    }

    /// Counts messages that a channel has just published along a route. Messages of one route and in a row may be counted
    /// together.
    pub fn note_published(&mut self, channel: ChannelId, route: &Route, run: PublishRun) {
        self.note(channel, (route.exchange, route.counted_queue_count()), route.queue_count(), run);
    }

    /// The same, by the exchange with the queues that it has led to, and by the number of queues that are there.
    pub(super) fn note(
        &mut self,
        channel: ChannelId,
        (exchange, counted_queue_count): (ExchangeId, usize),
        queue_count: usize,
        run: PublishRun,
    ) {
        let PublishRun { message_count, refused_count, is_mandatory } = run;
        let (channel, host) = (self.parts.channels.get_mut(channel), &mut self.parts.counted);
        channel.counted.messages.publish += message_count;
        host.publish += message_count;
        if channel.mode.is_confirming {
            let confirmed_count = message_count.saturating_sub(refused_count);
            channel.counted.confirm += confirmed_count;
            host.confirm += confirmed_count;
            host.publish_confirm += message_count;
        }
        match queue_count {
            0 if is_mandatory => {
                channel.counted.return_unroutable += message_count;
                host.return_unroutable += message_count;
            }
            0 => {
                channel.counted.drop_unroutable += message_count;
                host.drop_unroutable += message_count;
            }
            _ => {}
        }
        self.parts.exchanges.note_published(exchange, message_count, counted_queue_count as u64);
    }
}

/// Messages that a channel has published along one route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PublishRun {
    /// How many messages.
    pub message_count: u64,
    /// How many of them a queue refused.
    pub refused_count: u64,
    /// Whether they come back if they have no queue.
    pub is_mandatory: bool,
}

impl PublishRun {
    /// One message that was published.
    #[inline]
    pub fn one(published: Published, is_mandatory: bool) -> PublishRun {
        let refused_count = u64::from(published == Published::Refused);
        PublishRun { message_count: 1, refused_count, is_mandatory }
    }
}
