//! One end of a stream, driven as an owner must drive it: by edges, and only by the rules at the head of `Stream`.

use std::io::{self, ErrorKind, IoSlice};
use std::mem::MaybeUninit;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use hairstreak_transport::{Established, Interest, Poller, Stream};

/// The time limit of an event, on a busy machine.
const LONG: Duration = Duration::from_secs(120);

/// A stream and a poller that watches it.
pub struct End {
    pub stream: Stream,
    poller: Poller,
    readable: bool,
    writable: bool,
    peer_ended: bool,
}

impl End {
    pub fn new(stream: Stream) -> End {
        let poller = Poller::new().unwrap();
        poller.add(stream.readiness_source().unwrap(), 1, Interest::Edges).unwrap();
        End { stream, poller, readable: true, writable: true, peer_ended: false }
    }

    /// Tries to establish the stream. Returns `true` if it is established.
    pub fn establish(&mut self) -> io::Result<bool> {
        self.look(Duration::ZERO);
        Ok(self.stream.establish()? == Established::Done)
    }

    /// Establishes the stream, asleep between the events.
    pub fn establish_by_events(&mut self) -> io::Result<()> {
        self.look(Duration::ZERO);
        while self.stream.establish()? != Established::Done {
            assert!(self.look(LONG), "no event while establishing");
        }
        Ok(())
    }

    /// Takes the pending events. Returns `true` if there was one.
    fn look(&mut self, timeout: Duration) -> bool {
        let mut had_event = false;
        let is_shared = self.stream.is_shared();
        self.poller
            .wait(Some(timeout), |event| {
                had_event = true;
                self.readable |= event.readable || is_shared;
                self.writable |= event.writable || is_shared;
                if event.ended {
                    (self.peer_ended, self.readable) = (true, true);
                    self.stream.on_peer_ended();
                }
            })
            .unwrap();
        had_event
    }

    /// Writes as many of `bytes` as there is room for. Returns the number of written bytes.
    pub fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let (head, tail) = bytes.split_at(bytes.len() / 3);
        self.flush()?;
        if !self.writable || bytes.is_empty() {
            return Ok(0);
        }
        match self.stream.write(&[IoSlice::new(head), IoSlice::new(tail)]) {
            Ok(count) => {
                self.writable = count == bytes.len();
                Ok(count)
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                self.writable = false;
                Ok(0)
            }
            Err(error) => Err(error),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.writable && self.stream.has_unsent() {
            match self.stream.flush() {
                Err(error) if error.kind() == ErrorKind::WouldBlock => self.writable = false,
                other => other?,
            }
        }
        Ok(())
    }

