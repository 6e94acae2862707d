//! Arrivals: messages in each window of fixed length, empty windows included, and the memory of the receiving host.
//!
//! ```text
//!   ready to send    window 0       window 1       window 2 (cut off by the last arrival: left out)
//!        |--------------|--------------|-----
//!             counts         counts
//! ```
//!
//! A window is a length of the host's time or of the simulated fabric's. `Store` keeps messages until they are verified.

use std::io::Read;

use anyhow::{Result, ensure};
use clap::ValueEnum;
use hairstreak_transport::Endpoint;
use hairstreak_transport::vortex::FabricClock;
use serde::{Deserialize, Serialize};

use super::messages::{Digester, Frames, Tally};
use super::stream::BlockingStream;
use crate::broker::now_ns;

/// The most bytes of one read: small beside the bytes of a window.
const READ_SIZE: usize = 256 * 1024;
const PAGE_SIZE: usize = 4096;

/// The time of a contender's rates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Time {
    /// The host's.
    Wall,
    /// The simulated fabric's: slots that have passed, times their length. It stands while no cell is under way.
    Fabric,
}

/// The host's monotonic clock, or the clock of a fabric.
#[derive(Debug, Default)]
pub struct Clock(Option<FabricClock>);

impl Clock {
    /// The clock of that time for messages to `endpoint`.
    ///
    /// Errors: there is no fabric of that name.
    pub fn of(time: Time, endpoint: &Endpoint) -> Result<Clock> {
        Ok(Clock(match (time, endpoint) {
            (Time::Fabric, Endpoint::Vortex(address)) => Some(FabricClock::attach(&address.fabric)?),
            _ => None,
        }))
    }

    /// Returns nanoseconds of this clock and of the host's.
    #[inline]
    pub fn now(&self) -> Instants {
        let wall_ns = now_ns();
        (self.0.as_ref().map_or(wall_ns, |clock| clock.time().as_nanos() as u64), wall_ns)
    }
}

/// Nanoseconds of one instant, by a clock and by the host's.
type Instants = (u64, u64);

/// The count of arrivals by window.
#[derive(Debug)]
pub struct Windows {
    clock: Clock,
    window_ns: u64,
    begin: Instants,
    end: Instants,
    counts: Vec<u64>,
}

/// Messages of one node in a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Arrivals {
    /// Their number.
    pub count: u64,
    /// Messages of each whole window.
    pub windows: Vec<u64>,
    /// Nanoseconds of the host's clock to the last arrival.
    pub wall_ns: u64,
    /// The broker has stopped publishers.
    pub has_alarm: bool,
}

impl Windows {
    /// Opens the first window, of `window_ns` nanoseconds of `clock`, now.
    pub fn open(clock: Clock, window_ns: u64) -> Windows {
        let now = clock.now();
        Windows { clock, window_ns: window_ns.max(1), begin: now, end: now, counts: Vec::new() }
    }

    /// Returns the nanoseconds since the first window was opened.
    pub fn elapsed_ns(&self) -> u64 {
        self.clock.now().0 - self.begin.0
    }

    /// Adds `count` messages that have arrived just now.
    #[inline]
    pub fn note(&mut self, count: u64) {
        if count > 0 {
            self.note_at(self.clock.now(), count);
        }
    }

    fn note_at(&mut self, now: Instants, count: u64) {
        self.end = now;
        let index = (now.0.saturating_sub(self.begin.0) / self.window_ns) as usize;
        if self.counts.len() <= index {
            self.counts.resize(index + 1, 0);
        }
        self.counts[index] += count;
    }

    /// Returns all messages, and those of the whole windows.
    pub fn finish(mut self) -> Arrivals {
        let (count, wall_ns) = (self.counts.iter().sum(), self.end.1 - self.begin.1);
        self.counts.resize((self.end.0.saturating_sub(self.begin.0) / self.window_ns) as usize, 0);
        Arrivals { count, windows: self.counts, wall_ns, has_alarm: false }
    }
}

/// Received messages, as they came.
///
/// The memory is touched before a run, so that no run pays for the kernel's first look at a page.
#[derive(Debug, Default)]
pub struct Store {
    bytes: Vec<u8>,
    filled: usize,
}

impl Store {
    /// Forgets all messages, and makes room for `size` bytes.
    pub fn reset(&mut self, size: usize) {
        self.filled = 0;
        let touched = self.bytes.len();
        if size > touched {
            self.bytes.resize(size, 0);
            // Zeroes may be pages that the kernel has yet to give.
            self.bytes[touched..].iter_mut().step_by(PAGE_SIZE).for_each(|byte| *byte = 1);
        }
    }

    /// Bytes of its memory.
    pub fn size(&self) -> u64 {
        self.bytes.len() as u64
    }

    /// Receives to the end of the stream, and notes each message that is whole.
    ///
    /// Errors: the stream fails, it ends within a message, or more comes than there is room for.
    pub fn receive(&mut self, stream: &mut BlockingStream, mut windows: Windows) -> Result<Arrivals> {
        let mut frames = Frames::default();
        loop {
            let end = self.bytes.len().min(self.filled + READ_SIZE);
            let room = &mut self.bytes[self.filled..end];
            if room.is_empty() {
                // A full store is no error as long as nothing more comes.
                ensure!(stream.read(&mut [0])? == 0, "more than the {end} bytes that were agreed came");
                break;
            }
            let count = stream.read(room)?;
            if count == 0 {
                break;
            }
            self.filled += count;
            windows.note(frames.take(&self.bytes[..self.filled], |_| Ok(()))?);
        }
        ensure!(frames.taken == self.filled, "the stream ended within a message");
        Ok(windows.finish())
    }

    /// Counts and digests all messages.
    pub fn tally(&self, key: u64) -> Result<Tally> {
        let mut digester = Digester::new(key);
        Frames::default().take(&self.bytes[..self.filled], |body| {
            digester.add(body);
            Ok(())
        })?;
        Ok(digester.tally)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(arrivals: &[(u64, u64)], windows: &[u64], elapsed_ns: u64) {
        let mut counted = Windows::open(Clock::default(), 100);
        (counted.begin, counted.end) = ((1000, 7000), (1000, 7000));
        for &(at, count) in arrivals {
            counted.note_at((at, 7 * at), count);
        }
        let count = arrivals.iter().map(|arrival| arrival.1).sum();
        let expected =
            Arrivals { count, windows: windows.to_vec(), wall_ns: 7 * elapsed_ns, has_alarm: false };
        assert_eq!(counted.finish(), expected);
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
