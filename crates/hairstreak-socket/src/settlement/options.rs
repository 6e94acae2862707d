//! `Settlement`: how much may be unsettled, and who settles.

use std::time::Duration;

/// Limits of settlement; each end has its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settlement {
    /// PUSH: the most messages that may be unsettled, of all receivers together. A send waits when it is reached, unless
    /// what is sent is passed on ([`Push::settle_upstream`](crate::Push::settle_upstream)): that is shared out as of so many.
    pub unsettled_count_max: usize,
    /// PUSH: begin with less, and let more be unsettled only as long as more are settled per second for it.
    pub grows: bool,
    /// PUSH: how often a message may be sent; one that would be sent more often is given up, see
    /// [`Push::take_refusals`](crate::Push::take_refusals). 0: as often as need be.
    pub deliveries_max: u16,
    /// PUSH: how long a message may be unsettled, all its deliveries together, from when it was accepted by a send. Then it
    /// is given up, a sixteenth of that time later at most (a second, if that is less; on a machine that keeps up): never sent
    /// again, and no longer counted as unsettled. Who has it does not know. `None`: as long as need be. What is passed on
    /// ([`Push::pass_on`](crate::Push::pass_on)) has no such time.
    pub deadline: Option<Duration>,
    /// PUSH: messages that were rejected or given up and are kept for the application; of more the oldest are lost,
    /// and counted ([`Unsettled::lost_refusals`](super::Unsettled)). All that is unsettled may be given up at one instant.
    pub refused_count_max: usize,
    /// PUSH: none is lost of an application that takes them: after [`Push::take_refusals`](crate::Push::take_refusals), sends wait
    /// while `refused_count_max` are kept, so that there are at most as many more as may be unsettled. When nobody has taken any for
    /// this time, a send that waits goes on, and the oldest are lost until some are taken. `None`: no send waits.
    pub refusals_patience: Option<Duration>,
    /// PUSH: messages are settled in the order of their tasks: what is sent again does not wait for a receiver that has
    /// settled all that it was sent.
    pub in_order: bool,
    /// PUSH: a message with which so many connections have ended travels alone, so that one that kills its receivers takes
    /// no other with it. 0: none does, for receivers that may hold their answers back until there is more.
    pub alone_deliveries: u16,
    /// PULL: the most messages of one peer that may be here, or on their way, and unsettled. 0: it receives nothing, is none
    /// of its sender's peers, and only reports, see [`Pull::report`](crate::Pull::report).
    pub credit_count: usize,
    /// PUSH: a receiver that does not say how much it wants ahead is given no more than what it does in this time, by what is known
    /// of its pace: 16 messages until something is, and two at least of which it says how long they take. So who comes later finds
    /// something to do. Heeded by who knows what is done: not in order, and not of what is passed on. `None`: as much as its credit.
    pub ahead_time: Option<Duration>,
    /// PULL: the most messages that are not done that it wants from one peer, of its credit, which counts those too that are done
    /// and not settled. Heeded as `ahead_time`. 0: as many as its credit.
    pub ahead_count: usize,
    /// Peers that do not settle are refused, and told so: nothing is sent, or received, without settlement.
    pub is_required: bool,
    /// PULL: it collects what others have done. What this process ended with is then sent to the next one together, and not
    /// one by one, as it is where one of these messages may be what ends whoever works on it.
    pub collects: bool,
    /// PULL: who settles.
    pub settling: Settling,
}

/// Who settles what a PULL receives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Settling {
    /// The next receive accepts what earlier ones returned; for one receiving thread.
    #[default]
    OnNextReceive,
    /// The application, for each message.
    ByHand,
}

impl Default for Settlement {
    fn default() -> Settlement {
        Settlement {
            unsettled_count_max: 10_000,
            grows: false,
            deliveries_max: 0,
            deadline: None,
            refused_count_max: 10_000,
            refusals_patience: None,
            in_order: false,
            alone_deliveries: 2,
            credit_count: 10_000,
            ahead_time: None,
            ahead_count: 0,
            is_required: false,
            collects: false,
            settling: Settling::OnNextReceive,
        }
    }
}
