//! Commands: frames between peers that are not part of a message (RFC 37).
//!
//! ```text
//! body:  name size (1) | name | data
//!
//! READY      metadata: properties until the end
//! ERROR      reason size (1) | reason
//! PING       time to live in tenths of a second (2, big endian) | context (0 to 16)
//! PONG       the context of the PING
//! SUBSCRIBE  prefix
//! CANCEL     prefix
//! ```
//!
//! A parsed command borrows from the body. Commands of other names come out as [`Command::Unknown`]. Mechanisms and
//! negotiated extensions handle them; others skip them. PING, SUBSCRIBE and CANCEL are for peers of minor version 1
//! or later.

use super::frame::{HEADER_SIZE_MAX, encode_header};
use crate::Blame;

/// The largest context of a PING or PONG, in bytes.
pub const CONTEXT_SIZE_MAX: usize = 16;

/// Largest reason of an ERROR, in bytes; [`encode_error`] cuts longer ones.
pub const REASON_SIZE_MAX: usize = 255;

/// A command, borrowed from the body of its frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command<'a> {
    /// Ends the handshake.
    Ready {
        /// The peer's properties, for [`super::metadata::parse`].
        metadata: &'a [u8],
    },
    /// The peer refuses the connection.
    Error {
        /// Reason in the peer's words, up to 255 bytes.
        reason: &'a [u8],
    },
    /// The peer wants a PONG.
    Ping {
        /// If not zero, the peer asks to be dropped after this many tenths of a second of silence.
        ttl_tenths: u16,
        /// Data that the PONG repeats, up to 16 bytes.
        context: &'a [u8],
    },
    /// The answer to a PING.
    Pong {
        /// The context of that PING.
        context: &'a [u8],
    },
    /// The peer subscribes to messages that begin with `prefix`. Subscriptions are counted.
    Subscribe {
        /// The start of the messages wanted; empty for all.
        prefix: &'a [u8],
    },
    /// Cancels one `Subscribe` of the same prefix.
    Cancel {
        /// The prefix that was subscribed to.
        prefix: &'a [u8],
    },
    /// A command of another name.
    Unknown {
        /// Name of the command, 1 to 255 bytes.
        name: &'a [u8],
        /// All bytes behind the name.
        data: &'a [u8],
    },
}

impl<'a> Command<'a> {
    /// Returns the name of the command as it stands on the wire.
    pub fn name(&self) -> &'a [u8] {
        match self {
            Command::Ready { .. } => b"READY",
            Command::Error { .. } => b"ERROR",
            Command::Ping { .. } => b"PING",
            Command::Pong { .. } => b"PONG",
            Command::Subscribe { .. } => b"SUBSCRIBE",
            Command::Cancel { .. } => b"CANCEL",
            Command::Unknown { name, .. } => name,
        }
    }
}

/// A command is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CommandError {
    /// The body is empty or its name is. libzmq 4.3.3 and 4.3.4 send this for a SUBSCRIBE to
    /// a prefix of 246 to 255 bytes: they write a long size without the LONG flag.
    #[error("command without a name")]
    NoName,
    /// The body ends inside the name.
    #[error("command with a name of {name_size} bytes in a body of {body_size}")]
    NameCut {
        /// The size that the name claims, in bytes.
        name_size: usize,
        /// The size of the whole body, in bytes.
        body_size: usize,
    },
    /// An ERROR whose reason is longer or shorter than it claims.
    #[error("malformed ERROR command of {body_size} bytes")]
    MalformedError {
        /// The size of the whole body, in bytes.
        body_size: usize,
    },
    /// A PING that ends inside its time to live.
    #[error("PING without a time to live")]
    PingCut,
    /// A PING or PONG with a context over [`CONTEXT_SIZE_MAX`].
    #[error("PING or PONG with a context of {size} bytes, over the limit of {CONTEXT_SIZE_MAX}")]
    ContextTooLarge {
        /// The size of the context, in bytes.
        size: usize,
    },
    /// A READY after the handshake.
    #[error("second READY: the handshake is over")]
    SecondReady,
}

impl CommandError {
    /// Returns the side at fault.
    pub fn blame(&self) -> Blame {
        Blame::PeerMisbehaved
    }
}

