//! Messages into a queue and out of a queue, by AMQP over a stream of any transport.
//!
//! - `Publisher`: publishes as fast as the stream takes messages, and notes each message when the broker confirms it. A
//!   confirmed message is in its queue: that is the arrival that is counted. Confirms are read between writes. Nothing waits
//!   for confirms until the last message is out.
//! - `Deliveries`: whole messages of a consumer, digested.

use std::io;

use anyhow::{Context, Result};

use super::arrivals::Windows;
use super::messages::Digester;
use super::stream::BlockingStream;
use crate::broker::amqp::{
    AmqpError, Argument, BASIC_ACK, BASIC_DELIVER, BODY, CHANNEL, CHANNEL_CLOSE, CONNECTION_BLOCKED,
    CONNECTION_CLOSE, CONNECTION_UNBLOCKED, CONTENT_HEADER, FRAME_HEADER_SIZE, HEARTBEAT, Link, METHOD,
    ReadBuffer, frame_size, method_name, push_body, push_publish_head,
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
pub struct Publisher<'a> {
    link: &'a mut Link<BlockingStream>,
    windows: &'a mut Windows,
    /// basic.publish and the content header: the same for each message.
    head: Vec<u8>,
    out: Vec<u8>,
    published: u64,
    confirmed: u64,
    /// The broker has stopped publishers.
    pub has_alarm: bool,
}

impl<'a> Publisher<'a> {
    /// Publishes bodies of `body_size` bytes to an exchange with a key. Confirms have been asked for.
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
    pub fn publish(&mut self, first: &[u8], rest: &[u8]) -> Result<()> {
        self.out.extend_from_slice(&self.head);
        push_body(&mut self.out, CHANNEL, first, rest, self.link.frame_size_max);
        self.published += 1;
        if self.out.len() >= WRITE_SIZE { self.write() } else { Ok(()) }
    }

    /// Writes the rest and waits for all confirms. Returns the number of published messages.
    pub fn finish(&mut self) -> Result<u64> {
        self.write()?;
        while self.confirmed < self.published {
            self.take_confirms_or_wait()?;
        }
        Ok(self.published)
    }

