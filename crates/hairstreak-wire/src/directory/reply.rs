//! `Reply`: the directory's answer.
//!
//! ```text
//! OK         lease_ms                         lease_ms: 0 unless a REGISTER is answered
//! FOUND      name  endpoint  {key  value}*
//! NOT_FOUND  name
//! DUPLICATE  name  endpoint                   endpoint: the holder's
//! LIST       more  {name  endpoint}*          more: one byte, 1 if another page follows
//! ERROR      code  text
//! ```

use super::attributes::Attributes;
use super::endpoint::Endpoint;
use super::envelope::{Envelope, EnvelopeError, Opened};
use super::field::{self, FieldError};
use super::name::Name;
use crate::Blame;
use crate::blame::escaped;

/// The largest number of entries in a LIST reply.
pub const LIST_ENTRY_COUNT_MAX: usize = 256;

/// Largest number of frames of a message: a LIST reply with an empty first frame. Requests have 40 at most.
pub const FRAME_COUNT_MAX: usize = 5 + 2 * LIST_ENTRY_COUNT_MAX;

/// The longest text of an ERROR reply, in bytes.
pub const TEXT_SIZE_MAX: usize = 255;

/// The directory's answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// The request was done.
    Ok {
        /// Lease of the name after REGISTER, in milliseconds; otherwise 0.
        lease_ms: u32,
    },
    /// LOOKUP: the entry.
    Found {
        /// The name.
        name: Name,
        /// Address of the holder.
        endpoint: Endpoint,
        /// Further information from the holder.
        attributes: Attributes,
    },
    /// LOOKUP: the wait timed out. UNREGISTER: the name is not registered.
    NotFound {
        /// The name.
        name: Name,
    },
    /// REGISTER, UNREGISTER: another owner holds the name.
    Duplicate {
        /// The name.
        name: Name,
        /// Address of the present holder.
        endpoint: Endpoint,
    },
    /// LIST: a page of names.
    List {
        /// True if more names follow the last one here.
        more: bool,
        /// Names with their endpoints, in the order of the names' bytes.
        entries: Vec<(Name, Endpoint)>,
    },
    /// The request was rejected.
    Error {
        /// Type of the error.
        code: ErrorCode,
        /// Description of the error, on one line.
        text: String,
    },
}

/// The types of errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorCode {
    /// `protocol`: the message is not HSD1.
    Protocol,
    /// `malformed`: the request breaks a rule of HSD1.
    Malformed,
    /// `limit`: the directory is full, or this client has used its share of it.
    Limit,
    /// `access_refused`: the user may not do that with the name.
    AccessRefused,
}

impl ErrorCode {
    /// Returns the code as it is sent.
    pub fn as_str(self) -> &'static str {
        match self {
            ErrorCode::Protocol => "protocol",
            ErrorCode::Malformed => "malformed",
            ErrorCode::Limit => "limit",
            ErrorCode::AccessRefused => "access_refused",
        }
    }

    fn decode(bytes: &[u8]) -> Result<ErrorCode, ReplyError> {
        let codes = [ErrorCode::Protocol, ErrorCode::Malformed, ErrorCode::Limit, ErrorCode::AccessRefused];
        let known = codes.into_iter().find(|code| code.as_str().as_bytes() == bytes);
        known.ok_or_else(|| ReplyError::UnknownCode { code: escaped(bytes) })
    }
}

