//! `Cursor`: takes the basic domains of the specification from bytes, and `put_*`, which append them.

use super::error::DecodeError;

/// Bytes that have not been read yet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cursor<'a>(pub &'a [u8]);

impl<'a> Cursor<'a> {
    #[inline(always)]
    pub(super) fn array<const N: usize>(&mut self) -> Result<[u8; N], DecodeError> {
        let (taken, rest) = self.0.split_first_chunk().ok_or(DecodeError::Cut)?;
        self.0 = rest;
        Ok(*taken)
    }

    #[inline(always)]
    pub(super) fn octet(&mut self) -> Result<u8, DecodeError> {
        self.array().map(|[octet]| octet)
    }

    #[inline(always)]
    pub(super) fn bytes(&mut self, size: usize) -> Result<&'a [u8], DecodeError> {
        let (taken, rest) = self.0.split_at_checked(size).ok_or(DecodeError::Cut)?;
        self.0 = rest;
        Ok(taken)
    }

    #[inline(always)]
    pub(super) fn short_string(&mut self) -> Result<&'a [u8], DecodeError> {
        let size = self.octet()?;
        self.bytes(size.into())
    }

    #[inline(always)]
    pub(super) fn long_string(&mut self) -> Result<&'a [u8], DecodeError> {
        let size = u32::from_be_bytes(self.array()?);
        self.bytes(size as usize)
    }

    /// Nothing may be left.
    #[inline(always)]
    pub(super) fn finish(self) -> Result<(), DecodeError> {
        match self.0.len() {
            0 => Ok(()),
            size => Err(DecodeError::Surplus { size }),
        }
    }
}

/// The longest short string, in bytes.
const SHORT_STRING_SIZE: usize = 255;

/// The part of `bytes` that fits a short string. Callers give no longer ones: names come from peers or are checked
/// when an application gives them.
#[inline(always)]
pub(super) fn fitting(bytes: &[u8]) -> &[u8] {
    debug_assert!(bytes.len() <= SHORT_STRING_SIZE, "a short string of {} bytes", bytes.len());
    &bytes[..bytes.len().min(SHORT_STRING_SIZE)]
}

#[inline]
pub(super) fn put_short_string(bytes: &[u8], out: &mut Vec<u8>) {
    let bytes = fitting(bytes);
    out.push(bytes.len() as u8);
    out.extend_from_slice(bytes);
}

#[inline]
pub(super) fn put_long_string(bytes: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(&(bytes.len() as u32).to_be_bytes());
    out.extend_from_slice(bytes);
}

/// Appends what `put` appends, with its size before it.
pub(super) fn put_sized(out: &mut Vec<u8>, put: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    out.extend_from_slice(&[0; 4]);
    put(out);
    let size = (out.len() - start - 4) as u32;
    out[start..start + 4].copy_from_slice(&size.to_be_bytes());
}
