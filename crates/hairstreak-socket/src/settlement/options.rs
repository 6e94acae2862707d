//! `Settlement`: how much may be unsettled, and who settles.

/// Limits of settlement; each end has its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settlement {
    /// PUSH: the most messages that may be unsettled, of all receivers together. A send waits when it is reached.
    pub unsettled_count_max: usize,
    /// PUSH: begin with less, and let more be unsettled only as long as more are settled per second for it.
    pub grows: bool,
    /// PUSH: how often a message may be sent; one that would be sent more often is given up, see
    /// [`Push::take_refusals`](crate::Push::take_refusals). 0: as often as need be.
    pub deliveries_max: u16,
    /// PUSH: messages that were rejected or given up and are kept for the application; of more the oldest are lost,
    /// and counted.
    pub refused_count_max: usize,
    /// PUSH: messages are settled in the order of their tasks: what is sent again does not wait for a receiver that has
    /// settled all that it was sent.
    pub in_order: bool,
    /// PULL: the most messages of one peer that may be here, or on their way, and unsettled. 0: it receives nothing, is none
    /// of its sender's peers, and only reports, see [`Pull::report`](crate::Pull::report).
    pub credit_count: usize,
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
            refused_count_max: 1000,
            in_order: false,
            credit_count: 10_000,
            settling: Settling::OnNextReceive,
        }
    }
}
