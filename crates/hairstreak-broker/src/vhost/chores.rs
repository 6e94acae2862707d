//! `Chores`: operations that take more than one call. The virtual host continues them in later calls of `handle_timeout`.
//!
//! ```text
//!   operation --- steps for all? --- yes ---> done in its call
//!                      |
//!                      no ---> chore, goes on in slices ---> done: the connection that ordered it is woken
//! ```
//!
//! A connection that has ordered a chore waits for its end with all later requests. A closed connection leaves its chores behind:
//! they are still completed.

use std::collections::VecDeque;

use super::outbox::{ChannelId, ConnectionId};
use super::publishing::Publishing;
use super::unacked::Settlement;
use crate::queue::{QueueId, Ready};

/// An operation and its progress. The rest of its state is in the tables of the host.
#[derive(Debug)]
pub(super) enum Chore {
    /// The deliveries of a channel up to a tag are settled.
    Settle {
        channel: ChannelId,
        last: u64,
        settlement: Settlement,
    },
    /// The first deliveries that a transaction holds are settled.
    SettleHeld {
        channel: ChannelId,
        count: usize,
        settlement: Settlement,
    },
    CloseChannel(ChannelId),
    CloseConnection(ConnectionId),
    DeleteQueue(QueueId),
    /// Dropping of messages that were purged, or whose queue is deleted.
    Drop(Dropped),
    /// Exchanges that are being deleted go.
    DeleteExchanges,
    Publish(Box<Publishing>),
    /// Queues from this position of their table on write messages to disk.
    WritePages(usize),
}

/// Messages that are dropped, and their queue as the message log knows it.
#[derive(Debug)]
pub(super) struct Dropped {
    pub(super) ready: Ready,
    /// 0: the log need not know.
    pub(super) log_id: u64,
}

impl Chore {
    /// Returns true if the chore is useless after its connection has ended. All that the connection has is given back then.
    fn ends_with_connection(&self) -> bool {
        matches!(self, Chore::Settle { .. } | Chore::SettleHeld { .. } | Chore::CloseChannel(_))
    }
}

/// The chores of a virtual host, each with the connection that waits for it.
#[derive(Debug, Default)]
pub(super) struct Chores {
    chores: VecDeque<(Option<ConnectionId>, Chore)>,
    /// Connections that wait for the first message of a queue to be read from the disk.
    readers: Vec<(ConnectionId, QueueId)>,
}

impl Chores {
    pub(super) fn is_empty(&self) -> bool {
        self.chores.is_empty()
    }

    pub(super) fn count(&self) -> usize {
        self.chores.len()
    }

    /// Returns true if a connection waits for a chore, or for a message from the disk.
    #[inline]
    pub(super) fn are_awaited(&self) -> bool {
        !self.chores.is_empty() || !self.readers.is_empty()
    }

    pub(super) fn push(&mut self, owner: Option<ConnectionId>, chore: Chore) {
        self.chores.push_back((owner, chore));
    }

    pub(super) fn pop(&mut self) -> Option<(Option<ConnectionId>, Chore)> {
        self.chores.pop_front()
    }

    /// A connection waits for the first message of a queue.
    pub(super) fn await_front(&mut self, connection: ConnectionId, queue: QueueId) {
        self.readers.push((connection, queue));
    }

    /// Takes the connections whose queues `is_ready` names.
    pub(super) fn take_readers(&mut self, is_ready: impl Fn(QueueId) -> bool) -> Vec<ConnectionId> {
        self.readers.extract_if(.., |(_, queue)| is_ready(*queue)).map(|(connection, _)| connection).collect()
    }

    /// Returns true if connections wait for messages from the disk.
    #[inline]
    pub(super) fn have_readers(&self) -> bool {
        !self.readers.is_empty()
    }

    /// Ends the chores of a closed channel, whose unsettled deliveries are returned. Returns the number of ended chores.
    pub(super) fn forget_channel(&mut self, closed: ChannelId) -> usize {
        let before = self.chores.len();
        self.chores.retain(|(_, chore)| match chore {
            Chore::Settle { channel, .. } | Chore::SettleHeld { channel, .. } => *channel != closed,
            _ => true,
        });
        before - self.chores.len()
    }

    /// Forgets the owner of a connection's chores, because the connection has ended.
    pub(super) fn forget_owner(&mut self, connection: ConnectionId) {
        self.readers.retain(|(reader, _)| *reader != connection);
        self.chores.retain(|(owner, chore)| *owner != Some(connection) || !chore.ends_with_connection());
        self.chores
            .iter_mut()
            .filter(|(owner, _)| *owner == Some(connection))
            .for_each(|(owner, _)| *owner = None);
    }
}
