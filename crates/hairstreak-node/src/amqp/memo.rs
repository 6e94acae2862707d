//! `Memo`: the last message that a channel published, so that the next one like it costs two comparisons.
//!
//! A publisher sends the same exchange, routing key and properties again and again. The frames of basic.publish and of the
//! content header are then the same, except for the size of the body. The route, the permission and the attributes that follow
//! from them are known.
//!
//! ```text
//!   basic.publish   | the same bytes                                                     |
//!   content header  | 2 | channel | size | 60 | 0 |  body size: 8  | the same properties | CE |
//!   body            | 3 | channel | body size     | body                                 | CE |
//! ```

use hairstreak_broker::message::Attributes;
use hairstreak_broker::vhost::Route;
use hairstreak_wire::amqp::{FRAME_END, FRAME_HEADER_SIZE, FRAME_OVERHEAD};

use super::publish::{EXCHANGE_AT, PublishFields};

/// Class and weight in front of a body's size.
const CLASS_SIZE: usize = 4;
const BODY_SIZE_SIZE: usize = 8;
const CONTENT_HEADER: u8 = 2;
const BODY: u8 = 3;

/// A channel's memory of its last message; empty at first.
#[derive(Default)]
pub(super) struct Memo {
    /// The frame of basic.publish and the content header's frame up to the size of the body; empty if there is no memo.
    head: Vec<u8>,
    /// The encoded properties and the end of the frame.
    properties: Vec<u8>,
    exchange_size: usize,
    routing_key_size: usize,
    pub is_mandatory: bool,
    pub attributes: Attributes,
    pub route: Route,
    /// The generation of users and permissions in which the message was allowed.
    pub rights_generation: u64,
}

/// A message with the same frames as the memo.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Same<'a> {
    pub body: &'a [u8],
    /// Bytes of all its frames.
    pub size: usize,
}

impl Memo {
    /// Returns true if no message is remembered.
    pub fn is_empty(&self) -> bool {
        self.head.is_empty()
    }

    /// Returns the message at the start of `bytes`, if it is whole and like the last one. The memo is not empty. Bodies larger
    /// than `body_size_max` take another path.
    #[inline]
    pub fn same<'a>(&self, bytes: &'a [u8], body_size_max: usize) -> Option<Same<'a>> {
        debug_assert!(!self.is_empty());
        let rest = bytes.strip_prefix(&self.head[..])?;
        let (body_size, rest) = rest.split_first_chunk::<BODY_SIZE_SIZE>()?;
        let rest = rest.strip_prefix(&self.properties[..])?;
        let body_size = u64::from_be_bytes(*body_size);
        let header_end = bytes.len() - rest.len();
        if body_size == 0 {
            return Some(Same { body: &[], size: header_end });
        }
        if body_size > body_size_max as u64 {
            return None;
        }
        let body_size = body_size as usize;
        let (head, rest) = rest.split_first_chunk::<FRAME_HEADER_SIZE>()?;
        let [kind, c0, c1, s0, s1, s2, s3] = *head;
        let is_whole = kind == BODY
            && [c0, c1] == [self.head[1], self.head[2]]
            && u32::from_be_bytes([s0, s1, s2, s3]) as usize == body_size
            && *rest.get(body_size)? == FRAME_END;
        is_whole.then(|| Same { body: &rest[..body_size], size: header_end + FRAME_OVERHEAD + body_size })
    }

    pub fn exchange(&self) -> &[u8] {
        &self.head[EXCHANGE_AT + 1..][..self.exchange_size]
    }

    pub fn routing_key(&self) -> &[u8] {
        &self.head[EXCHANGE_AT + 2 + self.exchange_size..][..self.routing_key_size]
    }

    pub fn properties(&self) -> &[u8] {
        self.properties.split_last().map_or(&[], |(_, properties)| properties)
    }

    /// Returns true if the memo has a message with these encoded properties. Then its attributes hold.
    pub fn has_properties(&self, properties: &[u8]) -> bool {
        !self.is_empty() && self.properties() == properties
    }

    /// Remembers a message by its two frames, whose content header has `properties`. Its route is in `route` already.
    pub fn remember(
        &mut self,
        publish_frame: &[u8],
        fields: &PublishFields<'_>,
        header_frame: &[u8],
        properties: &[u8],
        attributes: Attributes,
    ) {
        refill(&mut self.head, publish_frame);
        self.head.extend_from_slice(&header_frame[..FRAME_HEADER_SIZE + CLASS_SIZE]);
        refill(&mut self.properties, properties);
        self.properties.push(FRAME_END);
        debug_assert_eq!(header_frame[0], CONTENT_HEADER);
        (self.exchange_size, self.routing_key_size) = (fields.exchange.len(), fields.routing_key.len());
        self.is_mandatory = fields.is_mandatory;
        self.attributes = attributes;
    }

    /// Forgets the message: the next one is examined anew.
    pub fn forget(&mut self) {
        self.head.clear();
    }
}

fn refill(into: &mut Vec<u8>, bytes: &[u8]) {
    into.clear();
    into.extend_from_slice(bytes);
}
