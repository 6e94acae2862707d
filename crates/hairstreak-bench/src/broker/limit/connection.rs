//! Connections of the limit, a thread for each: publishes go to the relay, every other method gets the answer that its
//! client waits for.

use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;

use anyhow::{Context, Result};

use super::super::amqp::Argument::{self, Long, Short, U8, U16, U32};
use super::super::amqp::*;
use super::disk::Disk;
use super::relay::{Consumer, Registry, Relay};

const CHANNEL_MAX: u16 = 2047;

/// Serves until the process ends. A connection that fails has its reason on standard error. With a disk, publishes are kept.
pub fn serve(listener: &TcpListener, disk: Option<&Arc<Disk>>) -> Result<()> {
    let registry = Arc::new(Registry::default());
    loop {
        let (stream, _) = listener.accept()?;
        let (registry, disk) = (Arc::clone(&registry), disk.cloned());
        thread::spawn(move || {
            if let Err(error) = Connection::serve(stream, &registry, disk.as_deref()) {
                eprintln!("hairstreak-bench: the limit: {error:#}");
            }
        });
    }
}

struct Connection<'a> {
    stream: Arc<TcpStream>,
    registry: &'a Registry,
    relay: Relay,
    is_confirming: bool,
    /// The disk, and the publishes that it does not have.
    disk: Option<&'a Disk>,
    unsynced: Vec<u8>,
}

impl Connection<'_> {
    /// Serves a connection until its client goes away.
    fn serve(stream: TcpStream, registry: &Registry, disk: Option<&Disk>) -> Result<()> {
        stream.set_nodelay(true)?;
        let relay = Relay::new(disk.is_some());
        let (stream, mut input) = (Arc::new(stream), ReadBuffer::new());
        stream.as_ref().read_exact(&mut [0; PROTOCOL_HEADER.len()])?;
        let is_confirming = false;
        let mut connection =
            Connection { stream, registry, relay, is_confirming, disk, unsynced: Vec::new() };
        let start = [U8(0), U8(9), EMPTY_TABLE, Long(b"PLAIN"), Long(b"en_US")];
        connection.send(0, CONNECTION_START, &start)?;
        loop {
            match input.fill(&mut connection.stream.as_ref()) {
                Ok(()) => connection.take(&mut input)?,
                Err(AmqpError::Ended) => return Ok(()),
                // The client has not read the confirm of its last message.
                Err(AmqpError::Io(error)) if error.kind() == ErrorKind::ConnectionReset => return Ok(()),
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Takes all whole frames that have been read.
    fn take(&mut self, input: &mut ReadBuffer) -> Result<()> {
        loop {
            let consumed = self.relay.take(input.unread())?;
            if self.disk.is_some() {
                self.unsynced.extend_from_slice(&input.unread()[..consumed]);
            }
            input.consume(consumed);
            let unread = input.unread();
            let frame = frame_size(unread).and_then(|size| unread.get(..size));
            // The content of a publish may still be on its way.
            let is_other = |frame: &&[u8]| frame[0] == METHOD && !self.relay.is_waiting(frame);
            let Some(frame) = frame.filter(is_other) else { break };
            self.flush()?;
            if self.method(frame)? {
                let size = frame.len();
                input.consume(size);
            }
        }
        self.flush()
    }

    fn flush(&mut self) -> Result<()> {
        if let Some(disk) = self.disk.filter(|_| self.is_confirming) {
            let (count, last) = self.relay.counts();
            self.relay.flush(None::<&mut TcpStream>)?;
            return match count {
                0 => Ok(()),
                count => disk.store(&mut self.unsynced, &self.stream, last, count),
            };
        }
        let mut stream = self.stream.as_ref();
        self.relay.flush(self.is_confirming.then_some(&mut stream))
    }

    /// Answers a method. Returns false if it is the first publish of its kind, which the relay knows now.
    fn method(&mut self, frame: &[u8]) -> Result<bool> {
        let payload = &frame[FRAME_HEADER_SIZE..frame.len() - 1];
        let (id, arguments) = payload.split_first_chunk().context("a method without its number")?;
        let id = u32::from_be_bytes(*id);
        // Two reserved bytes are before the names.
        let mut names = arguments.get(2..).unwrap_or_default();
        let answer = match id {
            BASIC_PUBLISH => {
                let (exchange, key) = (next_name(&mut names)?, next_name(&mut names)?);
                self.relay.change_route(frame, self.registry.route(exchange, key));
                return Ok(false);
            }
            CONNECTION_START_OK => {
                self.send(0, CONNECTION_TUNE, &[U16(CHANNEL_MAX), U32(FRAME_SIZE_MAX as u32), U16(0)])?;
                return Ok(true);
            }
            CONNECTION_OPEN => vec![Short("")],
            CHANNEL_OPEN => vec![Long(b"")],
            EXCHANGE_DECLARE | BASIC_QOS => Vec::new(),
            QUEUE_DECLARE => {
                let name = next_name(&mut names)?;
                let count = self.registry.change(name, |queue| queue.message_count.load(Ordering::Relaxed));
                vec![Short(name), U32(count as u32), U32(0)]
            }
            QUEUE_BIND => {
                let (name, exchange) = (next_name(&mut names)?, next_name(&mut names)?);
                let binding = (exchange.to_owned(), next_name(&mut names)?.to_owned());
                self.registry.change(name, |queue| queue.bindings.push(binding));
                Vec::new()
            }
            QUEUE_DELETE => {
                self.registry.delete(next_name(&mut names)?);
                vec![U32(0)]
            }
            BASIC_CONSUME => {
                let (name, tag) = (next_name(&mut names)?, next_name(&mut names)?);
                let consumer = Consumer { stream: Arc::clone(&self.stream), tag: tag.to_owned() };
                self.registry.change(name, |queue| queue.consumer = Some(consumer));
                vec![Short(tag)]
            }
            CONFIRM_SELECT => {
                self.is_confirming = true;
                Vec::new()
            }
            // Acknowledgements are read and forgotten; nothing else comes.
            _ => return Ok(true),
        };
        self.send(u16::from_be_bytes([frame[1], frame[2]]), id + 1, &answer)?;
        Ok(true)
    }

    fn send(&self, channel: u16, id: u32, arguments: &[Argument<'_>]) -> Result<()> {
        let mut frame = Vec::new();
        push_method(&mut frame, channel, id, arguments);
        Ok(self.stream.as_ref().write_all(&frame)?)
    }
}

/// Takes a short string from the front of `arguments`.
fn next_name<'a>(arguments: &mut &'a [u8]) -> Result<&'a str> {
    let name = arguments.split_first().and_then(|(size, rest)| rest.split_at_checked(usize::from(*size)));
    let (name, rest) = name.context("a method that is too short")?;
    *arguments = rest;
    Ok(str::from_utf8(name)?)
}
