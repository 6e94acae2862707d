//! `LoginFigures`: how many logins there were.

use std::sync::atomic::{AtomicU64, Ordering};

use super::peer::{LoginError, Peer, Protocol};

/// Counts since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LoginFigures {
    /// Logins that were let in.
    pub succeeded: u64,
    /// Refused logins, without the postponed ones.
    pub failed: u64,
    /// Logins that were answered with a request to try again later.
    pub postponed: u64,
    /// Logins that needed no hash, because the same credentials were right before.
    pub remembered: u64,
    /// Password hashes that were computed for logins.
    pub hashes: u64,
}

/// Counts of the logins by one protocol since the start, or since they were last reset.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LoginCounts {
    /// Logins that were let in.
    pub succeeded: u64,
    /// Refused logins, without the postponed ones.
    pub failed: u64,
}

impl LoginCounts {
    /// Logins that were let in or refused.
    pub fn attempts(self) -> u64 {
        self.succeeded + self.failed
    }
}

/// Counts of logins, from any thread.
#[derive(Debug, Default)]
pub(in crate::access) struct LoginCounters {
    succeeded: AtomicU64,
    failed: AtomicU64,
    postponed: AtomicU64,
    remembered: AtomicU64,
    hashes: AtomicU64,
    /// By protocol: let in, and refused.
    by_protocol: [[AtomicU64; 2]; Protocol::ALL.len()],
}

impl LoginCounters {
    /// Counts the end of a login.
    pub fn count<T>(&self, result: &Result<T, LoginError>, peer: Peer) {
        let counter = match result {
            Ok(_) => &self.succeeded,
            Err(LoginError::TryLater) => &self.postponed,
            Err(_) => &self.failed,
        };
        counter.fetch_add(1, Ordering::Relaxed);
        if let Some(protocol) = peer.protocol()
            && !matches!(result, Err(LoginError::TryLater))
        {
            self.count_by(protocol, result.is_ok());
        }
    }

    /// Counts a login by a protocol.
    pub fn count_by(&self, protocol: Protocol, is_let_in: bool) {
        let [succeeded, failed] = &self.by_protocol[protocol as usize];
        let counter = if is_let_in { succeeded } else { failed };
        counter.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts by protocol from 0 again.
    pub fn reset_by_protocol(&self) {
        self.by_protocol.iter().flatten().for_each(|counter| counter.store(0, Ordering::Relaxed));
    }

    /// The counts by protocol.
    pub fn by_protocol(&self) -> [(Protocol, LoginCounts); Protocol::ALL.len()] {
        Protocol::ALL.map(|protocol| {
            let [succeeded, failed] =
                self.by_protocol[protocol as usize].each_ref().map(|counter| counter.load(Ordering::Relaxed));
            (protocol, LoginCounts { succeeded, failed })
        })
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
