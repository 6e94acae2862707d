//! `Output`: frames into one buffer, and writes it when the next message does not fit.

use std::io::{self, IoSlice, Write};

use super::limit::{BUFFER_SIZE, DIRECT_SIZE_MIN, FLAG_LONG, HEADER_SIZE_LONG, StreamLimit};
use super::link::Link;
use crate::sample::contender::ContenderError;
use crate::sample::contender::cipher_limit::Cipher;

pub(super) struct Output {
    /// Each gets all.
    pub links: Vec<Link>,
    buffer: Vec<u8>,
    cipher: Option<Cipher>,
}

impl Output {
    pub fn new(links: Vec<Link>, settings: StreamLimit) -> Self {
        let cipher = settings.is_sealed.then(Cipher::default);
        Self { links, buffer: Vec::with_capacity(BUFFER_SIZE), cipher }
    }

    #[inline]
    pub fn append(&mut self, body: &[u8]) -> Result<(), ContenderError> {
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

    pub fn flush(&mut self) -> Result<(), ContenderError> {
        self.write_with(&[])
    }

    /// Writes what has gathered and `body` behind it, without copying it.
    fn write_with(&mut self, body: &[u8]) -> Result<(), ContenderError> {
        for link in &mut self.links {
            let stream = link.stream()?;
            let mut slices = [IoSlice::new(&self.buffer), IoSlice::new(body)];
            let mut rest = &mut slices[..];
            while rest.iter().any(|slice| !slice.is_empty()) {
                match stream.write_vectored(rest) {
                    Ok(count) => IoSlice::advance_slices(&mut rest, count),
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    // Only where somebody spins.
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => std::thread::yield_now(),
                    Err(error) => return Err(ContenderError::call("writev", error)),
                }
            }
        }
        self.buffer.clear();
        Ok(())
    }
}
