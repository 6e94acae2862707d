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
    /// Senders are told of settlements when there are many, and by the watch tick. They hear of single settlements on another way.
    pub is_lazy: bool,
    /// The links that owe a settlement.
    pub owing: Vec<usize>,
    /// A link on which messages could still come at the last look. While they can, no other link need be looked at.
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

/// The debt of a link to its sender.
#[derive(Debug, Default)]
pub(crate) struct Owed {
    /// Listed in its socket's [`Senders::owing`].
    pub is_listed: bool,
    /// The messages that had been handed over before the last batch call, and after that call.
    pub before_batch: u64,
    pub with_batch: u64,
}
