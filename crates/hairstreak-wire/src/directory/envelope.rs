//! `Envelope`: what stands before the verb, and what a reply has to repeat.

use std::fmt;

use crate::Blame;
use crate::blame::escaped;

/// The frame that names the protocol and its version.
pub const PROTOCOL: &[u8] = b"HSD1";

/// The longest request id, in bytes.
pub const REQUEST_ID_SIZE_MAX: usize = 16;

/// The client's name for one of its requests: 0 to [`REQUEST_ID_SIZE_MAX`] bytes that mean nothing
/// to the directory.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct RequestId {
    /// Zero behind `size`, so that equality is that of the arrays.
    bytes: [u8; REQUEST_ID_SIZE_MAX],
    size: u8,
}

impl RequestId {
    /// `None` when it is too long.
    pub fn new(id: &[u8]) -> Option<RequestId> {
        let mut bytes = [0; REQUEST_ID_SIZE_MAX];
        bytes.get_mut(..id.len())?.copy_from_slice(id);
        Some(RequestId { bytes, size: id.len() as u8 })
    }

    /// The bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.size)]
    }
}

impl From<u64> for RequestId {
    fn from(number: u64) -> RequestId {
        let mut bytes = [0; REQUEST_ID_SIZE_MAX];
        bytes[..8].copy_from_slice(&number.to_be_bytes());
        RequestId { bytes, size: 8 }
    }
}

impl fmt::Debug for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RequestId(\"{}\")", self.as_bytes().escape_ascii())
    }
}

/// How a request began, and therefore how its reply begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Envelope {
    /// Whether an empty frame stands first, as a REQ socket sends it.
    pub delimited: bool,
    /// The request's id.
    pub request_id: RequestId,
}

/// Why a message is no HSD1 message.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EnvelopeError {
    /// Another protocol, another version of it, or nothing at all.
    #[error("the first frame is \"{found}\", not \"HSD1\"")]
    OtherProtocol {
        /// What stands there, escaped.
        found: String,
    },
    /// Nothing behind the protocol.
    #[error("the request id is missing")]
    NoRequestId,
    /// A request id over [`REQUEST_ID_SIZE_MAX`].
    #[error("request id has {size} bytes, the limit is {REQUEST_ID_SIZE_MAX}")]
    RequestIdTooLong {
        /// Its size, in bytes.
        size: usize,
    },
    /// Nothing behind the request id.
    #[error("the verb is missing")]
    NoVerb,
}

impl EnvelopeError {
    /// Whose fault it is.
    pub fn blame(&self) -> Blame {
        match self {
            EnvelopeError::OtherProtocol { .. } => Blame::PeerIncompatible,
            _ => Blame::PeerMisbehaved,
        }
    }
}

/// A message whose envelope has been taken off.
pub(super) struct Opened<'a> {
    pub(super) envelope: Envelope,
    pub(super) verb: &'a [u8],
    pub(super) fields: &'a [&'a [u8]],
}

impl Envelope {
    /// Takes the envelope off. With an error comes as much of the envelope as could be read.
    pub(super) fn open<'a>(frames: &'a [&'a [u8]]) -> Result<Opened<'a>, (Envelope, EnvelopeError)> {
        let mut envelope = Envelope::default();
        let mut rest = frames;
        if let [b"", after @ ..] = rest {
            envelope.delimited = true;
            rest = after;
        }
        let Some((&PROTOCOL, rest)) = rest.split_first() else {
            let found = escaped(rest.first().copied().unwrap_or_default());
            return Err((envelope, EnvelopeError::OtherProtocol { found }));
        };
        let Some((id, rest)) = rest.split_first() else {
            return Err((envelope, EnvelopeError::NoRequestId));
        };
        envelope.request_id =
            RequestId::new(id).ok_or((envelope, EnvelopeError::RequestIdTooLong { size: id.len() }))?;
        let Some((verb, fields)) = rest.split_first() else {
            return Err((envelope, EnvelopeError::NoVerb));
        };
        Ok(Opened { envelope, verb, fields })
    }

    /// The frames up to and with the verb.
    pub(super) fn seal(&self, verb: &str) -> Vec<Vec<u8>> {
        let mut frames = Vec::new();
        if self.delimited {
            frames.push(Vec::new());
        }
        frames.push(PROTOCOL.to_vec());
        frames.push(self.request_id.as_bytes().to_vec());
        frames.push(verb.as_bytes().to_vec());
        frames
    }
}
