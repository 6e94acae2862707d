//! `CurveCipher`: MESSAGE commands, which carry all traffic behind a CURVE handshake.
//!
//! ```text
//! body:  07 "MESSAGE" | nonce (8, big endian) | tag (16) | encrypted: flags (1) | payload
//!                                                          bit 0 MORE, bit 1 COMMAND
//! ```
//!
//! A body is sealed and opened where it lies; nothing is allocated. The first 16 bytes of the nonce never
//! change within a direction, so the cipher's inner key is made once per connection (NaCl makes it anew for
//! each box). A short body then needs two or three blocks of keystream, for which scalar code without
//! further ado is fastest; from some 100 bytes on dryoc's vector code is (docs/adr/0011-curve-crypto.md).
//!
//! Invariants: nothing is decrypted before its tag is verified; a nonce that does not exceed the last one
//! is refused unseen, and becomes the last one only once its tag is verified.

use dryoc::classic::crypto_box::{
    crypto_box_detached_afternm_inplace, crypto_box_open_detached_afternm_inplace,
};
use dryoc::classic::crypto_core::crypto_core_hsalsa20;
use dryoc::classic::crypto_onetimeauth::{crypto_onetimeauth, crypto_onetimeauth_verify};
use salsa20::SalsaCore;
use salsa20::cipher::{KeyIvInit, StreamCipherCore, consts::U10};
use zeroize::Zeroizing;

use super::key::KEY_SIZE;
use super::sealed::{BoxKey, NONCE_SIZE, TAG_SIZE, numbered};
use crate::{Blame, escaped::escaped};

/// How many bytes of a MESSAGE's body come before its payload.
pub const MESSAGE_OVERHEAD: usize = NAME.len() + 8 + TAG_SIZE + 1;

const NAME: &[u8; 8] = b"\x07MESSAGE";
const TAG_AT: usize = NAME.len() + 8;
const DATA_AT: usize = TAG_AT + TAG_SIZE;

const MORE: u8 = 1;
const COMMAND: u8 = 2;

/// A block of keystream, in bytes. Half of the first keys the tag.
const BLOCK_SIZE: usize = 64;
/// Up to here flags and payload are sealed with scalar code: two blocks.
const SHORT_SEAL_SIZE: usize = 2 * BLOCK_SIZE - 32;
/// And opened, for which dryoc's vector code has to make the tag's key apart: three blocks.
const SHORT_OPEN_SIZE: usize = 3 * BLOCK_SIZE - 32;

/// What is inside a MESSAGE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MessageFlags {
    /// Another frame of the same message follows.
    pub more: bool,
    /// The payload is the body of a command.
    pub command: bool,
}

/// Why the body of a frame behind a CURVE handshake was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MessageError {
    /// Another command, or none.
    #[error("\"{start}\" where only MESSAGE may stand")]
    NotMessage {
        /// How it begins, escaped.
        start: String,
    },
    /// Shorter than a MESSAGE of nothing.
    #[error("MESSAGE of {size} bytes, {MESSAGE_OVERHEAD} is the least")]
    TooShort {
        /// The size of the body, in bytes.
        size: usize,
    },
    /// Sent before, or out of order.
    #[error("MESSAGE number {nonce} after number {last}")]
    Replayed {
        /// Its number.
        nonce: u64,
        /// The number before.
        last: u64,
    },
    /// Not sealed by the peer as it arrived.
    #[error("MESSAGE that the peer did not seal")]
    Forged,
    /// A flag that is reserved, or MORE with COMMAND.
    #[error("MESSAGE with flags {flags:#04x}")]
    BadFlags {
        /// All flags.
        flags: u8,
    },
}

impl MessageError {
    /// Whose fault it is.
    pub fn blame(&self) -> Blame {
        Blame::PeerMisbehaved
    }
}

/// One direction: the key of its boxes, what its nonces begin with, and the number of the last box.
#[derive(Clone)]
struct Direction {
    prefix: [u8; 16],
    inner_key: Zeroizing<[u8; KEY_SIZE]>,
    last: u64,
}

impl Direction {
    fn new(key: &BoxKey, prefix: &[u8; 16], last: u64) -> Direction {
        let mut inner_key = Zeroizing::new([0; KEY_SIZE]);
        crypto_core_hsalsa20(&mut inner_key, prefix, key.as_bytes(), None);
        Direction { prefix: *prefix, inner_key, last }
    }

    fn nonce(&self, number: &[u8; 8]) -> [u8; NONCE_SIZE] {
        numbered(&self.prefix, number)
    }

    /// The keystream of a short box: the key of its tag, then what its data is combined with.
    fn keystream<const BLOCKS: usize>(&self, number: &[u8; 8], size: usize) -> [[u8; BLOCK_SIZE]; BLOCKS] {
        let mut core = SalsaCore::<U10>::new((&*self.inner_key).into(), number.into());
        let mut stream = [[0; BLOCK_SIZE]; BLOCKS];
        for block in &mut stream[..(KEY_SIZE + size).div_ceil(BLOCK_SIZE)] {
            core.write_keystream_block(block.into());
        }
        stream
    }
}

