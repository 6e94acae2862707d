//! `CurveCipher`: MESSAGE commands, which carry all traffic behind a CURVE handshake.
//!
//! ```text
//! body:  07 "MESSAGE" | nonce (8, big endian) | tag (16) | encrypted: flags (1) | payload
//!                                                          bit 0 MORE, bit 1 COMMAND
//! ```
//!
//! Bodies are sealed and opened in place, without allocation. The first 16 bytes of the nonce never change within a
//! direction. The cipher's inner key is therefore computed once per connection (NaCl computes it for each box), and
//! the keystream of short bodies is computed for several at once ([`super::keystream`]). For longer bodies dryoc's
//! vector code is as fast (docs/adr/0014-curve-crypto.md).
//!
//! Invariants: no data is decrypted before its tag is verified. A nonce that does not exceed the last one is rejected
//! unseen, and a nonce becomes the last one only once its tag is verified. A number is assigned to one sealed body
//! and never again, because it is incremented first.

use dryoc::classic::crypto_box::{
    crypto_box_detached_afternm_inplace, crypto_box_open_detached_afternm_inplace,
};
use dryoc::classic::crypto_core::crypto_core_hsalsa20;
use dryoc::classic::crypto_onetimeauth::crypto_onetimeauth;
use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

use super::key::KEY_SIZE;
use super::keystream::{Keystream, SHORT_SIZE};
use super::sealed::{BoxKey, NONCE_SIZE, TAG_SIZE, numbered};
use crate::Blame;
use crate::blame::escaped;

/// Number of bytes of a MESSAGE's body before its payload.
pub const MESSAGE_OVERHEAD: usize = NAME.len() + 8 + TAG_SIZE + 1;

const NAME: &[u8; 8] = b"\x07MESSAGE";
const TAG_AT: usize = NAME.len() + 8;
const DATA_AT: usize = TAG_AT + TAG_SIZE;

const MORE: u8 = 1;
const COMMAND: u8 = 2;

/// Flags of the content of a MESSAGE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MessageFlags {
    /// Another frame of the same message follows.
    pub more: bool,
    /// The payload is the body of a command.
    pub command: bool,
}

/// The body of a frame behind a CURVE handshake is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MessageError {
    /// The body is another command, or not a command.
    #[error("\"{start}\" where only MESSAGE may stand")]
    NotMessage {
        /// Start of the body, escaped.
        start: String,
    },
    /// The body is shorter than an empty MESSAGE.
    #[error("MESSAGE of {size} bytes, {MESSAGE_OVERHEAD} is the least")]
    TooShort {
        /// The size of the body, in bytes.
        size: usize,
    },
    /// The message was sent before, or is out of order.
    #[error("MESSAGE number {nonce} after number {last}")]
    Replayed {
        /// Number of the message.
        nonce: u64,
        /// Number of the previous message.
        last: u64,
    },
    /// The message was not sealed by the peer, or was changed on its way.
    #[error("MESSAGE that the peer did not seal")]
    Forged,
    /// A reserved flag is set, or MORE together with COMMAND.
    #[error("MESSAGE with flags {flags:#04x}")]
    BadFlags {
        /// All flags.
        flags: u8,
    },
}

impl MessageError {
    /// Returns the side at fault.
    pub fn blame(&self) -> Blame {
        Blame::PeerMisbehaved
    }
}

/// State of one direction: the prefix of its nonces, the number of the last box, and the keystream of short ones.
#[derive(Clone)]
struct Direction {
    prefix: [u8; 16],
    last: u64,
    keystream: Keystream,
}

impl Direction {
    fn new(key: &BoxKey, prefix: &[u8; 16], last: u64) -> Direction {
        let mut inner_key = Zeroizing::new([0; KEY_SIZE]);
        crypto_core_hsalsa20(&mut inner_key, prefix, key.as_bytes(), None);
        Direction { prefix: *prefix, last, keystream: Keystream::new(&inner_key) }
    }

    fn nonce(&self, number: &[u8; 8]) -> [u8; NONCE_SIZE] {
        numbered(&self.prefix, number)
    }
}

/// Cipher for the traffic of one connection, in both directions. A copy has its own counters: only one of two copies
/// may seal messages, because the other would use the same numbers. Tests copy ciphers; sessions never do.
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
    /// Creates the cipher behind a handshake with these last numbers.
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
        // INVARIANT: a connection does not live long enough for 2^64 messages.
        self.sends.last = self.sends.last.checked_add(1).expect("numbers left");
        let number = self.sends.last.to_be_bytes();
        body[..NAME.len()].copy_from_slice(NAME);
        body[NAME.len()..TAG_AT].copy_from_slice(&number);
        body[DATA_AT] = if flags.more { MORE } else { 0 } | if flags.command { COMMAND } else { 0 };
        let (head, data) = body.split_at_mut(DATA_AT);
        // INVARIANT: the head ends with a tag, by its size.
        let tag = head.last_chunk_mut().expect("room for a tag");
        if data.len() <= SHORT_SIZE {
            let (tag_key, stream) = self.sends.keystream.of(self.sends.last, data.len());
            combine(data, stream);
            crypto_onetimeauth(tag, data, tag_key);
        } else {
            let nonce = self.sends.nonce(&number);
            crypto_box_detached_afternm_inplace(data, tag, &nonce, self.key.as_bytes());
        }
    }

    /// Opens `body`, whose payload then lies behind [`MESSAGE_OVERHEAD`] bytes. After an error the body is unchanged,
    /// and the connection is unusable.
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
        self.open_data(nonce, tag, data).ok_or(MessageError::Forged)?;
        self.receives.last = nonce;
        match data[0] {
            flags @ (0 | MORE | COMMAND) => {
                Ok(MessageFlags { more: flags == MORE, command: flags == COMMAND })
            }
            flags => Err(MessageError::BadFlags { flags }),
        }
    }

    fn open_data(&mut self, number: u64, tag: &[u8; TAG_SIZE], data: &mut [u8]) -> Option<()> {
        if data.len() > SHORT_SIZE {
            let nonce = self.receives.nonce(&number.to_be_bytes());
            return crypto_box_open_detached_afternm_inplace(data, tag, &nonce, self.key.as_bytes()).ok();
        }
        let (tag_key, stream) = self.receives.keystream.of(number, data.len());
        let mut expected = [0; TAG_SIZE];
        crypto_onetimeauth(&mut expected, data, tag_key);
        // Compared as one number: dryoc compares byte by byte, which takes a sixth of the time of a short tag.
        let is_same = u128::from_le_bytes(expected).ct_eq(&u128::from_le_bytes(*tag));
        if !bool::from(is_same) {
            return None;
        }
        combine(data, stream);
        Some(())
    }
}

