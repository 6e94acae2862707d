//! `Envelope`: the frames before the verb. A reply repeats them.

use std::fmt;

use crate::Blame;
use crate::blame::escaped;

/// The frame that names the protocol and its version.
pub const PROTOCOL: &[u8] = b"HSD1";

/// The longest request id, in bytes.
pub const REQUEST_ID_SIZE_MAX: usize = 16;

/// The client's id of one of its requests: 0 to [`REQUEST_ID_SIZE_MAX`] bytes, opaque to the directory.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct RequestId {
    /// Zero behind `size`, so that arrays of equal ids are equal.
    bytes: [u8; REQUEST_ID_SIZE_MAX],
    size: u8,
}

impl RequestId {
    /// Creates an id. `None` if it is too long.
    pub fn new(id: &[u8]) -> Option<RequestId> {
        let mut bytes = [0; REQUEST_ID_SIZE_MAX];
        bytes.get_mut(..id.len())?.copy_from_slice(id);
        Some(RequestId { bytes, size: id.len() as u8 })
    }

    /// Returns the bytes.
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

/// The start of a request. Its reply starts in the same way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Envelope {
    /// True if an empty frame comes first, as a REQ socket sends it.
    pub delimited: bool,
    /// The request's id.
    pub request_id: RequestId,
}

/// A message is not an HSD1 message.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EnvelopeError {
    /// The first frame names another protocol or version, or is missing.
    #[error("the first frame is \"{found}\", not \"HSD1\"")]
    OtherProtocol {
        /// The first frame, escaped.
        found: String,
    },
    /// No frame follows the protocol.
    #[error("the request id is missing")]
    NoRequestId,
    /// The request id is longer than [`REQUEST_ID_SIZE_MAX`].
    #[error("request id has {size} bytes, the limit is {REQUEST_ID_SIZE_MAX}")]
    RequestIdTooLong {
        /// Size of the id, in bytes.
        size: usize,
    },
    /// No frame follows the request id.
    #[error("the verb is missing")]
    NoVerb,
}

impl EnvelopeError {
    /// Returns the side at fault.
    pub fn blame(&self) -> Blame {
        match self {
            EnvelopeError::OtherProtocol { .. } => Blame::PeerIncompatible,
            _ => Blame::PeerMisbehaved,
        }
    }
}

/// A message without its envelope.
pub(super) struct Opened<'a> {
    pub(super) envelope: Envelope,
    pub(super) verb: &'a [u8],
    pub(super) fields: &'a [&'a [u8]],
}

impl Envelope {
    /// Removes the envelope. An error comes with the readable part of the envelope.
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

    /// Returns the frames up to and including the verb.
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
