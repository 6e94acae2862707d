//! Handshakes that succeed: between two of our ends and with the bytes of libzmq, for all cuts of
//! the bytes.

use crate::{
    greeting::{LIBZMQ_START, greeting},
    pair::{Pair, greeting_and_ready, handshake, local, receive, socket_type_metadata},
};
use hairstreak_wire::zmtp::{Handshake, HandshakeLimits, LocalPeer, RemotePeer, SocketType};

const LIBZMQ_READY_DEALER: &[u8] = b"\x04\x29\x05READY\x0bSocket-Type\0\0\0\x06DEALER\x08Identity\0\0\0\0";
const LIBZMQ_READY_PULL: &[u8] = b"\x04\x29\x05READY\x0bSocket-Type\0\0\0\x04PULL\x05X-key\0\0\0\x05hello";
const LIBZMQ_READY_SUB: &[u8] = b"\x04\x19\x05READY\x0bSocket-Type\0\0\0\x03SUB";
const TRAFFIC: &[u8] = b"\x01\x00\x00\x05hello\x04\x05\x04PONG";

fn said(start: &[u8; 12], ready: &[u8]) -> Vec<u8> {
    [&greeting(start, b"NULL"), ready, TRAFFIC].concat()
}

/// For every cut, `ours` finds `expected` and leaves the traffic unread.
#[track_caller]
fn check(ours: SocketType, stream: &[u8], expected: &RemotePeer) {
    let traffic_start = stream.len() - TRAFFIC.len();
    let check_chunks = |name: &str, chunks: Vec<&[u8]>| {
        let mut handshake = handshake(local(ours));
        let (consumed, _) = receive(&mut handshake, chunks).expect("a peer that does everything right");
        assert_eq!(consumed, traffic_start, "{name}");
        assert_eq!(handshake.poll_ready().as_ref(), Some(expected), "{name}");
        assert_eq!(handshake.poll_ready(), None, "{name}: ready twice");
        assert_eq!(handshake.handle_bytes(TRAFFIC), Ok(0), "{name}: traffic was consumed");
    };
    check_chunks("at once", vec![stream]);
    check_chunks("byte by byte", stream.chunks(1).collect());
    for split in 0..=stream.len() {
        check_chunks(&format!("split at {split}"), vec![&stream[..split], &stream[split..]]);
    }
}

#[test]
fn libzmq_3_1_is_understood_however_its_bytes_are_cut() {
    let expected = RemotePeer {
        minor: 1,
        socket_type: SocketType::Dealer,
        routing_id: Vec::new(),
        properties: vec![("Socket-Type".to_owned(), b"DEALER".to_vec()), ("Identity".to_owned(), Vec::new())],
        user_id: None,
    };
    check(SocketType::Router, &said(LIBZMQ_START, LIBZMQ_READY_DEALER), &expected);
}

#[test]
fn libzmq_3_0_is_understood_however_its_bytes_are_cut() {
    let start = b"\xff\x00\x00\x00\x00\x00\x00\x00\x01\x7f\x03\x00";
    let properties = vec![("Socket-Type".to_owned(), b"SUB".to_vec())];
    let expected = RemotePeer {
        minor: 0,
        socket_type: SocketType::Sub,
        routing_id: Vec::new(),
        properties,
        user_id: None,
    };
    check(SocketType::XPub, &said(start, LIBZMQ_READY_SUB), &expected);
}

#[test]
fn a_later_major_version_is_met_with_ours() {
    let start = b"\xff\x00\x00\x00\x00\x00\x00\x00\x01\x7f\x04\x00";
    let properties =
        vec![("Socket-Type".to_owned(), b"PULL".to_vec()), ("X-key".to_owned(), b"hello".to_vec())];
    let expected = RemotePeer {
        minor: 1,
        socket_type: SocketType::Pull,
        routing_id: Vec::new(),
        properties,
        user_id: None,
    };
    check(SocketType::Push, &said(start, LIBZMQ_READY_PULL), &expected);
}

#[test]
fn we_say_what_libzmq_says() {
    let dealer = local(SocketType::Dealer);
    let pull =
        LocalPeer { properties: vec![("X-key".to_owned(), b"hello".to_vec())], ..local(SocketType::Pull) };
    for (ours, peer, expected) in [
        (dealer, "ROUTER", LIBZMQ_READY_DEALER),
        (pull, "PUSH", LIBZMQ_READY_PULL),
        (local(SocketType::Sub), "PUB", LIBZMQ_READY_SUB),
    ] {
        let mut handshake = handshake(ours);
        let stream = greeting_and_ready(&socket_type_metadata(peer.as_bytes()));
        let (_, sent) = receive(&mut handshake, [stream.as_slice()]).expect("a fitting peer");
        assert_eq!(sent[64..], *expected);
    }
}

