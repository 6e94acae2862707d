//! `RefusedLogins`: the log lines about refused logins of all protocols.
//!
//! A line has the address, the mechanism, the name of the user and the reason, and never a password. Strangers may try without
//! limit, so the number of lines in each second is bounded. Metrics count all refused logins.

use std::fmt::Display;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// Lines in a second. The log has only the number of further refused logins.
const REFUSED_LINES_MAX: u64 = 20;
const SECOND: Duration = Duration::from_secs(1);

/// Writes the lines. Shared by all threads.
#[derive(Debug, Default)]
pub struct RefusedLogins(Mutex<Count>);

/// The refused logins since a time.
#[derive(Debug, Default)]
struct Count {
    since: Option<Instant>,
    count: u64,
}

impl RefusedLogins {
    /// A login was refused. `peer`: `None` is this host.
    pub fn tell(&self, peer: Option<SocketAddr>, mechanism: &str, reason: impl Display) {
        let Some(untold_count) = self.0.lock().add(Instant::now()) else { return };
        if untold_count > 0 {
            log::warn!(count = untold_count; "further logins were refused");
        }
        let peer = peer.map_or_else(|| "this host".into(), |address| address.to_string());
        log::warn!(peer = peer, mechanism = mechanism; "a login was refused: {reason}");
    }
}

impl Count {
    /// Counts a login. `None`: the log has enough lines of this second. Else how many logins of the last one it has no line about.
    fn add(&mut self, now: Instant) -> Option<u64> {
        if self.since.is_none_or(|since| now.duration_since(since) >= SECOND) {
            let before = std::mem::replace(self, Count { since: Some(now), count: 1 });
            return Some(before.count.saturating_sub(REFUSED_LINES_MAX));
        }
        self.count += 1;
        (self.count <= REFUSED_LINES_MAX).then_some(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_has_so_many_lines_each_second_and_a_count() {
        let (mut count, start) = (Count::default(), Instant::now());
        let lines = (0..1000).filter_map(|_| count.add(start)).collect::<Vec<_>>();
        assert_eq!(lines, [0; REFUSED_LINES_MAX as usize]);
        assert_eq!(count.add(start + SECOND), Some(1000 - REFUSED_LINES_MAX));
        assert_eq!(count.add(start + 3 * SECOND), Some(0));
    }
}
