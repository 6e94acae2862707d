//! One connection with one channel: the handshake, and the few methods that wait for their answer.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};

use super::encode::{Argument, push_method};
use super::error::AmqpError;
use super::methods::*;
use super::read_buffer::ReadBuffer;
use super::version::version;
use super::walk::frame_size;

/// The channel that everything goes through.
pub const CHANNEL: u16 = 1;
/// The largest frame that is agreed to.
pub const FRAME_SIZE_MAX: usize = 131_072;
const NO_CHANNEL: u16 = 0;
const MECHANISM: &str = "PLAIN";
const RESPONSE: &[u8] = b"\0guest\0guest";
const PASSIVE: u8 = 1;
const NO_ACK: u8 = 2;
/// As long as those that brokers make up.
const CONSUMER_TAG: &str = "hairstreak-bench-consumer";
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
    /// As the broker says.
    pub version: String,
}

impl Link {
    /// Connects as `guest`, opens the virtual host `/` and a channel.
    pub fn open(address: SocketAddr) -> Result<Link, AmqpError> {
        Self::open_with(address, ReadBuffer::new(), "/")
    }

    /// The same in another virtual host.
    pub fn open_in(address: SocketAddr, virtual_host: &str) -> Result<Link, AmqpError> {
        Self::open_with(address, ReadBuffer::new(), virtual_host)
    }

    /// The same with a buffer that only holds answers: for connections of which there are many.
    pub fn open_small(address: SocketAddr) -> Result<Link, AmqpError> {
        let mut link = Self::open_with(address, ReadBuffer::with_size(ANSWER_SIZE), "/")?;
        link.input = ReadBuffer::with_size(0);
        Ok(link)
    }

    fn open_with(address: SocketAddr, input: ReadBuffer, virtual_host: &str) -> Result<Link, AmqpError> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        Self::over_in(stream, input, Argument::EmptyTable, virtual_host)
    }
}

impl<S: Read + Write> Link<S> {
    /// Logs in as `guest` over a stream that is there, opens the virtual host `/` and a channel. `properties` is a table: what the client
    /// says of itself.
    pub fn over(stream: S, input: ReadBuffer, properties: Argument<'_>) -> Result<Link<S>, AmqpError> {
        Self::over_in(stream, input, properties, "/")
    }

    fn over_in(
        stream: S,
        input: ReadBuffer,
        properties: Argument<'_>,
        virtual_host: &str,
    ) -> Result<Link<S>, AmqpError> {
        let mut link = Link { stream, input, frame_size_max: FRAME_SIZE_MAX, version: String::new() };
        link.stream.write_all(PROTOCOL_HEADER)?;
        let start = link.answer(CONNECTION_START)?;
        link.version = version(&start);
        let response =
            [properties, Argument::Short(MECHANISM), Argument::Long(RESPONSE), Argument::Short("en_US")];
        let tune = link.call(NO_CHANNEL, CONNECTION_START_OK, &response, CONNECTION_TUNE)?;
        let channel_max = number(&tune, 0).map(u16::from_be_bytes)?;
        let frame_size_max = number(&tune, 2).map(u32::from_be_bytes)? as usize;
        if frame_size_max > 0 {
            link.frame_size_max = frame_size_max.min(FRAME_SIZE_MAX);
        }
        let frame_size_max = Argument::U32(link.frame_size_max as u32);
        // No heartbeats: a load generator has no time for them.
        let tuned = [Argument::U16(channel_max), frame_size_max, Argument::U16(0)];
        link.send(NO_CHANNEL, CONNECTION_TUNE_OK, &tuned)?;
        let host = [Argument::Short(virtual_host), Argument::Short(""), Argument::U8(0)];
        link.call(NO_CHANNEL, CONNECTION_OPEN, &host, CONNECTION_OPEN_OK)?;
        link.call(CHANNEL, CHANNEL_OPEN, &[Argument::Short("")], CHANNEL_OPEN_OK)?;
        Ok(link)
    }

    /// Declares a transient exchange.
    pub fn declare_exchange(&mut self, name: &str, kind: &str) -> Result<(), AmqpError> {
        let arguments = [
            Argument::U16(0),
            Argument::Short(name),
            Argument::Short(kind),
            Argument::U8(0),
            Argument::EmptyTable,
        ];
        self.call(CHANNEL, EXCHANGE_DECLARE, &arguments, EXCHANGE_DECLARE_OK).map(drop)
    }

    /// Declares a transient queue.
    pub fn declare_queue(&mut self, name: &str) -> Result<(), AmqpError> {
        self.queue(name, 0).map(drop)
    }

    fn queue(&mut self, name: &str, bits: u8) -> Result<u32, AmqpError> {
        let arguments = [Argument::U16(0), Argument::Short(name), Argument::U8(bits), Argument::EmptyTable];
        let answer = self.call(CHANNEL, QUEUE_DECLARE, &arguments, QUEUE_DECLARE_OK)?;
        let name_size = usize::from(answer.first().copied().unwrap_or(0));
        number(&answer, 1 + name_size).map(u32::from_be_bytes)
    }

    /// Binds a queue.
    pub fn bind(&mut self, queue: &str, exchange: &str, key: &str) -> Result<(), AmqpError> {
        let arguments = [
            Argument::U16(0),
            Argument::Short(queue),
            Argument::Short(exchange),
            Argument::Short(key),
            Argument::U8(0),
            Argument::EmptyTable,
        ];
        self.call(CHANNEL, QUEUE_BIND, &arguments, QUEUE_BIND_OK).map(drop)
    }

