//! `Header`: the first frame of a command, with its encoding and decoding.

use super::error::Hsn1Error;
use super::refusal::Refusal;
use super::request_id::{ClientId, RequestId};

/// Start of every header.
pub const PROTOCOL: &[u8; 4] = b"HSN1";

/// The longest header, in bytes.
pub const HEADER_SIZE_MAX: usize = 44;

const REPEATED: u8 = 1;
const TAKES_RUNS: u8 = 2;

/// A command, without the frames behind its header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Header {
    /// First command of a broker on each connection. The peer then repeats the requests and replies that were under
    /// way on another connection.
    Welcome {
        /// Id of the broker since it started: 128 random bits.
        broker: [u8; 16],
        /// Time that a resent request waits for the worker that already has it, in milliseconds.
        heartbeat_ms: u32,
    },
    /// A request.
    Request {
        /// Id of the request.
        request: RequestId,
        /// The lowest number of the client without a reply.
        first: u64,
        /// Remaining time that the client waits, in milliseconds; 0: no limit.
        lifetime_ms: u32,
        /// Number of workers that had the request before.
        deliveries: u16,
        /// From a client: the request may have been sent before. To a worker: another worker may have done it.
        is_repeated: bool,
        /// Parts of the reply may name their run.
        takes_runs: bool,
    },
    /// A part of a reply.
    Partial {
        /// Id of the request.
        request: RequestId,
        /// Index among the parts, from 0.
        index: u32,
        /// Run of the request that produced the part, if the part names it.
        run: Option<u64>,
    },
    /// A whole reply, or its last part.
    Final {
        /// Id of the request.
        request: RequestId,
        /// Number of parts before this one.
        index: u32,
        /// Run of the request that produced the part, if the part names it.
        run: Option<u64>,
    },
    /// There is no reply.
    Refused {
        /// Id of the request.
        request: RequestId,
        /// Reason for the refusal.
        refusal: Refusal,
    },
    /// The client no longer waits for the reply.
    Cancel {
        /// Id of the request.
        request: RequestId,
    },
    /// A worker is ready.
    Ready {
        /// Number of requests that the worker takes at a time, at least 1.
        capacity: u32,
    },
    /// Requests that a worker has from other connections.
    Held,
    /// A worker takes no new requests.
    Drain,
    /// The connection ends.
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
    /// Returns the encoded frame.
    pub fn encode(&self) -> Encoded {
        let mut out = Encoded { bytes: [0; HEADER_SIZE_MAX], size: 0 };
        out.push(*PROTOCOL);
        out.push([self.command()]);
        match *self {
            Header::Welcome { broker, heartbeat_ms } => {
                out.push(broker);
                out.push(heartbeat_ms.to_be_bytes());
            }
            Header::Request { request, first, lifetime_ms, deliveries, is_repeated, takes_runs } => {
                out.push_request(request);
                out.push(first.to_be_bytes());
                out.push(lifetime_ms.to_be_bytes());
                out.push(deliveries.to_be_bytes());
                let flag = |is_set: bool, flag: u8| if is_set { flag } else { 0 };
                out.push([flag(is_repeated, REPEATED) | flag(takes_runs, TAKES_RUNS)]);
            }
            Header::Partial { request, index, run } | Header::Final { request, index, run } => {
                out.push_request(request);
                out.push(index.to_be_bytes());
                if let Some(run) = run {
                    out.push(run.to_be_bytes());
                }
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
            Header::Partial { run: None, .. } => 3,
            Header::Final { run: None, .. } => 4,
            Header::Refused { .. } => 5,
            Header::Cancel { .. } => 6,
            Header::Ready { .. } => 7,
            Header::Held => 8,
            Header::Drain => 9,
            Header::Disconnect => 10,
            Header::Partial { run: Some(_), .. } => 11,
            Header::Final { run: Some(_), .. } => 12,
        }
    }

    /// Returns the name of the command.
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

    /// Returns whether a first frame is a header, even a malformed one.
    pub fn is_one(frame: &[u8]) -> bool {
        frame.starts_with(PROTOCOL)
    }

    /// Parses a first frame. Also returns the bytes behind the fields: the service's name in a REQUEST, and a short
    /// body in a REQUEST or a reply.
    pub fn parse(frame: &[u8]) -> Result<(Header, &[u8]), Hsn1Error> {
        let rest = frame.strip_prefix(PROTOCOL).ok_or(Hsn1Error::OtherProtocol)?;
        let size = frame.len();
        let Some((&command, rest)) = rest.split_first() else {
            return Err(Hsn1Error::HeaderSize { command: 0, size });
        };
        let mut fields = Fields(rest);
        let header = match command {
            1 => fields.welcome(),
            2 => fields.request(),
            3 => fields.part().map(|(request, index)| Header::Partial { request, index, run: None }),
            4 => fields.part().map(|(request, index)| Header::Final { request, index, run: None }),
            5 => fields.refused(),
            6 => fields.request_id().map(|request| Header::Cancel { request }),
            7 => fields.u32().map(|capacity| Header::Ready { capacity }),
            8 => Some(Header::Held),
            9 => Some(Header::Drain),
            10 => Some(Header::Disconnect),
            11 => fields.part_of_run().map(|(request, index, run)| Header::Partial { request, index, run }),
            12 => fields.part_of_run().map(|(request, index, run)| Header::Final { request, index, run }),
            other => return Err(Hsn1Error::UnknownCommand(other)),
        };
        match header {
            Some(header) if fields.0.is_empty() || header.has_body() => Ok((header, fields.0)),
            _ => Err(Hsn1Error::HeaderSize { command, size }),
        }
    }

    /// Returns whether the command has a body.
    pub(super) fn has_body(&self) -> bool {
        matches!(self, Header::Request { .. } | Header::Partial { .. } | Header::Final { .. })
    }
}

/// The unread part of a header.
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

    fn part_of_run(&mut self) -> Option<(RequestId, u32, Option<u64>)> {
        let (request, index) = self.part()?;
        Some((request, index, Some(self.u64()?)))
    }

    fn welcome(&mut self) -> Option<Header> {
        Some(Header::Welcome { broker: self.take()?, heartbeat_ms: self.u32()? })
    }

    fn request(&mut self) -> Option<Header> {
        let (request, first) = (self.request_id()?, self.u64()?);
        let (lifetime_ms, deliveries) = (self.u32()?, self.u16()?);
        // Other flags belong to a later version.
        let [flags] = self.take()?;
        let (is_repeated, takes_runs) = (flags & REPEATED != 0, flags & TAKES_RUNS != 0);
        Some(Header::Request { request, first, lifetime_ms, deliveries, is_repeated, takes_runs })
    }

    fn refused(&mut self) -> Option<Header> {
        Some(Header::Refused { request: self.request_id()?, refusal: Refusal::from(self.u16()?) })
    }
}
