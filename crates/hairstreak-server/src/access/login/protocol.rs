//! `Protocol`: what a client that logs in speaks.

/// The protocol of a client that logs in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// AMQP 0-9-1.
    Amqp,
    /// The management HTTP API, and metrics.
    Http,
    /// ZMTP: services and the directory.
    Zmtp,
}

impl Protocol {
    /// All protocols.
    pub const ALL: [Protocol; 3] = [Protocol::Amqp, Protocol::Http, Protocol::Zmtp];

    /// The name of the protocol in metrics, RabbitMQ's where it has one.
    pub fn name(self) -> &'static str {
        match self {
            Protocol::Amqp => "amqp091",
            Protocol::Http => "http",
            Protocol::Zmtp => "zmtp",
        }
    }
}
