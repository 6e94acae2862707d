//! Tests of the service broker on virtual time: each rule by itself, then a simulation of clients, workers and brokers
//! that die.

mod absence;
mod attention;
mod bounds;
mod hearsay;
mod hsn1;
mod management;
mod permissions;
mod plain;
mod recovery;
mod runs;
mod simulation;
mod slowness;
mod suspects;
mod unread;

use std::collections::{BTreeSet, HashSet};
use std::time::Duration;

use hairstreak_base::{Bytes, Message};
use hairstreak_wire::hsn1::{
    BodyPlace, ClientId, FromBroker, Header, Held, Refusal, RequestId, encode_held, parse_from_broker,
    with_body,
};
use hairstreak_wire::mdp::Address;

use super::{Broker, Limits, Options};
use crate::gate::OpenGate;
use crate::gate::table::TableGate;
use crate::outbox::{Outbox, Sent};

/// Records the messages of the broker. Peers in `full` or `gone` get none.
#[derive(Default)]
struct Wire {
    sent: Vec<(String, Vec<Vec<u8>>)>,
    full: HashSet<String>,
    gone: HashSet<String>,
    /// Peers for which requests and replies are too large.
    narrow: HashSet<String>,
    /// Peers that the broker depends on.
    attended: BTreeSet<String>,
}

impl Outbox for Wire {
    fn send(&mut self, peer: &[u8], head: &[&[u8]], body: &[Bytes]) -> Sent {
        let peer = String::from_utf8(peer.to_vec()).unwrap();
        if self.gone.contains(&peer) {
            return Sent::Gone;
        }
        if self.full.contains(&peer) {
            return Sent::Full;
        }
        let first = head.first().copied().or(body.first().map(Bytes::as_bytes)).unwrap_or_default();
        let command = Header::parse(first).map(|(header, _)| header);
        let has_body =
            matches!(command, Ok(Header::Request { .. } | Header::Partial { .. } | Header::Final { .. }));
        if self.narrow.contains(&peer) && has_body {
            return Sent::Never;
        }
        let head = head.iter().map(|frame| frame.to_vec());
        self.sent.push((peer, head.chain(body.iter().map(|frame| frame.as_bytes().to_vec())).collect()));
        Sent::Done
    }

    fn attend(&mut self, peer: &[u8], is_attended: bool) {
        let peer = String::from_utf8(peer.to_vec()).unwrap();
        match is_attended {
            true => self.attended.insert(peer),
            false => self.attended.remove(&peer),
        };
    }
}

/// A broker, its clock, and its messages.
struct Bench {
    broker: Broker,
    now: Duration,
    wire: Wire,
}

fn request_id(client: char, number: u64) -> RequestId {
    RequestId { client: ClientId([client as u8; 16]), number }
}

/// Returns a request of a client that has all replies to earlier numbers.
fn request(client: char, number: u64) -> Header {
    request_from(client, number, number, false)
}

/// Returns a request that was sent before.
fn again(client: char, number: u64) -> Header {
    request_from(client, number, number, true)
}

fn request_from(client: char, number: u64, first: u64, is_repeated: bool) -> Header {
    Header::Request {
        request: request_id(client, number),
        first,
        lifetime_ms: 0,
        deliveries: 0,
        is_repeated,
        takes_runs: true,
    }
}

fn finish(client: char, number: u64) -> Header {
    Header::Final { request: request_id(client, number), index: 0, run: None }
}

fn held(ranges: &[(char, u64, u64)]) -> Vec<u8> {
    encode_held(ranges.iter().map(|&(client, first, last)| Held {
        client: request_id(client, 0).client,
        first,
        last,
    }))
}

impl Bench {
    fn new(options: Options) -> Bench {
        Bench {
            broker: Broker::new([b'B'; 16], options, Box::new(OpenGate)),
            now: Duration::ZERO,
            wire: Wire::default(),
        }
    }

    fn with_gate(gate: &TableGate) -> Bench {
        let broker = Broker::new([b'B'; 16], Options::default(), Box::new(gate.clone()));
        Bench { broker, now: Duration::ZERO, wire: Wire::default() }
    }

    fn with_limits(limits: Limits) -> Bench {
        Bench::new(Options { limits, ..Options::default() })
    }

    /// Sends a message of plain MDP, frame by frame.
    fn frames(&mut self, peer: &str, frames: &[&[u8]]) {
        let message = Message::from_frames([peer.as_bytes()].iter().chain(frames));
        self.broker.handle_message(self.now, message, &mut self.wire);
    }

    /// Sends a message of HSN1. For a request, the first item of `behind` is the service.
    fn send(&mut self, peer: &str, header: Header, behind: &[&[u8]]) {
        let (service, behind) = match (header, behind) {
            (Header::Request { .. }, [service, body @ ..]) => (Some(*service), body),
            _ => (None, behind),
        };
        with_body(header, service, behind, |first, behind| {
            let frames: Vec<&[u8]> = [first].into_iter().chain(behind.iter().copied()).collect();
            self.frames(peer, &frames);
        });
    }

    /// Connects a worker of HSN1.
    fn ready(&mut self, peer: &str, capacity: u32) {
        self.ready_with(peer, capacity, &[]);
    }

