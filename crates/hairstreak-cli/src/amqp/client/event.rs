//! `Event`: what a broker sends, whole.

use hairstreak_wire::amqp::{DecodeError, Method, ReplyCode};

/// A message as it came.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Content {
    pub exchange: Vec<u8>,
    pub routing_key: Vec<u8>,
    /// Encoded.
    pub properties: Vec<u8>,
    pub body: Vec<u8>,
}

/// An event from the broker.
#[derive(Debug, PartialEq, Eq)]
pub enum Event {
    Delivery {
        delivery_tag: u64,
        is_redelivered: bool,
        content: Content,
    },
    /// No queue gets it.
    Returned {
        reply_text: String,
        content: Content,
    },
    Ack {
        delivery_tag: u64,
        multiple: bool,
    },
    Nack {
        delivery_tag: u64,
        multiple: bool,
    },
    /// The broker has ended the consumer.
    Cancelled,
    /// The broker reads nothing more, for this reason.
    Blocked(String),
    Unblocked,
    /// An answer, or a question of the login.
    Reply(Reply),
    ChannelClosed(String),
    ConnectionClosed(String),
}

/// The payload of a method frame.
#[derive(Debug, PartialEq, Eq)]
pub struct Reply(pub Vec<u8>);

impl Reply {
    pub fn method(&self) -> Result<Method<'_>, DecodeError> {
        Method::decode(&self.0)
    }
}

/// A text of the broker's.
pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Why something was closed or came back, with the name of the code if the broker's text does not begin with it.
pub fn reason(code: u16, reply_text: &[u8]) -> String {
    let said = text(reply_text);
    match ReplyCode::from_number(code) {
        Some(code) if said.starts_with(code.name()) => said,
        Some(code) if said.is_empty() => code.name().to_owned(),
        Some(code) => format!("{} - {said}", code.name()),
        None => format!("{code} - {said}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_begins_with_the_name_of_its_code_once() {
        assert_eq!(reason(404, b"NOT_FOUND - no queue 'q'"), "NOT_FOUND - no queue 'q'");
        assert_eq!(reason(312, b"NO_ROUTE"), "NO_ROUTE");
        assert_eq!(reason(404, b"no queue"), "NOT_FOUND - no queue");
        assert_eq!(reason(530, b""), "NOT_ALLOWED");
        assert_eq!(reason(7, b"seven"), "7 - seven");
    }
}
