//! `Windows`: how many messages arrived in each window of fixed length, empty windows included.
//!
//! ```text
//!   first arrival    window 0       window 1       window 2 (cut off by the last arrival: left out)
//!        |--------------|--------------|-----
//!      not counted    counts         counts
//! ```
//!
//! The first arrival opens window 0 and is not counted itself: nothing is known of the time before the first arrival.

use serde::{Deserialize, Serialize};

use super::clock::Clock;

/// Counts arrivals by window.
#[derive(Debug)]
pub struct Windows {
    clock: Clock,
    window_ns: u64,
    begin_ns: Option<u64>,
    end_ns: u64,
    counts: Vec<u64>,
}

/// The arrivals of one node by window.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Messages of each whole window.
    pub windows: Vec<u64>,
    /// From the first arrival to the last, in nanoseconds of the transport's clock.
    pub elapsed_ns: u64,
}

impl Windows {
    /// No window yet; each will have `window_ns` nanoseconds of `clock`.
    pub fn new(clock: Clock, window_ns: u64) -> Windows {
        Windows { clock, window_ns: window_ns.max(1), begin_ns: None, end_ns: 0, counts: Vec::new() }
    }

    /// `count` messages have arrived just now.
    #[inline]
    pub fn note(&mut self, count: u64) {
        if count > 0 {
            self.note_at(self.clock.now_ns(), count);
        }
    }

    fn note_at(&mut self, now_ns: u64, count: u64) {
        self.end_ns = now_ns;
        let Some(begin_ns) = self.begin_ns else {
            self.begin_ns = Some(now_ns);
            return;
        };
        let index = (now_ns.saturating_sub(begin_ns) / self.window_ns) as usize;
        if self.counts.len() <= index {
            self.counts.resize(index + 1, 0);
        }
        self.counts[index] += count;
    }

    /// The whole windows.
    pub fn finish(mut self) -> Counts {
        let elapsed_ns = self.end_ns.saturating_sub(self.begin_ns.unwrap_or(self.end_ns));
        self.counts.resize((elapsed_ns / self.window_ns) as usize, 0);
        Counts { windows: self.counts, elapsed_ns }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(arrivals: &[(u64, u64)], windows: &[u64], elapsed_ns: u64) {
        let mut counted = Windows::new(Clock::Wall, 100);
        arrivals.iter().for_each(|&(at, count)| counted.note_at(at, count));
        assert_eq!(counted.finish(), Counts { windows: windows.to_vec(), elapsed_ns });
    }

    #[test]
    fn arrivals_count_in_their_window_and_idle_windows_are_empty() {
        check(&[(1000, 7), (1050, 1), (1099, 2), (1100, 4), (1450, 8), (1520, 9)], &[3, 4, 0, 0, 8], 520);
    }

    #[test]
    fn the_first_arrival_opens_the_first_window_and_the_last_window_counts_only_if_it_is_whole() {
        check(&[(1000, 7)], &[], 0);
        check(&[(1000, 7), (1099, 1)], &[], 99);
        check(&[(1000, 7), (1099, 1), (1100, 5)], &[1], 100);
        check(&[], &[], 0);
    }
}
