//! `Connection`: one connection with one channel. Events come in order. Output waits in a buffer until the caller waits.
//!
//! Invariant: `input[start..end]` has not been decoded yet.

use std::collections::VecDeque;
use std::io::{self, ErrorKind};
use std::mem;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

use hairstreak_wire::amqp::{FRAME_SIZE_MIN, Method, channel, connection, decode_frame};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use super::assembler::Assembler;
use super::error::ClientError;
use super::event::{Event, Reply};
use super::stream::Stream;

/// The number of the one channel.
pub const CHANNEL: u16 = 1;
/// Bytes of one read.
const READ_SIZE: usize = 128 * 1024;
/// Longest wait for an answer. A broker that is short of memory answers late.
const REPLY_TIMEOUT: Duration = Duration::from_secs(60);
/// Longest wait for the broker to confirm a close.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);

/// One connection with one channel.
#[derive(Debug)]
pub struct Connection {
    stream: Stream,
    input: Vec<u8>,
    start: usize,
    end: usize,
    output: Vec<u8>,
    /// The largest frame in bytes, either way.
    pub frame_size_max: usize,
    assembler: Assembler,
    /// Events that came before an awaited answer.
    events: VecDeque<Event>,
    /// The broker has closed the channel: no request may use it.
    is_channel_closed: bool,
    /// Nothing more comes, for this reason.
    ended: Option<io::Error>,
}

impl Connection {
    /// Returns a connection before its login.
    pub fn new(stream: Stream) -> Connection {
        Connection {
            stream,
            input: Vec::new(),
            start: 0,
            end: 0,
            output: Vec::new(),
            frame_size_max: FRAME_SIZE_MIN,
            assembler: Assembler::default(),
            events: VecDeque::new(),
            is_channel_closed: false,
            ended: None,
        }
    }

    /// The buffer for frames to be sent. The next wait sends them.
    pub fn output(&mut self) -> &mut Vec<u8> {
        &mut self.output
    }

    /// Returns true if the broker has closed the channel.
    pub fn is_channel_closed(&self) -> bool {
        self.is_channel_closed
    }

    /// Returns the next event that has come, if any.
    ///
    /// # Errors
    ///
    /// The broker closed the channel or the connection, or sent malformed bytes.
    pub fn next_event(&mut self) -> Result<Option<Event>, ClientError> {
        match self.events.pop_front() {
            Some(event) => Ok(Some(event)),
            None => self.decode_event(),
        }
    }

    fn decode_event(&mut self) -> Result<Option<Event>, ClientError> {
        while let Some(frame) = decode_frame(&self.input[self.start..self.end], self.frame_size_max)? {
            let event = self.assembler.take(&frame)?;
            self.start += frame.size();
            match event {
                None => {}
                Some(Event::ChannelClosed(text)) => {
                    channel::CloseOk {}.encode(CHANNEL, &mut self.output);
                    self.is_channel_closed = true;
                    return Err(ClientError::ChannelClosed(text));
                }
                Some(Event::ConnectionClosed(text)) => {
                    connection::CloseOk {}.encode(0, &mut self.output);
                    self.write_some();
                    self.ended = Some(ErrorKind::ConnectionAborted.into());
                    return Err(ClientError::ConnectionClosed(text));
                }
                event => return Ok(event),
            }
        }
        match &self.ended {
            None => Ok(None),
            Some(error) if error.kind() == ErrorKind::UnexpectedEof => Err(ClientError::Ended),
            Some(error) => Err(ClientError::Broken(io::Error::new(error.kind(), error.to_string()))),
        }
    }

