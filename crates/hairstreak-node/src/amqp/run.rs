//! `Run`: messages of one channel and one route in a row, which are counted together.

use hairstreak_broker::vhost::{ChannelId, PublishRun, Published, Route};

use super::turn::Turn;
use crate::node::Received;

/// Messages in a row.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Run {
    /// True if the client has asked for confirms.
    is_confirming: bool,
    message_count: u64,
    refused_count: u64,
    /// The size of the last body, and how many had it before.
    size: usize,
    size_count: u64,
}

impl Run {
    pub fn new(is_confirming: bool) -> Run {
        Run { is_confirming, ..Run::default() }
    }

    /// A message with a body of `size` bytes was published.
    #[inline]
    pub fn add(&mut self, size: usize, published: Published, received: &mut Received) {
        if size != self.size {
            self.note_sizes(received);
            self.size = size;
        }
        self.size_count += 1;
        self.message_count += 1;
        self.refused_count += u64::from(published == Published::Refused);
    }

    /// No further message belongs to the run, which a channel has published along a route.
    pub fn end(mut self, channel: ChannelId, route: &Route, is_mandatory: bool, turn: &mut Turn<'_>) {
        let Run { message_count, refused_count, .. } = self;
        if message_count > 0 {
            self.note_sizes(&mut turn.state.received);
            let run = PublishRun { message_count, refused_count, is_mandatory };
            turn.state.host.note_published(channel, route, run);
        }
    }

    fn note_sizes(&mut self, received: &mut Received) {
        let count = std::mem::take(&mut self.size_count);
        received.note(count, self.size as u64, self.is_confirming);
    }
}
