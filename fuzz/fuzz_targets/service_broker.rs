//! MDP and HSN1, and the broker that speaks them: any frames are a command or refused by name, what was read of a command is
//! written as it was, and a broker that gets any messages of any peers keeps to its limits and sends nothing to strangers.
#![no_main]

use std::time::Duration;

use hairstreak_base::{Bytes, Message};
use hairstreak_services::broker::{Broker, Limits, Options};
use hairstreak_services::{OpenGate, Outbox, Sent};
use hairstreak_wire::mdp;
use hairstreak_wire::hsn1::{self, ClientId, Header, Held, Refusal, RequestId, encode_held, with_body};
use libfuzzer_sys::arbitrary::{self, Arbitrary};
use libfuzzer_sys::fuzz_target;

#[derive(Arbitrary, Debug)]
enum Step {
    Peer { peer: u8, uses_hsn1: bool },
    Gone(u8),
    Frames { peer: u8, frames: Vec<Vec<u8>> },
    /// A command that is likely to mean something.
    Command { peer: u8, command: Command },
    Pass(u16),
    Full(u8),
    Lost(u8),
    Free,
}

#[derive(Arbitrary, Debug)]
enum Command {
    PlainRequest { is_new: bool, service: u8, body: u8 },
    PlainReady { is_new: bool, service: u8 },
    PlainReply { is_new: bool, is_final: bool, client: u8, number: u8 },
    Request { client: u8, number: u8, first: u8, lifetime_ms: u16, is_repeated: bool, service: u8, size: u16 },
    Ready { capacity: u8, service: u8, held: Vec<(u8, u8, u64)> },
    Held(Vec<(u8, u8, u64)>),
    Reply { client: u8, number: u8, index: u8, is_final: bool, size: u16 },
    Refused { client: u8, number: u8 },
    Cancel { client: u8, number: u8 },
    Drain,
    Disconnect,
}

const SERVICES: [&[u8]; 4] = [b"echo", b"other", b"mmi.service", b"hairstreak.services"];
/// Bytes that one message passes a limit by, at most.
const SLACK: usize = 1 << 20;

struct Wire {
    full: [bool; 8],
    gone: [bool; 8],
}

impl Outbox for Wire {
    fn send(&mut self, peer: &[u8], head: &[&[u8]], body: &[Bytes]) -> Sent {
        assert!(peer.len() == 1 && peer[0] < 8);
        let peer = usize::from(peer[0]);
        if self.gone[peer] || self.full[peer] {
            return if self.gone[peer] { Sent::Gone } else { Sent::Full };
        }
        let frames: Vec<&[u8]> = head.iter().copied().chain(body.iter().map(Bytes::as_bytes)).collect();
        let uses_hsn1 = hsn1::parse_from_broker(&frames).is_ok();
        let is_plain = mdp::parse_reply(&frames).is_ok() || mdp::parse_to_worker(&frames).is_ok();
        assert!(uses_hsn1 || is_plain, "{frames:?}");
        Sent::Done
    }
}

fuzz_target!(|steps: Vec<Step>| {
    let limits = Limits { queue_count_max: 8, queue_age_max_ms: 2_000, processing_max_ms: 1_000, ..Limits::default() };
    let options = Options {
        services_max: 4,
        workers_max: 4,
        clients_max: 6,
        open_per_client_max: 64,
        open_max: 128,
        bytes_max: 1 << 16,
        replies_bytes_max: 4_096,
        client_absence_max_ms: 3_000,
        limits,
        ..Options::default()
    };
    let mut broker = Broker::new([b'B'; 16], options, Box::new(OpenGate));
    let mut wire = Wire { full: [false; 8], gone: [false; 8] };
    let mut now = Duration::ZERO;
    for step in steps {
        match step {
            Step::Peer { peer, uses_hsn1 } => broker.handle_peer(&[peer % 8], uses_hsn1, &mut wire),
            Step::Gone(peer) => broker.handle_gone(now, &[peer % 8], &mut wire),
            Step::Frames { peer, frames } => {
                check_codecs(&frames);
                take(&mut broker, now, peer, &frames, &mut wire);
            }
            Step::Command { peer, command } => take(&mut broker, now, peer, &frames_of(command), &mut wire),
            Step::Pass(ms) => {
                now += Duration::from_millis(ms.into());
                broker.handle_timeout(now, &mut wire);
            }
            Step::Full(peer) => wire.full[usize::from(peer % 8)] = true,
            Step::Lost(peer) => wire.gone[usize::from(peer % 8)] = true,
            Step::Free => (wire.full, wire.gone) = ([false; 8], [false; 8]),
        }
        let report = broker.report(now);
        assert!(report.open <= 128 && report.clients <= 6 && report.services.len() <= 4);
        assert!(report.open_bytes + report.unread_bytes <= (1 << 16) + SLACK);
        assert!(report.services.iter().map(|service| service.workers).sum::<usize>() <= 4);
    }
    // Everybody goes, and nothing is left.
    (0..8).for_each(|peer| broker.handle_gone(now, &[peer], &mut wire));
    for _ in 0..100 {
        now += Duration::from_millis(200);
        broker.handle_timeout(now, &mut wire);
    }
    let report = broker.report(now);
    assert_eq!((report.open, report.open_bytes, report.unread_bytes, report.clients), (0, 0, 0, 0));
    assert_eq!((report.services.len(), broker.next_timeout(now)), (0, None));
});

