//! `Windows`: how many messages arrived in each window of fixed length, empty windows included.
//!
//! ```text
//!   ready to send    window 0       window 1       window 2 (cut off by the last arrival: left out)
//!        |--------------|--------------|-----
//!             counts         counts
//! ```

use serde::{Deserialize, Serialize};

use super::clock::Clock;

/// Counts arrivals by window.
#[derive(Debug)]
pub struct Windows {
    clock: Clock,
    window_ns: u64,
    begin: Instants,
    end: Instants,
    counts: Vec<u64>,
}

/// One instant by both clocks.
#[derive(Clone, Copy, Debug)]
struct Instants {
    /// By the windows' clock.
    own_ns: u64,
    /// By the host's.
    wall_ns: u64,
}

/// The arrivals of one node by window.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Messages of each whole window.
    pub windows: Vec<u64>,
    /// To the last arrival, in nanoseconds of the host's clock.
    pub wall_ns: u64,
}

impl Instants {
    fn now(clock: &Clock) -> Instants {
        let wall_ns = Clock::Wall.now_ns();
        let own_ns = if let Clock::Wall = clock { wall_ns } else { clock.now_ns() };
        Instants { own_ns, wall_ns }
    }
}

impl Windows {
    /// The first window, of `window_ns` nanoseconds of `clock`, opens now.
    pub fn open(clock: Clock, window_ns: u64) -> Windows {
        let now = Instants::now(&clock);
        Windows { clock, window_ns: window_ns.max(1), begin: now, end: now, counts: Vec::new() }
    }

    /// `count` messages have arrived just now.
    #[inline]
    pub fn note(&mut self, count: u64) {
        if count > 0 {
            self.note_at(Instants::now(&self.clock), count);
        }
    }

    fn note_at(&mut self, now: Instants, count: u64) {
        self.end = now;
        let index = (now.own_ns.saturating_sub(self.begin.own_ns) / self.window_ns) as usize;
        if self.counts.len() <= index {
            self.counts.resize(index + 1, 0);
        }
        self.counts[index] += count;
    }

    /// The whole windows.
    pub fn finish(mut self) -> Counts {
        let elapsed_ns = self.end.own_ns.saturating_sub(self.begin.own_ns);
        self.counts.resize((elapsed_ns / self.window_ns) as usize, 0);
        Counts { windows: self.counts, wall_ns: self.end.wall_ns - self.begin.wall_ns }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(arrivals: &[(u64, u64)], windows: &[u64], elapsed_ns: u64) {
        let mut counted = Windows::open(Clock::Wall, 100);
        let begin = Instants { own_ns: 1000, wall_ns: 7000 };
        (counted.begin, counted.end) = (begin, begin);
        for &(at, count) in arrivals {
            counted.note_at(Instants { own_ns: at, wall_ns: 7 * at }, count);
        }
        assert_eq!(counted.finish(), Counts { windows: windows.to_vec(), wall_ns: 7 * elapsed_ns });
    }

    #[test]
    fn arrivals_count_in_their_window_and_idle_windows_are_empty() {
        check(&[(1050, 1), (1099, 2), (1100, 4), (1450, 8), (1520, 9)], &[3, 4, 0, 0, 8], 520);
    }

    #[test]
    fn the_last_window_counts_only_if_it_is_whole() {
        check(&[(1099, 1)], &[], 99);
        check(&[(1099, 1), (1100, 5)], &[1], 100);
        check(&[], &[], 0);
    }
}
