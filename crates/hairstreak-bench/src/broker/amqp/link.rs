//! One connection with one channel: the handshake, and the few methods that wait for their answer.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};

use hairstreak_wire::amqp::{FieldValue, FrameKind, connection, decode_frame, queue};

use super::encode::Argument::{self, Long, Short, U8, U16, U32};
use super::encode::{EMPTY_TABLE, push_method};
use super::input::{AmqpError, ReadBuffer, SILENCE_MAX};
use super::methods::*;

const RESPONSE: &[u8] = b"\0guest\0guest";
const PASSIVE: u8 = 1;
const DURABLE: u8 = 2;
const NO_ACK: u8 = 2;
/// Enough for handshakes and answers; a consumer brings a larger one.
const ANSWER_SIZE: usize = FRAME_SIZE_MAX;

/// An open channel. Dropping it ends the connection without a word.
#[derive(Debug)]
pub struct Link<S = TcpStream> {
    /// The bytes, both ways; they block.
    pub stream: S,
    /// The received bytes.
    pub input: ReadBuffer,
    /// The largest frame that both agreed to.
    pub frame_size_max: usize,
    /// The version of the broker, from its greeting.
    pub version: String,
}

impl Link {
    /// Connects as `guest`, opens the virtual host `/` and a channel.
    pub fn open(address: SocketAddr) -> Result<Link, AmqpError> {
        Self::open_in(address, "/")
    }

    /// Connects as `guest`, opens another virtual host and a channel.
    pub fn open_in(address: SocketAddr, virtual_host: &str) -> Result<Link, AmqpError> {
        Self::open_with(address, ReadBuffer::new(), virtual_host)
    }

    /// Connects as [`Link::open`] does, with a buffer that only holds answers. For large numbers of connections.
    pub fn open_small(address: SocketAddr) -> Result<Link, AmqpError> {
        let mut link = Self::open_with(address, ReadBuffer::with_size(ANSWER_SIZE), "/")?;
        link.input = ReadBuffer::with_size(0);
        Ok(link)
    }

    fn open_with(address: SocketAddr, input: ReadBuffer, virtual_host: &str) -> Result<Link, AmqpError> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(SILENCE_MAX))?;
        stream.set_write_timeout(Some(SILENCE_MAX))?;
        Self::log_in(stream, input, EMPTY_TABLE, virtual_host)
    }
}

impl<S: Read + Write> Link<S> {
    /// Logs in as `guest` over a stream that is there, opens the virtual host `/` and a channel. `properties` is the table of
    /// client properties.
    pub fn over(stream: S, input: ReadBuffer, properties: Argument<'_>) -> Result<Link<S>, AmqpError> {
        Self::log_in(stream, input, properties, "/")
    }

    fn log_in(stream: S, input: ReadBuffer, properties: Argument<'_>, host: &str) -> Result<Self, AmqpError> {
        let mut link = Link { stream, input, frame_size_max: FRAME_SIZE_MAX, version: String::new() };
        link.stream.write_all(&PROTOCOL_HEADER)?;
        let start = link.answer(CONNECTION_START)?;
        let start = connection::Start::decode(&start)?;
        let version = start.server_properties.get("version").and_then(FieldValue::as_bytes);
        link.version = String::from_utf8_lossy(version.unwrap_or(b"unknown")).into_owned();
        let response = [properties, Short("PLAIN"), Long(RESPONSE), Short("en_US")];
        link.send(0, CONNECTION_START_OK, &response)?;
        let tune = link.answer(CONNECTION_TUNE)?;
        let tune = connection::Tune::decode(&tune)?;
        if tune.frame_max > 0 {
            link.frame_size_max = FRAME_SIZE_MAX.min(tune.frame_max as usize);
        }
        // No heartbeats: a load generator has no time for them.
        let tuned = [U16(tune.channel_max), U32(link.frame_size_max as u32), U16(0)];
        link.send(0, CONNECTION_TUNE_OK, &tuned)?;
        link.send(0, CONNECTION_OPEN, &[Short(host), Short(""), U8(0)])?;
        link.answer(CONNECTION_OPEN + 1)?;
        link.call(CHANNEL_OPEN, &[Short("")])?;
        Ok(link)
    }

    /// Declares a transient exchange.
    pub fn declare_exchange(&mut self, name: &str, kind: &str) -> Result<(), AmqpError> {
        self.call(EXCHANGE_DECLARE, &[U16(0), Short(name), Short(kind), U8(0), EMPTY_TABLE]).map(drop)
    }

    /// Deletes an exchange, if it is there.
    pub fn delete_exchange(&mut self, name: &str) -> Result<(), AmqpError> {
        self.call(EXCHANGE_DELETE, &[U16(0), Short(name), U8(0)]).map(drop)
    }

    /// Declares a transient queue.
    pub fn declare_queue(&mut self, name: &str) -> Result<(), AmqpError> {
        self.queue(name, 0).map(drop)
    }

    /// Declares a durable queue.
    pub fn declare_durable_queue(&mut self, name: &str) -> Result<(), AmqpError> {
        self.queue(name, DURABLE).map(drop)
    }

    /// Returns the number of messages that are ready in a queue.
    pub fn count_messages(&mut self, queue: &str) -> Result<u32, AmqpError> {
        self.queue(queue, PASSIVE)
    }

