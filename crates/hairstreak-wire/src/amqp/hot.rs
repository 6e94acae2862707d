//! The methods that are sent for every message, encoded directly into whole frames: basic.ack and basic.deliver.
//!
//! ```text
//! basic.ack      header (7) | 0 60 0 80 | delivery tag (8) | bits (1) | 0xCE
//! basic.deliver  header (7) | 0 60 0 60 | consumer tag | delivery tag (8) | redelivered (1) | exchange | routing key | 0xCE
//! ```

use super::cursor::fitting;
use super::frame::{FRAME_END, FRAME_HEADER_SIZE, FRAME_OVERHEAD, FrameKind, encode_frame_header};
use super::method::basic::{Ack, Deliver};

/// The size of the frame of a basic.ack, in bytes.
pub const ACK_FRAME_SIZE: usize = FRAME_OVERHEAD + ACK_PAYLOAD_SIZE;

const ACK_PAYLOAD_SIZE: usize = IDS_SIZE + 8 + 1;

/// The size of class id and method id.
const IDS_SIZE: usize = 4;

/// What goes before the strings of a delivery: the header of the frame, the ids.
const HEAD_SIZE: usize = FRAME_HEADER_SIZE + IDS_SIZE;

/// What a delivery has behind its consumer tag: delivery tag and redelivered.
const DELIVERY_SIZE: usize = 8 + 1;

#[inline(always)]
fn head((class, method): (u16, u16), channel: u16, payload_size: usize) -> [u8; HEAD_SIZE] {
    let mut head = [0; HEAD_SIZE];
    let (header, ids) = head.split_at_mut(FRAME_HEADER_SIZE);
    header.copy_from_slice(&encode_frame_header(FrameKind::Method, channel, payload_size as u32));
    ids[..2].copy_from_slice(&class.to_be_bytes());
    ids[2..].copy_from_slice(&method.to_be_bytes());
    head
}

#[inline(always)]
fn delivery(delivery_tag: u64, redelivered: bool) -> [u8; DELIVERY_SIZE] {
    let mut bytes = [redelivered.into(); DELIVERY_SIZE];
    bytes[..8].copy_from_slice(&delivery_tag.to_be_bytes());
    bytes
}

/// The whole frame of a basic.ack.
#[inline]
pub fn ack_frame(channel: u16, delivery_tag: u64, multiple: bool) -> [u8; ACK_FRAME_SIZE] {
    let mut frame = [FRAME_END; ACK_FRAME_SIZE];
    frame[..HEAD_SIZE].copy_from_slice(&head(Ack::ID, channel, ACK_PAYLOAD_SIZE));
    frame[HEAD_SIZE..ACK_FRAME_SIZE - 1].copy_from_slice(&delivery(delivery_tag, multiple));
    frame
}

/// Appends the frame of a basic.ack.
#[inline]
pub fn encode_ack(channel: u16, delivery_tag: u64, multiple: bool, out: &mut Vec<u8>) {
    out.extend_from_slice(&ack_frame(channel, delivery_tag, multiple));
}

/// Appends the frame of a basic.deliver.
#[inline]
pub fn encode_deliver(deliver: &Deliver<'_>, channel: u16, out: &mut Vec<u8>) {
    let &Deliver { consumer_tag, delivery_tag, redelivered, exchange, routing_key } = deliver;
    let [consumer_tag, exchange, routing_key] = [consumer_tag, exchange, routing_key].map(fitting);
    let strings_size = consumer_tag.len() + exchange.len() + routing_key.len() + 3;
    let payload_size = IDS_SIZE + DELIVERY_SIZE + strings_size;
    out.reserve(payload_size + FRAME_OVERHEAD);
    let mut front = [consumer_tag.len() as u8; HEAD_SIZE + 1];
    front[..HEAD_SIZE].copy_from_slice(&head(Deliver::ID, channel, payload_size));
    out.extend_from_slice(&front);
    out.extend_from_slice(consumer_tag);
    let mut middle = [exchange.len() as u8; DELIVERY_SIZE + 1];
    middle[..DELIVERY_SIZE].copy_from_slice(&delivery(delivery_tag, redelivered));
    out.extend_from_slice(&middle);
    out.extend_from_slice(exchange);
    out.push(routing_key.len() as u8);
    out.extend_from_slice(routing_key);
    out.push(FRAME_END);
}

/// The frame of a basic.deliver, of which only delivery tag and redelivered change from one message to the next: the
/// consumer, the exchange and the routing key stay the same.
#[derive(Clone, Debug)]
pub struct DeliverTemplate {
    frame: Vec<u8>,
    /// Where the delivery tag is.
    delivery_at: usize,
    /// Where the sizes of the exchange and of the routing key are.
    exchange_at: usize,
    routing_key_at: usize,
}

impl DeliverTemplate {
    /// A template for a consumer on `channel`, and for messages of that exchange and routing key.
    pub fn new(channel: u16, consumer_tag: &[u8], exchange: &[u8], routing_key: &[u8]) -> DeliverTemplate {
        let deliver = Deliver { consumer_tag, exchange, routing_key, ..Deliver::default() };
        let mut frame = Vec::new();
        encode_deliver(&deliver, channel, &mut frame);
        let delivery_at = HEAD_SIZE + 1 + fitting(consumer_tag).len();
        let exchange_at = delivery_at + DELIVERY_SIZE;
        let routing_key_at = exchange_at + 1 + fitting(exchange).len();
        DeliverTemplate { frame, delivery_at, exchange_at, routing_key_at }
    }

    /// Whether the template is for messages of that exchange and routing key.
    #[inline]
    pub fn is_for(&self, exchange: &[u8], routing_key: &[u8]) -> bool {
        self.frame[self.routing_key_at + 1..self.frame.len() - 1] == *routing_key
            && self.frame[self.exchange_at + 1..self.routing_key_at] == *exchange
    }

    /// Appends the frame of a delivery.
    #[inline]
    pub fn encode(&self, delivery_tag: u64, redelivered: bool, out: &mut Vec<u8>) {
        let at = out.len() + self.delivery_at;
        out.extend_from_slice(&self.frame);
        out[at..at + DELIVERY_SIZE].copy_from_slice(&delivery(delivery_tag, redelivered));
    }
}