    fn write(&mut self) -> Result<()> {
        let mut written = 0;
        while written < self.out.len() {
            match self.link.stream.try_write(&self.out[written..]) {
                Ok(count) => written += count,
                // The broker may be waiting until its confirms are read.
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => self.take_confirms_or_wait()?,
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
            Err(error) if error.kind() == io::ErrorKind::TimedOut && self.has_alarm => Err(error)
                .context("the broker has raised an alarm and takes nothing more: lower --scale or --memory"),
            waited => Ok(waited.map_err(AmqpError::from)?),
        }
    }

    /// Reads once and takes the confirms. Returns whether something came.
    fn take_confirms(&mut self) -> Result<bool> {
        let Link { stream, input, .. } = &mut *self.link;
        match input.fill(&mut Once(stream)) {
            Err(AmqpError::Io(error)) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
            filled => filled?,
        }
        let before = self.confirmed;
        let taken = walk(input.unread(), |kind, id, arguments| {
            match (kind, id) {
                (METHOD, BASIC_ACK) => {
                    let tag = arguments.first_chunk();
                    let tag = tag.ok_or(AmqpError::Malformed("half an acknowledgement"))?;
                    // All messages go to one queue, which confirms in order.
                    self.confirmed = self.confirmed.max(u64::from_be_bytes(*tag));
                }
                (METHOD, CONNECTION_BLOCKED) => self.has_alarm = true,
                (METHOD, CONNECTION_UNBLOCKED) => {}
                (METHOD, id) => return Err(unexpected("a confirm", id)),
                _ => return Err(AmqpError::Malformed("a frame that is no method")),
            }
            Ok(())
        })?;
        input.consume(taken);
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

/// Messages that are being delivered.
#[derive(Debug, Default)]
pub struct Deliveries {
    /// The body so far.
    body: Vec<u8>,
    /// The bytes that the body lacks.
    missing: usize,
}

impl Deliveries {
    /// Digests the messages of the whole frames of `bytes`. Returns the size of these frames.
    pub fn take(&mut self, bytes: &[u8], digester: &mut Digester) -> Result<usize> {
        let taken = walk(bytes, |kind, id, payload| {
            match (kind, id) {
                (METHOD, BASIC_DELIVER) => {}
                (METHOD, id) => return Err(unexpected("a delivery", id)),
                (CONTENT_HEADER, _) => {
                    let size = payload.get(4..12).and_then(|bytes| bytes.first_chunk());
                    let size = size.ok_or(AmqpError::Malformed("half a content header"))?;
                    self.missing = u64::from_be_bytes(*size) as usize;
                }
                (BODY, _) => {
                    let left = self.missing.checked_sub(payload.len());
                    self.missing = left.ok_or(AmqpError::Malformed("more of a body than its header says"))?;
                    self.body.extend_from_slice(payload);
                    if self.missing == 0 {
                        digester.add(&self.body);
                        self.body.clear();
                    }
                }
                _ => return Err(AmqpError::Malformed("a frame of no known kind")),
            }
            Ok(())
        });
        Ok(taken?)
    }
}

/// Hands each whole frame of `bytes` but heartbeats to `take`: kind, number of the method, and the payload behind that.
/// Returns the size of these frames.
fn walk(
    bytes: &[u8],
    mut take: impl FnMut(u8, u32, &[u8]) -> Result<(), AmqpError>,
) -> Result<usize, AmqpError> {
    let mut at = 0;
    while let Some(frame) = frame_size(&bytes[at..]).and_then(|size| bytes.get(at..at + size)) {
        let (kind, payload) = (frame[0], &frame[FRAME_HEADER_SIZE..frame.len() - 1]);
        match (kind, payload.split_first_chunk()) {
            (HEARTBEAT, _) => {}
            (METHOD, Some((id, arguments))) => match u32::from_be_bytes(*id) {
                CONNECTION_CLOSE | CHANNEL_CLOSE => return Err(AmqpError::closed(arguments)),
                id => take(kind, id, arguments)?,
            },
            _ => take(kind, 0, payload)?,
        }
        at += frame.len();
    }
    Ok(at)
}

fn unexpected(expected: &str, id: u32) -> AmqpError {
    AmqpError::Unexpected { expected: expected.to_owned(), found: method_name(id) }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};
    use std::thread::{self, JoinHandle};

    use super::super::Clock;
    use super::*;
    use crate::broker::amqp::{FRAME_SIZE_MAX, push_method};

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
    fn publish(frames: Vec<u8>) -> (Result<u64>, bool) {
        let mut expected = Vec::new();
        for _ in 0..3 {
            push_publish_head(&mut expected, CHANNEL, ("exchange", "key"), 10);
            push_body(&mut expected, CHANNEL, b"12345678", b"90", FRAME_SIZE_MAX);
        }
        let (mut link, broker) = broker(expected.len(), frames);
        let mut windows = Windows::open(Clock::Wall, 1);
        let mut publisher = Publisher::new(&mut link, &mut windows, ("exchange", "key"), 10);
        (0..3).for_each(|_| publisher.publish(b"12345678", b"90").unwrap());
        let (published, has_alarm) = (publisher.finish(), publisher.has_alarm);
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

    const FRAME_SIZE: usize = 100;

    /// A delivery: as a publish, but for its method.
    fn deliver(out: &mut Vec<u8>, body: &[u8]) {
        let mut publish = Vec::new();
        push_publish_head(&mut publish, 1, ("", ""), body.len() as u64);
        let method_size = frame_size(&publish).unwrap();
        push_method(out, 1, BASIC_DELIVER, &[Argument::Short("tag"), Argument::U64(1), Argument::U8(0)]);
        out.extend_from_slice(&publish[method_size..]);
        push_body(out, 1, &body[..8], &body[8..], FRAME_SIZE);
    }

    #[test]
    fn bodies_are_digested_whole_wherever_frames_and_reads_cut_them() {
        let bodies: Vec<Vec<u8>> = [8, 92, 93, 250].map(|size| (0..size).map(|i| i as u8).collect()).into();
        let (mut bytes, mut expected) = (Vec::new(), Digester::new(5));
        for body in &bodies {
            deliver(&mut bytes, body);
            expected.add(body);
        }
        for cut in 0..bytes.len() {
            let (mut deliveries, mut digester) = (Deliveries::default(), Digester::new(5));
            let taken = deliveries.take(&bytes[..cut], &mut digester).unwrap();
            let rest = deliveries.take(&bytes[taken..], &mut digester).unwrap();
            assert_eq!((taken + rest, digester.tally), (bytes.len(), expected.tally), "cut at {cut}");
        }
    }

    #[test]
    fn a_close_is_an_error_with_the_brokers_words() {
        let mut bytes = Vec::new();
        push_method(&mut bytes, 1, CHANNEL_CLOSE, &[Argument::U16(404), Argument::Short("NOT_FOUND")]);
        let error = Deliveries::default().take(&bytes, &mut Digester::new(1)).unwrap_err();
        assert_eq!(error.to_string(), "the broker closed: 404 NOT_FOUND");
    }
}
