//! `Departures`: clients that are gone and have nothing open, in the order in which that became so.
//!
//! Not here: the clients themselves. One that comes back or is forgotten is only counted out, and swept out in time, so that
//! leaving costs nothing and the queue is never much longer than the clients it stands for.

use std::collections::VecDeque;

/// Entries of clients that are not gone any more are swept out when there are so many more than others.
const STALE_COUNT_MIN: usize = 64;

/// That a client is gone; once it is back, its next departure is another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Departure {
    /// Its place.
    pub client: usize,
    serial: u64,
}

#[derive(Debug, Default)]
pub(super) struct Departures {
    queue: VecDeque<Departure>,
    /// How many of them hold still.
    count: usize,
    next_serial: u64,
}

impl Departures {
    /// The client is gone, after all others.
    pub fn push(&mut self, client: usize) -> Departure {
        self.next_serial += 1;
        let departure = Departure { client, serial: self.next_serial };
        self.queue.push_back(departure);
        self.count += 1;
        departure
    }

    /// Takes the first, be it of a client that is back; of one that is not, `has_ended` is to be told.
    pub fn pop_front(&mut self) -> Option<Departure> {
        self.queue.pop_front()
    }

    /// One departure is over; `holds` says of which that is not so.
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
