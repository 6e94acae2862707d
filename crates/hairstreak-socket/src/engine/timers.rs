//! `Timers`: when what of an engine is due. A turn visits what is due and nothing else.
//!
//! There is at most one timer for each [`Due`]. A timer is corrected when it fires, not when things change: traffic on a
//! link does not move the link's timer. What the timer was set for is looked at anew then, and the timer set again. A timer
//! may so outlive what it was set for (a connector that was given up): the visit finds nothing to do.

#[cfg(test)]
mod tests;

use std::time::{Duration, Instant};

use hairstreak_base::TimerQueue;

/// How often connections that wait for room for what they have still to bring are looked at.
const ROOM_TICK: Duration = Duration::from_millis(5);
/// A heartbeat may come so many parts of its interval late, so that the heartbeats of many links share a turn.
const HEARTBEAT_PARTS: u32 = 16;
/// How many kinds of timers there are.
const KIND_COUNT: usize = 7;

/// What a timer is for, by index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Due {
    /// The link's handshake, its heartbeat, its draining, the ages of its messages.
    Link(usize),
    /// The connector's next attempt.
    Connector(usize),
    /// The listener had too few descriptors, and listens again.
    Listener(usize),
    /// Tasks of this socket have deadlines.
    Deadlines(usize),
    /// Connections of this socket wait for room for what they have still to bring.
    Room(usize),
    /// Senders of this socket wait for the application to take refusals.
    Refusals(usize),
    /// What the application has settled while it took messages as they lie there.
    Settled,
}

impl Due {
    fn key(self) -> u32 {
        let (index, kind) = match self {
            Due::Link(index) => (index, 0),
            Due::Connector(index) => (index, 1),
            Due::Listener(index) => (index, 2),
            Due::Deadlines(index) => (index, 3),
            Due::Room(index) => (index, 4),
            Due::Refusals(index) => (index, 5),
            Due::Settled => (0, 6),
        };
        (index * KIND_COUNT + kind) as u32
    }

    fn of(key: u32) -> Due {
        let (index, kind) = (key as usize / KIND_COUNT, key as usize % KIND_COUNT);
        match kind {
            0 => Due::Link(index),
            1 => Due::Connector(index),
            2 => Due::Listener(index),
            3 => Due::Deadlines(index),
            4 => Due::Room(index),
            5 => Due::Refusals(index),
            _ => Due::Settled,
        }
    }
}

/// See the module's description.
#[derive(Debug)]
pub(crate) struct Timers {
    queue: TimerQueue<Instant>,
    /// Heartbeats are counted from here.
    origin: Instant,
}

impl Timers {
    pub fn new(now: Instant) -> Timers {
        Timers { queue: TimerQueue::new(), origin: now }
    }

    /// When the earliest timer is due.
    pub fn next(&self) -> Option<Instant> {
        self.queue.next()
    }

    pub fn set(&mut self, due: Due, at: Instant) {
        self.queue.set(due.key(), at);
    }

    /// As [`Timers::set`], unless the timer fires sooner as it is.
    pub fn set_earlier(&mut self, due: Due, at: Instant) {
        self.queue.set_earlier(due.key(), at);
    }

    pub fn cancel(&mut self, due: Due) {
        self.queue.cancel(due.key());
    }

    /// Takes one timer that is due by `now`.
    pub fn pop(&mut self, now: Instant) -> Option<Due> {
        self.queue.pop_due(now).map(Due::of)
    }

    /// A connection of the socket waits for room: it is looked whether there is some.
    pub fn look_for_room(&mut self, socket: usize, now: Instant) {
        self.set_earlier(Due::Room(socket), now + ROOM_TICK);
    }

    /// When a heartbeat comes that is due at `at`: a little later, together with others.
    pub fn heartbeat_at(&self, at: Instant, interval: Duration) -> Instant {
        let grain = (interval / HEARTBEAT_PARTS).as_nanos();
        let left = at.saturating_duration_since(self.origin).as_nanos().checked_rem(grain);
        let wait = left.filter(|left| *left > 0).map_or(0, |left| grain - left);
        at + Duration::from_nanos(wait as u64)
    }
}
