//! `Throttle`: the memory that a connection holds, and its waits for the memory alarm.
//!
//! Publishers wait while the node's messages have too much memory. Clients that asked for it are notified (connection.blocked). A
//! connection that only publishes is not read until the alarm is over. A connection that also consumes is still read: its
//! messages are parked (`parking`), and its acknowledgements free memory. A connection that holds part of a message, or a
//! transaction with messages, is read as far as there is room for the rest (`alarm_quota`).

use hairstreak_broker::Refusal;
use hairstreak_wire::amqp::ReplyCode;

use crate::node::Account;

/// Bound of a connection's incomplete messages, over all its channels, in sizes of the largest message.
const PARTIAL_MESSAGES_MAX: u64 = 2;

/// Bytes of messages that the open transactions of a connection may hold.
const TRANSACTION_BYTES_MAX: usize = 128 * 1024 * 1024;

/// The memory that a connection holds, and its waits for the memory alarm.
#[derive(Debug, Default)]
pub(super) struct Throttle {
    /// The connection has published while the alarm was raised.
    is_blocked: bool,
    /// A message has to wait, with all frames behind it.
    is_waiting: bool,
    /// The connection has consumers, or had some.
    pub has_consumed: bool,
    /// The size of the messages whose bodies have not come whole.
    announced_bytes: u64,
    /// The received bytes of these messages.
    partial_bytes: usize,
    /// The messages of open transactions.
    transaction_bytes: usize,
    /// The sum of both that was last reported to the account.
    told_bytes: usize,
}

impl Throttle {
    /// The connection publishes while the alarm is raised. Returns whether that is new.
    pub fn block(&mut self) -> bool {
        !std::mem::replace(&mut self.is_blocked, true)
    }

    /// The alarm is over. Returns whether the connection was blocked.
    pub fn unblock(&mut self) -> bool {
        self.is_waiting = false;
        std::mem::take(&mut self.is_blocked)
    }

    /// Returns true if the connection has published while the alarm was raised, and the alarm is not over.
    pub fn is_blocked(&self) -> bool {
        self.is_blocked
    }

    /// Nothing more is read until the alarm is over.
    pub fn wait(&mut self) {
        self.is_waiting = true;
    }

    /// Lets the message continue that had to wait.
    pub fn go_on(&mut self) {
        self.is_waiting = false;
    }

    /// Returns true if nothing more is read until the alarm is over.
    pub fn is_waiting(&self) -> bool {
        self.is_waiting
    }

    /// Returns true if messages are parked, because data behind them may reduce the memory.
    pub fn may_park(&self) -> bool {
        self.has_consumed || self.announced_bytes > 0
    }

    /// The bytes that are to come of messages that have begun.
    pub fn missing_bytes(&self) -> usize {
        (self.announced_bytes as usize).saturating_sub(self.partial_bytes)
    }

    /// Returns true if no message has begun, and no transaction has messages.
    pub fn holds_nothing(&self) -> bool {
        self.missing_bytes() == 0 && self.transaction_bytes == 0
    }

    /// A message of `size` bytes begins to come. `message_size_max`: the size of the largest.
    ///
    /// Errors: too much of the connection has begun and not ended.
    pub fn begin_partial(&mut self, size: u64, message_size_max: u64) -> Result<(), Refusal> {
        let bytes = self.announced_bytes + size;
        let bytes_max = message_size_max * PARTIAL_MESSAGES_MAX;
        if bytes > bytes_max {
            let text = format!("messages that have begun would have {bytes} bytes, more than {bytes_max}");
            return Err(Refusal::new(ReplyCode::ResourceError, text));
        }
        self.announced_bytes = bytes;
        Ok(())
    }

    /// More of a message that has begun has come.
    pub fn receive_partial(&mut self, size: usize) {
        self.partial_bytes += size;
    }

    /// A message of `size` bytes, of which `received` have come, is complete or abandoned.
    pub fn end_partial(&mut self, size: u64, received: u64) {
        self.announced_bytes -= size;
        self.partial_bytes -= received as usize;
    }

    /// A transaction holds `size` bytes more.
    ///
    /// Errors: the transactions of the connection hold too much.
    pub fn hold(&mut self, size: usize) -> Result<(), Refusal> {
        let bytes = self.transaction_bytes + size;
        if bytes > TRANSACTION_BYTES_MAX {
            let text = format!("transactions of a connection hold at most {TRANSACTION_BYTES_MAX} bytes");
            return Err(Refusal::new(ReplyCode::ResourceError, text));
        }
        self.transaction_bytes = bytes;
        Ok(())
    }

    /// A transaction has ended that held `size` bytes.
    pub fn release(&mut self, size: usize) {
        self.transaction_bytes -= size;
    }

    /// The connection is over, and all that it held with it.
    pub fn forget(&mut self) {
        (self.announced_bytes, self.partial_bytes, self.transaction_bytes) = (0, 0, 0);
    }

    /// Reports the memory that the connection holds now to the account.
    pub fn tell(&mut self, account: &Account) {
        let held = self.partial_bytes + self.transaction_bytes;
        let told = std::mem::replace(&mut self.told_bytes, held);
        account.passes.note_begun(told, held);
        account.note(told, held);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The bytes of the connection reported to the account.
    fn told(throttle: &mut Throttle) -> usize {
        let account = Account::new(usize::MAX);
        account.note(0, throttle.told_bytes);
        throttle.tell(&account);
        account.alarm.bytes()
    }

    #[test]
    fn a_connection_waits_until_the_alarm_is_over() {
        let mut throttle = Throttle::default();
        assert!(throttle.block() && !throttle.block());
        assert!(throttle.is_blocked() && !throttle.is_waiting());
        throttle.wait();
        assert!(throttle.is_waiting());
        assert!(throttle.unblock() && !throttle.unblock());
        assert!(!throttle.is_waiting());
    }

    #[test]
    fn messages_are_parked_where_something_behind_them_makes_memory_less() {
        assert!(!Throttle::default().may_park());
        assert!(Throttle { has_consumed: true, ..Throttle::default() }.may_park());
        let mut throttle = Throttle::default();
        throttle.begin_partial(1000, 600).unwrap();
        assert!(throttle.may_park());
        throttle.end_partial(1000, 0);
        assert!(!throttle.may_park());
    }

    #[test]
    fn a_message_that_has_begun_counts_by_what_has_come() {
        let mut throttle = Throttle::default();
        throttle.begin_partial(1000, 600).unwrap();
        assert!(throttle.begin_partial(201, 600).is_err());
        assert_eq!((told(&mut throttle), throttle.missing_bytes()), (0, 1000));
        throttle.receive_partial(10);
        assert_eq!((told(&mut throttle), throttle.missing_bytes()), (10, 990));
        throttle.end_partial(1000, 10);
        assert_eq!((told(&mut throttle), throttle.missing_bytes()), (0, 0));
    }

    #[test]
    fn transactions_of_all_channels_share_one_bound() {
        let mut throttle = Throttle::default();
        throttle.hold(TRANSACTION_BYTES_MAX - 1).unwrap();
        assert!(throttle.hold(2).is_err());
        throttle.hold(1).unwrap();
        throttle.release(TRANSACTION_BYTES_MAX);
        assert_eq!(told(&mut throttle), 0);
    }
}