/// Parses the body of any command frame.
pub fn parse(body: &[u8]) -> Result<Command<'_>, CommandError> {
    let (&name_size, rest) = body.split_first().ok_or(CommandError::NoName)?;
    let name_size = usize::from(name_size);
    let (name, data) =
        rest.split_at_checked(name_size).ok_or(CommandError::NameCut { name_size, body_size: body.len() })?;
    Ok(match name {
        b"" => return Err(CommandError::NoName),
        b"READY" => Command::Ready { metadata: data },
        b"ERROR" => match data.split_first() {
            Some((&size, reason)) if usize::from(size) == reason.len() => Command::Error { reason },
            _ => return Err(CommandError::MalformedError { body_size: body.len() }),
        },
        b"PING" => {
            let (ttl, context) = data.split_first_chunk().ok_or(CommandError::PingCut)?;
            Command::Ping { ttl_tenths: u16::from_be_bytes(*ttl), context: checked_context(context)? }
        }
        b"PONG" => Command::Pong { context: checked_context(data)? },
        b"SUBSCRIBE" => Command::Subscribe { prefix: data },
        b"CANCEL" => Command::Cancel { prefix: data },
        name => Command::Unknown { name, data },
    })
}

/// Parses the body of a command frame that arrived after the handshake, where a READY is an error.
pub fn parse_traffic(body: &[u8]) -> Result<Command<'_>, CommandError> {
    match parse(body)? {
        Command::Ready { .. } => Err(CommandError::SecondReady),
        command => Ok(command),
    }
}

fn checked_context(context: &[u8]) -> Result<&[u8], CommandError> {
    if context.len() > CONTEXT_SIZE_MAX {
        return Err(CommandError::ContextTooLarge { size: context.len() });
    }
    Ok(context)
}

/// Appends a whole PING frame. Panics when `context` is over [`CONTEXT_SIZE_MAX`].
pub fn encode_ping(out: &mut Vec<u8>, ttl_tenths: u16, context: &[u8]) {
    assert!(context.len() <= CONTEXT_SIZE_MAX, "PING context of {} bytes", context.len());
    encode(out, b"PING", &[&ttl_tenths.to_be_bytes(), context]);
}

/// Appends a whole PONG frame. Panics when `context` is over [`CONTEXT_SIZE_MAX`].
pub fn encode_pong(out: &mut Vec<u8>, context: &[u8]) {
    assert!(context.len() <= CONTEXT_SIZE_MAX, "PONG context of {} bytes", context.len());
    encode(out, b"PONG", &[context]);
}

/// Appends a whole SUBSCRIBE frame.
pub fn encode_subscribe(out: &mut Vec<u8>, prefix: &[u8]) {
    encode(out, b"SUBSCRIBE", &[prefix]);
}

/// Appends a whole CANCEL frame.
pub fn encode_cancel(out: &mut Vec<u8>, prefix: &[u8]) {
    encode(out, b"CANCEL", &[prefix]);
}

/// Appends a whole ERROR frame with the first 255 bytes of `reason`.
pub fn encode_error(out: &mut Vec<u8>, reason: &[u8]) {
    let reason = &reason[..reason.len().min(REASON_SIZE_MAX)];
    encode(out, b"ERROR", &[&[reason.len() as u8], reason]);
}

/// Appends a whole READY frame with `metadata` as [`super::metadata::encode`] writes it.
pub fn encode_ready(out: &mut Vec<u8>, metadata: &[u8]) {
    encode(out, b"READY", &[metadata]);
}

/// Appends a whole command frame of any name, its data being the concatenation of `data`.
/// Panics when `name` is empty or over 255 bytes.
pub fn encode(out: &mut Vec<u8>, name: &[u8], data: &[&[u8]]) {
    assert!((1..=255).contains(&name.len()), "command name of {} bytes", name.len());
    let body_size = 1 + name.len() + data.iter().map(|part| part.len()).sum::<usize>();
    let mut header = [0; HEADER_SIZE_MAX];
    let header_size = encode_header(&mut header, false, true, body_size);
    out.reserve(header_size + body_size);
    out.extend_from_slice(&header[..header_size]);
    out.push(name.len() as u8);
    out.extend_from_slice(name);
    for part in data {
        out.extend_from_slice(part);
    }
}
