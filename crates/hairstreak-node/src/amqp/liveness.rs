//! `Liveness`: heartbeats in both directions.
//!
//! The connection checks its reads and writes twice in each interval. If it wrote nothing but heartbeats, it sends a heartbeat: a
//! client may miss one of two. If nothing was read for two intervals, the client is gone. A connection that is not read has
//! another sign of life, or none ([`Sign`]).

use std::time::{Duration, Instant};

/// Number of checks without received bytes after which the client is gone: two intervals.
const SILENT_LOOKS_MAX: u32 = 4;

/// Minimum time that a client may take no output while nothing is read from it.
const UNTAKEN_TIME: Duration = Duration::from_secs(60);

/// The sign of life that is expected of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sign {
    /// The client sends frames or heartbeats.
    Sent,
    /// The client takes its answers. Nothing is read until then.
    Taken,
    /// None: nothing is read until the node has memory.
    None,
}

/// The written and the read bytes at the last check.
#[derive(Debug)]
pub(super) struct Liveness {
    sign: Sign,
    written_bytes: u64,
    read_bytes: u64,
    silent_looks: u32,
    due: Instant,
    is_first_look: bool,
}

/// The result of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Nothing,
    SendHeartbeat,
    Gone,
}

impl Liveness {
    pub fn new(now: Instant) -> Liveness {
        Liveness {
            sign: Sign::Sent,
            written_bytes: 0,
            read_bytes: 0,
            silent_looks: 0,
            due: now,
            is_first_look: true,
        }
    }

    /// Time of the next check.
    pub fn due(&self) -> Instant {
        self.due
    }

    /// Starts the checks. The next one is after half of `interval`.
    pub fn start(&mut self, interval: Duration, now: Instant) {
        self.due = now + interval / 2;
    }

    /// Notes a heartbeat that is about to be written. It does not count as output at the next check.
    pub fn note_heartbeat(&mut self, size: usize) {
        self.written_bytes += size as u64;
    }

    /// Checks the bytes written and read so far.
    pub fn look(
        &mut self,
        interval: Duration,
        now: Instant,
        (written_bytes, read_bytes): (u64, u64),
        sign: Sign,
    ) -> Verdict {
        self.start(interval, now);
        // The handshake came before the first check and does not count: half of the interval is over.
        let is_first_look = std::mem::take(&mut self.is_first_look);
        let has_written =
            std::mem::replace(&mut self.written_bytes, written_bytes) != written_bytes && !is_first_look;
        let has_read = std::mem::replace(&mut self.read_bytes, read_bytes) != read_bytes;
        let is_new = std::mem::replace(&mut self.sign, sign) != sign;
        let (is_alive, looks_max) = match sign {
            Sign::Sent => (has_read, SILENT_LOOKS_MAX),
            Sign::Taken => (has_written, SILENT_LOOKS_MAX.max(looks_in(UNTAKEN_TIME, interval))),
            Sign::None => (true, SILENT_LOOKS_MAX),
        };
        self.silent_looks = if is_alive || is_new { 0 } else { self.silent_looks + 1 };
        match (self.silent_looks > looks_max, has_written) {
            (true, _) => Verdict::Gone,
            (false, true) => Verdict::Nothing,
            (false, false) => Verdict::SendHeartbeat,
        }
    }
}

/// Returns the number of checks in this time.
fn looks_in(time: Duration, interval: Duration) -> u32 {
    (2 * time.as_millis()).div_ceil(interval.as_millis().max(1)).try_into().unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn silence_of_two_intervals_is_an_end_and_a_quiet_side_sends_heartbeats() {
        let start = Instant::now();
        let interval = Duration::from_secs(10);
        let mut liveness = Liveness::new(start);
        assert_eq!(liveness.look(interval, start, (5, 5), Sign::Sent), Verdict::SendHeartbeat);
        assert_eq!(liveness.due(), start + interval / 2);
        for _ in 0..SILENT_LOOKS_MAX {
            assert_eq!(liveness.look(interval, start, (5, 5), Sign::Sent), Verdict::SendHeartbeat);
        }
        assert_eq!(liveness.look(interval, start, (5, 5), Sign::Sent), Verdict::Gone);
        assert_eq!(liveness.look(interval, start, (5, 5), Sign::None), Verdict::SendHeartbeat);
        assert_eq!(liveness.look(interval, start, (6, 6), Sign::Sent), Verdict::Nothing);
    }

    #[test]
    fn a_quiet_side_sends_a_heartbeat_at_each_look() {
        let start = Instant::now();
        let interval = Duration::from_secs(10);
        let mut liveness = Liveness::new(start);
        let mut written = 5;
        for read in 5..20 {
            assert_eq!(liveness.look(interval, start, (written, read), Sign::Sent), Verdict::SendHeartbeat);
            liveness.note_heartbeat(8);
            written += 8;
        }
        assert_eq!(liveness.look(interval, start, (written + 1, 20), Sign::Sent), Verdict::Nothing);
    }

    #[test]
    fn a_client_that_is_not_read_is_gone_if_it_takes_nothing_for_a_minute() {
        let start = Instant::now();
        let interval = Duration::from_secs(10);
        let mut liveness = Liveness::new(start);
        let mut look = |written, sign| liveness.look(interval, start, (written, 5), sign);
        assert_eq!(look(5, Sign::Sent), Verdict::SendHeartbeat);
        for written in [5, 6] {
            // The sign is new, or bytes were taken.
            assert_ne!(look(written, Sign::Taken), Verdict::Gone);
            for _ in 0..12 {
                assert_eq!(look(written, Sign::Taken), Verdict::SendHeartbeat);
            }
        }
        assert_eq!(look(6, Sign::Taken), Verdict::Gone);
        // Earlier checks do not count for the other sign.
        assert_eq!(look(6, Sign::Sent), Verdict::SendHeartbeat);
    }
}
