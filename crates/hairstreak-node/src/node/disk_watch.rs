//! `DiskWatch`: the disk under the message log, and the reasons for which publishers wait for it.
//!
//! The thread of the log reports a disk that refuses it, or has too little free space. A disk that does not answer reports nothing:
//! the timekeeper looks once a second at the age of the present operation, and has a thread of the log look at the free space. No
//! thread but those of the log waits for the disk.

use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use parking_lot::Mutex;

use super::account::Account;
use super::alarm::Reason;

/// The time after which a disk that has not answered is named, and publishers wait.
const OPERATION_TIME_MAX: Duration = Duration::from_secs(2);
/// Milliseconds between two looks.
const LOOK_INTERVAL_MS: u64 = 1_000;

/// The disk under the message log.
pub(super) struct DiskWatch {
    account: Arc<Account>,
    /// Free bytes below which publishers wait.
    free_limit: u64,
    /// The error of the last attempt to write.
    error: Mutex<Option<Arc<io::Error>>>,
    /// The longest time, in milliseconds, for which the present operation was seen to take.
    seen_ms: AtomicU64,
    /// The time of the next look, in the node's milliseconds.
    look_at: AtomicU64,
}

impl DiskWatch {
    /// `free_limit`: free bytes below which publishers wait.
    pub fn new(account: Arc<Account>, free_limit: u64) -> DiskWatch {
        let [seen_ms, look_at] = [AtomicU64::new(0), AtomicU64::new(0)];
        DiskWatch { account, free_limit, error: Mutex::default(), seen_ms, look_at }
    }

    /// Returns the faults of the disk, for operators.
    pub fn faults(&self) -> Vec<String> {
        let slow = self
            .account
            .alarm
            .has(Reason::SlowDisk)
            .then(|| format!("the disk has not answered a write or a sync for {:.1} s", self.seen_s()));
        let error = self.error.lock();
        let failing = error.as_ref().map(|error| format!("messages cannot be written: {error}"));
        slow.into_iter().chain(failing).collect()
    }

    fn seen_s(&self) -> f64 {
        self.seen_ms.load(Relaxed) as f64 / 1_000.0
    }

    /// The log has written, or could not.
    pub fn note_written(&self, error: Option<&Arc<io::Error>>) {
        *self.error.lock() = error.cloned();
        if self.account.set_alarm(Reason::FailingDisk, error.is_some()) {
            match error {
                Some(error) => {
                    log::error!("messages cannot be written: {error}; publishers wait until they can")
                }
                None => log::info!("messages can be written again"),
            }
        }
    }

    /// The free space was looked at. `is_short`: there is less than the limit.
    pub fn note_space(&self, is_short: bool) {
        if self.account.set_alarm(Reason::DiskSpace, is_short) {
            if is_short {
                log::warn!(
                    "messages: the disk has fewer than {} free bytes (disk_free_limit); publishers wait until there are more",
                    self.free_limit
                );
            } else {
                log::info!("messages: the disk has enough free space again");
            }
        }
    }

    /// Looks at the disk if a look is due. `state` returns how long the present operation has taken, and whether space is short.
    /// Returns the time of the next look. `now`: the node's milliseconds.
    pub fn look(&self, now: u64, state: impl FnOnce() -> (Option<Duration>, bool)) -> u64 {
        let look_at = self.look_at.load(Relaxed);
        if now < look_at {
            return look_at;
        }
        let (time, is_short) = state();
        let time = time.unwrap_or_default();
        self.note_operation(time);
        self.note_space(is_short);
        // An operation that takes too long is named in time.
        let left = OPERATION_TIME_MAX.checked_sub(time).filter(|left| !left.is_zero());
        let wait = left.map_or(LOOK_INTERVAL_MS, |left| left.as_millis() as u64 + 1).min(LOOK_INTERVAL_MS);
        self.look_at.store(now + wait, Relaxed);
        now + wait
    }

    fn note_operation(&self, time: Duration) {
        let is_slow = time >= OPERATION_TIME_MAX;
        if is_slow {
            self.seen_ms.store(time.as_millis() as u64, Relaxed);
        }
        if self.account.set_alarm(Reason::SlowDisk, is_slow) {
            let seen_s = self.seen_s();
            if is_slow {
                log::error!(
                    "messages: the disk has not answered a write or a sync for {seen_s:.1} s; publishers wait until it does"
                );
            } else {
                log::info!("messages: the disk answers again, after more than {seen_s:.1} s");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn watch() -> (Arc<Account>, DiskWatch) {
        let account = Arc::new(Account::new(usize::MAX));
        (Arc::clone(&account), DiskWatch::new(account, 1_000))
    }

    #[test]
    fn publishers_wait_while_an_operation_takes_too_long() {
        let (account, watch) = watch();
        let look = |now, ms: Option<u64>| {
            let next = watch.look(now, || (ms.map(Duration::from_millis), false));
            (next, account.alarm.has(Reason::SlowDisk))
        };
        assert_eq!(look(0, None), (1_000, false));
        assert_eq!(look(999, Some(60_000)), (1_000, false), "no look is due");
        // The next look is when the operation has taken two seconds.
        assert_eq!(look(1_000, Some(700)), (2_000, false));
        assert_eq!(look(2_000, Some(1_700)), (2_301, false));
        assert_eq!(look(2_301, Some(2_000)), (3_301, true));
        assert_eq!(look(3_301, Some(3_000)), (4_301, true));
        assert!(!account.timekeeper.take_wakes_publishers());
        // The next operation has begun.
        assert_eq!(look(4_301, Some(500)), (5_301, false));
        assert!(account.timekeeper.take_wakes_publishers());
    }

    #[test]
    fn publishers_wait_while_messages_cannot_be_written() {
        let (account, watch) = watch();
        let error = Arc::new(io::Error::from(io::ErrorKind::StorageFull));
        watch.note_written(None);
        assert!(!account.alarm.is_raised() && watch.faults().is_empty());
        watch.note_written(Some(&error));
        assert!(account.alarm.has(Reason::FailingDisk));
        // The disk both hangs and fails: publishers wait for the end of both.
        watch.look(0, || (Some(Duration::from_millis(2_500)), false));
        let faults = [
            "the disk has not answered a write or a sync for 2.5 s",
            "messages cannot be written: no storage space",
        ];
        assert_eq!(watch.faults(), faults);
        watch.note_written(None);
        assert!(account.alarm.is_raised() && !account.timekeeper.take_wakes_publishers());
        watch.look(1_000, || (None, false));
        assert!(!account.alarm.is_raised() && account.timekeeper.take_wakes_publishers());
    }

    #[test]
    fn publishers_wait_while_space_is_short() {
        let (account, watch) = watch();
        watch.look(0, || (None, true));
        assert!(account.alarm.has(Reason::DiskSpace));
        // The thread of the log has freed a file.
        watch.note_space(false);
        assert!(!account.alarm.is_raised() && account.timekeeper.take_wakes_publishers());
    }
}
