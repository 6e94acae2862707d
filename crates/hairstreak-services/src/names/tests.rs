//! Tests of the directory on virtual time: each rule by itself, then random events against a plain model.

mod model;
mod permissions;
mod rules;
mod shares;

use std::time::Duration;

use hairstreak_base::Bytes;
use hairstreak_wire::directory::{
    Attributes, Endpoint, Envelope, Name, Owner, Registration, Reply, Request, RequestId,
};

use super::{Change, Directory, DirectoryOutbox, Options, Origin, Peer};
use crate::gate::OpenGate;
use crate::gate::table::TableGate;
use crate::{Outbox, Sent};

fn name(text: &str) -> Name {
    Name::new(text).unwrap()
}

fn endpoint(number: u8) -> Endpoint {
    Endpoint::new(&format!("tcp://10.0.0.{number}:1")).unwrap()
}

/// Returns a peer. Numbers below 100 have different addresses, the others share one.
fn peer(number: u8) -> Peer {
    let origin = Origin::from(Some([10, 0, 0, number.min(100)].into()));
    Peer { routing_id: [number].into(), origin }
}

/// Returns a peer of a user of [`TableGate`].
fn peer_of(user: &str) -> Peer {
    Peer { routing_id: format!("{user}:").as_bytes().into(), origin: Origin::Local }
}

fn register(text: &str, owner: u8, lease_ms: u32, at: u8) -> Request {
    Request::Register(Registration {
        name: name(text),
        owner: Owner([owner; 16]),
        lease_ms,
        endpoint: endpoint(at),
        attributes: Attributes::new(),
    })
}

fn unregister(text: &str, owner: u8) -> Request {
    Request::Unregister { name: name(text), owner: Owner([owner; 16]) }
}

fn lookup(text: &str, wait_ms: u32) -> Request {
    Request::Lookup { name: name(text), wait_ms }
}

fn found(text: &str, at: u8) -> Reply {
    Reply::Found { name: name(text), endpoint: endpoint(at), attributes: Attributes::new() }
}

fn not_found(text: &str) -> Reply {
    Reply::NotFound { name: name(text) }
}

/// Records the messages of the directory.
#[derive(Default)]
struct Said {
    changes: Vec<Change>,
    /// Peer, request number, reply.
    replies: Vec<(Peer, u64, Reply)>,
}

impl Outbox for Said {
    fn send(&mut self, to: &[u8], head: &[&[u8]], body: &[Bytes]) -> Sent {
        let frames: Vec<&[u8]> = head.iter().copied().chain(body.iter().map(Bytes::as_bytes)).collect();
        let (envelope, reply) = Reply::decode(&frames).unwrap();
        let id = u64::from_be_bytes(envelope.request_id.as_bytes().try_into().unwrap());
        assert_eq!(envelope.delimited, id.is_multiple_of(2));
        let to = if let [number] = to {
            peer(*number)
        } else {
            peer_of(str::from_utf8(to).unwrap().trim_end_matches(':'))
        };
        self.replies.push((to, id, reply));
        Sent::Done
    }
}

impl DirectoryOutbox for Said {
    fn changed(&mut self, change: &Change) {
        self.changes.push(change.clone());
    }
}

/// A directory, its clock, and its messages.
struct Bench {
    directory: Directory,
    now: Duration,
    next_id: u64,
    said: Said,
}

impl Bench {
    fn new(options: Options) -> Bench {
        Bench {
            directory: Directory::new(options, Box::new(OpenGate)),
            now: Duration::ZERO,
            next_id: 0,
            said: Said::default(),
        }
    }

    fn with_gate(gate: &TableGate) -> Bench {
        let directory = Directory::new(Options::default(), Box::new(gate.clone()));
        Bench { directory, ..Bench::new(Options::default()) }
    }

    /// Sends a request and returns its number.
    fn send(&mut self, from: u8, request: Request) -> u64 {
        self.send_from(&peer(from), request)
    }

    fn send_from(&mut self, from: &Peer, request: Request) -> u64 {
        let id = self.next_id;
        self.next_id += 1;
        let envelope = Envelope { delimited: id.is_multiple_of(2), request_id: RequestId::from(id) };
        let frames = request.encode(&envelope);
        let frames: Vec<&[u8]> = frames.iter().map(Vec::as_slice).collect();
        self.directory.handle_message(self.now, from, &frames, &mut self.said);
        id
    }

    /// Sends a request and returns its reply, which must be the only one and come at once.
    fn ask(&mut self, from: u8, request: Request) -> Reply {
        self.ask_from(&peer(from), request)
    }

    fn ask_from(&mut self, from: &Peer, request: Request) -> Reply {
        let id = self.send_from(from, request);
        match &std::mem::take(&mut self.said.replies)[..] {
            [(to, answered, reply)] if (to, *answered) == (from, id) => reply.clone(),
            other => panic!("not one reply to request {id}: {other:?}"),
        }
    }

    fn pass(&mut self, ms: u64) {
        self.now += Duration::from_millis(ms);
        self.directory.handle_timeout(self.now, &mut self.said);
    }

    fn lose(&mut self, gone: u8) {
        self.directory.handle_gone(self.now, &peer(gone));
    }
}
