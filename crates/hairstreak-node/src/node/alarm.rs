//! `Alarm`: raised while publishers have to wait, for one reason or several: memory, or the disk of the message log.
//!
//! Publishers are not read then, and publishers that asked for it are notified (connection.blocked). Consumers go on, which frees
//! memory and disk space. The reason of memory ends at nine tenths of the watermark, so that it does not come and go with every
//! message. The reasons of the disk are those of [`DiskWatch`](super::disk_watch::DiskWatch).

use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::sync::atomic::{AtomicU8, AtomicUsize};

/// A reason for which publishers wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// Messages have too much memory.
    Memory,
    /// The disk of the message log has fewer free bytes than `disk_free_limit`.
    DiskSpace,
    /// The disk has not answered the message log for too long.
    SlowDisk,
    /// The disk refuses the message log.
    FailingDisk,
}

impl Reason {
    const ALL: [Reason; 4] = [Reason::Memory, Reason::DiskSpace, Reason::SlowDisk, Reason::FailingDisk];

    fn bit(self) -> u8 {
        1 << self as u8
    }

    /// The text of connection.blocked. The first two are those of RabbitMQ.
    fn text(self) -> &'static str {
        match self {
            Reason::Memory => "low on memory",
            Reason::DiskSpace => "low on disk",
            Reason::SlowDisk => "the disk does not answer",
            Reason::FailingDisk => "messages cannot be written",
        }
    }
}

/// The memory of all virtual hosts' messages, and the reasons for which publishers wait.
pub struct Alarm {
    watermark: AtomicUsize,
    bytes: AtomicUsize,
    /// A bit for each reason.
    reasons: AtomicU8,
}

/// The effect of a change on one reason of the alarm.
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
            reasons: AtomicU8::new(0),
        }
    }

    /// Returns true if publishers have to wait.
    #[inline]
    pub fn is_raised(&self) -> bool {
        self.reasons.load(Relaxed) != 0
    }

    /// Returns true if publishers have to wait for this reason.
    pub fn has(&self, reason: Reason) -> bool {
        self.reasons.load(SeqCst) & reason.bit() != 0
    }

    /// Returns the reasons as text.
    pub fn text(&self) -> String {
        let present = Reason::ALL.into_iter().filter(|reason| self.has(*reason));
        present.map(Reason::text).collect::<Vec<_>>().join(", ")
    }

    /// Adds a reason or takes it away. Returns the effect.
    pub(super) fn set(&self, reason: Reason, is_present: bool) -> Change {
        let bit = reason.bit();
        let before = match is_present {
            true => self.reasons.fetch_or(bit, SeqCst),
            false => self.reasons.fetch_and(!bit, SeqCst),
        };
        match (before & bit != 0, is_present) {
            (false, true) => Change::Raised,
            (true, false) => Change::Cleared,
            _ => Change::None,
        }
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
            let is_high = bytes >= watermark;
            let is_low = bytes < watermark / 10 * 9;
            let is_due = if self.has(Reason::Memory) { is_low } else { is_high };
            match if is_due { self.set(Reason::Memory, is_high) } else { Change::None } {
                Change::None => return change,
                step => change = step,
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

    #[test]
    fn the_alarm_lasts_as_long_as_one_reason_does() {
        let alarm = Alarm::new(1000);
        assert_eq!((alarm.is_raised(), alarm.text()), (false, String::new()));
        assert_eq!(alarm.set(Reason::SlowDisk, true), Change::Raised);
        assert_eq!(alarm.set(Reason::SlowDisk, true), Change::None);
        assert_eq!(alarm.text(), "the disk does not answer");
        assert_eq!(alarm.note(0, 1000), Change::Raised);
        assert_eq!(alarm.text(), "low on memory, the disk does not answer");
        assert_eq!(alarm.set(Reason::SlowDisk, false), Change::Cleared);
        assert!(alarm.is_raised() && alarm.has(Reason::Memory) && !alarm.has(Reason::SlowDisk));
        assert_eq!((alarm.note(1000, 0), alarm.is_raised()), (Change::Cleared, false));
        assert_eq!(alarm.set(Reason::SlowDisk, false), Change::None);
    }
}
