//! `Message` and `MessageView`: a published message, and a message to deliver. Both borrow all bytes.

use hairstreak_base::Bytes;
use hairstreak_wire::amqp::{Properties, ReplyCode};

use crate::refusal::Refusal;

/// The longest expiration and time to live, in milliseconds: RabbitMQ's ten years.
pub const EXPIRY_MS_MAX: u64 = 315_360_000_000;

/// The body of a message.
#[derive(Clone, Copy)]
pub enum BodyView<'a> {
    /// A body that is copied when it is stored.
    Copied(&'a [u8]),
    /// A large body. It is stored as another reference.
    Shared(&'a Bytes),
}

impl<'a> BodyView<'a> {
    /// The bytes.
    #[inline]
    pub fn as_bytes(&self) -> &'a [u8] {
        match self {
            BodyView::Copied(bytes) => bytes,
            BodyView::Shared(bytes) => bytes.as_bytes(),
        }
    }
}

/// A message that is published.
#[derive(Clone, Copy)]
pub struct Message<'a> {
    /// The exchange that it was published to.
    pub exchange: &'a [u8],
    /// The routing key that it was published with.
    pub routing_key: &'a [u8],
    /// The encoded properties, without a BCC header.
    pub properties: &'a [u8],
    /// The properties that the broker needs.
    pub attributes: Attributes,
    /// The body.
    pub body: BodyView<'a>,
}

impl<'a> Message<'a> {
    /// The message as a consumer sees it.
    #[inline]
    pub fn view(&self) -> MessageView<'a> {
        MessageView {
            exchange: self.exchange,
            routing_key: self.routing_key,
            properties: self.properties,
            body: self.body,
        }
    }
}

/// A message as a consumer sees it.
#[derive(Clone, Copy)]
pub struct MessageView<'a> {
    /// The exchange that the message was published to.
    pub exchange: &'a [u8],
    /// The routing key that the message was published with.
    pub routing_key: &'a [u8],
    /// The encoded properties.
    pub properties: &'a [u8],
    /// The body.
    pub body: BodyView<'a>,
}

/// The properties of a message that a queue needs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Attributes {
    /// Delivery mode 2.
    pub is_persistent: bool,
    /// The priority; a message without one has 0.
    pub priority: u8,
    /// After how long the message expires, in milliseconds.
    pub expiration_ms: Option<u64>,
}

impl Attributes {
    /// Reads the attributes.
    ///
    /// # Errors
    ///
    /// The delivery mode means nothing, or the expiration is no decimal number of milliseconds, or too large:
    /// `PRECONDITION_FAILED`.
    pub fn of(properties: &Properties<'_>) -> Result<Attributes, Refusal> {
        if let Some(mode) = properties.delivery_mode.filter(|mode| !(1..=2).contains(mode)) {
            let text = format!("invalid message: {{delivery_mode_unknown,{mode}}}");
            return Err(Refusal::new(ReplyCode::PreconditionFailed, text));
        }
        Ok(Attributes {
            is_persistent: properties.delivery_mode == Some(2),
            priority: properties.priority.unwrap_or(0),
            expiration_ms: properties.expiration.map(parse_expiration).transpose()?,
        })
    }
}

/// Parses an expiration as RabbitMQ does: an integer with an optional sign, and nothing behind it.
fn parse_expiration(text: &[u8]) -> Result<u64, Refusal> {
    let refuse = |reason: String| {
        let text = format!("invalid expiration '{}': {reason}", text.escape_ascii());
        Err(Refusal::new(ReplyCode::PreconditionFailed, text))
    };
    let (is_negative, digits) = match text {
        [b'-', digits @ ..] => (true, digits),
        [b'+', digits @ ..] => (false, digits),
        digits => (false, digits),
    };
    let count = digits.iter().take_while(|digit| digit.is_ascii_digit()).count();
    let (digits, rest) = digits.split_at(count);
    if digits.is_empty() {
        return refuse("no_integer".to_owned());
    }
    if !rest.is_empty() {
        return refuse(format!("{{leftover_string,\"{}\"}}", rest.escape_ascii()));
    }
    let value = digits
        .iter()
        .fold(0_u128, |value, digit| value.saturating_mul(10).saturating_add(u128::from(digit - b'0')));
    match u64::try_from(value) {
        _ if is_negative && value > 0 => refuse(format!("{{value_negative,-{value}}}")),
        Ok(ms) if ms <= EXPIRY_MS_MAX => Ok(ms),
        _ => refuse(format!("{{value_too_large,{value}}}")),
    }
}
