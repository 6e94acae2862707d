//! The directory on virtual time: each rule by itself, then random events against a plain model.

mod model;
mod rules;
mod shares;

use std::time::Duration;

use hairstreak_wire::directory::{
    Attributes, Endpoint, Envelope, Name, Owner, Registration, Reply, Request, RequestId,
};

use super::{Change, Directory, Effect, Options, Origin, Peer};

fn name(text: &str) -> Name {
    Name::new(text).unwrap()
}

fn endpoint(number: u8) -> Endpoint {
    Endpoint::new(&format!("tcp://10.0.0.{number}:1")).unwrap()
}

/// Those below 100 come from different addresses, the others from one.
fn peer(number: u8) -> Peer {
    let origin = Origin::from(Some([10, 0, 0, number.min(100)].into()));
    Peer { routing_id: [number].into(), origin }
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

/// A directory, its clock, and what it said.
struct Bench {
    directory: Directory,
    now: Duration,
    next_id: u64,
    changes: Vec<Change>,
    /// Peer, request number, reply.
    replies: Vec<(Peer, u64, Reply)>,
}

impl Bench {
    fn new(options: Options) -> Bench {
        Bench {
            directory: Directory::new(options),
            now: Duration::ZERO,
            next_id: 0,
            changes: Vec::new(),
            replies: Vec::new(),
        }
    }

    /// Sends a request and returns its number.
    fn send(&mut self, from: u8, request: Request) -> u64 {
        let id = self.next_id;
        self.next_id += 1;
        let envelope = Envelope { delimited: id.is_multiple_of(2), request_id: RequestId::from(id) };
        self.directory.handle_request(self.now, &peer(from), envelope, request);
        self.drain();
        id
    }

    /// Sends a request and returns its reply, which must be the only one and come at once.
    fn ask(&mut self, from: u8, request: Request) -> Reply {
        let id = self.send(from, request);
        match &std::mem::take(&mut self.replies)[..] {
            [(to, answered, reply)] if (to, *answered) == (&peer(from), id) => reply.clone(),
            other => panic!("not one reply to request {id}: {other:?}"),
        }
    }

    fn pass(&mut self, ms: u64) {
        self.now += Duration::from_millis(ms);
        self.directory.handle_timeout(self.now);
        self.drain();
    }

    fn lose(&mut self, gone: u8) {
        self.directory.handle_peer_gone(self.now, &peer(gone));
        self.drain();
    }

    fn drain(&mut self) {
        while let Some(effect) = self.directory.poll_effect() {
            match effect {
                Effect::Changed(change) => self.changes.push(change),
                Effect::Reply { peer, envelope, reply } => {
                    let id = u64::from_be_bytes(envelope.request_id.as_bytes().try_into().unwrap());
                    assert_eq!(envelope.delimited, id.is_multiple_of(2));
                    self.replies.push((peer, id, reply));
                }
            }
        }
    }
}