    /// Deletes a queue with all that is in it, if it is there.
    pub fn delete_queue(&mut self, name: &str) -> Result<(), AmqpError> {
        let arguments = [Argument::U16(0), Argument::Short(name), Argument::U8(0)];
        self.call(CHANNEL, QUEUE_DELETE, &arguments, QUEUE_DELETE_OK).map(drop)
    }

    /// Removes the messages that are ready in a queue.
    pub fn purge_queue(&mut self, name: &str) -> Result<(), AmqpError> {
        let arguments = [Argument::U16(0), Argument::Short(name), Argument::U8(0)];
        self.call(CHANNEL, QUEUE_PURGE, &arguments, QUEUE_PURGE_OK).map(drop)
    }

    /// Lets the broker send so many messages that are not acknowledged.
    pub fn set_prefetch(&mut self, count: u16) -> Result<(), AmqpError> {
        let arguments = [Argument::U32(0), Argument::U16(count), Argument::U8(0)];
        self.call(CHANNEL, BASIC_QOS, &arguments, BASIC_QOS_OK).map(drop)
    }

    /// Becomes a consumer of a queue.
    pub fn consume(&mut self, queue: &str, is_auto_ack: bool) -> Result<(), AmqpError> {
        let arguments = [
            Argument::U16(0),
            Argument::Short(queue),
            Argument::Short(CONSUMER_TAG),
            Argument::U8(if is_auto_ack { NO_ACK } else { 0 }),
            Argument::EmptyTable,
        ];
        self.call(CHANNEL, BASIC_CONSUME, &arguments, BASIC_CONSUME_OK).map(drop)
    }

    /// Asks for confirms.
    pub fn select_confirms(&mut self) -> Result<(), AmqpError> {
        self.call(CHANNEL, CONFIRM_SELECT, &[Argument::U8(0)], CONFIRM_SELECT_OK).map(drop)
    }

    /// Deletes an exchange, if it is there.
    pub fn delete_exchange(&mut self, name: &str) -> Result<(), AmqpError> {
        let arguments = [Argument::U16(0), Argument::Short(name), Argument::U8(0)];
        self.call(CHANNEL, EXCHANGE_DELETE, &arguments, EXCHANGE_DELETE_OK).map(drop)
    }

    /// Waits for the confirm of the only message that has been published since confirms were asked for.
    pub fn wait_for_confirm(&mut self) -> Result<(), AmqpError> {
        self.answer(BASIC_ACK).map(drop)
    }

    /// Waits until the broker has taken all that was sent: it answers in order.
    pub fn await_channel(&mut self) -> Result<(), AmqpError> {
        let arguments = [Argument::U8(1)];
        self.send(CHANNEL, CHANNEL_FLOW, &arguments)?;
        loop {
            if self.next_method()?.0 == CHANNEL_FLOW_OK {
                return Ok(());
            }
        }
    }

    /// Reads so many methods, whichever they are.
    pub fn skip_answers(&mut self, count: u32) -> Result<(), AmqpError> {
        (0..count).try_for_each(|_| self.next_method().map(drop))
    }

    /// How many messages are ready in a queue.
    pub fn count_messages(&mut self, queue: &str) -> Result<u32, AmqpError> {
        self.queue(queue, PASSIVE)
    }

    /// Sends a method and waits for its answer, whose arguments are returned.
    fn call(
        &mut self,
        channel: u16,
        id: u32,
        arguments: &[Argument<'_>],
        answer: u32,
    ) -> Result<Vec<u8>, AmqpError> {
        self.send(channel, id, arguments)?;
        self.answer(answer)
    }

    fn send(&mut self, channel: u16, id: u32, arguments: &[Argument<'_>]) -> Result<(), AmqpError> {
        let mut frame = Vec::new();
        push_method(&mut frame, channel, id, arguments);
        Ok(self.stream.write_all(&frame)?)
    }

    /// The arguments of the method `expected`, which comes next but for heartbeats.
    fn answer(&mut self, expected: u32) -> Result<Vec<u8>, AmqpError> {
        match self.next_method()? {
            (id, arguments) if id == expected => Ok(arguments),
            (id, _) => {
                let (expected, found) = (method_name(expected), method_name(id));
                Err(AmqpError::Unexpected { expected, found })
            }
        }
    }

    /// The next method but for heartbeats, and its arguments.
    ///
    /// Errors: the broker closes the channel or the connection.
    fn next_method(&mut self) -> Result<(u32, Vec<u8>), AmqpError> {
        loop {
            let unread = self.input.unread();
            let frame = frame_size(unread).and_then(|size| unread.get(..size));
            let Some(frame) = frame else {
                self.input.fill(&mut self.stream)?;
                continue;
            };
            let (kind, size) = (frame[0], frame.len());
            let payload = frame[FRAME_HEADER_SIZE..size - 1].to_vec();
            self.input.consume(size);
            let id = u32::from_be_bytes(number(&payload, 0).unwrap_or_default());
            match (kind, id) {
                (HEARTBEAT, _) => {}
                (METHOD, CONNECTION_CLOSE | CHANNEL_CLOSE) => return Err(AmqpError::closed(&payload[4..])),
                (METHOD, id) => return Ok((id, payload[4..].to_vec())),
                _ => return Err(AmqpError::Malformed("a content that nobody asked for")),
            }
        }
    }
}

/// The bytes of a number at `at`.
fn number<const SIZE: usize>(arguments: &[u8], at: usize) -> Result<[u8; SIZE], AmqpError> {
    let bytes = arguments.get(at..).and_then(|rest| rest.first_chunk());
    bytes.copied().ok_or(AmqpError::Malformed("a method that is too short"))
}
