//! `Publisher`: messages into a queue, by AMQP over a stream of any transport.
//!
//! A publisher writes as fast as the stream takes messages, and notes each message when the broker confirms it. A confirmed
//! message is in its queue: that is the arrival that is counted. Confirms are read between writes. Nothing waits for confirms
//! until the last message is out.

use std::io::{self, ErrorKind};

use anyhow::{Context, Result};

use super::arrivals::{Arrivals, Windows};
use super::stream::BlockingStream;
use crate::broker::amqp::{
    AmqpError, Argument, BASIC_ACK, CHANNEL, CONNECTION_BLOCKED, CONNECTION_UNBLOCKED, Link, ReadBuffer,
    Visitor, Walk, method_name, push_body, push_publish_head,
};

/// Bytes that gather before a write.
const WRITE_SIZE: usize = 64 * 1024;
/// The table {"capabilities": {"connection.blocked": true}}: the broker reports its alarms.
const BLOCKED_CAPABILITY: &[u8] = b"\x0ccapabilitiesF\x00\x00\x00\x15\x12connection.blockedt\x01";

/// Logs in at `endpoint` and asks for confirms.
pub fn open_link(endpoint: &str) -> Result<Link<BlockingStream>> {
    let stream = BlockingStream::connect(endpoint)?;
    let mut link = Link::over(stream, ReadBuffer::new(), Argument::Long(BLOCKED_CAPABILITY))?;
    link.select_confirms()?;
    Ok(link)
}

/// A publisher of messages of one size with one key.
#[derive(Debug)]
pub struct Publisher {
    link: Link<BlockingStream>,
    /// The confirmed messages by window.
    pub windows: Windows,
    /// basic.publish and the content header: the same for each message.
    head: Vec<u8>,
    out: Vec<u8>,
    published: u64,
    confirms: Confirms,
}

impl Publisher {
    /// Publishes bodies of `body_size` bytes to an exchange with a key. `link` has asked for confirms.
    pub fn new(
        link: Link<BlockingStream>,
        windows: Windows,
        (exchange, key): (&str, &str),
        body_size: usize,
    ) -> Publisher {
        let mut head = Vec::new();
        push_publish_head(&mut head, CHANNEL, (exchange, key), body_size as u64);
        Publisher { link, windows, head, out: Vec::new(), published: 0, confirms: Confirms::default() }
    }

    /// Publishes a body that consists of two parts.
    pub fn publish(&mut self, first: &[u8], rest: &[u8]) -> Result<()> {
        self.out.extend_from_slice(&self.head);
        push_body(&mut self.out, CHANNEL, first, rest, self.link.frame_size_max);
        self.published += 1;
        if self.out.len() >= WRITE_SIZE { self.write() } else { Ok(()) }
    }

    /// Writes the rest and waits for all confirms.
    pub fn finish(mut self) -> Result<Arrivals> {
        self.write()?;
        while self.confirms.count < self.published {
            self.take_confirms_or_wait()?;
        }
        Ok(Arrivals { has_alarm: self.confirms.has_alarm, ..self.windows.finish() })
    }

    fn write(&mut self) -> Result<()> {
        let mut written = 0;
        while written < self.out.len() {
            match self.link.stream.try_write(&self.out[written..]) {
                Ok(count) => written += count,
                // The broker may be waiting until its confirms are read.
                Err(error) if error.kind() == ErrorKind::WouldBlock => self.take_confirms_or_wait()?,
                Err(error) => return Err(AmqpError::from(error).into()),
            }
        }
        self.out.clear();
        self.take_confirms().map(drop)
    }

    fn take_confirms_or_wait(&mut self) -> Result<()> {
        if self.take_confirms()? {
            return Ok(());
        }
        match self.link.stream.wait() {
            Err(error) if error.kind() == ErrorKind::TimedOut && self.confirms.has_alarm => Err(error)
                .context("the broker has raised an alarm and takes nothing more: lower --scale or --memory"),
            waited => Ok(waited.map_err(AmqpError::from)?),
        }
    }

    /// Reads once and takes the confirms. Returns whether something came.
    fn take_confirms(&mut self) -> Result<bool> {
        let Link { stream, input, .. } = &mut self.link;
        match input.fill(&mut Once(stream)) {
            Err(AmqpError::Silent) => return Ok(false),
            filled => filled?,
        }
        let before = self.confirms.count;
        let taken = Walk::new(0).frames(input.unread(), &mut self.confirms)?;
        input.consume(taken);
        self.windows.note(self.confirms.count - before);
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

/// The answers of the broker to publishes.
#[derive(Debug, Default)]
struct Confirms {
    /// All messages go to one queue, which confirms in order.
    count: u64,
    /// The broker has stopped publishers.
    has_alarm: bool,
}

impl Visitor for Confirms {
    fn method(&mut self, id: u32, arguments: &[u8]) -> Result<(), AmqpError> {
        match id {
            BASIC_ACK => {
                let tag = arguments.first_chunk().ok_or(AmqpError::Malformed("half an acknowledgement"))?;
                self.count = self.count.max(u64::from_be_bytes(*tag));
            }
            CONNECTION_BLOCKED => self.has_alarm = true,
            CONNECTION_UNBLOCKED => {}
            id => {
                return Err(AmqpError::Unexpected { expected: "a confirm".into(), found: method_name(id) });
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::net::{TcpListener, TcpStream};
    use std::thread::{self, JoinHandle};

    use super::super::Clock;
    use super::*;
    use crate::broker::amqp::{CHANNEL_CLOSE, FRAME_SIZE_MAX, push_method};

    /// A broker that sends `frames` after `size` received bytes. The thread returns all received bytes.
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
    fn publish(frames: Vec<u8>) -> Result<Arrivals> {
        let mut expected = Vec::new();
        for _ in 0..3 {
            push_publish_head(&mut expected, CHANNEL, ("exchange", "key"), 10);
            push_body(&mut expected, CHANNEL, b"12345678", b"90", FRAME_SIZE_MAX);
        }
        let (link, broker) = broker(expected.len(), frames);
        let windows = Windows::open(Clock::default(), 1);
        let mut publisher = Publisher::new(link, windows, ("exchange", "key"), 10);
        (0..3).for_each(|_| publisher.publish(b"12345678", b"90").unwrap());
        let published = publisher.finish();
        assert!(broker.join().unwrap() == expected);
        published
    }

    #[test]
    fn all_confirms_are_awaited_whether_they_stand_for_one_message_or_for_several() {
        let mut frames = Vec::new();
        push_ack(&mut frames, 1, false);
        push_ack(&mut frames, 3, true);
        assert!(matches!(publish(frames), Ok(Arrivals { count: 3, has_alarm: false, .. })));
    }

    #[test]
    fn an_alarm_is_told_and_a_close_is_an_error() {
        let mut frames = Vec::new();
        push_method(&mut frames, 0, CONNECTION_BLOCKED, &[Argument::Short("low on memory")]);
        push_method(&mut frames, 0, CONNECTION_UNBLOCKED, &[]);
        push_ack(&mut frames, 3, true);
        assert!(matches!(publish(frames), Ok(Arrivals { count: 3, has_alarm: true, .. })));
        let mut frames = Vec::new();
        push_ack(&mut frames, 2, true);
        push_method(&mut frames, CHANNEL, CHANNEL_CLOSE, &[Argument::U16(404), Argument::Short("NOT_FOUND")]);
        let error = publish(frames).unwrap_err().to_string();
        assert_eq!(error, "the broker closed: 404 NOT_FOUND");
    }
}
