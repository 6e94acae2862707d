//! `Account`: the memory of all messages, and the publishers that wait for it or for the disk.

use super::alarm::{Alarm, Change, Reason};
use super::parking::Parking;
use super::passes::Passes;
use super::timekeeper::Timekeeper;

/// The memory of all messages of the node. Virtual hosts and connections report their part of it.
pub struct Account {
    /// The alarm for which publishers wait.
    pub alarm: Alarm,
    /// The timers of all virtual hosts.
    pub timekeeper: Timekeeper,
    /// The room of parked frames.
    pub parking: Parking,
    /// The line of connections that wait for room.
    pub passes: Passes,
}

impl Account {
    /// `watermark`: bytes of messages at which publishers are stopped.
    pub fn new(watermark: usize) -> Account {
        Account {
            alarm: Alarm::new(watermark),
            timekeeper: Timekeeper::new(),
            parking: Parking::default(),
            passes: Passes::default(),
        }
    }

    /// Returns true if little memory is left: messages have half of the memory that they may have, or a bit less if little was left
    /// before. Queues then write messages to disk.
    #[inline]
    pub fn is_low(&self, was_low: bool) -> bool {
        let half = self.alarm.watermark() / 2;
        self.alarm.bytes() >= if was_low { half / 10 * 9 } else { half }
    }

    /// Changes the watermark, and updates the alarm.
    pub fn set_watermark(&self, watermark: usize) {
        self.follow(self.alarm.set_watermark(watermark));
    }

    /// The memory of a part of the node has changed from `before` bytes to `now`.
    pub fn note(&self, before: usize, now: usize) {
        self.follow(self.alarm.note(before, now));
    }

    /// Adds a reason to the alarm, or takes it away. Returns true if that is new.
    pub fn set_alarm(&self, reason: Reason, is_present: bool) -> bool {
        let change = self.alarm.set(reason, is_present);
        self.follow(change);
        change != Change::None
    }

    #[inline]
    fn follow(&self, change: Change) {
        if change == Change::Cleared && !self.alarm.is_raised() {
            self.parking.renew();
            self.passes.renew();
            self.timekeeper.wake_publishers();
        } else {
            self.see_to_passes();
        }
    }

    /// Has the timekeeper give the pass to a connection that waits, if that can be done.
    #[inline]
    pub fn see_to_passes(&self) {
        if self.passes.can_be_given(&self.alarm) {
            self.timekeeper.wake_by(0);
        }
    }
}
