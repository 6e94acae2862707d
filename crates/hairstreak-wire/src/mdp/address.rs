//! `Address`: the client-address frame that a worker receives and returns. It identifies a client's request.
//!
//! ```text
//! client (16) | number (8, big endian), in hexadecimal digits, small ones
//! ```
//!
//! Forty-eight printable ASCII characters, because some workers treat the frame as a string. It contains no routing
//! id of a peer: it still identifies the client after a restart of the broker, when its peers have other routing ids.

use crate::hsn1::{ClientId, RequestId};

/// Size of every address, in bytes.
pub const ADDRESS_SIZE: usize = 2 * BINARY_SIZE;

const BINARY_SIZE: usize = 24;

/// A client-address frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Address([u8; ADDRESS_SIZE]);

impl Address {
    /// Returns the bytes of the frame.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Returns the request that a frame identifies. `None` if the frame is not one of our addresses.
    pub fn parse(frame: &[u8]) -> Option<RequestId> {
        let digits: &[u8; ADDRESS_SIZE] = frame.try_into().ok()?;
        let mut bytes = [0; BINARY_SIZE];
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
            *byte = value_of(pair[0])? << 4 | value_of(pair[1])?;
        }
        let (client, number) = bytes.split_first_chunk()?;
        let number = u64::from_be_bytes(*number.first_chunk()?);
        Some(RequestId { client: ClientId(*client), number })
    }
}

impl From<RequestId> for Address {
    fn from(request: RequestId) -> Address {
        let mut bytes = [0; BINARY_SIZE];
        bytes[..16].copy_from_slice(&request.client.0);
        bytes[16..].copy_from_slice(&request.number.to_be_bytes());
        let mut digits = [0; ADDRESS_SIZE];
        for (pair, byte) in digits.chunks_exact_mut(2).zip(bytes) {
            pair[0] = digit_of(byte >> 4);
            pair[1] = digit_of(byte & 15);
        }
        Address(digits)
    }
}

fn digit_of(value: u8) -> u8 {
    if value < 10 { b'0' + value } else { b'a' + value - 10 }
}

fn value_of(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        _ => None,
    }
}
