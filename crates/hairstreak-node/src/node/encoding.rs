//! The frames that a broker sends for each message, encoded straight into a connection's output.
//!
//! ```text
//!   basic.deliver:  | 1 | channel | size | 60 60 | consumer tag | delivery tag: 8 | redelivered: 1 | exchange | routing key | CE |
//!   content header: | 2 | channel | size | 60 | 0 | body size: 8 | flags and properties, as they were published            | CE |
//!   body:           | 3 | channel | size | up to frame_max - 8 bytes                                                      | CE |
//! ```
//!
//! Short strings have their length in front. Properties stay encoded as the publisher sent them, and are never decoded or encoded
//! again.

use hairstreak_base::{Bytes, OutgoingBuffer};
use hairstreak_broker::message::{BodyView, MessageView};
use hairstreak_broker::vhost::Recipient;
use hairstreak_wire::amqp::{FRAME_END, FRAME_OVERHEAD, Method, basic};

/// Bytes of a content header's payload before the properties.
const CONTENT_HEADER_SIZE: usize = 12;
/// The class basic: its low byte, as the methods' below.
const BASIC: u8 = 60;
/// basic.deliver, basic.get-ok and basic.return.
const DELIVER: u8 = 60;
const GET_OK: u8 = 71;
const RETURN: u8 = 50;
/// A longer body is copied in pieces of this size.
const COPIED_PIECE_SIZE: usize = 32 * 1024;
const METHOD_FRAME: u8 = 1;
const HEADER_FRAME: u8 = 2;
const BODY_FRAME: u8 = 3;

/// Puts one delivery into `output`.
#[inline]
pub fn push_delivery(
    output: &mut OutgoingBuffer,
    to: &Recipient,
    delivery_tag: u64,
    is_redelivered: bool,
    message: &MessageView<'_>,
    frame_body_max: usize,
) {
    let channel = to.channel_number;
    let method_size = 4 + 1 + to.consumer_tag.len() + 9 + names_size(message);
    push_content(output, channel, (DELIVER, method_size), message, frame_body_max, |out| {
        push_short_string(out, &to.consumer_tag);
        let [t0, t1, t2, t3, t4, t5, t6, t7] = delivery_tag.to_be_bytes();
        let redelivered = u8::from(is_redelivered);
        debug_assert!(message.exchange.len() <= usize::from(u8::MAX));
        let exchange_size = message.exchange.len() as u8;
        out.extend_from_slice(&[t0, t1, t2, t3, t4, t5, t6, t7, redelivered, exchange_size]);
        out.extend_from_slice(message.exchange);
        push_short_string(out, message.routing_key);
    });
}

/// Puts the answer to a basic.get into `output`. `message_count`: messages that the queue still holds.
pub fn push_get_ok(
    output: &mut OutgoingBuffer,
    channel: u16,
    (delivery_tag, is_redelivered, message_count): (u64, bool, u32),
    message: &MessageView<'_>,
    frame_body_max: usize,
) {
    let method_size = 4 + 9 + names_size(message) + 4;
    push_content(output, channel, (GET_OK, method_size), message, frame_body_max, |out| {
        out.extend_from_slice(&delivery_tag.to_be_bytes());
        out.push(u8::from(is_redelivered));
        push_names(out, message);
        out.extend_from_slice(&message_count.to_be_bytes());
    });
}

/// Puts a message that no queue got back into `output` (basic.return).
pub fn push_return(
    output: &mut OutgoingBuffer,
    channel: u16,
    reply_code: u16,
    reply_text: &str,
    message: &MessageView<'_>,
    frame_body_max: usize,
) {
    let method_size = 4 + 2 + 1 + reply_text.len() + names_size(message);
    push_content(output, channel, (RETURN, method_size), message, frame_body_max, |out| {
        out.extend_from_slice(&reply_code.to_be_bytes());
        push_short_string(out, reply_text.as_bytes());
        push_names(out, message);
    });
}

/// Notifies a consumer that the broker has cancelled it.
pub fn push_cancel(output: &mut OutgoingBuffer, to: &Recipient) {
    let cancel = basic::Cancel { consumer_tag: &to.consumer_tag, no_wait: true };
    push_method(output, to.channel_number, &Method::BasicCancel(cancel));
}

/// Puts a method into `output`.
pub fn push_method(output: &mut OutgoingBuffer, channel: u16, method: &Method<'_>) {
    let mut frame = Vec::with_capacity(64);
    method.encode(channel, &mut frame);
    output.push_copy(&frame, &[], true);
}

