//! The greeting: the first 64 bytes in each direction.
//!
//! ```text
//!  0     FF                     signature: a ZMTP 1.0 peer reads a long length here ...
//!  1-8   padding                ... and this is it
//!  9     7F                     ... and flags; bit 0 tells 2.0 and later from 1.0
//! 10     major version          03; 01 and 02 are ZMTP 2.0
//! 11     minor version          01
//! 12-31  mechanism              ASCII, padded with NUL
//! 32     as-server              libzmq always writes 0, so it is never looked at
//! 33-63  filler                 0, never looked at
//! ```
//!
//! We send all of it at once. Only a server that accepts several mechanisms sends the first 12 bytes, and the rest
//! when the peer has named one. Every major version from 3 on is accepted: such a peer speaks 3.1 to us. A peer
//! without ZMTP 3 is rejected at the first byte that shows it, before the greeting is complete.

use crate::Blame;
use crate::blame::escaped;

/// The name of the mechanism without security.
pub(super) const NULL: &str = "NULL";
/// The name of the mechanism with a name and a password in the clear.
pub(super) const PLAIN: &str = "PLAIN";
/// The name of the mechanism with keys and encrypted traffic.
pub(super) const CURVE: &str = "CURVE";

/// The size of a greeting, in bytes.
pub const GREETING_SIZE: usize = 64;

/// The major version we speak, and the lowest we accept.
pub const MAJOR: u8 = 3;

/// The minor version we speak.
pub const MINOR: u8 = 1;

/// Size of the greeting before the mechanism, in bytes. A server that accepts several mechanisms sends this part at
/// once.
pub(super) const START_SIZE: usize = 12;

/// The largest name of a mechanism, in bytes.
pub const MECHANISM_SIZE_MAX: usize = 20;

/// Content of a peer's greeting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Greeting {
    /// The peer's major version, 3 or more.
    pub major: u8,
    /// The peer's minor version.
    pub minor: u8,
    /// The name of the mechanism, padded with NUL.
    pub mechanism: [u8; MECHANISM_SIZE_MAX],
}

/// A greeting is invalid or incompatible.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GreetingError {
    /// The first byte is not a signature.
    #[error("peer speaks ZMTP 1.0 or something else: first byte {first:#04x}")]
    NotZmtp {
        /// The first byte.
        first: u8,
    },
    /// The signature is the long frame of a ZMTP 1.0 peer.
    #[error("peer speaks ZMTP 1.0: signature ends with {last:#04x}")]
    Zmtp1 {
        /// The tenth byte.
        last: u8,
    },
    /// The version is below 3.
    #[error("peer speaks ZMTP 2.0 or older: version byte {version:#04x}, 3 is the lowest accepted")]
    Zmtp2 {
        /// The eleventh byte.
        version: u8,
    },
    /// The peer names another mechanism than ours.
    #[error("peer wants mechanism \"{theirs}\", ours is {ours}")]
    OtherMechanism {
        /// Our mechanism, or all mechanisms that we accept.
        ours: String,
        /// The peer's mechanism, escaped.
        theirs: String,
    },
}

impl GreetingError {
    /// Returns the side at fault.
    pub fn blame(&self) -> Blame {
        Blame::PeerIncompatible
    }
}

impl Greeting {
    /// Rejects the start of a greeting that is not ZMTP 3, from the first byte on.
    pub fn check_start(bytes: &[u8]) -> Result<(), GreetingError> {
        match *bytes {
            [first, ..] if first != 0xff => Err(GreetingError::NotZmtp { first }),
            [_, _, _, _, _, _, _, _, _, last, ..] if last & 1 == 0 => Err(GreetingError::Zmtp1 { last }),
            [_, _, _, _, _, _, _, _, _, _, version, ..] if version < MAJOR => {
                Err(GreetingError::Zmtp2 { version })
            }
            _ => Ok(()),
        }
    }

    /// Decodes a whole greeting.
    pub fn decode(bytes: &[u8; GREETING_SIZE]) -> Result<Greeting, GreetingError> {
        Greeting::check_start(bytes)?;
        let mut mechanism = [0; MECHANISM_SIZE_MAX];
        mechanism.copy_from_slice(&bytes[12..32]);
        Ok(Greeting { major: bytes[10], minor: bytes[11], mechanism })
    }

    /// Encodes our greeting. Panics when `mechanism` is over [`MECHANISM_SIZE_MAX`].
    pub fn encode(mechanism: &str, as_server: bool) -> [u8; GREETING_SIZE] {
        let mut bytes = [0; GREETING_SIZE];
        bytes[0] = 0xff;
        bytes[9] = 0x7f;
        bytes[10] = MAJOR;
        bytes[11] = MINOR;
        bytes[12..12 + mechanism.len()].copy_from_slice(mechanism.as_bytes());
        bytes[32] = u8::from(as_server);
        bytes
    }

    /// Returns the mechanism of `ours` that the peer names: an exact match, padded with NUL. Any other mechanism is
    /// an error.
    pub fn check_mechanism(&self, ours: &[&'static str]) -> Result<&'static str, GreetingError> {
        let is_named = |name: &&&'static str| {
            let (start, padding) = self.mechanism.split_at(name.len());
            start == name.as_bytes() && padding.iter().all(|&byte| byte == 0)
        };
        if let Some(name) = ours.iter().find(is_named) {
            return Ok(name);
        }
        let end = self.mechanism.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
        Err(GreetingError::OtherMechanism { ours: ours.join(", "), theirs: escaped(&self.mechanism[..end]) })
    }

    /// Returns the minor version of 3 that both sides speak.
    pub fn shared_minor(&self) -> u8 {
        if self.major > MAJOR { MINOR } else { self.minor.min(MINOR) }
    }
}
