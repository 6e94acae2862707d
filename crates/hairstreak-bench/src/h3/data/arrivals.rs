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
use std::sync::Arc;

use anyhow::{Result, bail, ensure};
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

/// A clock of either time.
#[derive(Clone, Debug)]
pub enum Clock {
    /// The host's monotonic clock.
    Wall,
    /// The clock of a fabric.
    Fabric(Arc<FabricClock>),
}

impl Clock {
    /// The clock of the transport that `endpoint` is of.
    ///
    /// Errors: there is no fabric of that name.
    pub fn of(endpoint: &Endpoint) -> Result<Clock> {
        match endpoint {
            Endpoint::Vortex(address) => Ok(Clock::Fabric(Arc::new(FabricClock::attach(&address.fabric)?))),
            _ => Ok(Clock::Wall),
        }
    }

    /// Returns nanoseconds of this clock.
    #[inline]
    pub fn now_ns(&self) -> u64 {
        match self {
            Clock::Wall => now_ns(),
            Clock::Fabric(clock) => clock.time().as_nanos() as u64,
        }
    }
}

/// The count of arrivals by window.
#[derive(Debug)]
pub struct Windows {
    clock: Clock,
    window_ns: u64,
    begin: Instants,
    end: Instants,
    counts: Vec<u64>,
}

/// One instant by the windows' clock and by the host's.
#[derive(Clone, Copy, Debug)]
struct Instants {
    own_ns: u64,
    wall_ns: u64,
}

/// The arrivals of one node by window.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Messages of each whole window.
    pub windows: Vec<u64>,
    /// Nanoseconds of the host's clock to the last arrival.
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
    /// Opens the first window, of `window_ns` nanoseconds of `clock`, now.
    pub fn open(clock: Clock, window_ns: u64) -> Windows {
        let now = Instants::now(&clock);
        Windows { clock, window_ns: window_ns.max(1), begin: now, end: now, counts: Vec::new() }
    }

    /// Adds `count` messages that have arrived just now.
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

    /// Returns the whole windows.
    pub fn finish(mut self) -> Counts {
        let elapsed_ns = self.end.own_ns.saturating_sub(self.begin.own_ns);
        self.counts.resize((elapsed_ns / self.window_ns) as usize, 0);
        Counts { windows: self.counts, wall_ns: self.end.wall_ns - self.begin.wall_ns }
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

    /// Receives to the end of the stream, and notes each message that is whole. Returns the number of messages.
    ///
    /// Errors: the stream fails, it ends within a message, or more comes than there is room for.
    pub fn receive(&mut self, stream: &mut BlockingStream, windows: &mut Windows) -> Result<u64> {
        let (mut frames, mut total) = (Frames::default(), 0);
        loop {
            let end = self.bytes.len().min(self.filled + READ_SIZE);
            let room = &mut self.bytes[self.filled..end];
            if room.is_empty() {
                // A full store is no error as long as nothing more comes.
                match stream.read(&mut [0])? {
                    0 => break,
                    _ => bail!("more than the {end} bytes that were agreed came"),
                }
            }
            let count = stream.read(room)?;
            if count == 0 {
                break;
            }
            self.filled += count;
            let count = frames.take(&self.bytes[..self.filled], |_| Ok(()))?;
            windows.note(count);
            total += count;
        }
        ensure!(frames.taken == self.filled, "the stream ended within a message");
        Ok(total)
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
