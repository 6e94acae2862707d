//! Whole commands: a header and the frames behind it, as seen by a broker and by its peers.

use super::error::Hsn1Error;
use super::header::{HEADER_SIZE_MAX, Header};
use super::held::{Held, parse_held};
use super::refusal::Refusal;
use super::request_id::RequestId;
use crate::mdp::{SERVICE_NAME_SIZE_MAX, is_service_name};

/// Longest body of one frame that is sent in the frame of its header.
pub const INLINE_BODY_SIZE_MAX: usize = 256;

const FIRST_FRAME_SIZE_MAX: usize = HEADER_SIZE_MAX + 1 + SERVICE_NAME_SIZE_MAX + INLINE_BODY_SIZE_MAX;

/// A command to a broker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToBroker<'a> {
    /// A client's request.
    Request {
        /// Id of the request.
        request: RequestId,
        /// The lowest number of the client without a reply.
        first: u64,
        /// Remaining time that the client waits, in milliseconds; 0: no limit.
        lifetime_ms: u32,
        /// The request may have been sent before.
        is_repeated: bool,
        /// Parts of the reply may name their run.
        takes_runs: bool,
        /// Name of the service.
        service: &'a [u8],
        /// Place of the body in the frames.
        body: BodyPlace,
    },
    /// A client has stopped waiting.
    Cancel(RequestId),
    /// A worker's reply, or a part of one.
    Reply(Part),
    /// A worker cannot reply.
    Refused {
        /// Id of the request.
        request: RequestId,
        /// Reason for the refusal.
        refusal: Refusal,
        /// The worker's description.
        text: &'a [u8],
    },
    /// A worker is ready.
    Ready {
        /// Number of requests that the worker takes at a time.
        capacity: u32,
        /// Name of the service.
        service: &'a [u8],
        /// Requests that the worker has from earlier connections.
        held: HeldList<'a>,
    },
    /// Requests that a worker has from another broker.
    Held(HeldList<'a>),
    /// A worker takes no new requests.
    Drain,
    /// A worker leaves.
    Disconnect,
}

/// A command of a broker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FromBroker<'a> {
    /// First command of a connection.
    Welcome {
        /// Id of the broker.
        broker: [u8; 16],
        /// Time that a resent request waits for the worker that already has it, in milliseconds.
        heartbeat_ms: u32,
    },
    /// To a worker: a request.
    Request {
        /// Id of the request.
        request: RequestId,
        /// The lowest number of the client without a reply.
        first: u64,
        /// Number of workers that had the request before.
        deliveries: u16,
        /// Another worker may have done the request.
        is_repeated: bool,
        /// Parts of the reply may name their run.
        takes_runs: bool,
        /// Place of the body in the frames.
        body: BodyPlace,
    },
    /// To a client: a reply, or a part of one.
    Reply(Part),
    /// To a client: there is no reply.
    Refused {
        /// Id of the request.
        request: RequestId,
        /// Reason for the refusal.
        refusal: Refusal,
        /// Description by the broker or the worker.
        text: &'a [u8],
    },
    /// To a worker: the client no longer waits for this request.
    Cancel(RequestId),
    /// To a draining worker: the broker has sent its last request.
    Drained,
    /// The broker ends this connection.
    Disconnect {
        /// Reason.
        text: &'a [u8],
    },
}

/// A reply, or a part of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// Id of the request.
    pub request: RequestId,
    /// Index among the parts, from 0.
    pub index: u32,
    /// Run of the request that produced the part, if the part names it.
    pub run: Option<u64>,
    /// True for the last part.
    pub is_final: bool,
    /// Place of the body in the frames.
    pub body: BodyPlace,
}

/// Place of a body in the frames of a command: the frames from `index` on, without the first `start` bytes of the
/// first one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BodyPlace {
    /// Index of the first frame.
    pub index: usize,
    /// Start of the body in that frame.
    pub start: usize,
}

