//! `Alarm`: the memory alarm, raised while the messages of the node have too much memory.
//!
//! Above the watermark publishers are not read, and publishers that asked for it are notified (connection.blocked). Consumers go
//! on, which frees memory. The alarm ends at nine tenths of the watermark, so that it does not come and go with every message.

use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::sync::atomic::{AtomicBool, AtomicUsize};

/// The memory of all virtual hosts' messages, and whether that is too much.
pub struct Alarm {
    watermark: AtomicUsize,
    bytes: AtomicUsize,
    is_raised: AtomicBool,
}

/// The effect of a change of memory on the alarm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    None,
    Raised,
    Cleared,
}

impl Alarm {
    /// `watermark`: bytes of messages at which publishers are stopped.
    pub fn new(watermark: usize) -> Alarm {
        Alarm {
            watermark: AtomicUsize::new(watermark),
            bytes: AtomicUsize::new(0),
            is_raised: AtomicBool::new(false),
        }
    }

    /// Returns true if publishers have to wait.
    #[inline]
    pub fn is_raised(&self) -> bool {
        self.is_raised.load(Relaxed)
    }

    /// Returns the memory of all messages, as reported to the alarm.
    pub fn bytes(&self) -> usize {
        self.bytes.load(SeqCst)
    }

    /// The bytes of messages at which publishers are stopped.
    pub fn watermark(&self) -> usize {
        self.watermark.load(Relaxed)
    }

    /// A virtual host's memory has changed from `before` to `now`.
    pub fn note(&self, before: usize, now: usize) -> Change {
        let difference = now.wrapping_sub(before);
        if difference == 0 {
            return Change::None;
        }
        self.bytes.fetch_add(difference, SeqCst);
        self.follow()
    }

    /// Changes the watermark. Returns the effect on the alarm.
    pub fn set_watermark(&self, watermark: usize) -> Change {
        self.watermark.store(watermark, SeqCst);
        self.follow()
    }

    /// Brings the alarm in line with the memory.
    fn follow(&self) -> Change {
        // Other threads change the memory concurrently. Each thread repeats until the alarm fits the memory, and reports its own
        // last step: a clear that no thread reports would leave publishers waiting.
        let mut change = Change::None;
        loop {
            let (bytes, watermark) = (self.bytes.load(SeqCst), self.watermark.load(SeqCst));
            if bytes >= watermark && !self.is_raised.swap(true, SeqCst) {
                change = Change::Raised;
            } else if bytes < watermark / 10 * 9 && self.is_raised() && self.is_raised.swap(false, SeqCst) {
                change = Change::Cleared;
            } else {
                return change;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_alarm_ends_well_below_where_it_was_raised() {
        let alarm = Alarm::new(1000);
        assert_eq!(alarm.note(0, 600), Change::None);
        assert_eq!(alarm.note(0, 400), Change::Raised);
        assert_eq!(alarm.note(400, 900), Change::None);
        assert_eq!((alarm.note(900, 350), alarm.is_raised()), (Change::None, true));
        assert_eq!((alarm.note(600, 500), alarm.is_raised()), (Change::Cleared, false));
        assert_eq!(alarm.note(500, 500), Change::None);
        assert_eq!((alarm.set_watermark(700), alarm.is_raised()), (Change::Raised, true));
        assert_eq!((alarm.set_watermark(10_000), alarm.is_raised()), (Change::Cleared, false));
    }
}
