//! `Event`: a method or a whole message from the broker.

use hairstreak_wire::amqp::{DecodeError, Method, ReplyCode};

/// A message as it came.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Content {
    /// The exchange that the message was published to.
    pub exchange: Vec<u8>,
    /// The routing key.
    pub routing_key: Vec<u8>,
    /// The properties as the content header encodes them.
    pub properties: Vec<u8>,
    /// The body.
    pub body: Vec<u8>,
}

/// An event from the broker.
#[derive(Debug, PartialEq, Eq)]
pub enum Event {
    /// A message for the consumer (basic.deliver).
    Delivery {
        /// The number for the acknowledgement.
        delivery_tag: u64,
        /// True if the message may have been delivered before.
        is_redelivered: bool,
        /// The message.
        content: Content,
    },
    /// A mandatory message that no queue took (basic.return).
    Returned {
        /// The reason in the words of the broker.
        reply_text: String,
        /// The message.
        content: Content,
    },
    /// A positive confirm (basic.ack).
    Ack {
        /// The number of the publish.
        delivery_tag: u64,
        /// True if all earlier publishes are confirmed, too.
        multiple: bool,
    },
    /// A negative confirm (basic.nack).
    Nack {
        /// The number of the publish.
        delivery_tag: u64,
        /// True if all earlier publishes are refused, too.
        multiple: bool,
    },
    /// The broker has ended the consumer.
    Cancelled,
    /// The broker reads nothing more, for this reason.
    Blocked(String),
    /// The broker reads again.
    Unblocked,
    /// An answer, or a question of the login.
    Reply(Reply),
    /// The broker closed the channel, for this reason.
    ChannelClosed(String),
    /// The broker closed the connection, for this reason.
    ConnectionClosed(String),
}

/// The payload of a method frame.
#[derive(Debug, PartialEq, Eq)]
pub struct Reply(pub Vec<u8>);

impl Reply {
    /// Decodes the method.
    ///
    /// # Errors
    ///
    /// The payload is malformed.
    pub fn method(&self) -> Result<Method<'_>, DecodeError> {
        Method::decode(&self.0)
    }
}

/// Returns bytes from the broker as text.
pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Returns the reason of a close or a return, with the name of the code in front.
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