impl BodyPlace {
    /// Returns the body's frames from the frames of the command.
    pub fn body<F: AsRef<[u8]>>(self, frames: &[F]) -> impl Iterator<Item = &[u8]> {
        let cut = std::iter::once(self.start).chain(std::iter::repeat(0));
        frames[self.index..].iter().zip(cut).map(|(frame, start)| &frame.as_ref()[start..])
    }
}

/// A checked list of requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeldList<'a>(&'a [u8]);

impl<'a> HeldList<'a> {
    fn new(frame: &'a [u8]) -> Result<HeldList<'a>, Hsn1Error> {
        parse_held(frame).map(|_| HeldList(frame))
    }

    /// Returns the ranges.
    pub fn ranges(&self) -> impl Iterator<Item = Held> + 'a {
        parse_held(self.0).into_iter().flatten()
    }
}

/// Calls `send` with the first frame of a command and the frames behind it. A short body of one frame is put into the
/// first: a message of one frame is the cheapest for its sender, the broker and its receiver. `service`: the name of
/// the service, for a request to a broker.
pub fn with_body<F: AsRef<[u8]>, R>(
    header: Header,
    service: Option<&[u8]>,
    body: &[F],
    send: impl FnOnce(&[u8], &[F]) -> R,
) -> R {
    let mut bytes = [0; FIRST_FRAME_SIZE_MAX];
    let mut size = 0;
    let mut push = |part: &[u8]| {
        bytes[size..size + part.len()].copy_from_slice(part);
        size += part.len();
    };
    push(header.encode().as_ref());
    if let Some(service) = service {
        let service = &service[..service.len().min(SERVICE_NAME_SIZE_MAX)];
        push(&[service.len() as u8]);
        push(service);
    }
    let behind = match body {
        [only] if header.has_body() && only.as_ref().len() <= INLINE_BODY_SIZE_MAX => {
            push(only.as_ref());
            &[]
        }
        body => body,
    };
    send(&bytes[..size], behind)
}

/// The data behind a header's fields: the rest of its frame, and the frames that follow.
struct Behind<'a, F> {
    first_size: usize,
    rest: &'a [u8],
    frames: &'a [F],
}

impl<'a, F: AsRef<[u8]>> Behind<'a, F> {
    fn frame(&self, index: usize, name: &'static str) -> Result<&'a [u8], Hsn1Error> {
        self.frames.get(index).map(AsRef::as_ref).ok_or(Hsn1Error::Missing(name))
    }

    /// Checks that no more than `count` frames follow.
    fn ends_after(&self, count: usize) -> Result<(), Hsn1Error> {
        match self.frames.len().saturating_sub(count) {
            0 => Ok(()),
            count => Err(Hsn1Error::Surplus { count }),
        }
    }

    /// Returns the body: the frames that follow, or else the rest of the first frame.
    fn body(&self) -> Result<BodyPlace, Hsn1Error> {
        match (self.frames, self.rest) {
            ([], rest) => Ok(BodyPlace { index: 0, start: self.first_size - rest.len() }),
            (_, []) => Ok(BodyPlace { index: 1, start: 0 }),
            (_, rest) => Err(Hsn1Error::TwoBodies { size: rest.len() }),
        }
    }

    /// Splits the name of the service off the rest of the first frame.
    fn split_service(mut self) -> Result<(&'a [u8], Self), Hsn1Error> {
        let missing = Hsn1Error::Missing("service");
        let (&size, rest) = self.rest.split_first().ok_or(missing.clone())?;
        let (service, rest) = rest.split_at_checked(size.into()).ok_or(missing)?;
        self.rest = rest;
        Ok((check_service(service)?, self))
    }

    /// Returns the text in the only frame. Empty if there is no frame.
    fn text(&self) -> Result<&'a [u8], Hsn1Error> {
        self.ends_after(1)?;
        Ok(self.frames.first().map(AsRef::as_ref).unwrap_or_default())
    }
}

