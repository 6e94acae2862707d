//! `Patience`: how long a filter may be silent before its standard input is closed, and whether it answers as it goes.

use std::time::{Duration, Instant};

/// How long a filter may be silent at first, at least and at most.
const PATIENCE: Duration = Duration::from_millis(250);
const PATIENCE_MIN: Duration = Duration::from_millis(2);
const PATIENCE_MAX: Duration = Duration::from_secs(10);

/// How long a filter may be silent.
#[derive(Debug)]
pub struct Patience {
    time: Duration,
    is_prompt: bool,
    /// When it last answered, or was seen to have something to read.
    last_news: Instant,
}

impl Patience {
    pub fn new(now: Instant) -> Patience {
        Patience { time: PATIENCE, is_prompt: false, last_news: now }
    }

    /// Whether it answers each record as it comes, for all that is known.
    pub fn is_prompt(&self) -> bool {
        self.is_prompt
    }

    pub fn note_news(&mut self, now: Instant) {
        self.last_news = now;
    }

    /// It has answered a record that nothing followed.
    pub fn note_prompt(&mut self) {
        self.is_prompt = true;
    }

    /// It answered so long after its standard input was closed: at once if it had held answers back.
    pub fn note_closed(&mut self, answered_after: Duration) {
        let held_back = answered_after <= self.time / 2;
        if held_back {
            self.is_prompt = false;
            self.time = (self.time / 4).max(PATIENCE_MIN);
        } else {
            self.time = (self.time * 4).min(PATIENCE_MAX);
        }
    }

    /// When its silence has lasted too long.
    pub fn ends_at(&self) -> Instant {
        self.last_news + self.time
    }

    pub fn last_news(&self) -> Instant {
        self.last_news
    }
}