/// A reply is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReplyError {
    /// The message is not HSD1.
    #[error(transparent)]
    Envelope(#[from] EnvelopeError),
    /// The verb is unknown.
    #[error("unknown verb \"{verb}\" in a reply")]
    UnknownVerb {
        /// The verb, escaped.
        verb: String,
    },
    /// There are too few or too many fields.
    #[error("{verb} reply with {count} fields")]
    FieldCount {
        /// The verb.
        verb: &'static str,
        /// Number of fields.
        count: usize,
    },
    /// The error code is unknown.
    #[error("unknown error code \"{code}\"")]
    UnknownCode {
        /// The code, escaped.
        code: String,
    },
    /// A field breaks a rule.
    #[error("in a reply: {0}")]
    Field(#[from] FieldError),
}

impl ReplyError {
    /// Returns the side at fault.
    pub fn blame(&self) -> Blame {
        match self {
            ReplyError::Envelope(error) => error.blame(),
            _ => Blame::PeerMisbehaved,
        }
    }
}

impl Reply {
    /// Creates an error reply. The text is cut to [`TEXT_SIZE_MAX`] and made one line.
    pub fn error(code: ErrorCode, text: &str) -> Reply {
        let mut text = text.replace(char::is_control, " ");
        text.truncate(text.floor_char_boundary(TEXT_SIZE_MAX));
        Reply::Error { code, text }
    }

    /// Decodes a message.
    pub fn decode(frames: &[&[u8]]) -> Result<(Envelope, Reply), ReplyError> {
        let Opened { envelope, verb, fields } = Envelope::open(frames).map_err(|(_, error)| error)?;
        Ok((envelope, Reply::decode_verb(verb, fields)?))
    }

    fn decode_verb(verb: &[u8], fields: &[&[u8]]) -> Result<Reply, ReplyError> {
        let count = fields.len();
        let wrong = move |verb| Err(ReplyError::FieldCount { verb, count });
        match (verb, fields) {
            (b"OK", [lease_ms]) => Ok(Reply::Ok { lease_ms: field::number("lease_ms", lease_ms)? }),
            (b"OK", _) => wrong("OK"),
            (b"FOUND", [name, endpoint, attributes @ ..]) => Ok(Reply::Found {
                name: Name::decode(name)?,
                endpoint: Endpoint::decode(endpoint)?,
                attributes: Attributes::decode(attributes)?,
            }),
            (b"FOUND", _) => wrong("FOUND"),
            (b"NOT_FOUND", [name]) => Ok(Reply::NotFound { name: Name::decode(name)? }),
            (b"NOT_FOUND", _) => wrong("NOT_FOUND"),
            (b"DUPLICATE", [name, endpoint]) => {
                Ok(Reply::Duplicate { name: Name::decode(name)?, endpoint: Endpoint::decode(endpoint)? })
            }
            (b"DUPLICATE", _) => wrong("DUPLICATE"),
            (b"LIST", [more, entries @ ..]) => match entries.as_chunks::<2>() {
                (entries, []) if entries.len() <= LIST_ENTRY_COUNT_MAX => decode_list(more, entries),
                _ => wrong("LIST"),
            },
            (b"LIST", _) => wrong("LIST"),
            (b"ERROR", [code, text]) => {
                let text = field::text("text", text, TEXT_SIZE_MAX)?.to_owned();
                Ok(Reply::Error { code: ErrorCode::decode(code)?, text })
            }
            (b"ERROR", _) => wrong("ERROR"),
            (other, _) => Err(ReplyError::UnknownVerb { verb: escaped(other) }),
        }
    }

    /// Returns the frames of the message.
    pub fn encode(&self, envelope: &Envelope) -> Vec<Vec<u8>> {
        let mut frames = envelope.seal(self.verb());
        match self {
            Reply::Ok { lease_ms } => frames.push(lease_ms.to_be_bytes().into()),
            Reply::Found { name, endpoint, attributes } => {
                frames.push(name.as_str().into());
                frames.push(endpoint.as_str().into());
                attributes.encode(&mut frames);
            }
            Reply::NotFound { name } => frames.push(name.as_str().into()),
            Reply::Duplicate { name, endpoint } => {
                frames.push(name.as_str().into());
                frames.push(endpoint.as_str().into());
            }
            Reply::List { more, entries } => {
                frames.push(vec![u8::from(*more)]);
                for (name, endpoint) in entries {
                    frames.push(name.as_str().into());
                    frames.push(endpoint.as_str().into());
                }
            }
            Reply::Error { code, text } => {
                frames.push(code.as_str().into());
                frames.push(text.as_str().into());
            }
        }
        frames
    }

    fn verb(&self) -> &'static str {
        match self {
            Reply::Ok { .. } => "OK",
            Reply::Found { .. } => "FOUND",
            Reply::NotFound { .. } => "NOT_FOUND",
            Reply::Duplicate { .. } => "DUPLICATE",
            Reply::List { .. } => "LIST",
            Reply::Error { .. } => "ERROR",
        }
    }
}

fn decode_list(more: &[u8], entries: &[[&[u8]; 2]]) -> Result<Reply, ReplyError> {
    let more = match more {
        [0] => false,
        [1] => true,
        _ => return Err(FieldError::NotAFlag { field: "more" }.into()),
    };
    let entries = entries
        .iter()
        .map(|[name, endpoint]| Ok((Name::decode(name)?, Endpoint::decode(endpoint)?)))
        .collect::<Result<_, FieldError>>()?;
    Ok(Reply::List { more, entries })
}