fn check_service(service: &[u8]) -> Result<&[u8], Hsn1Error> {
    let size = service.len();
    if is_service_name(service) { Ok(service) } else { Err(Hsn1Error::ServiceName { size }) }
}

fn open<F: AsRef<[u8]>>(frames: &[F]) -> Result<(Header, Behind<'_, F>), Hsn1Error> {
    let (first, behind) = frames.split_first().ok_or(Hsn1Error::OtherProtocol)?;
    let first_size = first.as_ref().len();
    let (header, rest) = Header::parse(first.as_ref())?;
    if let Header::Request { request, first, .. } = header
        && !(1..=request.number).contains(&first)
    {
        return Err(Hsn1Error::Number { number: request.number, first });
    }
    Ok((header, Behind { first_size, rest, frames: behind }))
}

/// Parses the frames behind the routing id, for a broker.
pub fn parse_to_broker<F: AsRef<[u8]>>(frames: &[F]) -> Result<ToBroker<'_>, Hsn1Error> {
    let (header, behind) = open(frames)?;
    Ok(match header {
        Header::Request { request, first, lifetime_ms, is_repeated, takes_runs, .. } => {
            let (service, behind) = behind.split_service()?;
            let body = behind.body()?;
            ToBroker::Request { request, first, lifetime_ms, is_repeated, takes_runs, service, body }
        }
        Header::Partial { request, index, run } => {
            ToBroker::Reply(Part { request, index, run, is_final: false, body: behind.body()? })
        }
        Header::Final { request, index, run } => {
            ToBroker::Reply(Part { request, index, run, is_final: true, body: behind.body()? })
        }
        Header::Refused { request, refusal } => ToBroker::Refused { request, refusal, text: behind.text()? },
        Header::Cancel { request } => behind.ends_after(0).map(|()| ToBroker::Cancel(request))?,
        Header::Ready { capacity } => {
            behind.ends_after(2)?;
            let held = HeldList::new(behind.frame(1, "list of requests")?)?;
            ToBroker::Ready { capacity, service: check_service(behind.frame(0, "service")?)?, held }
        }
        Header::Held => {
            behind.ends_after(1)?;
            ToBroker::Held(HeldList::new(behind.frame(0, "list of requests")?)?)
        }
        Header::Drain => behind.ends_after(0).map(|()| ToBroker::Drain)?,
        Header::Disconnect => behind.text().map(|_| ToBroker::Disconnect)?,
        Header::Welcome { .. } => return Err(Hsn1Error::NotForHere(header.name())),
    })
}

/// Parses the frames that a broker sent, for a client or a worker.
pub fn parse_from_broker<F: AsRef<[u8]>>(frames: &[F]) -> Result<FromBroker<'_>, Hsn1Error> {
    let (header, behind) = open(frames)?;
    Ok(match header {
        Header::Welcome { broker, heartbeat_ms } => {
            behind.ends_after(0).map(|()| FromBroker::Welcome { broker, heartbeat_ms })?
        }
        Header::Request { request, first, deliveries, is_repeated, takes_runs, .. } => {
            let body = behind.body()?;
            FromBroker::Request { request, first, deliveries, is_repeated, takes_runs, body }
        }
        Header::Partial { request, index, run } => {
            FromBroker::Reply(Part { request, index, run, is_final: false, body: behind.body()? })
        }
        Header::Final { request, index, run } => {
            FromBroker::Reply(Part { request, index, run, is_final: true, body: behind.body()? })
        }
        Header::Refused { request, refusal } => {
            FromBroker::Refused { request, refusal, text: behind.text()? }
        }
        Header::Cancel { request } => behind.ends_after(0).map(|()| FromBroker::Cancel(request))?,
        Header::Disconnect => FromBroker::Disconnect { text: behind.text()? },
        Header::Drain => behind.ends_after(0).map(|()| FromBroker::Drained)?,
        Header::Ready { .. } | Header::Held => {
            return Err(Hsn1Error::NotForHere(header.name()));
        }
    })
}
