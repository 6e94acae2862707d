//! The end of a session: by the peer, or by us once the peer has everything.
//!
//! Where this side ends it, messages that have come whole may still lie in the read buffer. They have come as those
//! that were read ahead have: both are received, or dropped and counted, alike.

use std::time::Instant;

use hairstreak_base::Message;
use hairstreak_transport::Drained;

use super::zmtp::{Phase, Session};

impl Session {
    /// Whether the connection is gone.
    pub fn is_ended(&self) -> bool {
        self.ended
    }

    /// Decodes what lies whole in the read buffer, beyond the limits of what is read ahead: by one read at most.
    pub fn take_rest(&mut self) {
        let is_wanted = self.limits.receives && !self.limits.subscriptions && !self.settles_received();
        if !is_wanted || self.phase != Phase::Ready || self.ended {
            return;
        }
        // What is bad in it is nobody's concern any more.
        while let Ok(Some(message)) = self.decode() {
            self.ahead.push_back((message, 0, self.decoded_position()));
        }
        self.keep_step();
    }

    /// Messages that were decoded and not taken. A notice is none, nor is what the sender gives to another.
    pub fn unreceived_count(&self) -> usize {
        if self.settles_received() {
            return 0;
        }
        let is_message = |message: &Message| !self.limits.is_plain || message.size() > 0;
        self.ahead.iter().filter(|(message, ..)| is_message(message)).count()
    }

    /// The connection is gone, and its counters begin anew. Returns whether messages are left to be taken.
    pub fn end(&mut self) -> bool {
        if self.limits.is_plain && self.phase == Phase::Ready && !self.ended {
            self.push_notice();
        }
        self.ended = true;
        if self.receiving().is_some() {
            // The sender gives to another what has not been begun here.
            self.ahead.clear();
        }
        self.read_bytes_before += self.connection.take_read_bytes();
        self.forget_arriving();
        self.connection.end();
        !self.ahead.is_empty()
    }

    /// Whether the connection is gone and all its messages have been taken.
    pub fn is_over(&self) -> bool {
        self.ended && self.ahead.is_empty()
    }

    /// Nothing more will be sent: the peer may see the end once it has read the rest. Returns how many messages had
    /// come and go with the connection.
    pub fn start_draining(&mut self, deadline: Instant) -> usize {
        self.take_rest();
        let count = self.unreceived_count();
        self.phase = Phase::Draining;
        self.connection.leave_event();
        self.connection.deadline = deadline;
        self.forget_arriving();
        self.ahead.clear();
        count
    }

    /// The message that has not come whole never will.
    fn forget_arriving(&mut self) {
        self.partial = Vec::new();
        self.body = None;
        self.arriving.finish();
    }

    /// Goes on draining. Returns whether the peer has everything, or will not take it. What the kernel
    /// took is not enough: a peer that is behind and writes to a closed connection loses what it has
    /// not read. The peer has everything when it closes its side after ours.
    pub fn drain(&mut self) -> bool {
        if self.ended || self.flush().is_err() {
            return true;
        }
        if self.awaits_settlement() {
            // The peer still has to say what became of messages.
            if self.read_ahead(0).is_err() {
                return true;
            }
            if self.awaits_settlement() {
                return false;
            }
        }
        match self.connection.drain() {
            Drained::Over => true,
            Drained::Written => !self.has_sent,
            Drained::Waits => false,
        }
    }
}
