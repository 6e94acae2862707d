//! `ExchangeStats`: how many messages came to an exchange, and went on from there.

/// The counters of an exchange.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ExchangeStats {
    /// Messages that clients published to the exchange.
    pub publish_in: u64,
    /// The same messages, counted once for each queue that they were routed to. A message that names one queue counts even if the queue is not there.
    pub publish_out: u64,
}
