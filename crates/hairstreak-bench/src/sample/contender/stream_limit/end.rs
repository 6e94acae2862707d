//! `StreamEnd`: an end that sends, receives, or does both over one stream, with its lock. `Output`: framing and writing.

use std::io::{self, IoSlice, Write};
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Result;

use super::input::{BUFFER_SIZE, DIRECT_SIZE_MIN, FLAG_LONG, HEADER_SIZE_LONG, Input};
use super::link::Link;
use crate::sample::contender::cipher_limit::Cipher;
use crate::sample::contender::contract::{check_size, failed};
use crate::sample::contender::{Echoing, End, Receiving, Sending};

/// The least lock of a handle that threads may share: one atomic exchange to take it, one store to give it back.
struct Lock(AtomicBool);

impl Lock {
    #[inline]
    fn with<T>(&self, work: impl FnOnce() -> T) -> T {
        while self.0.swap(true, Ordering::Acquire) {
            std::hint::spin_loop();
        }
        let result = work();
        self.0.store(false, Ordering::Release);
        result
    }
}

/// One end of the limit program. It sends to each of its links, and receives from the first. It writes the gathered
/// bytes before it waits.
pub struct StreamEnd {
    lock: Lock,
    input: Input,
    output: Output,
}

impl StreamEnd {
    pub(super) fn new(links: Vec<Link>, is_sealed: bool, is_spinning: bool) -> StreamEnd {
        let cipher = || is_sealed.then(Cipher::default);
        let output = Output { links, buffer: Vec::with_capacity(BUFFER_SIZE), cipher: cipher() };
        StreamEnd { lock: Lock(AtomicBool::new(false)), input: Input::new(is_spinning, cipher()), output }
    }
}

impl End for StreamEnd {
    fn wait_ready(&mut self) -> Result<()> {
        self.output.links.iter_mut().try_for_each(Link::open).map_err(failed("accept"))?;
        match self.output.links.first_mut() {
            Some(link) => self.input.open(link.stream()?.try_clone().map_err(failed("dup"))?),
            None => Ok(()),
        }
    }

    fn flush(&mut self) -> Result<()> {
        self.lock.with(|| self.output.flush())
    }
}

impl Sending for StreamEnd {
    #[inline]
    fn send(&mut self, body: &[u8]) -> Result<()> {
        self.lock.with(|| self.output.append(body))
    }

    fn send_batch(&mut self, body: &[u8], count: usize) -> Result<()> {
        self.lock.with(|| (0..count).try_for_each(|_| self.output.append(body)))
    }
}

impl Receiving for StreamEnd {
    #[inline]
    fn receive(&mut self) -> Result<usize> {
        self.lock.with(|| {
            if !self.input.has_message() {
                self.output.flush()?;
            }
            self.input.receive()
        })
    }

    fn receive_batch(&mut self, size: usize, max: usize) -> Result<usize> {
        self.lock.with(|| {
            if !self.input.has_message() {
                self.output.flush()?;
            }
            self.input.receive_batch(size, max)
        })
    }
}

impl Echoing for StreamEnd {
    #[inline]
    fn echo(&mut self) -> Result<usize> {
        let size = Receiving::receive(self)?;
        self.lock.with(|| self.output.append(self.input.last_body(size)))?;
        Ok(size)
    }

    fn echo_batch(&mut self, size: usize, max: usize) -> Result<usize> {
        let Self { lock, input, output } = self;
        lock.with(|| {
            if !input.has_message() {
                output.flush()?;
            }
            let mut count = 0;
            while count == 0 || (count < max && input.has_message()) {
                check_size(input.receive()?, size)?;
                output.append(input.last_body(size))?;
                count += 1;
            }
            Ok(count)
        })
    }
}

/// Frames into one buffer, and writes the buffer when the next message does not fit.
struct Output {
    /// Each gets all.
    links: Vec<Link>,
    buffer: Vec<u8>,
    cipher: Option<Cipher>,
}

impl Output {
    #[inline]
    fn append(&mut self, body: &[u8]) -> Result<()> {
        let size = body.len() + if self.cipher.is_some() { Cipher::OVERHEAD } else { 0 };
        if self.buffer.len() + HEADER_SIZE_LONG + size > BUFFER_SIZE {
            self.flush()?;
        }
        match u8::try_from(size) {
            Ok(size) => self.buffer.extend_from_slice(&[0, size]),
            Err(_) => {
                self.buffer.push(FLAG_LONG);
                self.buffer.extend_from_slice(&(size as u64).to_be_bytes());
            }
        }
        if let Some(cipher) = &mut self.cipher {
            cipher.seal(body, &mut self.buffer);
            return Ok(());
        }
        if body.len() >= DIRECT_SIZE_MIN {
            return self.write_with(body);
        }
        self.buffer.extend_from_slice(body);
        Ok(())
    }

    fn flush(&mut self) -> Result<()> {
        self.write_with(&[])
    }

    /// Writes the gathered bytes and `body` after them, without copying it.
    fn write_with(&mut self, body: &[u8]) -> Result<()> {
        for link in &mut self.links {
            let stream = link.stream()?;
            let mut slices = [IoSlice::new(&self.buffer), IoSlice::new(body)];
            let mut rest = &mut slices[..];
            while rest.iter().any(|slice| !slice.is_empty()) {
                match stream.write_vectored(rest) {
                    Ok(count) => IoSlice::advance_slices(&mut rest, count),
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    // This happens only if the thread spins.
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => std::thread::yield_now(),
                    Err(error) => return Err(failed("writev")(error)),
                }
            }
        }
        self.buffer.clear();
        Ok(())
    }
}
