//! `Outlets`: the deliveries that wait to be written to the connections of one virtual host.
//!
//! The virtual host hands deliveries to the outlet of the consumer's connection, under the host's lock. Deliveries are encoded
//! there, once. The loop that owns the connection takes all waiting deliveries in its next turn. So deliveries keep their order
//! for all threads, and a batch costs one wakeup.
//!
//! Invariants: an outlet is listed in `woken` at most once until its connection has taken its deliveries. An outlet that holds
//! [`UNWRITTEN_MAX`] bytes is full until its connection has written half of them.

use std::sync::Arc;

use hairstreak_base::{BlockPool, OutgoingBuffer};
use hairstreak_broker::message::{Message, MessageView};
use hairstreak_broker::queue::Durability;
use hairstreak_broker::vhost::{ConnectionId, HostOutbox, LogRun, LogTarget, Recipient, Room};
use hairstreak_store::log::{Batch, Record};
use hairstreak_transport::event_loop::Address;
use slab::Slab;

use super::encoding;
use super::messages::push_message;

/// Waiting bytes of one connection, in its outlet and in its own output, at which it gets no more deliveries.
pub const UNWRITTEN_MAX: usize = 1024 * 1024;

/// Waiting bytes of one connection at which direct replies to it are dropped. The connection is not read then: its answers would
/// have no bound.
pub const REPLIES_BYTES_MAX: usize = 16 * 1024 * 1024;

/// The connection of operators, which is in each virtual host. It has no consumers, and gets no deliveries.
pub const OPERATORS: ConnectionId = ConnectionId(0);

/// Encoded deliveries that wait for one connection.
struct Outlet {
    address: Address,
    pending: OutgoingBuffer,
    /// Bytes that the connection had taken and not written when it took the last ones.
    unwritten: usize,
    /// The most bytes of a body that one frame holds.
    frame_body_max: usize,
    /// The client asked for notices when the broker cancels a consumer.
    hears_cancels: bool,
    is_woken: bool,
    is_full: bool,
}

/// The outlets of all connections of one virtual host.
pub struct Outlets {
    pool: Arc<BlockPool>,
    outlets: Slab<Outlet>,
    /// Connections that are to be woken.
    woken: Vec<Address>,
    /// Records for the message log, of this turn.
    pub batch: Batch,
    /// Messages that go to disk, and not to the message log.
    pub pages: Batch,
    /// The node's milliseconds in this turn.
    pub now: u64,
}

/// The result of `Outlets::take`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Taken {
    /// No more deliveries come until the connection has reported its written bytes (`Outlets::has_written`).
    pub is_full: bool,
}

impl Outlets {
    pub fn new() -> Outlets {
        let mut outlets = Outlets {
            pool: BlockPool::new(),
            outlets: Slab::new(),
            woken: Vec::new(),
            batch: Batch::default(),
            pages: Batch::default(),
            now: 0,
        };
        let operators = outlets.add(Address::default(), 0, false);
        debug_assert_eq!(operators, OPERATORS);
        outlets
    }

    /// A connection joins the virtual host.
    pub fn add(&mut self, address: Address, frame_body_max: usize, hears_cancels: bool) -> ConnectionId {
        let outlet = Outlet {
            address,
            pending: OutgoingBuffer::new(&self.pool),
            unwritten: 0,
            frame_body_max,
            hears_cancels,
            is_woken: false,
            is_full: false,
        };
        ConnectionId(self.outlets.insert(outlet) as u32)
    }

    /// Wakes every connection, to take its deliveries and check for changes.
    pub fn wake_all(&mut self) {
        for (_, outlet) in self.outlets.iter_mut().filter(|(index, _)| *index != OPERATORS.0 as usize) {
            wake(outlet, &mut self.woken);
        }
    }

    /// The connections to be woken.
    pub fn woken(&mut self) -> std::vec::Drain<'_, Address> {
        self.woken.drain(..)
    }

    /// Moves the waiting deliveries of `connection` into `output`.
    pub fn take(&mut self, connection: ConnectionId, output: &mut OutgoingBuffer) -> Taken {
        let Some(outlet) = self.outlets.get_mut(connection.0 as usize) else {
            return Taken { is_full: false };
        };
        outlet.is_woken = false;
        output.append(&mut outlet.pending);
        outlet.unwritten = output.queued_bytes();
        Taken { is_full: outlet.is_full }
    }

    /// Reports that a connection whose outlet was full has `unwritten` bytes left. Returns true if the outlet takes deliveries
    /// again.
    pub fn has_written(&mut self, connection: ConnectionId, unwritten: usize) -> bool {
        let Some(outlet) = self.outlets.get_mut(connection.0 as usize) else { return false };
        outlet.unwritten = unwritten;
        let has_room = outlet.unwritten + outlet.pending.queued_bytes() < UNWRITTEN_MAX / 2;
        outlet.is_full &= !has_room;
        has_room
    }
}

