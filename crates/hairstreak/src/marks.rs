//! `Marks`: high- and low-water marks as a builder collects them, and the socket options they make.

use hairstreak_socket::Options;

/// What was asked for; the rest is the socket's default.
#[derive(Clone, Debug, Default)]
pub(crate) struct Marks {
    pub high_count: Option<usize>,
    pub high_bytes: Option<usize>,
    pub low_count: Option<usize>,
    pub low_bytes: Option<usize>,
}

impl Marks {
    /// Of an exchange: messages accepted and not yet written. A low mark that was not asked for is
    /// half of the high one.
    pub(crate) fn sending(&self) -> Options {
        let default = Options::default();
        Options {
            send_count_max: self.high_count.unwrap_or(default.send_count_max),
            send_bytes_max: self.high_bytes.unwrap_or(default.send_bytes_max),
            send_count_low: self.low_count,
            send_bytes_low: self.low_bytes,
            ..default
        }
    }

    /// Of a queue: messages read and not yet received.
    pub(crate) fn receiving(&self) -> Options {
        let mut options = Options::default();
        options.receive_count_max = self.high_count.unwrap_or(options.receive_count_max);
        options.receive_bytes_max = self.high_bytes.unwrap_or(options.receive_bytes_max);
        options
    }
}