#[test]
fn the_whole_greeting_is_sent_before_a_byte_arrives_and_ready_after_the_peers_greeting() {
    let mut ours = handshake(local(SocketType::Push));
    let greeting_sent = ours.poll_transmit().expect("the greeting");
    assert_eq!(greeting_sent, greeting(b"\xff\0\0\0\0\0\0\0\0\x7f\x03\x01", b"NULL"));
    assert_eq!(ours.poll_transmit(), None);
    let theirs = greeting(LIBZMQ_START, b"NULL");
    assert_eq!(ours.handle_bytes(&theirs[..63]), Ok(63));
    assert_eq!(ours.poll_transmit(), None);
    assert_eq!(ours.handle_bytes(&theirs[63..]), Ok(1));
    assert_eq!(
        ours.poll_transmit().as_deref(),
        Some(b"\x04\x1a\x05READY\x0bSocket-Type\0\0\0\x04PUSH".as_slice())
    );
}

#[test]
fn ready_waits_until_our_own_ready_was_taken() {
    let mut ours = handshake(local(SocketType::Push));
    ours.handle_bytes(&greeting_and_ready(&socket_type_metadata(b"PULL"))).expect("a fitting peer");
    assert_eq!(ours.poll_ready(), None);
    let sent = ours.poll_transmit().expect("greeting and READY");
    assert_eq!(sent.len(), 64 + 2 + 26);
    assert!(ours.poll_ready().is_some());
}

#[test]
fn two_ends_of_ours_find_each_other_in_chunks_of_any_size() {
    let ends = || {
        [
            LocalPeer {
                routing_id: vec![0xff; 255],
                properties: vec![("X-Hairstreak".to_owned(), b"1".to_vec())],
                ..local(SocketType::Router)
            },
            LocalPeer { routing_id: b"worker".to_vec(), ..local(SocketType::Dealer) },
        ]
    };
    for chunk_size in (1..=70).chain([usize::MAX]) {
        let [(dealer, unread), (router, other_unread)] =
            Pair::new(ends(), chunk_size).run(TRAFFIC).expect("two that fit");
        assert_eq!((unread.as_slice(), other_unread.as_slice()), (TRAFFIC, TRAFFIC));
        assert_eq!((dealer.minor, dealer.socket_type), (1, SocketType::Dealer));
        assert_eq!(dealer.routing_id, b"worker");
        assert_eq!((router.socket_type, router.routing_id), (SocketType::Router, vec![0xff; 255]));
        assert!(router.properties.contains(&("X-Hairstreak".to_owned(), b"1".to_vec())));
    }
}

#[test]
fn every_compatible_combination_shakes_hands_and_no_other() {
    for one in SocketType::ALL {
        for other in SocketType::ALL {
            let outcome = Pair::new([local(one), local(other)], usize::MAX).run(b"");
            assert_eq!(outcome.is_ok(), one.compatible(other), "{one} with {other}");
        }
    }
}

#[test]
fn identity_is_sent_by_req_dealer_and_router_only() {
    for socket_type in SocketType::ALL {
        let peer =
            SocketType::ALL.into_iter().find(|&other| socket_type.compatible(other)).expect("a fitting type");
        let named = LocalPeer { routing_id: b"id".to_vec(), ..local(socket_type) };
        let [_, (found, _)] = Pair::new([named, local(peer)], usize::MAX).run(b"").expect("two that fit");
        let sends = matches!(socket_type, SocketType::Req | SocketType::Dealer | SocketType::Router);
        assert_eq!(found.routing_id, if sends { b"id".to_vec() } else { Vec::new() }, "{socket_type}");
        assert_eq!(found.properties.len(), if sends { 2 } else { 1 }, "{socket_type}");
    }
}

#[test]
fn an_identity_of_a_type_that_has_none_is_kept_as_a_property_only() {
    let mut metadata = socket_type_metadata(b"PULL");
    hairstreak_wire::zmtp::metadata::encode(&mut metadata, "Identity", &[7; 300]);
    let mut ours = handshake(local(SocketType::Push));
    receive(&mut ours, [greeting_and_ready(&metadata).as_slice()]).expect("a fitting peer");
    let found = ours.poll_ready().expect("ready");
    assert_eq!((found.routing_id, found.properties.len()), (Vec::new(), 2));
}

#[test]
fn a_ready_at_the_size_limit_passes() {
    let metadata = socket_type_metadata(b"PULL");
    let limits = HandshakeLimits { command_size_max: 6 + metadata.len() };
    let mut ours = Handshake::new(local(SocketType::Push), limits);
    receive(&mut ours, [greeting_and_ready(&metadata).as_slice()]).expect("a READY at the limit");
    assert!(ours.poll_ready().is_some());
}