/// The traffic of one connection, both directions.
#[derive(Clone)]
pub struct CurveCipher {
    key: BoxKey,
    sends: Direction,
    receives: Direction,
}

impl std::fmt::Debug for CurveCipher {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "CurveCipher(sent {}, received {})", self.sends.last, self.receives.last)
    }
}

impl CurveCipher {
    /// The traffic behind a handshake whose last numbers were these.
    pub(super) fn new(key: BoxKey, is_server: bool, last_sent: u64, last_received: u64) -> CurveCipher {
        let (client, server) = (b"CurveZMQMESSAGEC", b"CurveZMQMESSAGES");
        let (ours, theirs) = if is_server { (server, client) } else { (client, server) };
        let sends = Direction::new(&key, ours, last_sent);
        let receives = Direction::new(&key, theirs, last_received);
        CurveCipher { key, sends, receives }
    }

    /// Seals `body`, whose payload lies behind [`MESSAGE_OVERHEAD`] bytes of room. Panics without that room.
    #[inline]
    pub fn seal(&mut self, body: &mut [u8], flags: MessageFlags) {
        // INVARIANT: a connection never lives to see 2^64 messages.
        self.sends.last = self.sends.last.checked_add(1).expect("numbers left");
        let number = self.sends.last.to_be_bytes();
        body[..NAME.len()].copy_from_slice(NAME);
        body[NAME.len()..TAG_AT].copy_from_slice(&number);
        body[DATA_AT] = if flags.more { MORE } else { 0 } | if flags.command { COMMAND } else { 0 };
        let (head, data) = body.split_at_mut(DATA_AT);
        // INVARIANT: the head ends with a tag, by its size.
        let tag = head.last_chunk_mut().expect("room for a tag");
        if data.len() <= SHORT_SEAL_SIZE {
            let stream = self.sends.keystream::<2>(&number, data.len());
            combine(data, &stream);
            crypto_onetimeauth(tag, data, tag_key(&stream));
        } else {
            let nonce = self.sends.nonce(&number);
            crypto_box_detached_afternm_inplace(data, tag, &nonce, self.key.as_bytes());
        }
    }

    /// Opens `body`, whose payload then lies behind [`MESSAGE_OVERHEAD`] bytes. After an error the body is as
    /// it was, and the connection of no more use.
    #[inline]
    pub fn open(&mut self, body: &mut [u8]) -> Result<MessageFlags, MessageError> {
        if !body.starts_with(NAME) {
            return Err(MessageError::NotMessage { start: escaped(&body[..body.len().min(NAME.len())]) });
        }
        if body.len() < MESSAGE_OVERHEAD {
            return Err(MessageError::TooShort { size: body.len() });
        }
        let (head, data) = body.split_at_mut(DATA_AT);
        let mut number = [0; 8];
        number.copy_from_slice(&head[NAME.len()..TAG_AT]);
        let (nonce, last) = (u64::from_be_bytes(number), self.receives.last);
        if nonce <= last {
            return Err(MessageError::Replayed { nonce, last });
        }
        // INVARIANT: the head ends with a tag, by its size.
        let tag = head.last_chunk().expect("a tag");
        self.open_data(&number, tag, data).ok_or(MessageError::Forged)?;
        self.receives.last = nonce;
        match data[0] {
            flags @ (0 | MORE | COMMAND) => {
                Ok(MessageFlags { more: flags == MORE, command: flags == COMMAND })
            }
            flags => Err(MessageError::BadFlags { flags }),
        }
    }

    fn open_data(&self, number: &[u8; 8], tag: &[u8; TAG_SIZE], data: &mut [u8]) -> Option<()> {
        if data.len() > SHORT_OPEN_SIZE {
            let nonce = self.receives.nonce(number);
            return crypto_box_open_detached_afternm_inplace(data, tag, &nonce, self.key.as_bytes()).ok();
        }
        let stream = self.receives.keystream::<3>(number, data.len());
        crypto_onetimeauth_verify(tag, data, tag_key(&stream)).ok()?;
        combine(data, &stream);
        Some(())
    }
}

fn tag_key<const BLOCKS: usize>(stream: &[[u8; BLOCK_SIZE]; BLOCKS]) -> &[u8; KEY_SIZE] {
    // INVARIANT: a block is larger than a key, and there are two or three.
    stream[0].first_chunk().expect("a block")
}

fn combine<const BLOCKS: usize>(data: &mut [u8], stream: &[[u8; BLOCK_SIZE]; BLOCKS]) {
    for (byte, key) in data.iter_mut().zip(&stream.as_flattened()[KEY_SIZE..]) {
        *byte ^= key;
    }
}
