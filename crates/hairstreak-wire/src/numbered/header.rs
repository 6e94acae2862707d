//! `Header`: the first frame of a command, read and written.

use super::error::NumberedError;
use super::refusal::Refusal;
use super::request_id::{ClientId, RequestId};

/// What every header begins with.
pub const PROTOCOL: &[u8; 4] = b"HSN1";

/// The longest header, in bytes.
pub const HEADER_SIZE_MAX: usize = 44;

const REPEATED: u8 = 1;

/// A command, without the frames behind its header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Header {
    /// A broker's first word to whoever connects: what was under way on another connection is to be said again.
    Welcome {
        /// Which broker, since it started: 128 random bits.
        broker: [u8; 16],
        /// How long a request that was sent before waits for the worker that has it.
        heartbeat_ms: u32,
    },
    /// A request.
    Request {
        /// Which.
        request: RequestId,
        /// The client's first number without a reply.
        first: u64,
        /// How long the client waits still; 0: for ever.
        lifetime_ms: u32,
        /// How many workers had it before.
        deliveries: u16,
        /// From a client: it may have been sent before. To a worker: another one may have done it.
        is_repeated: bool,
    },
    /// A part of a reply.
    Partial {
        /// To which request.
        request: RequestId,
        /// The how manieth part, from 0.
        index: u32,
    },
    /// All of a reply, or its last part.
    Final {
        /// To which request.
        request: RequestId,
        /// How many parts went before.
        index: u32,
    },
    /// There is no reply.
    Refused {
        /// To which request.
        request: RequestId,
        /// Why.
        refusal: Refusal,
    },
    /// Nobody waits for the reply any more.
    Cancel {
        /// To which request.
        request: RequestId,
    },
    /// A worker is there.
    Ready {
        /// How many requests it may have at a time; at least 1.
        capacity: u32,
    },
    /// What a worker knows from other connections.
    Held,
    /// A worker wants nothing new.
    Drain,
    /// Nothing goes on on this connection.
    Disconnect,
}

/// A header's bytes.
#[derive(Clone, Copy, Debug)]
pub struct Encoded {
    bytes: [u8; HEADER_SIZE_MAX],
    size: usize,
}

impl AsRef<[u8]> for Encoded {
    fn as_ref(&self) -> &[u8] {
        &self.bytes[..self.size]
    }
}

impl Encoded {
    fn push<const N: usize>(&mut self, bytes: [u8; N]) {
        self.bytes[self.size..self.size + N].copy_from_slice(&bytes);
        self.size += N;
    }

    fn push_request(&mut self, request: RequestId) {
        self.push(request.client.0);
        self.push(request.number.to_be_bytes());
    }
}

impl Header {
    /// The frame that stands for it.
    pub fn encode(&self) -> Encoded {
        let mut out = Encoded { bytes: [0; HEADER_SIZE_MAX], size: 0 };
        out.push(*PROTOCOL);
        out.push([self.command()]);
        match *self {
            Header::Welcome { broker, heartbeat_ms } => {
                out.push(broker);
                out.push(heartbeat_ms.to_be_bytes());
            }
            Header::Request { request, first, lifetime_ms, deliveries, is_repeated } => {
                out.push_request(request);
                out.push(first.to_be_bytes());
                out.push(lifetime_ms.to_be_bytes());
                out.push(deliveries.to_be_bytes());
                out.push([if is_repeated { REPEATED } else { 0 }]);
            }
            Header::Partial { request, index } | Header::Final { request, index } => {
                out.push_request(request);
                out.push(index.to_be_bytes());
            }
            Header::Refused { request, refusal } => {
                out.push_request(request);
                out.push(refusal.code().to_be_bytes());
            }
            Header::Cancel { request } => out.push_request(request),
            Header::Ready { capacity } => out.push(capacity.to_be_bytes()),
            Header::Held | Header::Drain | Header::Disconnect => {}
        }
        out
    }

