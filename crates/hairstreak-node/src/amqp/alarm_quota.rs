//! `AlarmQuota`: the bodies and transactions of a connection that go on while the memory alarm is raised.
//!
//! A message that has begun may come whole, because acknowledgements may stand behind its body. A transaction with messages may
//! get to its commit. All connections share one room for the bytes of both ([`Parking`](crate::node::Parking)), and keep their
//! part until the alarm is over. A connection without room is not read. Such connections stand in a line, and continue one after
//! the other ([`Pass`]).

use std::sync::Arc;

use hairstreak_transport::event_loop::Address;

use crate::node::{Account, Pass};

/// The bodies and transactions of a connection that go on.
pub(super) struct AlarmQuota {
    account: Arc<Account>,
    address: Address,
    /// Bytes that have come since the alarm was raised.
    bytes: usize,
    /// A message has to wait, with all frames behind it.
    is_stopped: bool,
    pass: Option<Pass>,
}

impl AlarmQuota {
    /// Returns the quota of the connection at this address.
    pub fn new(account: Arc<Account>, address: Address) -> AlarmQuota {
        AlarmQuota { account, address, bytes: 0, is_stopped: false, pass: None }
    }

    /// Takes `size` bytes of a message received while the alarm is raised, if there is room.
    pub fn has_room(&mut self, size: usize) -> bool {
        let Account { alarm, parking, .. } = &*self.account;
        let has_room = parking.take_body(self.bytes, size, alarm.watermark());
        self.bytes += if has_room { size } else { 0 };
        has_room
    }

    /// Takes `size` bytes of a body or a transaction received while the alarm is raised. Returns false if the connection has to
    /// wait.
    pub fn take(&mut self, size: usize) -> bool {
        if self.pass.as_ref().is_some_and(|pass| pass.use_for(size)) {
            return true;
        }
        if self.has_room(size) {
            return true;
        }
        if !self.pass.as_ref().is_some_and(Pass::is_waiting) {
            self.pass = Some(Pass::wait(&self.account, self.address));
        }
        self.is_stopped = true;
        false
    }

    /// Returns true, once, if a message that has waited may go on.
    pub fn take_goes_on(&mut self) -> bool {
        let goes_on = self.is_stopped && self.pass.as_ref().is_some_and(Pass::is_held);
        self.is_stopped &= !goes_on;
        goes_on
    }

    /// All bodies of the connection have come whole, and its transactions are over.
    pub fn end(&mut self) {
        self.pass = None;
    }

    /// The alarm is over.
    pub fn renew(&mut self) {
        (self.bytes, self.is_stopped, self.pass) = (0, false, None);
    }
}