/// Combines the data with the same number of bytes of the stream, eight bytes at a time.
#[inline]
fn combine(data: &mut [u8], stream: &[u8]) {
    let (words, rest) = data.as_chunks_mut();
    let (stream_words, _) = stream.as_chunks();
    for (word, key) in words.iter_mut().zip(stream_words) {
        *word = (u64::from_ne_bytes(*word) ^ u64::from_ne_bytes(*key)).to_ne_bytes();
    }
    for (byte, key) in rest.iter_mut().zip(&stream[8 * words.len()..]) {
        *byte ^= key;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const KEY: [u8; KEY_SIZE] = [7; KEY_SIZE];
    const PLAIN: MessageFlags = MessageFlags { more: false, command: false };

    fn cipher(is_server: bool, last: u64) -> CurveCipher {
        CurveCipher::new(BoxKey::secret(KEY), is_server, last, last)
    }

    fn sealed(cipher: &mut CurveCipher, payload: &[u8]) -> Vec<u8> {
        let mut body = [&[0; MESSAGE_OVERHEAD], payload].concat();
        cipher.seal(&mut body, PLAIN);
        body
    }

    fn number(body: &[u8]) -> [u8; 8] {
        body[NAME.len()..TAG_AT].try_into().expect("eight bytes")
    }

    /// Opens a client's MESSAGE with NaCl's own interface, without any earlier message.
    fn opened_by_nacl(body: &[u8]) -> Option<Vec<u8>> {
        let nonce = numbered(b"CurveZMQMESSAGEC", &number(body));
        let (tag, mut data) = (body[TAG_AT..DATA_AT].try_into().ok()?, body[DATA_AT..].to_vec());
        crypto_box_open_detached_afternm_inplace(&mut data, &tag, &nonce, &KEY).ok()?;
        Some(data)
    }

    /// Sizes around every threshold of the sealing code, and any other sizes.
    fn size() -> impl Strategy<Value = usize> {
        const BOUNDS: [usize; 12] = [0, 30, 31, 32, 94, 95, 96, 222, 223, 224, 225, 9000];
        prop_oneof![prop::sample::select(&BOUNDS[..]), 0..300_usize]
    }

    proptest! {
        #[test]
        fn messages_of_changing_sizes_are_sealed_under_one_number_each(
            last in prop_oneof![Just(2_u64), any::<u32>().prop_map(u64::from), Just(u64::MAX - 100)],
            sizes in prop::collection::vec(size(), 1..50),
        ) {
            let mut client = cipher(false, last);
            for (index, size) in sizes.into_iter().enumerate() {
                let payload: Vec<u8> = (0..size).map(|i| (i + index) as u8).collect();
                let body = sealed(&mut client, &payload);
                prop_assert_eq!(u64::from_be_bytes(number(&body)), last + 1 + index as u64);
                prop_assert_eq!(opened_by_nacl(&body), Some([&[0][..], &payload].concat()));
            }
        }

        #[test]
        fn messages_are_opened_whichever_of_them_were_lost_or_forged_before(
            steps in prop::collection::vec((size(), 0..4_u8, any::<u64>()), 1..50),
        ) {
            let (mut client, mut server) = (cipher(false, 2), cipher(true, 2));
            for (size, fate, far) in steps {
                let body = sealed(&mut client, &vec![fate; size]);
                if fate == 0 {
                    continue;
                }
                if fate == 1 {
                    let mut forged = body.clone();
                    let ahead = u64::from_be_bytes(number(&body)).saturating_add(far);
                    forged[NAME.len()..TAG_AT].copy_from_slice(&ahead.to_be_bytes());
                    forged[TAG_AT] ^= 1;
                    prop_assert_eq!(server.open(&mut forged), Err(MessageError::Forged));
                }
                let mut arrived = body;
                prop_assert_eq!(server.open(&mut arrived), Ok(PLAIN));
                prop_assert_eq!(&arrived[MESSAGE_OVERHEAD..], vec![fate; size]);
            }
        }
    }

    #[test]
    fn the_two_directions_of_a_connection_never_share_a_stream() {
        let (mut client, mut server) = (cipher(false, 2), cipher(true, 2));
        for _ in 0..40 {
            let (there, back) = (sealed(&mut client, &[0; 64]), sealed(&mut server, &[0; 64]));
            assert_eq!(number(&there), number(&back));
            assert!(
                there[TAG_AT..].iter().zip(&back[TAG_AT..]).filter(|(one, other)| one == other).count() < 20
            );
        }
    }
}
