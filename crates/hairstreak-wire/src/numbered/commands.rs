//! Whole commands: a header and the frames behind it, as a broker gets them and as its peers do.

use super::error::NumberedError;
use super::header::Header;
use super::held::{Held, parse_held};
use super::refusal::Refusal;
use super::request_id::RequestId;
use crate::mdp::is_service_name;

/// A command to a broker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToBroker<'a> {
    /// A client's request.
    Request {
        /// Which.
        request: RequestId,
        /// The client's first number without a reply.
        first: u64,
        /// How long the client waits still; 0: for ever.
        lifetime_ms: u32,
        /// It may have been sent before.
        is_repeated: bool,
        /// For which service.
        service: &'a [u8],
        /// Which frame the body begins with.
        body_index: usize,
    },
    /// A client waits no more.
    Cancel(RequestId),
    /// A worker's reply, or a part of one.
    Reply(Part),
    /// A worker has no reply.
    Refused {
        /// To which request.
        request: RequestId,
        /// Why.
        refusal: Refusal,
        /// In its own words.
        text: &'a [u8],
    },
    /// A worker is there.
    Ready {
        /// How many requests it may have at a time.
        capacity: u32,
        /// Which service it serves.
        service: &'a [u8],
        /// What it knows from before.
        held: HeldList<'a>,
    },
    /// A worker knows these from another broker.
    Held(HeldList<'a>),
    /// A worker wants nothing new.
    Drain,
    /// It goes.
    Disconnect,
}

/// A command of a broker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FromBroker<'a> {
    /// Its first.
    Welcome {
        /// Which broker.
        broker: [u8; 16],
        /// How long a request that was sent before waits for the worker that has it.
        heartbeat_ms: u32,
    },
    /// To a worker: a request.
    Request {
        /// Which.
        request: RequestId,
        /// The client's first number without a reply.
        first: u64,
        /// How many workers had it before.
        deliveries: u16,
        /// Another worker may have done it.
        is_repeated: bool,
        /// Which frame the body begins with.
        body_index: usize,
    },
    /// To a client: a reply, or a part of one.
    Reply(Part),
    /// To a client: there is no reply.
    Refused {
        /// To which request.
        request: RequestId,
        /// Why.
        refusal: Refusal,
        /// In the broker's words, or the worker's.
        text: &'a [u8],
    },
    /// To a worker: nobody waits for it any more.
    Cancel(RequestId),
    /// To a worker that wants nothing new: nothing more is on the way.
    Drained,
    /// The broker wants to hear no more on this connection.
    Disconnect {
        /// Why.
        text: &'a [u8],
    },
}

/// A reply, or a part of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// To which request.
    pub request: RequestId,
    /// Its place among the parts, from 0.
    pub index: u32,
    /// Whether nothing follows.
    pub is_final: bool,
    /// Which frame the body begins with.
    pub body_index: usize,
}

/// A list of requests that was checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeldList<'a>(&'a [u8]);

impl<'a> HeldList<'a> {
    fn new(frame: &'a [u8]) -> Result<HeldList<'a>, NumberedError> {
        parse_held(frame).map(|_| HeldList(frame))
    }

    /// The ranges.
    pub fn ranges(&self) -> impl Iterator<Item = Held> + 'a {
        parse_held(self.0).into_iter().flatten()
    }
}

/// The frames of a command behind its header.
struct Behind<'a, F>(&'a [F]);

impl<'a, F: AsRef<[u8]>> Behind<'a, F> {
    fn frame(&self, index: usize, name: &'static str) -> Result<&'a [u8], NumberedError> {
        self.0.get(index).map(AsRef::as_ref).ok_or(NumberedError::Missing(name))
    }

    /// Nothing stands behind so many.
    fn ends_after(&self, count: usize) -> Result<(), NumberedError> {
        match self.0.len().saturating_sub(count) {
            0 => Ok(()),
            count => Err(NumberedError::Surplus { count }),
        }
    }

    /// A body begins behind so many; its place among all frames of the command.
    fn body(&self, count: usize) -> Result<usize, NumberedError> {
        self.frame(count, "body").map(|_| count + 1)
    }

    /// The only frame, which may be missing: a text.
    fn text(&self) -> Result<&'a [u8], NumberedError> {
        self.ends_after(1)?;
        Ok(self.0.first().map(AsRef::as_ref).unwrap_or_default())
    }

