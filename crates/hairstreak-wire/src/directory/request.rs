//! `Request`: a client's request to the directory.
//!
//! ```text
//! REGISTER    name  owner  lease_ms  endpoint  {key  value}*
//! UNREGISTER  name  owner
//! LOOKUP      name  wait_ms
//! LIST        prefix  after
//! PING
//! ```

use super::attributes::Attributes;
use super::endpoint::Endpoint;
use super::envelope::{Envelope, EnvelopeError, Opened};
use super::field::{self, FieldError};
use super::name::{NAME_SIZE_MAX, Name, Owner};
use super::reply::{ErrorCode, Reply};
use crate::Blame;
use crate::blame::escaped;

/// The verbs, with the fields of each.
const VERBS: [(&str, &str); 5] = [
    ("REGISTER", "name, owner, lease_ms, endpoint, {key, value}*"),
    ("UNREGISTER", "name, owner"),
    ("LOOKUP", "name, wait_ms"),
    ("LIST", "prefix, after"),
    ("PING", "none"),
];

/// A client's request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// Registers a name or renews its lease. The directory treats both alike, so the client may send it at any time.
    Register(Registration),
    /// Releases a name before its lease ends.
    Unregister {
        /// The name.
        name: Name,
        /// Token of the holder.
        owner: Owner,
    },
    /// Looks up the holder of a name.
    Lookup {
        /// The name.
        name: Name,
        /// Time to wait for the name to appear, in milliseconds; 0: answer immediately.
        wait_ms: u32,
    },
    /// Lists names in the order of their bytes, a page at a time.
    List {
        /// Prefix of the names; may be empty.
        prefix: String,
        /// Lists only names behind this one; may be empty.
        after: String,
    },
    /// Checks that the directory is alive.
    Ping,
}

/// Content of REGISTER.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Registration {
    /// The name.
    pub name: Name,
    /// Token of the new holder.
    pub owner: Owner,
    /// Lease of the name, in milliseconds; 0: the directory's default.
    pub lease_ms: u32,
    /// Address for connections to the holder.
    pub endpoint: Endpoint,
    /// Further information for clients.
    pub attributes: Attributes,
}

/// A request is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RequestError {
    /// The message is not HSD1.
    #[error(transparent)]
    Envelope(#[from] EnvelopeError),
    /// The verb is unknown.
    #[error("unknown verb \"{verb}\"")]
    UnknownVerb {
        /// The verb, escaped.
        verb: String,
    },
    /// There are too few or too many fields.
    #[error("{verb} has {count} fields where {expected} belong")]
    FieldCount {
        /// The verb.
        verb: &'static str,
        /// Number of fields.
        count: usize,
        /// The fields of that verb.
        expected: &'static str,
    },
    /// A field breaks a rule.
    #[error("{verb}: {error}")]
    Field {
        /// The verb.
        verb: &'static str,
        /// Error of the field.
        error: FieldError,
    },
}

impl RequestError {
    /// Returns the side at fault.
    pub fn blame(&self) -> Blame {
        match self {
            RequestError::Envelope(error) => error.blame(),
            _ => Blame::PeerMisbehaved,
        }
    }
}

/// A rejected request, with its envelope for the answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefusedRequest {
    /// The readable part of the envelope.
    pub envelope: Envelope,
    /// Reason for the rejection.
    pub error: RequestError,
}

impl RefusedRequest {
    /// Returns the answer to the client.
    pub fn reply(&self) -> Reply {
        let code = match self.error.blame() {
            Blame::PeerIncompatible => ErrorCode::Protocol,
            Blame::PeerMisbehaved => ErrorCode::Malformed,
        };
        Reply::error(code, &self.error.to_string())
    }
}

impl Request {
    /// Decodes a message without its routing id.
    pub fn decode(frames: &[&[u8]]) -> Result<(Envelope, Request), RefusedRequest> {
        let Opened { envelope, verb, fields } = Envelope::open(frames)
            .map_err(|(envelope, error)| RefusedRequest { envelope, error: error.into() })?;
        match decode_verb(verb, fields) {
            Ok(request) => Ok((envelope, request)),
            Err(error) => Err(RefusedRequest { envelope, error }),
        }
    }

    /// Returns the frames of the message.
    pub fn encode(&self, envelope: &Envelope) -> Vec<Vec<u8>> {
        let mut frames = envelope.seal(self.verb());
        match self {
            Request::Register(registration) => {
                frames.push(registration.name.as_str().into());
                frames.push(registration.owner.0.into());
                frames.push(registration.lease_ms.to_be_bytes().into());
                frames.push(registration.endpoint.as_str().into());
                registration.attributes.encode(&mut frames);
            }
            Request::Unregister { name, owner } => {
                frames.push(name.as_str().into());
                frames.push(owner.0.into());
            }
            Request::Lookup { name, wait_ms } => {
                frames.push(name.as_str().into());
                frames.push(wait_ms.to_be_bytes().into());
            }
            Request::List { prefix, after } => {
                frames.push(prefix.as_str().into());
                frames.push(after.as_str().into());
            }
            Request::Ping => {}
        }
        frames
    }

    fn verb(&self) -> &'static str {
        match self {
            Request::Register(_) => "REGISTER",
            Request::Unregister { .. } => "UNREGISTER",
            Request::Lookup { .. } => "LOOKUP",
            Request::List { .. } => "LIST",
            Request::Ping => "PING",
        }
    }
}

fn decode_verb(verb: &[u8], fields: &[&[u8]]) -> Result<Request, RequestError> {
    let known = VERBS.iter().find(|(known, _)| known.as_bytes() == verb);
    let &(verb, expected) = known.ok_or_else(|| RequestError::UnknownVerb { verb: escaped(verb) })?;
    let request = decode_fields(verb, fields).map_err(|error| RequestError::Field { verb, error })?;
    request.ok_or(RequestError::FieldCount { verb, count: fields.len(), expected })
}

/// Decodes the fields of a verb. `None`: their number is wrong.
fn decode_fields(verb: &str, fields: &[&[u8]]) -> Result<Option<Request>, FieldError> {
    Ok(Some(match (verb, fields) {
        ("REGISTER", [name, owner, lease_ms, endpoint, attributes @ ..]) => Request::Register(Registration {
            name: Name::decode(name)?,
            owner: Owner::decode(owner)?,
            lease_ms: field::number("lease_ms", lease_ms)?,
            endpoint: Endpoint::decode(endpoint)?,
            attributes: Attributes::decode(attributes)?,
        }),
        ("UNREGISTER", [name, owner]) => {
            Request::Unregister { name: Name::decode(name)?, owner: Owner::decode(owner)? }
        }
        ("LOOKUP", [name, wait_ms]) => {
            Request::Lookup { name: Name::decode(name)?, wait_ms: field::number("wait_ms", wait_ms)? }
        }
        ("LIST", [prefix, after]) => Request::List {
            prefix: field::text("prefix", prefix, NAME_SIZE_MAX)?.to_owned(),
            after: field::text("after", after, NAME_SIZE_MAX)?.to_owned(),
        },
        ("PING", []) => Request::Ping,
        _ => return Ok(None),
    }))
}