    /// Reads once, at most `size` bytes. `None` if there are none yet; an empty result is the end.
    pub fn read(&mut self, size: usize) -> io::Result<Option<Vec<u8>>> {
        if !self.readable {
            return Ok(None);
        }
        let mut room = vec![MaybeUninit::uninit(); size];
        match self.stream.read(&mut room) {
            Ok(bytes) => {
                let is_short = bytes.len() < size;
                let bytes = bytes.to_vec();
                self.readable = !(is_short && self.stream.reads_short()) || self.peer_ended;
                Ok(Some(bytes))
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                self.readable = false;
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// Sends `to_send` bytes of the pattern and the end; receives `to_receive` bytes of the peer and its end. Sleeps
    /// while neither direction progresses, and expects an event then.
    pub fn exchange(&mut self, to_send: usize, to_receive: usize, mut random: fastrand::Rng) {
        let (mut sent, mut received, mut is_over) = (0, 0, false);
        let mut has_ended = false;
        while !is_over || !has_ended {
            let offered = random.usize(1..100_000).min(to_send - sent);
            let count = self.write(&pattern(sent, offered)).unwrap();
            sent += count;
            if sent == to_send && !has_ended {
                self.stream.shutdown_write();
                has_ended = true;
            }
            let read = if is_over { None } else { self.read(random.usize(1..100_000)).unwrap() };
            if let Some(bytes) = &read {
                assert_eq!(*bytes, pattern(received, bytes.len()), "at {received}");
                received += bytes.len();
                is_over = bytes.is_empty();
            }
            if count == 0 && read.is_none() && !(has_ended && is_over) {
                assert!(self.look(LONG), "no event: {sent} of {to_send} sent, {received} received");
            }
        }
        assert_eq!(received, to_receive);
        self.flush_all();
    }

    /// Sends the bytes that wait within the stream.
    pub fn flush_all(&mut self) {
        while self.stream.has_unsent() {
            self.flush().unwrap();
            if self.stream.has_unsent() {
                assert!(self.look(LONG), "no event for what is unsent");
            }
        }
    }

    /// Writes the pattern, at most `max` bytes, until the stream takes no bytes for `stopped_after`. Returns the number of
    /// written bytes.
    pub fn write_until_stopped(&mut self, max: usize, stopped_after: Duration) -> usize {
        let mut sent = 0;
        while sent < max {
            let count = self.write(&pattern(sent, 60_000.min(max - sent))).unwrap();
            sent += count;
            if count == 0 && !self.look(stopped_after) {
                break;
            }
        }
        sent
    }

    /// Writes the pattern while `goes_on` is true, then ends.
    pub fn write_while(&mut self, goes_on: impl Fn() -> bool) {
        let mut sent = 0;
        while goes_on() {
            let count = self.write(&pattern(sent, 60_000)).unwrap();
            sent += count;
            if count == 0 {
                self.look(Duration::from_millis(10));
            }
        }
        self.end_output();
    }

    /// Writes all of `bytes`.
    pub fn write_all(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let count = self.write(bytes).unwrap();
            bytes = &bytes[count..];
            if count == 0 {
                assert!(self.look(LONG), "no room");
            }
        }
        self.flush_all();
    }

    /// Ends this side.
    pub fn end_output(&mut self) {
        self.stream.shutdown_write();
        self.flush_all();
    }

    /// The next received bytes.
    pub fn read_some(&mut self) -> Vec<u8> {
        loop {
            match self.read(5000).unwrap() {
                Some(bytes) => return bytes,
                None => assert!(self.look(LONG), "no event"),
            }
        }
    }

    /// The bytes received within `time`. `None` if there are none.
    pub fn read_for(&mut self, time: Duration) -> Option<Vec<u8>> {
        let deadline = Instant::now() + time;
        loop {
            if let Some(bytes) = self.read(5000).unwrap() {
                return Some(bytes);
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return None;
            }
            self.look(left);
        }
    }

    /// Reads to the end. Returns the number of bytes of the pattern, and the event after them.
    pub fn read_to_end(&mut self) -> (usize, io::Result<()>) {
        let mut received = 0;
        loop {
            match self.read(5000) {
                Ok(Some(bytes)) if bytes.is_empty() => return (received, Ok(())),
                Ok(Some(bytes)) => {
                    assert_eq!(bytes, pattern(received, bytes.len()), "at {received}");
                    received += bytes.len();
                }
                Ok(None) => assert!(self.look(LONG), "no event and no end after {received}"),
                Err(error) => return (received, Err(error)),
            }
        }
    }
}

/// Bytes that depend on their place in the stream. They are copied from a table, because a loop over bytes is slow without
/// optimization.
pub fn pattern(start: usize, count: usize) -> Vec<u8> {
    static ROWS: LazyLock<Vec<[u8; 256]>> =
        LazyLock::new(|| (0..=255).map(|mask| std::array::from_fn(|at| at as u8 ^ mask)).collect());
    let mut bytes = Vec::with_capacity(count);
    while bytes.len() < count {
        let at = start + bytes.len();
        let row = &ROWS[usize::from((at >> 8 ^ at >> 16) as u8)][at % 256..];
        bytes.extend_from_slice(&row[..row.len().min(count - bytes.len())]);
    }
    bytes
}
