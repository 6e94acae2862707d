//! `LoginFigures`: how many logins there were.

use std::sync::atomic::{AtomicU64, Ordering};

use super::error::LoginError;

/// Counts since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LoginFigures {
    /// Logins that were let in.
    pub succeeded: u64,
    /// Logins that were refused, but for those to try again later.
    pub failed: u64,
    /// Logins that were told to try again later.
    pub postponed: u64,
    /// Logins that needed no hash, because the same credentials were right before.
    pub remembered: u64,
    /// Password hashes that were computed for logins.
    pub hashes: u64,
}

/// Counts of logins, from any thread.
#[derive(Debug, Default)]
pub(in crate::access) struct LoginCounters {
    succeeded: AtomicU64,
    failed: AtomicU64,
    postponed: AtomicU64,
    remembered: AtomicU64,
    hashes: AtomicU64,
}

impl LoginCounters {
    /// Counts the end of a login.
    pub fn count<T>(&self, result: &Result<T, LoginError>) {
        let counter = match result {
            Ok(_) => &self.succeeded,
            Err(LoginError::TryLater) => &self.postponed,
            Err(_) => &self.failed,
        };
        counter.fetch_add(1, Ordering::Relaxed);
    }

    pub fn count_remembered(&self) {
        self.remembered.fetch_add(1, Ordering::Relaxed);
    }

    pub fn count_hash(&self) {
        self.hashes.fetch_add(1, Ordering::Relaxed);
    }

    pub fn figures(&self) -> LoginFigures {
        let value = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        LoginFigures {
            succeeded: value(&self.succeeded),
            failed: value(&self.failed),
            postponed: value(&self.postponed),
            remembered: value(&self.remembered),
            hashes: value(&self.hashes),
        }
    }
}