#[inline]
fn wake(outlet: &mut Outlet, woken: &mut Vec<Address>) {
    if !std::mem::replace(&mut outlet.is_woken, true) {
        woken.push(outlet.address);
    }
}

impl HostOutbox for Outlets {
    #[inline]
    fn deliver(
        &mut self,
        to: &Recipient,
        delivery_tag: u64,
        is_redelivered: bool,
        message: &MessageView<'_>,
    ) -> Room {
        let Some(outlet) = self.outlets.get_mut(to.connection.0 as usize) else { return Room::Full };
        // Only direct replies come when the outlet is full. They are lost if the client does not read them.
        if outlet.is_full && outlet.unwritten + outlet.pending.queued_bytes() >= REPLIES_BYTES_MAX {
            return Room::Full;
        }
        encoding::push_delivery(
            &mut outlet.pending,
            to,
            delivery_tag,
            is_redelivered,
            message,
            outlet.frame_body_max,
        );
        wake(outlet, &mut self.woken);
        outlet.is_full |= outlet.unwritten + outlet.pending.queued_bytes() >= UNWRITTEN_MAX;
        if outlet.is_full { Room::Full } else { Room::More }
    }

    fn cancel(&mut self, to: &Recipient) {
        if let Some(outlet) = self.outlets.get_mut(to.connection.0 as usize)
            && outlet.hears_cancels
        {
            encoding::push_cancel(&mut outlet.pending, to);
            wake(outlet, &mut self.woken);
        }
    }

    fn append(
        &mut self,
        message: &Message<'_>,
        targets: &[LogTarget],
        moved: Option<LogRun>,
        durability: Durability,
    ) {
        push_message(&mut self.batch, message, targets, moved, (durability, self.now));
    }

    fn write_page(&mut self, message: &Message<'_>, target: LogTarget, return_count: u16) {
        push_message(&mut self.pages, message, &[target], None, (Durability::Synced, self.now));
        if return_count > 0 {
            let LogTarget { queue, sequence, .. } = target;
            self.pages.push(&Record::Returned { queue, sequence, count: return_count.into() });
        }
    }

    fn wake(&mut self, connection: ConnectionId) {
        if let Some(outlet) = self.outlets.get_mut(connection.0 as usize).filter(|_| connection != OPERATORS)
        {
            wake(outlet, &mut self.woken);
        }
    }

    fn has_left(&mut self, connection: ConnectionId) {
        self.outlets.try_remove(connection.0 as usize);
    }
}

#[cfg(test)]
mod tests {
    use hairstreak_broker::message::BodyView;
    use hairstreak_broker::vhost::ConsumerId;

    use super::*;

    /// Delivers a body of `size` bytes.
    fn deliver(outlets: &mut Outlets, connection: ConnectionId, size: usize) -> Room {
        let to = Recipient {
            connection,
            channel_number: 1,
            consumer: ConsumerId(0),
            consumer_tag: Box::from(*b"c"),
        };
        let body = vec![0; size];
        let message = MessageView {
            exchange: b"",
            routing_key: b"q",
            properties: &[0, 0],
            body: BodyView::Copied(&body),
        };
        outlets.deliver(&to, 1, false, &message)
    }

    #[test]
    fn a_full_outlet_stays_full_until_its_connection_has_written() {
        let mut outlets = Outlets::new();
        let connection = outlets.add(Address::default(), 4096, true);
        let mut output = OutgoingBuffer::new(&outlets.pool);
        assert_eq!(deliver(&mut outlets, connection, UNWRITTEN_MAX), Room::Full);
        assert!(outlets.take(connection, &mut output).is_full);
        output.clear();
        // The connection has written all, without a report: a direct reply comes, and the outlet stays full.
        outlets.take(connection, &mut output);
        assert_eq!(deliver(&mut outlets, connection, 1), Room::Full);
        assert!(outlets.take(connection, &mut output).is_full);
        assert!(!outlets.has_written(connection, UNWRITTEN_MAX / 2));
        assert!(outlets.has_written(connection, 0));
        assert_eq!(deliver(&mut outlets, connection, 1), Room::More);
    }

    #[test]
    fn direct_replies_that_nobody_reads_have_a_bound() {
        let mut outlets = Outlets::new();
        let connection = outlets.add(Address::default(), 4096, true);
        for _ in 0..2 * REPLIES_BYTES_MAX / UNWRITTEN_MAX {
            deliver(&mut outlets, connection, UNWRITTEN_MAX);
        }
        let mut output = OutgoingBuffer::new(&outlets.pool);
        outlets.take(connection, &mut output);
        let held = output.queued_bytes();
        assert!((REPLIES_BYTES_MAX..REPLIES_BYTES_MAX + 2 * UNWRITTEN_MAX).contains(&held), "{held} bytes");
    }
}