    fn queue(&mut self, name: &str, bits: u8) -> Result<u32, AmqpError> {
        let answer = self.call(QUEUE_DECLARE, &[U16(0), Short(name), U8(bits), EMPTY_TABLE])?;
        Ok(queue::DeclareOk::decode(&answer)?.message_count)
    }

    /// Binds a queue.
    pub fn bind(&mut self, queue: &str, exchange: &str, key: &str) -> Result<(), AmqpError> {
        let arguments = [U16(0), Short(queue), Short(exchange), Short(key), U8(0), EMPTY_TABLE];
        self.call(QUEUE_BIND, &arguments).map(drop)
    }

    /// Deletes a queue with all its messages, if it is there.
    pub fn delete_queue(&mut self, name: &str) -> Result<(), AmqpError> {
        self.call(QUEUE_DELETE, &[U16(0), Short(name), U8(0)]).map(drop)
    }

    /// Removes the messages that are ready in a queue.
    pub fn purge_queue(&mut self, name: &str) -> Result<(), AmqpError> {
        self.call(QUEUE_PURGE, &[U16(0), Short(name), U8(0)]).map(drop)
    }

    /// Lets the broker send `count` messages before an acknowledgement.
    pub fn set_prefetch(&mut self, count: u16) -> Result<(), AmqpError> {
        self.call(BASIC_QOS, &[U32(0), U16(count), U8(0)]).map(drop)
    }

    /// Becomes a consumer of a queue.
    pub fn consume(&mut self, queue: &str, is_auto_ack: bool) -> Result<(), AmqpError> {
        self.ask_to_consume(queue, 0, is_auto_ack)?;
        self.answer(BASIC_CONSUME + 1).map(drop)
    }

    /// Asks to be consumer `number` of this channel, of a queue. The answer comes among the deliveries of other consumers.
    pub fn ask_to_consume(&mut self, queue: &str, number: u32, is_auto_ack: bool) -> Result<(), AmqpError> {
        // As long as the tags that brokers make up.
        let tag = format!("hairstreak-bench-{number:08}");
        let bits = U8(if is_auto_ack { NO_ACK } else { 0 });
        self.send(CHANNEL, BASIC_CONSUME, &[U16(0), Short(queue), Short(&tag), bits, EMPTY_TABLE])
    }

    /// Asks for confirms.
    pub fn select_confirms(&mut self) -> Result<(), AmqpError> {
        self.call(CONFIRM_SELECT, &[U8(0)]).map(drop)
    }

    /// Waits for the confirm of the only message that has been published since confirms were asked for.
    pub fn wait_for_confirm(&mut self) -> Result<(), AmqpError> {
        self.answer(BASIC_ACK).map(drop)
    }

    /// Writes frames, and waits until the broker has handled all that was sent: it answers in order.
    pub fn settle(&mut self, frames: &[u8]) -> Result<(), AmqpError> {
        self.stream.write_all(frames)?;
        self.send(CHANNEL, CHANNEL_FLOW, &[U8(1)])?;
        while self.next_method()?.0 != CHANNEL_FLOW + 1 {}
        Ok(())
    }

    /// Reads `count` methods of any kind.
    pub fn skip_answers(&mut self, count: u32) -> Result<(), AmqpError> {
        (0..count).try_for_each(|_| self.next_method().map(drop))
    }

    /// Sends a method and waits for its answer, whose arguments are returned.
    fn call(&mut self, id: u32, arguments: &[Argument<'_>]) -> Result<Vec<u8>, AmqpError> {
        self.send(CHANNEL, id, arguments)?;
        self.answer(id + 1)
    }

    fn send(&mut self, channel: u16, id: u32, arguments: &[Argument<'_>]) -> Result<(), AmqpError> {
        let mut frame = Vec::new();
        push_method(&mut frame, channel, id, arguments);
        Ok(self.stream.write_all(&frame)?)
    }

    /// Returns the arguments of the method `expected`, which comes next but for heartbeats.
    fn answer(&mut self, expected: u32) -> Result<Vec<u8>, AmqpError> {
        let (id, arguments) = self.next_method()?;
        if id == expected {
            return Ok(arguments);
        }
        Err(AmqpError::Unexpected { expected: method_name(expected), found: method_name(id) })
    }

    /// Returns the next method but for heartbeats, and its arguments.
    ///
    /// Errors: the broker closes the channel or the connection.
    fn next_method(&mut self) -> Result<(u32, Vec<u8>), AmqpError> {
        loop {
            let Some(frame) = decode_frame(self.input.unread(), FRAME_SIZE_MAX)? else {
                self.input.fill(&mut self.stream)?;
                continue;
            };
            let (kind, size, payload) = (frame.kind, frame.size(), frame.payload.to_vec());
            self.input.consume(size);
            match (kind, payload.split_first_chunk()) {
                (FrameKind::Heartbeat, _) => {}
                (FrameKind::Method, Some((id, arguments))) => match u32::from_be_bytes(*id) {
                    CONNECTION_CLOSE | CHANNEL_CLOSE => return Err(AmqpError::closed(arguments)),
                    id => return Ok((id, arguments.to_vec())),
                },
                _ => return Err(AmqpError::Malformed("a content that nobody asked for")),
            }
        }
    }
}
