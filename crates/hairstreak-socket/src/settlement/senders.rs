//! `Senders`: the links of a settled PULL that owe a settlement, so that a sender at rest costs nothing.
//!
//! ```text
//!            may have a message           none left, all settled, sender told
//!   [at rest] ----------------> [owing] -----------------------------------> [at rest]
//! ```

use super::Settling;

#[derive(Debug)]
pub(crate) struct Senders {
    pub settling: Settling,
    /// Senders are told what is settled when it is much, and by the watch tick: they hear of it on another way.
    pub is_lazy: bool,
    /// The links that owe a settlement.
    pub owing: Vec<usize>,
    /// A link on which messages could still come when it was last looked: as long as they can, no other link need be looked at.
    pub going_on: Option<usize>,
}

impl Senders {
    pub fn new(settling: Settling) -> Senders {
        Senders { settling, is_lazy: false, owing: Vec::new(), going_on: None }
    }

    /// The link has left the socket.
    pub fn forget(&mut self, index: usize, owed: &mut Owed) {
        if std::mem::take(&mut owed.is_listed) {
            self.owing.retain(|&other| other != index);
        }
        self.going_on.take_if(|other| *other == index);
    }

    /// Whether the next receive settles what earlier ones returned.
    pub fn settle_on_next_receive(&self) -> bool {
        self.settling == Settling::OnNextReceive
    }
}

/// What the link to a sender owes.
#[derive(Debug, Default)]
pub(crate) struct Owed {
    /// Listed in its socket's [`Senders::owing`].
    pub is_listed: bool,
    /// How many messages had been handed over before the last batch call, and with it.
    pub before_batch: u64,
    pub with_batch: u64,
}
