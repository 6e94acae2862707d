//! `Liveness`: heartbeats in both directions.
//!
//! Twice in each interval the connection looks at what was written and read since. If nothing was written, a heartbeat is sent. If
//! nothing was read for two intervals, the client is gone.

use std::time::{Duration, Instant};

/// The looks without anything read after which the client is gone: two intervals.
const SILENT_LOOKS_MAX: u32 = 4;

/// The written and the read bytes at the last look.
#[derive(Debug)]
pub(super) struct Liveness {
    written_bytes: u64,
    read_bytes: u64,
    silent_looks: u32,
    due: Instant,
}

/// The result of a look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Nothing,
    SendHeartbeat,
    Gone,
}

impl Liveness {
    pub fn new(now: Instant) -> Liveness {
        Liveness { written_bytes: 0, read_bytes: 0, silent_looks: 0, due: now }
    }

    /// When the next look is due.
    pub fn due(&self) -> Instant {
        self.due
    }

    /// The next look is half of `interval` away.
    pub fn start(&mut self, interval: Duration, now: Instant) {
        self.due = now + interval / 2;
    }

    /// Looks at the bytes written and read so far. `is_unread`: this side does not read, so that silence says nothing.
    pub fn look(
        &mut self,
        interval: Duration,
        now: Instant,
        (written_bytes, read_bytes): (u64, u64),
        is_unread: bool,
    ) -> Verdict {
        self.start(interval, now);
        let has_written = std::mem::replace(&mut self.written_bytes, written_bytes) != written_bytes;
        let has_read = std::mem::replace(&mut self.read_bytes, read_bytes) != read_bytes;
        self.silent_looks = if has_read || is_unread { 0 } else { self.silent_looks + 1 };
        match (self.silent_looks > SILENT_LOOKS_MAX, has_written) {
            (true, _) => Verdict::Gone,
            (false, true) => Verdict::Nothing,
            (false, false) => Verdict::SendHeartbeat,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn silence_of_two_intervals_is_an_end_and_a_quiet_side_sends_heartbeats() {
        let start = Instant::now();
        let interval = Duration::from_secs(10);
        let mut liveness = Liveness::new(start);
        assert_eq!(liveness.look(interval, start, (5, 5), false), Verdict::Nothing);
        assert_eq!(liveness.due(), start + interval / 2);
        for _ in 0..SILENT_LOOKS_MAX {
            assert_eq!(liveness.look(interval, start, (5, 5), false), Verdict::SendHeartbeat);
        }
        assert_eq!(liveness.look(interval, start, (5, 5), false), Verdict::Gone);
        assert_eq!(liveness.look(interval, start, (5, 5), true), Verdict::SendHeartbeat);
        assert_eq!(liveness.look(interval, start, (6, 6), false), Verdict::Nothing);
    }
}
