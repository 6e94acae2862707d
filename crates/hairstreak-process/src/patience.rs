//! `Patience`: the silence that a filter is allowed before its standard input is closed, and its prompt or buffered
//! answers.

use std::time::{Duration, Instant};

/// Allowed silence of a filter: the first value, the shortest and the longest.
const PATIENCE: Duration = Duration::from_millis(250);
const PATIENCE_MIN: Duration = Duration::from_millis(2);
const PATIENCE_MAX: Duration = Duration::from_secs(10);

/// Allowed silence of a filter.
#[derive(Debug)]
pub struct Patience {
    time: Duration,
    is_prompt: bool,
    /// Time of the last answer, or of the last check that found the filter with unread input.
    last_news: Instant,
}

impl Patience {
    pub fn new(now: Instant) -> Patience {
        Patience { time: PATIENCE, is_prompt: false, last_news: now }
    }

    /// Returns whether the filter answers each record as it comes, as far as is known.
    pub fn is_prompt(&self) -> bool {
        self.is_prompt
    }

    pub fn note_news(&mut self, now: Instant) {
        self.last_news = now;
    }

    /// The filter has answered a record that no other followed.
    pub fn note_prompt(&mut self) {
        self.is_prompt = true;
    }

    /// The filter answered this long after its standard input was closed. A short time shows that it had held answers
    /// back.
    pub fn note_closed(&mut self, answered_after: Duration) {
        let held_back = answered_after <= self.time / 2;
        if held_back {
            self.is_prompt = false;
            self.time = (self.time / 4).max(PATIENCE_MIN);
        } else {
            self.time = (self.time * 4).min(PATIENCE_MAX);
        }
    }

    /// Returns the end of the allowed silence.
    pub fn ends_at(&self) -> Instant {
        self.last_news + self.time
    }

    pub fn last_news(&self) -> Instant {
        self.last_news
    }
}
