//! `Record`: the bytes of one stored message. The disk store writes the same bytes.
//!
//! ```text
//!  0       4       8       9          10      11         12                16          20
//!  +-------+-------+-------+----------+-------+----------+-----------------+-----------+----------+-----+------------+------+
//!  | size  | slot  | flags | exchange | key   | priority | properties size | body size | exchange | key | properties | body |
//!  |       |       |       | size     | size  |          |                 |           |          |     |            |      |
//!  +-------+-------+-------+----------+-------+----------+-----------------+-----------+----------+-----+------------+------+
//! ```
//!
//! All numbers are little-endian. `size` is the size of the whole record. `slot` is the message's place in the table of
//! slots. A record whose flags say [`IS_SHARED`] has the number of a shared body (4 bytes) where the body would be.

use hairstreak_base::{AppendBuffer, Bytes};

use super::slots::MessageId;
use super::views::{BodyView, Message, MessageView};

pub(super) const HEADER_SIZE: usize = 20;
/// Delivery mode 2.
const IS_PERSISTENT: u8 = 1;
/// The body lies elsewhere.
const IS_SHARED: u8 = 2;
/// A body of at least this size that has memory of its own stays there.
const REFERENCE_MIN: usize = 512 * 1024;
/// The size of the number of a shared body.
const SHARED_SIZE: usize = 4;

/// The sizes of a record's parts, and where the parts begin.
#[derive(Clone, Copy)]
pub(super) struct Record<'a> {
    /// The segment from the record on.
    bytes: &'a [u8],
}

impl<'a> Record<'a> {
    /// The record at the start of these bytes.
    pub(super) fn at(bytes: &'a [u8]) -> Record<'a> {
        Record { bytes }
    }

    fn number(&self, at: usize) -> u32 {
        match self.bytes[at..at + 4] {
            [a, b, c, d] => u32::from_le_bytes([a, b, c, d]),
            _ => 0,
        }
    }

    pub(super) fn size(&self) -> usize {
        self.number(0) as usize
    }

    pub(super) fn id(&self) -> MessageId {
        MessageId(self.number(4))
    }

    pub(super) fn body_size(&self) -> u32 {
        self.number(16)
    }

    pub(super) fn is_persistent(&self) -> bool {
        self.bytes[8] & IS_PERSISTENT != 0
    }

    pub(super) fn priority(&self) -> u8 {
        self.bytes[11]
    }

    /// The number of the shared body, if the body is one.
    pub(super) fn shared_body(&self) -> Option<u32> {
        (self.bytes[8] & IS_SHARED != 0).then(|| self.number(self.size() - SHARED_SIZE))
    }

    /// The message; a shared body is empty here.
    #[inline]
    pub(super) fn view(&self) -> MessageView<'a> {
        let header = &self.bytes[..HEADER_SIZE];
        let (flags, exchange_size, key_size) = (header[8], header[9] as usize, header[10] as usize);
        let (exchange, rest) = self.bytes[HEADER_SIZE..].split_at(exchange_size);
        let (routing_key, rest) = rest.split_at(key_size);
        let (properties, rest) = rest.split_at(self.number(12) as usize);
        let body = if flags & IS_SHARED == 0 { &rest[..self.body_size() as usize] } else { &[] };
        MessageView { exchange, routing_key, properties, body: BodyView::Copied(body) }
    }
}

/// Returns the body, if it stays by reference. A smaller one is copied, even if it has memory of its own. On the huge pages of a
/// segment the copy costs less than page faults: the next body reuses that memory.
#[inline]
pub(super) fn kept_by_reference<'a>(message: &Message<'a>) -> Option<&'a Bytes> {
    match message.body {
        BodyView::Shared(body) if body.size() >= REFERENCE_MIN => Some(body),
        _ => None,
    }
}

/// The size of a message's record.
#[inline]
pub(super) fn record_size(message: &Message<'_>) -> usize {
    let body_size = kept_by_reference(message).map_or(message.body.as_bytes().len(), |_| SHARED_SIZE);
    HEADER_SIZE + message.exchange.len() + message.routing_key.len() + message.properties.len() + body_size
}

/// Appends a message's record. `shared_body` is the number of a shared body.
#[inline]
pub(super) fn append_record(
    segment: &mut AppendBuffer,
    message: &Message<'_>,
    size: usize,
    id: MessageId,
    shared_body: u32,
) {
    let mut header = [0; HEADER_SIZE];
    let is_shared = kept_by_reference(message).is_some();
    header[..4].copy_from_slice(&(size as u32).to_le_bytes());
    header[4..8].copy_from_slice(&id.0.to_le_bytes());
    header[8] = u8::from(message.attributes.is_persistent) * IS_PERSISTENT + u8::from(is_shared) * IS_SHARED;
    header[9] = message.exchange.len() as u8;
    header[10] = message.routing_key.len() as u8;
    header[11] = message.attributes.priority;
    header[12..16].copy_from_slice(&(message.properties.len() as u32).to_le_bytes());
    header[16..20].copy_from_slice(&(message.body.as_bytes().len() as u32).to_le_bytes());
    segment.append(&header);
    segment.append(message.exchange);
    segment.append(message.routing_key);
    segment.append(message.properties);
    if is_shared {
        segment.append(&shared_body.to_le_bytes());
    } else {
        segment.append(message.body.as_bytes());
    }
}
