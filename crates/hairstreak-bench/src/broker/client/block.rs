//! Prebuilt publishes: as many as one write takes, the same bytes again and again.

use std::io::{self, Write};

use super::super::amqp::{CHANNEL, Link, MARKER, push_publish};
use super::super::task::{FANOUT_EXCHANGE, Flow, TOPIC_EXCHANGE, routing_key};

/// Bytes of a write, unless a single message has more.
const WRITE_SIZE: usize = 64 * 1024;

/// Publishes in one piece.
#[derive(Debug)]
pub struct Block {
    bytes: Vec<u8>,
    message_size: usize,
    /// Where the body begins in a message that has one frame of body.
    body_at: usize,
    marker: Vec<u8>,
}

impl Block {
    /// The bytes that producer `number` writes through `link`.
    pub fn new(link: &Link, flow: &Flow, number: u32) -> Block {
        let exchange = if flow.is_fanout { FANOUT_EXCHANGE } else { TOPIC_EXCHANGE };
        let key = routing_key(number % flow.queue_count);
        let push = |out: &mut Vec<u8>, body: &[u8]| {
            push_publish(out, CHANNEL, (exchange, &key), body, link.frame_size_max);
        };
        let body = vec![b'x'; flow.body_size as usize];
        let mut bytes = Vec::new();
        push(&mut bytes, &body);
        let message_size = bytes.len();
        for _ in 1..(WRITE_SIZE / message_size).max(1) {
            push(&mut bytes, &body);
        }
        let mut marker = Vec::new();
        push(&mut marker, MARKER);
        Block { bytes, message_size, body_at: message_size - 1 - body.len(), marker }
    }

    /// Messages of one write.
    pub fn message_count(&self) -> u64 {
        (self.bytes.len() / self.message_size) as u64
    }

    /// Writes `count` messages, at most those of one write. Returns how many that were.
    pub fn write(&self, stream: &mut impl Write, count: u64) -> Result<u64, io::Error> {
        let count = count.min(self.message_count());
        stream.write_all(&self.bytes[..count as usize * self.message_size])?;
        Ok(count)
    }

    /// Says in the next `count` messages, at most those of one write, when they were due.
    pub fn stamp(&mut self, count: u64, due_ns: u64) {
        let messages = self.bytes.chunks_exact_mut(self.message_size).take(count as usize);
        for message in messages {
            message[self.body_at..self.body_at + 8].copy_from_slice(&due_ns.to_le_bytes());
        }
    }

    /// Writes the last message.
    pub fn write_marker(&self, stream: &mut impl Write) -> Result<(), io::Error> {
        stream.write_all(&self.marker)
    }
}
