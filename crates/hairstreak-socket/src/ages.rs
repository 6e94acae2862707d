//! `Ages`: since when messages wait in a queue, without a clock call for each.
//!
//! At certain moments a mark is made of how many messages the queue had accepted by then. The oldest that still waits
//! is older than the first mark that counts it: its age is told from there, never too high, and too low by no more than
//! the distance of two marks. That is [`MARK_INTERVAL`] at first, and grows with the age to an eighth of it.
//!
//! Messages are counted on their way out. On their way in, what counts is how far the bytes of a stream, or the records
//! of a ring, reach: nobody has decoded them yet.
//!
//! ```text
//! accepted:   120      340         700                900
//! mark at:    t0       t1          t2                 now
//! gone: 400, so the 401st is the oldest, accepted between t1 and t2: its age is now - t2
//! ```

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use crate::engine::Link;

/// The smallest distance of two marks.
pub(crate) const MARK_INTERVAL: Duration = Duration::from_millis(10);
/// The distance of two marks, as a part of the age.
const MARK_PART: u32 = 16;
/// Marks of one queue; when there are more, every second is given up.
const MARKS_MAX: usize = 32;

#[derive(Debug, Default)]
pub(crate) struct Ages {
    marks: VecDeque<Mark>,
}

/// Of the messages of a link, both ways.
#[derive(Debug, Default)]
pub(crate) struct LinkAges {
    /// Since when messages wait for the peer.
    pub out: Ages,
    /// Since when messages wait for the application.
    pub come: Ages,
}

#[derive(Clone, Copy, Debug)]
struct Mark {
    accepted: u64,
    at: Instant,
}

impl Ages {
    /// Makes a mark if it is time to: the queue has accepted so many messages by `now`, of which `gone` do not wait any
    /// more. Returns when to do so again, if any wait.
    pub fn note(&mut self, accepted: u64, gone: u64, now: Instant) -> Option<Instant> {
        while self.marks.front().is_some_and(|mark| mark.accepted <= gone) {
            self.marks.pop_front();
        }
        if accepted == gone {
            return None;
        }
        let interval = MARK_INTERVAL.max(self.age(gone, now) / MARK_PART);
        match self.marks.back() {
            Some(last) if last.accepted == accepted => {}
            Some(last) if now < last.at + interval => return Some(last.at + interval),
            _ => self.marks.push_back(Mark { accepted, at: now }),
        }
        if self.marks.len() > MARKS_MAX {
            let mut stays = false;
            self.marks.retain(|_| {
                stays = !stays;
                stays
            });
        }
        Some(now + interval)
    }

    /// How long the oldest has waited at least, `gone` messages being gone.
    pub fn age(&self, gone: u64, now: Instant) -> Duration {
        let first = self.marks.iter().find(|mark| mark.accepted > gone);
        first.map_or(Duration::ZERO, |mark| now.saturating_duration_since(mark.at))
    }
}

impl Link {
    /// Notes by `now` since when messages wait, for the peer or the application. Returns when to do so again, if
    /// any do.
    pub fn note_ages(&mut self, now: Instant) -> Option<Instant> {
        let (accepted, waiting) = (self.kind.accepted_count(), self.kind.queued().0);
        let out = self.ages.out.note(accepted as u64, (accepted - waiting) as u64, now);
        out.into_iter().chain(self.note_age_in(now)).min()
    }

    /// As above, for the application only.
    pub fn note_age_in(&mut self, now: Instant) -> Option<Instant> {
        let (came, taken) = self.kind.positions_in();
        self.ages.come.note(came, taken, now)
    }

    /// How long the oldest message for the peer has waited at least, as far as was noted.
    pub fn queued_age(&mut self, now: Instant) -> Duration {
        let (accepted, waiting) = (self.kind.accepted_count(), self.kind.queued().0);
        self.ages.out.age((accepted - waiting) as u64, now)
    }

    /// The same of the peer's messages, for the application.
    pub fn waiting_age(&self, now: Instant) -> Duration {
        self.ages.come.age(self.kind.positions_in().1, now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_is_told_by_the_first_mark_that_counts_it() {
        let start = Instant::now();
        let at = |ms| start + Duration::from_millis(ms);
        let mut ages = Ages::default();
        assert_eq!(ages.note(0, 0, at(0)), None);
        assert_eq!(ages.note(100, 0, at(10)), Some(at(20)));
        assert_eq!(ages.note(200, 0, at(15)), Some(at(20)), "too soon for another mark");
        assert_eq!(ages.note(300, 0, at(30)), Some(at(40)));
        let age = |ages: &Ages, gone| ages.age(gone, at(100)).as_millis();
        assert_eq!([0, 99, 100, 299, 300].map(|gone| age(&ages, gone)), [90, 90, 70, 70, 0]);
        assert_eq!(ages.note(300, 300, at(40)), None);
        assert_eq!(age(&ages, 0), 0, "nothing waits");
    }

    #[test]
    fn however_long_they_wait_and_however_many_the_age_is_an_eighth_off_at_most() {
        let start = Instant::now();
        let mut ages = Ages::default();
        // One message a millisecond, for as long as 100 s, the first of which stays.
        for ms in 0..100_000u64 {
            let now = start + Duration::from_millis(ms);
            ages.note(ms + 1, 0, now);
            assert!(ages.marks.len() <= MARKS_MAX);
            assert_eq!(ages.age(0, now).as_millis() as u64, ms);
        }
        // Then they go one after the other, while none comes.
        let now = start + Duration::from_secs(100);
        for gone in 0..100_000u64 {
            let (told, real) = (ages.age(gone, now).as_millis() as u64, 100_000 - gone);
            assert!(told <= real && real - told <= 100_000 / 8, "{told} ms for {real} ms");
        }
    }
}
