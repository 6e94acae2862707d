//! `Input`: reads into one buffer and parses in place.

use std::fs::File;
use std::io::{self, Read};

use anyhow::{Context as _, Result, anyhow};

use super::limit::{
    BUFFER_SIZE, DIRECT_SIZE_MIN, FLAG_LONG, HEADER_SIZE_LONG, HEADER_SIZE_SHORT, LOOK_COUNT_MAX, Link,
    StreamLimit,
};
use crate::sample::contender::cipher_limit::Cipher;
use crate::sample::contender::contract::{failed, wrong_size};

/// Bytes read and not yet parsed are `buffer[start..end]`.
pub(super) struct Input {
    /// Once it is open.
    link: Option<Link>,
    buffer: Box<[u8]>,
    start: usize,
    end: usize,
    /// Buffer for large bodies, followed by the header of the next message.
    direct: Vec<u8>,
    received_count: u64,
    cipher: Option<Cipher>,
    is_spinning: bool,
    /// Reads in a row that found nothing.
    look_count: u32,
}

impl Input {
    pub fn new(settings: StreamLimit) -> Self {
        Self {
            link: None,
            buffer: vec![0; BUFFER_SIZE].into_boxed_slice(),
            start: 0,
            end: 0,
            direct: Vec::new(),
            received_count: 0,
            cipher: settings.is_sealed.then(Cipher::default),
            is_spinning: settings.is_spinning,
            look_count: 0,
        }
    }

    /// The peer may be waiting for this very core.
    fn look_again(&mut self) {
        self.look_count += 1;
        if self.look_count >= LOOK_COUNT_MAX {
            self.look_count = 0;
            std::thread::yield_now();
        }
    }

    /// Reads from this stream from here on.
    pub fn open(&mut self, mut link: Link) -> Result<()> {
        if self.is_spinning {
            let stream = link.stream()?;
            rustix::io::ioctl_fionbio(stream, true).map_err(failed("ioctl"))?;
        }
        self.link = Some(link);
        Ok(())
    }

    pub fn is_open(&self) -> bool {
        self.link.is_some()
    }

    /// The body that was received last, of `size` bytes.
    pub fn last_body(&self, size: usize) -> &[u8] {
        // A large one lies apart, and the buffer begins behind it.
        if size >= DIRECT_SIZE_MIN && self.start == 0 {
            &self.direct[..size]
        } else {
            &self.buffer[self.start - size..self.start]
        }
    }

    /// Takes the next message; opens it if it is sealed.
    #[inline]
    pub fn receive(&mut self) -> Result<usize> {
        let size = self.take_frame()?;
        let Some(cipher) = &mut self.cipher else { return Ok(size) };
        let sealed = if size >= DIRECT_SIZE_MIN && self.start == 0 {
            &mut self.direct[..size]
        } else {
            &mut self.buffer[self.start - size..self.start]
        };
        cipher.open(sealed)
    }

    #[inline]
    fn take_frame(&mut self) -> Result<usize> {
        loop {
            if let Some((header_size, size)) = self.header() {
                let frame_size = header_size + size;
                if self.end - self.start >= frame_size {
                    self.start += frame_size;
                    self.received_count += 1;
                    return Ok(size);
                }
                if size >= DIRECT_SIZE_MIN {
                    self.start += header_size;
                    self.read_direct(size)?;
                    self.received_count += 1;
                    return Ok(size);
                }
            }
            self.fill()?;
        }
    }

    pub fn receive_batch(&mut self, size: usize, max: usize) -> Result<usize> {
        let mut count = 0;
        while count == 0 || (count < max && self.has_message()) {
            match self.receive()? {
                received if received == size => count += 1,
                received => return Err(wrong_size(received, size)),
            }
        }
        Ok(count)
    }

    /// Returns `true` if a whole message can be taken without reading.
    pub fn has_message(&self) -> bool {
        self.header().is_some_and(|(header_size, size)| self.end - self.start >= header_size + size)
    }

    /// The sizes of the next message's header and body, if its header is there.
    #[inline]
    fn header(&self) -> Option<(usize, usize)> {
        match &self.buffer[self.start..self.end] {
            [FLAG_LONG, size @ ..] => {
                let size = size.first_chunk::<8>()?;
                Some((HEADER_SIZE_LONG, u64::from_be_bytes(*size) as usize))
            }
            [_, size, ..] => Some((HEADER_SIZE_SHORT, usize::from(*size))),
            _ => None,
        }
    }

    #[cold]
    fn fill(&mut self) -> Result<()> {
        self.buffer.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        let stream = stream_of(&mut self.link)?;
        match stream.read(&mut self.buffer[self.end..]) {
            Ok(0) => Err(broken(self.received_count)),
            Ok(count) => {
                self.end += count;
                self.look_count = 0;
                Ok(())
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                self.look_again();
                Ok(())
            }
            Err(error) => Err(failed("read")(error)),
        }
    }

    /// Reads a body whose header was taken, of which the buffer holds only a part, and the next header with it.
    fn read_direct(&mut self, size: usize) -> Result<()> {
        let wanted = size + HEADER_SIZE_LONG;
        if self.direct.len() < wanted {
            self.direct.resize(wanted, 0);
        }
        let mut filled = self.end - self.start;
        self.direct[..filled].copy_from_slice(&self.buffer[self.start..self.end]);
        let stream = stream_of(&mut self.link)?;
        while filled < size {
            match stream.read(&mut self.direct[filled..wanted]) {
                Ok(0) => return Err(broken(self.received_count)),
                Ok(count) => filled += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => std::thread::yield_now(),
                Err(error) => return Err(failed("read")(error)),
            }
        }
        self.start = 0;
        self.end = filled - size;
        self.buffer[..self.end].copy_from_slice(&self.direct[size..filled]);
        Ok(())
    }
}

fn broken(received_count: u64) -> anyhow::Error {
    anyhow!("the stream ended or is malformed after {received_count} messages")
}

fn stream_of(link: &mut Option<Link>) -> Result<&mut File> {
    link.as_mut().context("read before the other end was there")?.stream()
}
