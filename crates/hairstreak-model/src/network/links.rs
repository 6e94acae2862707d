//! `Links`: the measured costs of a message for both ends of a link, by size.
//!
//! A message on an idle link is written at once and wakes the receiver: it costs a write, a read and both ends of a wake-up.
//! Messages that follow closely are written and read together. Each of them costs far less.
//!
//! ```text
//!   cost of a message
//!     alone   |----- write, wake-up ------|- bytes -|      the link was idle for `gather`
//!     gathered|- bytes -|                                  the link was written less than `gather` ago
//! ```

use std::time::Duration;

use thiserror::Error;

/// The largest number of measured sizes.
pub const SIZES_MAX: usize = 64;

/// The costs of a message of one size, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinkCost {
    /// Bytes of the message.
    pub size: u64,
    /// The sender's time on a core, for a message that travels alone.
    pub send_alone_ns: f64,
    /// The receiver's time on a core, for a message that travels alone.
    pub receive_alone_ns: f64,
    /// The sender's time on a core, for one of many messages.
    pub send_ns: f64,
    /// The receiver's time on a core, for one of many messages.
    pub receive_ns: f64,
    /// The time from the write of a message that travels alone to its arrival at a waiting receiver.
    pub latency_ns: f64,
}

/// Links between two processes of a machine.
#[derive(Clone, Debug, PartialEq)]
pub struct Links {
    costs: Vec<LinkCost>,
    gather: Duration,
    gather_bytes: u64,
}

/// The error of impossible costs.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum LinksError {
    /// No sizes, or too many.
    #[error("{0} sizes; 1 to {SIZES_MAX} are needed")]
    Sizes(usize),
    /// Sizes out of order.
    #[error("size = {0} does not come after the size before")]
    Order(u64),
    /// A time that is negative, not a number, or longer than a second.
    #[error("size = {size}: {key} is no time from 0 to a second")]
    Time {
        /// The size.
        size: u64,
        /// The key of the time.
        key: &'static str,
    },
}

impl Links {
    /// Links with these costs, in ascending order of sizes. [`Links::cost`] interpolates between two sizes, continues the line
    /// of the last two sizes above the largest, and is constant below the smallest.
    ///
    /// After a write a link gathers messages for the time `gather`, or until it holds `gather_bytes` bytes.
    pub fn new(costs: Vec<LinkCost>, gather: Duration, gather_bytes: u64) -> Result<Links, LinksError> {
        if costs.is_empty() || costs.len() > SIZES_MAX {
            return Err(LinksError::Sizes(costs.len()));
        }
        if let Some(pair) = costs.windows(2).find(|pair| pair[0].size >= pair[1].size) {
            return Err(LinksError::Order(pair[1].size));
        }
        for cost in &costs {
            let times = [
                ("send_alone_ns", cost.send_alone_ns),
                ("receive_alone_ns", cost.receive_alone_ns),
                ("send_ns", cost.send_ns),
                ("receive_ns", cost.receive_ns),
                ("latency_ns", cost.latency_ns),
            ];
            if let Some((key, _)) = times.iter().find(|(_, time)| !(0.0..=1e9).contains(time)) {
                return Err(LinksError::Time { size: cost.size, key });
            }
        }
        Ok(Links { costs, gather, gather_bytes })
    }

    /// The measured costs.
    pub fn costs(&self) -> &[LinkCost] {
        &self.costs
    }

    /// The time for which a link gathers messages after a write.
    pub fn gather(&self) -> Duration {
        self.gather
    }

    /// The number of gathered bytes that a link writes before [`Links::gather`] has passed.
    pub fn gather_bytes(&self) -> u64 {
        self.gather_bytes
    }

    /// The cost of a message of `size` bytes.
    ///
    /// ```
    /// use hairstreak_model::{LinkCost, Links};
    /// use std::time::Duration;
    ///
    /// let cost = |size, send_ns| LinkCost {
    ///     size, send_ns, send_alone_ns: 5e3, receive_alone_ns: 4e3, receive_ns: 0.0, latency_ns: 2e4,
    /// };
    /// let links = Links::new(vec![cost(100, 50.0), cost(1100, 150.0)], Duration::from_micros(50), 1 << 16)?;
    /// assert_eq!(links.cost(600).send_ns, 100.0);
    /// assert_eq!(links.cost(2100).send_ns, 250.0);
    /// assert_eq!(links.cost(0).send_ns, 50.0);
    /// # Ok::<(), hairstreak_model::LinksError>(())
    /// ```
    pub fn cost(&self, size: u64) -> LinkCost {
        let after = self.costs.iter().position(|cost| cost.size >= size);
        let (low, high) = match after {
            Some(0) => return LinkCost { size, ..self.costs[0] },
            Some(after) => (after - 1, after),
            None if self.costs.len() == 1 => return LinkCost { size, ..self.costs[0] },
            None => (self.costs.len() - 2, self.costs.len() - 1),
        };
        let (low, high) = (&self.costs[low], &self.costs[high]);
        let share = (size - low.size) as f64 / (high.size - low.size) as f64;
        // A cost that shrinks with the size is noise. Above the last size it would become negative.
        let between = |low: f64, high: f64| (low + share * (high - low)).max(0.0);
        LinkCost {
            size,
            send_alone_ns: between(low.send_alone_ns, high.send_alone_ns),
            receive_alone_ns: between(low.receive_alone_ns, high.receive_alone_ns),
            send_ns: between(low.send_ns, high.send_ns),
            receive_ns: between(low.receive_ns, high.receive_ns),
            latency_ns: between(low.latency_ns, high.latency_ns),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cost(size: u64) -> LinkCost {
        LinkCost {
            size,
            send_alone_ns: 1.0,
            receive_alone_ns: 1.0,
            send_ns: 1.0,
            receive_ns: 1.0,
            latency_ns: 1.0,
        }
    }

    fn refusal(costs: Vec<LinkCost>) -> String {
        Links::new(costs, Duration::ZERO, 1).unwrap_err().to_string()
    }

    #[test]
    fn limits_hold_at_the_bound_and_one_past_it() {
        let sizes = |count: usize| (0..count as u64).map(cost).collect::<Vec<_>>();
        assert!(Links::new(sizes(SIZES_MAX), Duration::ZERO, 1).is_ok());
        assert_eq!(refusal(sizes(SIZES_MAX + 1)), "65 sizes; 1 to 64 are needed");
        assert_eq!(refusal(Vec::new()), "0 sizes; 1 to 64 are needed");
    }

    #[test]
    fn costs_that_cannot_be_are_refused_by_name() {
        assert_eq!(refusal(vec![cost(8), cost(8)]), "size = 8 does not come after the size before");
        for wrong in [-1.0, f64::NAN, 1e9 + 1.0] {
            let costs = vec![LinkCost { receive_ns: wrong, ..cost(8) }];
            assert_eq!(refusal(costs), "size = 8: receive_ns is no time from 0 to a second");
        }
    }
}
