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
}

impl Senders {
    pub fn new(settling: Settling) -> Senders {
        Senders { settling, is_lazy: false, owing: Vec::new() }
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
