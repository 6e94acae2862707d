//! `Tally`: the messages that the broker has confirmed. Messages are numbered from 1 in the order of sending.
//!
//! Invariant: `settled[0]` is about message `first`, and is false: settled messages before the first open message are removed.

use std::collections::VecDeque;

/// The confirmed messages.
#[derive(Debug)]
pub struct Tally {
    first: u64,
    settled: VecDeque<bool>,
    open_count: u64,
    pub confirmed: u64,
    /// Messages that the broker refused.
    pub refused: u64,
    /// Messages that came back before their confirm: no queue has them.
    pub returned: u64,
    /// The reason of the last return.
    pub returned_for: String,
}

impl Tally {
    pub fn new() -> Tally {
        Tally {
            first: 1,
            settled: VecDeque::new(),
            open_count: 0,
            confirmed: 0,
            refused: 0,
            returned: 0,
            returned_for: String::new(),
        }
    }

    /// Counts a sent message.
    pub fn send(&mut self) {
        self.settled.push_back(false);
        self.open_count += 1;
    }

    pub fn published(&self) -> u64 {
        self.open_count + self.confirmed + self.refused
    }

    /// The number of messages without a confirm.
    pub fn open_count(&self) -> u64 {
        self.open_count
    }

    /// The broker has confirmed this message; with `multiple` all messages up to this number, and all messages if it is 0.
    pub fn confirm(&mut self, delivery_tag: u64, multiple: bool) {
        self.confirmed += self.settle(delivery_tag, multiple);
    }

    /// The broker has refused this message; with `multiple` all messages up to this number, and all messages if it is 0.
    pub fn refuse(&mut self, delivery_tag: u64, multiple: bool) {
        self.refused += self.settle(delivery_tag, multiple);
    }

    /// The broker has returned a message.
    pub fn give_back(&mut self, reason: String) {
        self.returned += 1;
        self.returned_for = reason;
    }

    fn settle(&mut self, delivery_tag: u64, multiple: bool) -> u64 {
        let sent = self.settled.len();
        let end = match delivery_tag {
            0 if multiple => sent,
            // A number that was never sent settles nothing.
            tag => usize::try_from(tag.saturating_add(1).saturating_sub(self.first)).unwrap_or(usize::MAX),
        };
        let start = if multiple { 0 } else { end.saturating_sub(1) };
        let mut count = 0;
        for settled in self.settled.range_mut(start.min(sent)..end.min(sent)) {
            count += u64::from(!std::mem::replace(settled, true));
        }
        while self.settled.front() == Some(&true) {
            self.settled.pop_front();
            self.first += 1;
        }
        self.open_count -= count;
        count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn confirms_come_in_any_order() {
        let mut tally = Tally::new();
        (0..10).for_each(|_| tally.send());
        tally.confirm(3, false);
        tally.confirm(2, true);
        tally.refuse(7, false);
        assert_eq!((tally.open_count(), tally.confirmed, tally.refused), (6, 3, 1));
        tally.confirm(8, true);
        assert_eq!((tally.open_count(), tally.confirmed, tally.refused), (2, 7, 1));
        tally.confirm(0, true);
        assert_eq!((tally.open_count(), tally.published()), (0, 10));
    }

    #[test]
    fn what_was_never_sent_or_is_settled_counts_nothing() {
        let mut tally = Tally::new();
        tally.send();
        tally.confirm(2, false);
        tally.confirm(0, false);
        assert_eq!(tally.open_count(), 1);
        tally.confirm(1, false);
        tally.confirm(1, false);
        tally.refuse(1, true);
        assert_eq!((tally.open_count(), tally.confirmed, tally.refused), (0, 1, 0));
    }
}
