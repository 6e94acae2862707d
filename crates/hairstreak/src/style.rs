//! `Style`: which queues get a message that is sent to an exchange.

use std::fmt;

use hairstreak_socket::Distribution;

/// Which of the bound queues get a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Style {
    /// One of them, in turn, skipping those without room. With no queue, sending waits.
    #[default]
    LoadBalancing,
    /// Each of them; sending waits until all have room. With no queue, the message is dropped and
    /// counted.
    DataDistribution,
}

impl Style {
    pub(crate) fn distribution(self) -> Distribution {
        match self {
            Style::LoadBalancing => Distribution::RoundRobin,
            Style::DataDistribution => Distribution::All,
        }
    }
}

impl fmt::Display for Style {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Style::LoadBalancing => "load_balancing",
            Style::DataDistribution => "data_distribution",
        })
    }
}
