//! The fields of a method, one by one: `ArgumentReader` and `ArgumentWriter`. Their methods have the names of the
//! specification's domains, so that `class!` can call them by the domain.
//!
//! Consecutive bits share an octet, the first one lowest.

use crate::amqp::cursor::Cursor;
use crate::amqp::error::DecodeError;
use crate::amqp::field::FieldTable;
use crate::amqp::frame::{FRAME_END, FRAME_HEADER_SIZE, FrameKind, encode_frame_header};
use crate::amqp::strings::{put_long_string, put_short_string};

/// Number of bits that share an octet.
const BITS: u8 = 8;

pub(super) struct ArgumentReader<'a> {
    cursor: Cursor<'a>,
    /// The octet of the last bit, shifted so that the next bit is lowest.
    bits: u8,
    bits_left: u8,
}

impl<'a> ArgumentReader<'a> {
    #[inline(always)]
    pub(super) fn new(fields: &'a [u8]) -> ArgumentReader<'a> {
        ArgumentReader { cursor: Cursor(fields), bits: 0, bits_left: 0 }
    }

    /// Returns the cursor behind the last bits, for a field that is not a bit.
    #[inline(always)]
    fn aligned(&mut self) -> &mut Cursor<'a> {
        self.bits_left = 0;
        &mut self.cursor
    }

    #[inline(always)]
    pub(super) fn bit(&mut self) -> Result<bool, DecodeError> {
        if self.bits_left == 0 {
            self.bits = self.cursor.octet()?;
            self.bits_left = BITS;
        }
        let bit = self.bits & 1 != 0;
        self.bits >>= 1;
        self.bits_left -= 1;
        Ok(bit)
    }

    #[inline(always)]
    pub(super) fn octet(&mut self) -> Result<u8, DecodeError> {
        self.aligned().octet()
    }

    #[inline(always)]
    pub(super) fn short(&mut self) -> Result<u16, DecodeError> {
        self.aligned().array().map(u16::from_be_bytes)
    }

    #[inline(always)]
    pub(super) fn long(&mut self) -> Result<u32, DecodeError> {
        self.aligned().array().map(u32::from_be_bytes)
    }

    #[inline(always)]
    pub(super) fn longlong(&mut self) -> Result<u64, DecodeError> {
        self.aligned().array().map(u64::from_be_bytes)
    }

    /// As in RabbitMQ, a short string of a method has to be UTF-8. Short strings of properties and tables are
    /// arbitrary bytes.
    #[inline(always)]
    pub(super) fn shortstr(&mut self) -> Result<&'a [u8], DecodeError> {
        let string = self.aligned().short_string()?;
        match std::str::from_utf8(string) {
            Ok(_) => Ok(string),
            Err(_) => Err(DecodeError::Utf8),
        }
    }

    #[inline(always)]
    pub(super) fn longstr(&mut self) -> Result<&'a [u8], DecodeError> {
        self.aligned().long_string()
    }

    pub(super) fn table(&mut self) -> Result<FieldTable, DecodeError> {
        self.aligned().long_string().and_then(FieldTable::decode_fields)
    }

    #[inline(always)]
    pub(super) fn finish(self) -> Result<(), DecodeError> {
        self.cursor.finish()
    }
}

pub(super) struct ArgumentWriter<'o> {
    out: &'o mut Vec<u8>,
    /// Start of the frame in the output.
    start: usize,
    channel: u16,
    /// Number of bits in the last octet. 0 if it is not an octet of bits.
    bits: u8,
}

impl<'o> ArgumentWriter<'o> {
    #[inline(always)]
    pub(super) fn begin(
        channel: u16,
        (class, method): (u16, u16),
        out: &'o mut Vec<u8>,
    ) -> ArgumentWriter<'o> {
        let start = out.len();
        let ([c1, c2], [m1, m2]) = (class.to_be_bytes(), method.to_be_bytes());
        out.extend_from_slice(&[0; FRAME_HEADER_SIZE]);
        out.extend_from_slice(&[c1, c2, m1, m2]);
        ArgumentWriter { out, start, channel, bits: 0 }
    }

    /// Returns the output for a field that is not a bit.
    #[inline(always)]
    fn aligned(&mut self) -> &mut Vec<u8> {
        self.bits = 0;
        self.out
    }

    #[inline(always)]
    pub(super) fn bit(&mut self, bit: bool) {
        if self.bits == 0 {
            self.out.push(0);
        }
        if let Some(octet) = self.out.last_mut() {
            *octet |= u8::from(bit) << self.bits;
        }
        self.bits = (self.bits + 1) % BITS;
    }

    #[inline(always)]
    pub(super) fn octet(&mut self, octet: u8) {
        self.aligned().push(octet);
    }

    #[inline(always)]
    pub(super) fn short(&mut self, short: u16) {
        self.aligned().extend_from_slice(&short.to_be_bytes());
    }

    #[inline(always)]
    pub(super) fn long(&mut self, long: u32) {
        self.aligned().extend_from_slice(&long.to_be_bytes());
    }

    #[inline(always)]
    pub(super) fn longlong(&mut self, longlong: u64) {
        self.aligned().extend_from_slice(&longlong.to_be_bytes());
    }

    #[inline(always)]
    pub(super) fn shortstr(&mut self, string: &[u8]) {
        put_short_string(string, self.aligned());
    }

    #[inline(always)]
    pub(super) fn longstr(&mut self, string: &[u8]) {
        put_long_string(string, self.aligned());
    }

    pub(super) fn table(&mut self, table: &FieldTable) {
        table.encode(self.aligned());
    }

    #[inline(always)]
    pub(super) fn finish(self) {
        let payload_start = self.start + FRAME_HEADER_SIZE;
        let size = (self.out.len() - payload_start) as u32;
        let header = encode_frame_header(FrameKind::Method, self.channel, size);
        self.out[self.start..payload_start].copy_from_slice(&header);
        self.out.push(FRAME_END);
    }
}