    fn service(&self) -> Result<&'a [u8], NumberedError> {
        let service = self.frame(0, "service")?;
        let size = service.len();
        if is_service_name(service) { Ok(service) } else { Err(NumberedError::ServiceName { size }) }
    }
}

fn open<F: AsRef<[u8]>>(frames: &[F]) -> Result<(Header, Behind<'_, F>), NumberedError> {
    let (first, behind) = frames.split_first().ok_or(NumberedError::OtherProtocol)?;
    let header = Header::parse(first.as_ref())?;
    if let Header::Request { request, first, .. } = header
        && !(1..=request.number).contains(&first)
    {
        return Err(NumberedError::Number { number: request.number, first });
    }
    Ok((header, Behind(behind)))
}

/// A broker's look at the frames behind the routing id.
pub fn parse_to_broker<F: AsRef<[u8]>>(frames: &[F]) -> Result<ToBroker<'_>, NumberedError> {
    let (header, behind) = open(frames)?;
    Ok(match header {
        Header::Request { request, first, lifetime_ms, is_repeated, .. } => {
            let (service, body_index) = (behind.service()?, behind.body(1)?);
            ToBroker::Request { request, first, lifetime_ms, is_repeated, service, body_index }
        }
        Header::Partial { request, index } => {
            ToBroker::Reply(Part { request, index, is_final: false, body_index: behind.body(0)? })
        }
        Header::Final { request, index } => {
            ToBroker::Reply(Part { request, index, is_final: true, body_index: behind.body(0)? })
        }
        Header::Refused { request, refusal } => ToBroker::Refused { request, refusal, text: behind.text()? },
        Header::Cancel { request } => behind.ends_after(0).map(|()| ToBroker::Cancel(request))?,
        Header::Ready { capacity } => {
            behind.ends_after(2)?;
            let held = HeldList::new(behind.frame(1, "list of requests")?)?;
            ToBroker::Ready { capacity, service: behind.service()?, held }
        }
        Header::Held => {
            behind.ends_after(1)?;
            ToBroker::Held(HeldList::new(behind.frame(0, "list of requests")?)?)
        }
        Header::Drain => behind.ends_after(0).map(|()| ToBroker::Drain)?,
        Header::Disconnect => behind.text().map(|_| ToBroker::Disconnect)?,
        Header::Welcome { .. } => return Err(NumberedError::NotForHere(header.name())),
    })
}

/// A client's or a worker's look at what a broker sent.
pub fn parse_from_broker<F: AsRef<[u8]>>(frames: &[F]) -> Result<FromBroker<'_>, NumberedError> {
    let (header, behind) = open(frames)?;
    Ok(match header {
        Header::Welcome { broker, heartbeat_ms } => {
            behind.ends_after(0).map(|()| FromBroker::Welcome { broker, heartbeat_ms })?
        }
        Header::Request { request, first, deliveries, is_repeated, .. } => {
            FromBroker::Request { request, first, deliveries, is_repeated, body_index: behind.body(0)? }
        }
        Header::Partial { request, index } => {
            FromBroker::Reply(Part { request, index, is_final: false, body_index: behind.body(0)? })
        }
        Header::Final { request, index } => {
            FromBroker::Reply(Part { request, index, is_final: true, body_index: behind.body(0)? })
        }
        Header::Refused { request, refusal } => {
            FromBroker::Refused { request, refusal, text: behind.text()? }
        }
        Header::Cancel { request } => behind.ends_after(0).map(|()| FromBroker::Cancel(request))?,
        Header::Disconnect => FromBroker::Disconnect { text: behind.text()? },
        Header::Drain => behind.ends_after(0).map(|()| FromBroker::Drained)?,
        Header::Ready { .. } | Header::Held => {
            return Err(NumberedError::NotForHere(header.name()));
        }
    })
}