fn take(broker: &mut Broker, now: Duration, peer: u8, frames: &[Vec<u8>], wire: &mut Wire) {
    let peer = [vec![peer % 8]];
    broker.handle_message(now, Message::from_frames(peer.iter().chain(frames)), wire);
}

/// Whatever is read can be looked at, and a header that is one is written as it was.
fn check_codecs(frames: &[Vec<u8>]) {
    if let Err(error) = mdp::parse(frames) {
        assert!(!error.to_string().is_empty());
    }
    let _ = (mdp::parse_reply(frames), mdp::parse_to_worker(frames));
    let _ = (hsn1::parse_to_broker(frames), hsn1::parse_from_broker(frames));
    for frame in frames {
        if let Some(id) = mdp::Address::parse(frame) {
            assert_eq!(mdp::Address::from(id).as_bytes(), frame);
        }
        if let Ok(held) = hsn1::parse_held(frame) {
            assert_eq!(encode_held(held), *frame);
        }
        if let Ok((header, rest)) = Header::parse(frame) {
            assert!(frame.ends_with(rest));
            assert_eq!(Header::parse(header.encode().as_ref()), Ok((header, &[][..])));
        }
    }
}

fn id(client: u8, number: u8) -> RequestId {
    RequestId { client: ClientId([client % 8; 16]), number: number.into() }
}

fn frames_of(command: Command) -> Vec<Vec<u8>> {
    let version = |is_new| if is_new { mdp::Version::V02 } else { mdp::Version::V01 };
    let service = |index: u8| SERVICES[usize::from(index % 4)];
    let owned = |frames: &[&[u8]]| frames.iter().map(|frame| frame.to_vec()).collect::<Vec<_>>();
    let numbered = |header: Header, behind: &[&[u8]]| {
        let header = header.encode();
        owned(&[&[header.as_ref()], behind].concat())
    };
    let all = |first: &[u8], behind: &[Vec<u8>]| {
        std::iter::once(first.to_vec()).chain(behind.iter().cloned()).collect::<Vec<_>>()
    };
    // Of one that lies in the header's frame, and one that does not.
    let body = |size: u16| vec![b'x'; usize::from(size % 512)];
    let held = |ranges: Vec<(u8, u8, u64)>| {
        encode_held(ranges.into_iter().map(|(client, first, last)| {
            let first = u64::from(first).max(1);
            Held { client: id(client, 0).client, first, last: last.max(first) }
        }))
    };
    match command {
        Command::PlainRequest { is_new, service: name, body } => {
            let head = mdp::client_request(version(is_new), service(name));
            owned(&[head.frames(), &[&[body; 100]]].concat())
        }
        Command::PlainReady { is_new, service: name } => {
            owned(mdp::worker_ready(version(is_new), service(name)).frames())
        }
        Command::PlainReply { is_new, is_final, client, number } => {
            let mut request = id(client, number);
            if client % 2 == 0 {
                // One of a plain client.
                request.client.0 = [b'B'; 16];
                request.client.0[8..].copy_from_slice(&u64::from(client / 2).to_be_bytes());
            }
            let address = mdp::Address::from(request);
            owned(&[mdp::worker_reply(version(is_new), address.as_bytes(), is_final).frames(), &[b"done"]].concat())
        }
        Command::Request { client, number, first, lifetime_ms, is_repeated, service: name, size } => {
            let header = Header::Request {
                request: id(client, number),
                first: first.into(),
                lifetime_ms: lifetime_ms.into(),
                deliveries: 0,
                is_repeated,
                takes_runs: is_repeated,
            };
            with_body(header, Some(service(name)), &[body(size)], all)
        }
        Command::Ready { capacity, service: name, held: ranges } => {
            numbered(Header::Ready { capacity: capacity.into() }, &[service(name), &held(ranges)])
        }
        Command::Held(ranges) => numbered(Header::Held, &[&held(ranges)]),
        Command::Reply { client, number, index, is_final, size } => {
            let run = (index % 2 == 1).then_some(u64::from(index));
            let (request, index) = (id(client, number), index.into());
            let header = match is_final {
                true => Header::Final { request, index, run },
                false => Header::Partial { request, index, run },
            };
            with_body(header, None, &[body(size)], all)
        }
        Command::Refused { client, number } => {
            numbered(Header::Refused { request: id(client, number), refusal: Refusal::Failed }, &[b"no"])
        }
        Command::Cancel { client, number } => numbered(Header::Cancel { request: id(client, number) }, &[]),
        Command::Drain => numbered(Header::Drain, &[]),
        Command::Disconnect => numbered(Header::Disconnect, &[]),
    }
}
