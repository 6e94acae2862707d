//! One connection of the limit: publishes go to the relay, every other method gets the answer that its client waits for.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;

use super::super::amqp::*;
use super::registry::Registry;
use super::relay::Relay;

const CHANNEL_MAX: u16 = 2047;
const PLAIN: &[u8] = b"PLAIN";
const LOCALE: &[u8] = b"en_US";

/// Serves a connection until it ends, which it does by the client going away.
pub fn serve(stream: TcpStream, registry: &Registry) -> Result<(), AmqpError> {
    stream.set_nodelay(true)?;
    let stream = Arc::new(stream);
    greet(&stream)?;
    let mut connection = Connection {
        stream,
        registry,
        relay: Relay::default(),
        is_confirming: false,
        input: ReadBuffer::new(),
    };
    loop {
        match connection.input.fill(&mut connection.stream.as_ref()) {
            Ok(()) => connection.take()?,
            Err(AmqpError::Ended) => return Ok(()),
            Err(error) => return Err(error),
        }
    }
}

fn greet(mut stream: &TcpStream) -> Result<(), AmqpError> {
    let mut header = [0; PROTOCOL_HEADER.len()];
    stream.read_exact(&mut header)?;
    let mut start = Vec::new();
    let arguments = [
        Argument::U8(0),
        Argument::U8(9),
        Argument::EmptyTable,
        Argument::Long(PLAIN),
        Argument::Long(LOCALE),
    ];
    push_method(&mut start, 0, CONNECTION_START, &arguments);
    Ok(stream.write_all(&start)?)
}

struct Connection<'a> {
    stream: Arc<TcpStream>,
    registry: &'a Registry,
    relay: Relay,
    is_confirming: bool,
    input: ReadBuffer,
}

impl Connection<'_> {
    /// Takes all whole frames that have been read.
    fn take(&mut self) -> Result<(), AmqpError> {
        loop {
            let consumed = self.relay.take(self.input.unread())?;
            self.input.consume(consumed);
            let unread = self.input.unread();
            let frame = frame_size(unread).and_then(|size| unread.get(..size));
            let (Some(frame), true) = (frame, unread.first() == Some(&METHOD)) else { break };
            // A publish of which only the method has come yet.
            if self.relay.is_waiting(frame) {
                break;
            }
            let frame = frame.to_vec();
            self.flush()?;
            if self.method(&frame)? {
                self.input.consume(frame.len());
            }
        }
        self.flush()
    }

    fn flush(&mut self) -> Result<(), AmqpError> {
        let mut stream = self.stream.as_ref();
        self.relay.flush(self.is_confirming.then_some(&mut stream))
    }

    /// Deals with a method. Returns false if it is the first publish of its kind, which the relay knows now.
    fn method(&mut self, frame: &[u8]) -> Result<bool, AmqpError> {
        let mut arguments = Arguments(&frame[FRAME_HEADER_SIZE..frame.len() - 1]);
        let id = arguments.number()?;
        match id {
            BASIC_PUBLISH => {
                arguments.skip(2)?;
                let (exchange, key) = (arguments.short()?, arguments.short()?);
                self.relay.change_route(frame, self.registry.route(&exchange, &key));
                return Ok(false);
            }
            CONNECTION_START_OK => {
                let tune =
                    [Argument::U16(CHANNEL_MAX), Argument::U32(FRAME_SIZE_MAX as u32), Argument::U16(0)];
                self.answer(0, CONNECTION_TUNE, &tune)?;
            }
            CONNECTION_OPEN => self.answer(0, CONNECTION_OPEN_OK, &[Argument::Short("")])?,
            CHANNEL_OPEN => self.answer(CHANNEL, CHANNEL_OPEN_OK, &[Argument::Long(b"")])?,
            EXCHANGE_DECLARE => self.answer(CHANNEL, EXCHANGE_DECLARE_OK, &[])?,
            QUEUE_DECLARE | QUEUE_BIND | QUEUE_DELETE => self.queue(id, arguments)?,
            BASIC_QOS => self.answer(CHANNEL, BASIC_QOS_OK, &[])?,
            BASIC_CONSUME => {
                arguments.skip(2)?;
                let (queue, tag) = (arguments.short()?, arguments.short()?);
                self.registry.consume(&queue, &tag, Arc::clone(&self.stream));
                self.answer(CHANNEL, BASIC_CONSUME_OK, &[Argument::Short(&tag)])?;
            }
            CONFIRM_SELECT => {
                self.is_confirming = true;
                self.answer(CHANNEL, CONFIRM_SELECT_OK, &[])?;
            }
            // Acknowledgements are read and forgotten; nothing else comes.
            _ => {}
        }
        Ok(true)
    }

    fn queue(&mut self, id: u32, mut arguments: Arguments<'_>) -> Result<(), AmqpError> {
        arguments.skip(2)?;
        let name = arguments.short()?;
        match id {
            QUEUE_DECLARE => {
                let count = Argument::U32(self.registry.declare(&name) as u32);
                self.answer(CHANNEL, QUEUE_DECLARE_OK, &[Argument::Short(&name), count, Argument::U32(0)])
            }
            QUEUE_BIND => {
                let (exchange, key) = (arguments.short()?, arguments.short()?);
                self.registry.bind(&name, &exchange, &key);
                self.answer(CHANNEL, QUEUE_BIND_OK, &[])
            }
            _ => {
                self.registry.delete(&name);
                self.answer(CHANNEL, QUEUE_DELETE_OK, &[Argument::U32(0)])
            }
        }
    }

    fn answer(&self, channel: u16, id: u32, arguments: &[Argument<'_>]) -> Result<(), AmqpError> {
        let mut frame = Vec::new();
        push_method(&mut frame, channel, id, arguments);
        Ok(self.stream.as_ref().write_all(&frame)?)
    }
}

/// The arguments of a method that have not been read.
struct Arguments<'a>(&'a [u8]);

impl Arguments<'_> {
    fn skip(&mut self, size: usize) -> Result<(), AmqpError> {
        self.0 = self.0.get(size..).ok_or(AmqpError::Malformed("a method that is too short"))?;
        Ok(())
    }

    fn number(&mut self) -> Result<u32, AmqpError> {
        let number = self.0.first_chunk().map(|bytes| u32::from_be_bytes(*bytes));
        self.skip(4)?;
        Ok(number.unwrap_or_default())
    }

    fn short(&mut self) -> Result<String, AmqpError> {
        let size = usize::from(self.0.first().copied().unwrap_or_default());
        let text = self.0.get(1..1 + size).map(|bytes| String::from_utf8_lossy(bytes).into_owned());
        self.skip(1 + size)?;
        Ok(text.unwrap_or_default())
    }
}
