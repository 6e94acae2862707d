//! `Address`: what stands for a client's request in the one client-address frame that a worker gets and returns.
//!
//! ```text
//! client (16) | number (8, big endian), in hexadecimal digits, small ones
//! ```
//!
//! Forty-eight printable characters of ASCII, because some workers take it for a string. No routing id of a peer is in it:
//! a client is found by it after the broker has started again and its peers have other routing ids.

use crate::hsn1::{ClientId, RequestId};

/// The size of every address, in bytes.
pub const ADDRESS_SIZE: usize = 2 * BINARY_SIZE;

const BINARY_SIZE: usize = 24;

/// A client-address frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Address([u8; ADDRESS_SIZE]);

impl Address {
    /// The bytes of the frame.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// The request that a frame stands for; `None`: it is no address of ours.
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
