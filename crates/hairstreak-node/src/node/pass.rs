//! `Pass`: the place of a connection in the line of [`Passes`](super::passes::Passes). Such a connection waits in the middle of a
//! body or a transaction.

use std::sync::Arc;

use hairstreak_transport::event_loop::Address;

use super::account::Account;

/// The place of a connection in the line, or the pass. Dropping it gives both back.
pub struct Pass {
    account: Arc<Account>,
    number: u64,
}

impl Pass {
    /// A connection begins to wait.
    pub fn wait(account: &Arc<Account>, address: Address) -> Pass {
        let pass = Pass { account: Arc::clone(account), number: account.passes.join(address) };
        account.see_to_passes();
        pass
    }

    /// Returns true if the connection waits for the pass.
    pub fn is_waiting(&self) -> bool {
        self.account.passes.is_waiting(self.number)
    }

    /// Returns true if the connection has the pass.
    pub fn is_held(&self) -> bool {
        self.account.passes.is_held(self.number)
    }

    /// Uses the pass for `size` bytes. Returns false if the connection does not have the pass.
    pub fn use_for(&self, size: usize) -> bool {
        self.account.passes.use_for(self.number, size)
    }
}

impl Drop for Pass {
    fn drop(&mut self) {
        self.account.passes.leave(self.number);
        self.account.see_to_passes();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WATERMARK: usize = 1000;
    /// The time after which a connection loses a pass that it uses too little, and the bytes that are enough.
    const IDLE: u64 = 10_000;
    const ENOUGH: usize = 64 * 1024;

    /// An account whose bodies that have begun raise the alarm, and two connections that wait.
    fn account() -> (Arc<Account>, Pass, Pass) {
        let account = Arc::new(Account::new(WATERMARK));
        account.passes.note_begun(0, WATERMARK);
        account.note(0, WATERMARK);
        let pass = |account| Pass::wait(account, Address::default());
        let (one, other) = (pass(&account), pass(&account));
        (account, one, other)
    }

    fn give(account: &Account, now: u64) -> bool {
        let can_be_given = account.passes.can_be_given(&account.alarm);
        let is_given = account.passes.give(&account.alarm, now).0.is_some();
        assert!(is_given || !can_be_given);
        is_given
    }

    #[test]
    fn one_connection_after_the_other_has_the_pass() {
        let (account, one, other) = account();
        assert!(give(&account, 0) && !give(&account, 0));
        assert!(one.is_held() && one.use_for(1) && other.is_waiting() && !other.use_for(1));
        drop(one);
        assert!(give(&account, 0) && other.is_held());
        drop(other);
        assert!(!give(&account, 0));
    }

    #[test]
    fn above_the_watermark_of_whole_messages_the_first_has_the_pass_and_the_next_waits_for_consumers() {
        let (account, one, other) = account();
        account.note(0, WATERMARK);
        assert!(give(&account, 0) && one.is_held());
        drop(one);
        assert!(!give(&account, 0));
        account.note(1, 0);
        assert!(give(&account, 0) && other.is_held());
    }

    #[test]
    fn a_connection_that_uses_the_pass_too_little_loses_it() {
        let (account, one, other) = account();
        assert!(give(&account, 0) && one.use_for(1) && one.use_for(ENOUGH - 1));
        assert!(!give(&account, IDLE) && one.is_held() && one.use_for(ENOUGH - 1));
        assert!(give(&account, 2 * IDLE) && other.is_held());
        assert!(!one.is_held() && !one.is_waiting());
    }

    #[test]
    fn without_the_alarm_nobody_needs_the_pass() {
        let (account, _one, _other) = account();
        account.note(WATERMARK, 0);
        assert!(!give(&account, 0));
    }
}
