//! `Publisher`: publishes into a queue as fast as the stream takes it, and notes each message when the broker confirms it.
//!
//! A confirmed message is in its queue: that is the arrival that is counted. Confirms are read between writes and never
//! waited for until the last message is out.

use std::io;

use super::blocking_stream::BlockingStream;
use super::windows::Windows;
use crate::broker::amqp::{
    AmqpError, BASIC_ACK, CHANNEL, CHANNEL_CLOSE, CONNECTION_BLOCKED, CONNECTION_CLOSE, CONNECTION_UNBLOCKED,
    FRAME_HEADER_SIZE, HEARTBEAT, Link, METHOD, frame_size, method_name, push_body, push_publish_head,
};

/// Bytes that gather before a write.
const WRITE_SIZE: usize = 64 * 1024;
/// The table {"capabilities": {"connection.blocked": true}}: the broker tells of its alarms.
pub const BLOCKED_CAPABILITY: &[u8] = b"\x0ccapabilitiesF\x00\x00\x00\x15\x12connection.blockedt\x01";

/// Publishes messages of one size with one key.
#[derive(Debug)]
pub struct Publisher<'a> {
    link: &'a mut Link<BlockingStream>,
    windows: &'a mut Windows,
    /// basic.publish and the content header: the same for each message.
    head: Vec<u8>,
    out: Vec<u8>,
    published: u64,
    confirmed: u64,
    has_alarm: bool,
}

impl<'a> Publisher<'a> {
    /// Publishes bodies of `body_size` bytes to `exchange` with `key`. Confirms have been asked for.
    pub fn new(
        link: &'a mut Link<BlockingStream>,
        windows: &'a mut Windows,
        (exchange, key): (&str, &str),
        body_size: usize,
    ) -> Publisher<'a> {
        let mut head = Vec::new();
        push_publish_head(&mut head, CHANNEL, (exchange, key), body_size as u64);
        let (out, published, confirmed, has_alarm) = (Vec::new(), 0, 0, false);
        Publisher { link, windows, head, out, published, confirmed, has_alarm }
    }

    /// Publishes a body that consists of two parts.
    pub fn publish(&mut self, first: &[u8], rest: &[u8]) -> Result<(), AmqpError> {
        self.out.extend_from_slice(&self.head);
        push_body(&mut self.out, CHANNEL, first, rest, self.link.frame_size_max);
        self.published += 1;
        if self.out.len() >= WRITE_SIZE { self.write() } else { Ok(()) }
    }

    /// Whether the broker has said that it stops publishers.
    pub fn has_alarm(&self) -> bool {
        self.has_alarm
    }

    /// Writes the rest and waits for all confirms. Returns how many messages were published.
    pub fn finish(&mut self) -> Result<u64, AmqpError> {
        self.write()?;
        while self.confirmed < self.published {
            self.take_confirms_or_wait()?;
        }
        Ok(self.published)
    }

    fn write(&mut self) -> Result<(), AmqpError> {
        let mut written = 0;
        while written < self.out.len() {
            match self.link.stream.try_write(&self.out[written..]) {
                Ok(count) => written += count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    // The broker may be waiting until its confirms are read.
                    self.take_confirms_or_wait()?;
                }
                Err(error) => return Err(error.into()),
            }
        }
        self.out.clear();
        self.take_confirms().map(drop)
    }

    fn take_confirms_or_wait(&mut self) -> Result<(), AmqpError> {
        if self.take_confirms()? {
            return Ok(());
        }
        match self.link.stream.wait() {
            Err(error) if error.kind() == io::ErrorKind::TimedOut && self.has_alarm => {
                let reason =
                    "the broker has raised an alarm and takes nothing more: lower --scale or --memory";
                Err(io::Error::new(io::ErrorKind::TimedOut, reason).into())
            }
            waited => Ok(waited?),
        }
    }

    /// Reads once and takes what came. Returns whether something came.
    fn take_confirms(&mut self) -> Result<bool, AmqpError> {
        match self.link.input.fill(&mut Once(&mut self.link.stream)) {
            Ok(()) => {}
            Err(AmqpError::Io(error)) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
            Err(error) => return Err(error),
        }
        let before = self.confirmed;
        while let Some(size) = frame_size(self.link.input.unread()) {
            let Some(frame) = self.link.input.unread().get(..size) else { break };
            let payload = &frame[FRAME_HEADER_SIZE..size - 1];
            let (id, arguments) = match (frame[0], payload.split_first_chunk()) {
                (HEARTBEAT, _) => (0, payload),
                (METHOD, Some((id, arguments))) => (u32::from_be_bytes(*id), arguments),
                _ => return Err(AmqpError::Malformed("a frame that is no method")),
            };
            match id {
                0 => {}
                BASIC_ACK => {
                    let tag =
                        arguments.first_chunk().ok_or(AmqpError::Malformed("half an acknowledgement"))?;
                    // All messages go to one queue, which confirms in order.
                    self.confirmed = self.confirmed.max(u64::from_be_bytes(*tag));
                }
                CONNECTION_BLOCKED => self.has_alarm = true,
                CONNECTION_UNBLOCKED => {}
                CONNECTION_CLOSE | CHANNEL_CLOSE => return Err(AmqpError::closed(arguments)),
                id => {
                    let expected = "a confirm".to_owned();
                    return Err(AmqpError::Unexpected { expected, found: method_name(id) });
                }
            }
            self.link.input.consume(size);
        }
        self.windows.note(self.confirmed - before);
        Ok(true)
    }
}

