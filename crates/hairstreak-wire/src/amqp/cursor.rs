//! `Cursor`: decodes the basic domains of the specification from bytes.

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

    /// Checks that no bytes are left.
    #[inline(always)]
    pub(super) fn finish(self) -> Result<(), DecodeError> {
        match self.0.len() {
            0 => Ok(()),
            size => Err(DecodeError::Surplus { size }),
        }
    }
}