    /// Sends the output, then waits until bytes have come, one of `others` can be read, or the deadline is over. Returns the
    /// `others` that can be read.
    ///
    /// # Errors
    ///
    /// The system cannot wait for the descriptors.
    pub fn wait<const N: usize>(
        &mut self,
        others: [Option<BorrowedFd<'_>>; N],
        deadline: Option<Instant>,
    ) -> Result<[bool; N], ClientError> {
        self.write_some();
        if self.ended.is_some() {
            return Ok([false; N]);
        }
        let mut wanted = PollFlags::IN;
        wanted.set(PollFlags::OUT, !self.output.is_empty() || self.stream.has_unsent());
        // Bytes that TLS has decrypted make no event.
        let has_news = self.stream.has_news();
        let deadline = if has_news { Some(Instant::now()) } else { deadline };
        let mut polled = vec![PollFd::from_borrowed_fd(self.stream.as_fd(), wanted)];
        let given = others.iter().flatten();
        polled.extend(given.map(|other| PollFd::from_borrowed_fd(*other, PollFlags::IN)));
        let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        let timeout =
            left.map(|left| Timespec { tv_sec: left.as_secs() as i64, tv_nsec: left.subsec_nanos().into() });
        match poll(&mut polled, timeout.as_ref()) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(io::Error::from(error).into()),
        }
        let mut ready = polled.iter().map(|fd| !fd.revents().is_empty());
        let has_come = ready.next().unwrap_or(false) || has_news;
        let answer = others.map(|other| other.is_some() && ready.next().unwrap_or(false));
        if has_come {
            self.write_some();
            self.read_some();
        }
        Ok(answer)
    }

    /// Sends as much as the socket takes. A broken connection is reported by the next read: the broker may have sent the reason.
    fn write_some(&mut self) {
        let mut written = 0;
        while written < self.output.len() {
            match self.stream.write(&self.output[written..]) {
                Ok(count) => written += count,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(_) => written = self.output.len(),
            }
        }
        self.output.drain(..written);
        // A read reports the error, too.
        let _ = self.stream.flush();
    }

    fn read_some(&mut self) {
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
        }
        if self.input.len() - self.end < READ_SIZE {
            self.input.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
            self.input.resize(self.end + READ_SIZE * 2, 0);
        }
        match self.stream.read(&mut self.input[self.end..]) {
            Ok(0) => self.ended = Some(ErrorKind::UnexpectedEof.into()),
            Ok(count) => self.end += count,
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
            Err(error) => self.ended = Some(error),
        }
    }

    /// Waits for the answer to `method`. Other events are kept for [`Connection::next_event`].
    ///
    /// # Errors
    ///
    /// As [`Connection::next_event`], or no answer in time.
    pub fn reply(&mut self, method: &'static str, timeout: Duration) -> Result<Reply, ClientError> {
        let deadline = Instant::now() + timeout;
        let mut others = mem::take(&mut self.events);
        loop {
            match self.decode_event()? {
                Some(Event::Reply(reply)) => {
                    self.events = others;
                    return Ok(reply);
                }
                Some(event) => others.push_back(event),
                None if Instant::now() >= deadline => {
                    return Err(ClientError::Silence { method, seconds: timeout.as_secs() });
                }
                None => self.wait([], Some(deadline)).map(drop)?,
            }
        }
    }

    /// Sends a method on the channel and waits for its answer.
    ///
    /// # Errors
    ///
    /// As [`Connection::reply`].
    pub fn call(&mut self, method: &Method<'_>) -> Result<Reply, ClientError> {
        if self.is_channel_closed {
            return Err(ClientError::Ended);
        }
        method.encode(CHANNEL, &mut self.output);
        self.reply(method.name(), REPLY_TIMEOUT)
    }

    /// Sends the rest of the output and closes the connection. Waits 2 s at most for the broker's answer.
    pub fn close(mut self) {
        let close = connection::Close { reply_code: 200, reply_text: b"bye", ..connection::Close::default() };
        close.encode(0, &mut self.output);
        let deadline = Instant::now() + CLOSE_TIMEOUT;
        loop {
            match self.next_event() {
                Ok(Some(Event::Reply(reply)))
                    if matches!(reply.method(), Ok(Method::ConnectionCloseOk(_))) =>
                {
                    return;
                }
                // Further frames come too late.
                Ok(Some(_)) | Err(ClientError::ChannelClosed(_)) => {}
                Ok(None) if Instant::now() < deadline => {
                    if self.wait([], Some(deadline)).is_err() {
                        return;
                    }
                }
                _ => return,
            }
        }
    }
}
