//! `Clock`: the node's milliseconds, which the virtual hosts count in.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// Counts milliseconds since 1970, by a clock that is never set: the system's time is read once, when the node starts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    start: Instant,
    start_millis: u64,
}

impl Clock {
    pub fn start() -> Clock {
        let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Clock { start: Instant::now(), start_millis: since_1970.as_millis() as u64 }
    }

    /// `now` in milliseconds.
    pub fn millis(&self, now: Instant) -> u64 {
        self.start_millis + now.saturating_duration_since(self.start).as_millis() as u64
    }
}
