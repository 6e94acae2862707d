//! `Refusal`: why a virtual host refuses an operation.

use std::fmt;

use hairstreak_wire::amqp::ReplyCode;

/// Why an operation is refused: the reply code, whose scope says what is closed, and RabbitMQ's text behind the name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The reply code.
    pub code: ReplyCode,
    /// The text, without the code's name.
    pub text: String,
}

impl Refusal {
    /// A refusal.
    pub fn new(code: ReplyCode, text: impl Into<String>) -> Refusal {
        Refusal { code, text: text.into() }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} - {}", self.code.name(), self.text)
    }
}

impl std::error::Error for Refusal {}