/// Reads that do not wait.
struct Once<'a>(&'a mut BlockingStream);

impl io::Read for Once<'_> {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        self.0.try_read(room)
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};
    use std::thread::{self, JoinHandle};

    use super::super::Clock;
    use super::*;
    use crate::broker::amqp::{Argument, FRAME_SIZE_MAX, ReadBuffer, push_method};

    /// A broker that sends `frames` once `size` bytes have come, and then gives what came.
    fn broker(size: usize, frames: Vec<u8>) -> (Link<BlockingStream>, JoinHandle<Vec<u8>>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let endpoint = format!("tcp://{}", listener.local_addr().unwrap());
        let broker = thread::spawn(move || {
            let mut stream: TcpStream = listener.accept().unwrap().0;
            let mut came = vec![0; size];
            stream.read_exact(&mut came).unwrap();
            stream.write_all(&frames).unwrap();
            // Until the publisher goes.
            stream.read_to_end(&mut came).unwrap();
            came
        });
        let (stream, input) = (BlockingStream::connect(&endpoint).unwrap(), ReadBuffer::new());
        (Link { stream, input, frame_size_max: FRAME_SIZE_MAX, version: String::new() }, broker)
    }

    fn push_ack(frames: &mut Vec<u8>, tag: u64, is_multiple: bool) {
        push_method(frames, CHANNEL, BASIC_ACK, &[Argument::U64(tag), Argument::U8(is_multiple.into())]);
    }

    /// Publishes three messages to a broker that answers with `frames`.
    fn publish(frames: Vec<u8>) -> (Result<u64, AmqpError>, bool) {
        let mut expected = Vec::new();
        for _ in 0..3 {
            push_publish_head(&mut expected, CHANNEL, ("exchange", "key"), 10);
            push_body(&mut expected, CHANNEL, b"12345678", b"90", FRAME_SIZE_MAX);
        }
        let (mut link, broker) = broker(expected.len(), frames);
        let mut windows = Windows::open(Clock::Wall, 1);
        let mut publisher = Publisher::new(&mut link, &mut windows, ("exchange", "key"), 10);
        (0..3).for_each(|_| publisher.publish(b"12345678", b"90").unwrap());
        let (published, has_alarm) = (publisher.finish(), publisher.has_alarm());
        drop(link);
        assert!(broker.join().unwrap() == expected);
        (published, has_alarm)
    }

    #[test]
    fn all_confirms_are_awaited_whether_they_stand_for_one_message_or_for_several() {
        let mut frames = Vec::new();
        push_ack(&mut frames, 1, false);
        push_ack(&mut frames, 3, true);
        assert!(matches!(publish(frames), (Ok(3), false)));
    }

    #[test]
    fn an_alarm_is_told_and_a_close_is_an_error() {
        let mut frames = Vec::new();
        push_method(&mut frames, 0, CONNECTION_BLOCKED, &[Argument::Short("low on memory")]);
        push_method(&mut frames, 0, CONNECTION_UNBLOCKED, &[]);
        push_ack(&mut frames, 3, true);
        assert!(matches!(publish(frames), (Ok(3), true)));
        let mut frames = Vec::new();
        push_ack(&mut frames, 2, true);
        push_method(&mut frames, CHANNEL, CHANNEL_CLOSE, &[Argument::U16(404), Argument::Short("NOT_FOUND")]);
        let error = publish(frames).0.unwrap_err().to_string();
        assert_eq!(error, "the broker closed: 404 NOT_FOUND");
    }
}
