//! `Departures`: disconnected clients without open requests, in the order in which they reached this state.
//!
//! The clients themselves are stored elsewhere. If a client comes back or is forgotten, only the count changes at once.
//! Its entry is swept out later. Leaving is therefore cheap, and the queue is never much longer than the number of
//! clients in it.

use std::collections::VecDeque;

/// Surplus of stale entries over valid ones that starts a sweep. An entry is stale once its client is back.
const STALE_COUNT_MIN: usize = 64;

/// One absence of a client. A later absence of the same client is a new departure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Departure {
    /// Index of the client.
    pub client: usize,
    serial: u64,
}

#[derive(Debug, Default)]
pub(super) struct Departures {
    queue: VecDeque<Departure>,
    /// Valid entries in the queue.
    count: usize,
    next_serial: u64,
}

impl Departures {
    /// Adds a disconnected client at the end.
    pub fn push(&mut self, client: usize) -> Departure {
        self.next_serial += 1;
        let departure = Departure { client, serial: self.next_serial };
        self.queue.push_back(departure);
        self.count += 1;
        departure
    }

    /// Takes the first entry, which may be stale. For a valid entry the caller must call `has_ended`.
    pub fn pop_front(&mut self) -> Option<Departure> {
        self.queue.pop_front()
    }

    /// Notes that one departure is over. `holds` returns whether an entry is still valid.
    pub fn has_ended(&mut self, holds: impl Fn(Departure) -> bool) {
        self.count = self.count.saturating_sub(1);
        if self.queue.len() > 2 * self.count + STALE_COUNT_MIN {
            self.queue.retain(|departure| holds(*departure));
        }
    }

    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.queue.len()
    }
}