    fn command(&self) -> u8 {
        match self {
            Header::Welcome { .. } => 1,
            Header::Request { .. } => 2,
            Header::Partial { .. } => 3,
            Header::Final { .. } => 4,
            Header::Refused { .. } => 5,
            Header::Cancel { .. } => 6,
            Header::Ready { .. } => 7,
            Header::Held => 8,
            Header::Drain => 9,
            Header::Disconnect => 10,
        }
    }

    /// The name of the command.
    pub fn name(&self) -> &'static str {
        match self {
            Header::Welcome { .. } => "WELCOME",
            Header::Request { .. } => "REQUEST",
            Header::Partial { .. } => "PARTIAL",
            Header::Final { .. } => "FINAL",
            Header::Refused { .. } => "REFUSED",
            Header::Cancel { .. } => "CANCEL",
            Header::Ready { .. } => "READY",
            Header::Held => "HELD",
            Header::Drain => "DRAIN",
            Header::Disconnect => "DISCONNECT",
        }
    }

    /// Whether a first frame is a header, be it a malformed one.
    pub fn is_one(frame: &[u8]) -> bool {
        frame.starts_with(PROTOCOL)
    }

    /// Reads a first frame. Returns what is behind the fields, too: of REQUEST the service's name, of REQUEST and replies a short body.
    pub fn parse(frame: &[u8]) -> Result<(Header, &[u8]), NumberedError> {
        let rest = frame.strip_prefix(PROTOCOL).ok_or(NumberedError::OtherProtocol)?;
        let size = frame.len();
        let Some((&command, rest)) = rest.split_first() else {
            return Err(NumberedError::HeaderSize { command: 0, size });
        };
        let mut fields = Fields(rest);
        let header = match command {
            1 => fields.welcome(),
            2 => fields.request(),
            3 => fields.part().map(|(request, index)| Header::Partial { request, index }),
            4 => fields.part().map(|(request, index)| Header::Final { request, index }),
            5 => fields.refused(),
            6 => fields.request_id().map(|request| Header::Cancel { request }),
            7 => fields.u32().map(|capacity| Header::Ready { capacity }),
            8 => Some(Header::Held),
            9 => Some(Header::Drain),
            10 => Some(Header::Disconnect),
            other => return Err(NumberedError::UnknownCommand(other)),
        };
        match header {
            Some(header) if fields.0.is_empty() || header.has_body() => Ok((header, fields.0)),
            _ => Err(NumberedError::HeaderSize { command, size }),
        }
    }

    /// Whether a body belongs to it.
    pub(super) fn has_body(&self) -> bool {
        matches!(self, Header::Request { .. } | Header::Partial { .. } | Header::Final { .. })
    }
}

/// What has not been read of a header.
struct Fields<'a>(&'a [u8]);

impl Fields<'_> {
    #[inline]
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (taken, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*taken)
    }

    fn u16(&mut self) -> Option<u16> {
        self.take().map(u16::from_be_bytes)
    }

    fn u32(&mut self) -> Option<u32> {
        self.take().map(u32::from_be_bytes)
    }

    fn u64(&mut self) -> Option<u64> {
        self.take().map(u64::from_be_bytes)
    }

    fn request_id(&mut self) -> Option<RequestId> {
        Some(RequestId { client: ClientId(self.take()?), number: self.u64()? })
    }

    fn part(&mut self) -> Option<(RequestId, u32)> {
        Some((self.request_id()?, self.u32()?))
    }

    fn welcome(&mut self) -> Option<Header> {
        Some(Header::Welcome { broker: self.take()?, heartbeat_ms: self.u32()? })
    }

    fn request(&mut self) -> Option<Header> {
        Some(Header::Request {
            request: self.request_id()?,
            first: self.u64()?,
            lifetime_ms: self.u32()?,
            deliveries: self.u16()?,
            // Further flags are a later version's.
            is_repeated: self.take::<1>()?[0] & REPEATED != 0,
        })
    }

    fn refused(&mut self) -> Option<Header> {
        Some(Header::Refused { request: self.request_id()?, refusal: Refusal::from(self.u16()?) })
    }
}
