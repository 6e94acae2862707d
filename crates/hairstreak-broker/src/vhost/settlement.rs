//! `Settlement`: the outcome of deliveries, as their consumers say.

/// How deliveries are settled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Settlement {
    /// The consumer has dealt with them.
    Ack,
    /// The consumer has not: they return to their places, or are dead-lettered.
    Reject {
        /// They return.
        requeue: bool,
    },
}
