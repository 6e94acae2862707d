//! `Input`: reads into one buffer and parses in place.

use std::fs::File;
use std::io::{self, Read};

use anyhow::{Context as _, Result, anyhow};

use crate::sample::contender::cipher_limit::Cipher;
use crate::sample::contender::contract::{check_size, failed};

pub(super) const BUFFER_SIZE: usize = 64 * 1024;
/// Bodies from this size on go between the application's memory and the kernel directly.
pub(super) const DIRECT_SIZE_MIN: usize = 32 * 1024;
pub(super) const FLAG_LONG: u8 = 0x02;
pub(super) const HEADER_SIZE_LONG: usize = 9;
const HEADER_SIZE_SHORT: usize = 2;
/// Reads without a result after which a spinning thread yields its core: about 100 us.
const LOOK_COUNT_MAX: u32 = 300;

/// Bytes read and not yet parsed are `buffer[start..end]`.
pub(super) struct Input {
    /// Once it is open.
    stream: Option<File>,
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
    pub fn new(is_spinning: bool, cipher: Option<Cipher>) -> Self {
        Self {
            stream: None,
            buffer: vec![0; BUFFER_SIZE].into_boxed_slice(),
            start: 0,
            end: 0,
            direct: Vec::new(),
            received_count: 0,
            cipher,
            is_spinning,
            look_count: 0,
        }
    }

    /// Reads from this stream from here on.
    pub fn open(&mut self, stream: File) -> Result<()> {
        if self.is_spinning {
            rustix::io::ioctl_fionbio(&stream, true).map_err(failed("ioctl"))?;
        }
        self.stream = Some(stream);
        Ok(())
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
            check_size(self.receive()?, size)?;
            count += 1;
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
        match read(&mut self.stream, &mut self.buffer[self.end..])? {
            Some(0) => return Err(broken(self.received_count)),
            Some(count) => {
                self.end += count;
                self.look_count = 0;
            }
            None if self.look_count + 1 == LOOK_COUNT_MAX => {
                self.look_count = 0;
                // The peer may be waiting for this very core.
                std::thread::yield_now();
            }
            None => self.look_count += 1,
        }
        Ok(())
    }

    /// Reads a body whose header was taken, of which the buffer holds only a part, and the next header with it.
    fn read_direct(&mut self, size: usize) -> Result<()> {
        let wanted = size + HEADER_SIZE_LONG;
        if self.direct.len() < wanted {
            self.direct.resize(wanted, 0);
        }
        let mut filled = self.end - self.start;
        self.direct[..filled].copy_from_slice(&self.buffer[self.start..self.end]);
        while filled < size {
            match read(&mut self.stream, &mut self.direct[filled..wanted])? {
                Some(0) => return Err(broken(self.received_count)),
                Some(count) => filled += count,
                None => std::thread::yield_now(),
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

/// Reads once; `None` if there is nothing to read now.
fn read(stream: &mut Option<File>, into: &mut [u8]) -> Result<Option<usize>> {
    match stream.as_mut().context("read before the other end was there")?.read(into) {
        Ok(count) => Ok(Some(count)),
        Err(error) if error.kind() == io::ErrorKind::Interrupted => read(stream, into),
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
        Err(error) => Err(failed("read")(error)),
    }
}