fn names_size(message: &MessageView<'_>) -> usize {
    2 + message.exchange.len() + message.routing_key.len()
}

#[inline]
fn push_names(out: &mut Vec<u8>, message: &MessageView<'_>) {
    push_short_string(out, message.exchange);
    push_short_string(out, message.routing_key);
}

#[inline]
fn push_short_string(out: &mut Vec<u8>, string: &[u8]) {
    debug_assert!(string.len() <= usize::from(u8::MAX));
    out.push(string.len() as u8);
    out.extend_from_slice(string);
}

/// The head of a frame.
#[inline]
fn frame_head(kind: u8, channel: u16, payload_size: usize) -> [u8; 7] {
    let [c0, c1] = channel.to_be_bytes();
    let [s0, s1, s2, s3] = (payload_size as u32).to_be_bytes();
    [kind, c0, c1, s0, s1, s2, s3]
}

/// The frame of a method up to its arguments.
#[inline]
fn method_head(channel: u16, size: usize, method: u8) -> [u8; 11] {
    let [kind, c0, c1, s0, s1, s2, s3] = frame_head(METHOD_FRAME, channel, size);
    [kind, c0, c1, s0, s1, s2, s3, 0, BASIC, 0, method]
}

/// The frame of a content header up to the properties.
#[inline]
fn header_head(channel: u16, size: usize, body_size: usize) -> [u8; 19] {
    let [kind, c0, c1, s0, s1, s2, s3] = frame_head(HEADER_FRAME, channel, size);
    let [b0, b1, b2, b3, b4, b5, b6, b7] = (body_size as u64).to_be_bytes();
    [kind, c0, c1, s0, s1, s2, s3, 0, BASIC, 0, 0, b0, b1, b2, b3, b4, b5, b6, b7]
}

/// Appends a method with its number and its size, and the message's content. `encode` appends the arguments. Each message takes
/// this path: the fewer pieces, the better.
#[inline]
fn push_content(
    output: &mut OutgoingBuffer,
    channel: u16,
    (method, method_size): (u8, usize),
    message: &MessageView<'_>,
    frame_body_max: usize,
    encode: impl FnOnce(&mut Vec<u8>),
) {
    let header_size = CONTENT_HEADER_SIZE + message.properties.len();
    let head_size = method_size + header_size + 2 * FRAME_OVERHEAD;
    let body_size = message.body.as_bytes().len();
    let push_head = |out: &mut Vec<u8>| {
        out.extend_from_slice(&method_head(channel, method_size, method));
        encode(out);
        out.push(FRAME_END);
        out.extend_from_slice(&header_head(channel, header_size, body_size));
        out.extend_from_slice(message.properties);
        out.push(FRAME_END);
    };
    match message.body {
        BodyView::Copied(body) if body_size <= frame_body_max.min(COPIED_PIECE_SIZE) => {
            output.push_with(head_size + FRAME_OVERHEAD + body_size, |out| {
                push_head(out);
                if !body.is_empty() {
                    push_body_frame(out, channel, body);
                }
            });
        }
        BodyView::Copied(body) => {
            output.push_with(head_size, push_head);
            for part in body.chunks(frame_body_max) {
                output.push_copy(&frame_head(BODY_FRAME, channel, part.len()), &[], false);
                // In pieces that fit the segments of the output.
                part.chunks(COPIED_PIECE_SIZE).for_each(|piece| output.push_copy(&[], piece, false));
                output.push_copy(&[FRAME_END], &[], true);
            }
        }
        BodyView::Shared(body) => {
            output.push_with(head_size, push_head);
            push_shared_body(output, channel, body, frame_body_max);
        }
    }
}

#[inline]
fn push_body_frame(out: &mut Vec<u8>, channel: u16, body: &[u8]) {
    out.extend_from_slice(&frame_head(BODY_FRAME, channel, body.len()));
    out.extend_from_slice(body);
    out.push(FRAME_END);
}

/// The body stays where it lies; only the frames' heads and ends are written beside it.
fn push_shared_body(output: &mut OutgoingBuffer, channel: u16, body: &Bytes, frame_body_max: usize) {
    let mut rest = body.clone();
    while rest.size() > 0 {
        let part = rest.clone().first(frame_body_max);
        let head = frame_head(BODY_FRAME, channel, part.size());
        rest = rest.without_first(part.size());
        output.push_shared(&head, part, false);
        output.push_copy(&[FRAME_END], &[], rest.size() == 0);
    }
}