    /// Connects a worker of HSN1 that reports these numbers.
    fn ready_with(&mut self, peer: &str, capacity: u32, ranges: &[(char, u64, u64)]) {
        self.broker.handle_peer(peer.as_bytes(), true, &mut self.wire);
        self.send(peer, Header::Ready { capacity }, &[b"echo", &held(ranges)]);
    }

    /// Sends a request for `echo`. Its body is the number.
    fn ask(&mut self, peer: &str, client: char, number: u64) {
        self.send(peer, request(client, number), &[b"echo", number.to_string().as_bytes()]);
    }

    fn reply(&mut self, peer: &str, client: char, number: u64) {
        self.send(peer, finish(client, number), &[b"done"]);
    }

    /// Advances the time. The broker is called at each of its deadlines.
    fn pass(&mut self, ms: u64) {
        let end = self.now + Duration::from_millis(ms);
        while let Some(next) = self.broker.next_timeout(self.now).filter(|next| *next < end) {
            // The broker's own steps are at least five milliseconds.
            self.now = next.max(self.now + Duration::from_millis(1)).min(end);
            self.broker.handle_timeout(self.now, &mut self.wire);
        }
        self.now = end;
        self.broker.handle_timeout(self.now, &mut self.wire);
    }

    fn lose(&mut self, peer: &str) {
        self.broker.handle_gone(self.now, peer.as_bytes(), &mut self.wire);
    }

    /// Returns the raw messages since the last call.
    fn raw(&mut self) -> Vec<(String, Vec<Vec<u8>>)> {
        std::mem::take(&mut self.wire.sent)
    }

    /// Returns the messages since the last call, a line each, without WELCOME and heartbeats.
    fn said(&mut self) -> Vec<String> {
        self.raw().into_iter().filter_map(|(peer, frames)| line(&peer, &frames)).collect()
    }

    /// Returns the lines of `said` for one peer.
    fn said_to(&mut self, to: &str) -> Vec<String> {
        let prefix = format!("{to}: ");
        self.said().into_iter().filter_map(|line| line.strip_prefix(&prefix).map(str::to_owned)).collect()
    }

    /// Checks that no request is left. Peers may be connected.
    fn assert_quiet(&self) {
        let report = self.broker.report(self.now);
        assert_eq!((report.open, report.open_bytes, report.unread_bytes), (0, 0, 0), "{report:?}");
        for service in &report.services {
            assert_eq!((service.outstanding, service.queued), (0, 0), "{service:?}");
        }
    }
}

fn slot_count(bench: &Bench) -> usize {
    let counts = bench.broker.clients.counts();
    counts.own + counts.told
}

fn name(id: RequestId) -> String {
    let client = &id.client.0;
    let client = match client.strip_prefix(b"BBBBBBBB") {
        Some(rest) => format!("plain{}", u64::from_be_bytes(rest.try_into().unwrap())),
        None => char::from(client[0]).to_string(),
    };
    format!("{client}/{}", id.number)
}

/// Returns the message as readable text.
fn line_of(frames: &[Vec<u8>]) -> String {
    let texts = frames.iter().map(|frame| match Address::parse(frame) {
        Some(id) => format!("<{}>", name(id)),
        None => match Header::parse(frame) {
            Ok((header, _)) => format!("{header:?}"),
            Err(_) => frame.escape_ascii().to_string(),
        },
    });
    texts.collect::<Vec<_>>().join("|")
}

fn line(peer: &str, frames: &[Vec<u8>]) -> Option<String> {
    let body = |place: BodyPlace| {
        let body: Vec<_> = place.body(frames).map(String::from_utf8_lossy).collect();
        body.join("|")
    };
    if !frames[0].starts_with(b"HSN1") {
        let texts = frames.iter().map(|frame| match Address::parse(frame) {
            Some(id) => format!("<{}>", name(id)),
            None => frame.escape_ascii().to_string(),
        });
        let text = texts.collect::<Vec<_>>().join("|");
        return (text != "|MDPW01|\\x04" && text != "MDPW02|\\x05").then(|| format!("{peer}: {text}"));
    }
    Some(match parse_from_broker(frames).unwrap() {
        FromBroker::Welcome { .. } => return None,
        FromBroker::Request { request, deliveries, is_repeated, body: place, .. } => {
            let times = if deliveries > 0 { format!(" after {deliveries}") } else { String::new() };
            let mark = if is_repeated { " again" } else { "" };
            format!("{peer}: REQUEST {} {}{times}{mark}", name(request), body(place))
        }
        FromBroker::Reply(part) => {
            let command = if part.is_final { "FINAL" } else { "PARTIAL" };
            format!("{peer}: {command} {} #{} {}", name(part.request), part.index, body(part.body))
        }
        FromBroker::Refused { request, refusal, .. } => {
            format!("{peer}: REFUSED {} {}", name(request), refusal.code())
        }
        FromBroker::Cancel(request) => format!("{peer}: CANCEL {}", name(request)),
        FromBroker::Drained => format!("{peer}: DRAIN"),
        FromBroker::Disconnect { .. } => format!("{peer}: DISCONNECT"),
    })
}
