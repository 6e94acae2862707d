//! Connections that the socket does not want, or ends: told with the reason.

use std::io::Write;

use hairstreak_socket::monitor::{DisconnectCause, EventKind, HandshakeFailure};
use hairstreak_socket::security::AddressRules;
use hairstreak_socket::settlement::Settlement;
use hairstreak_socket::{Context, Dealer, Options, Pair, Pull, Push, Router, XPub, XSub};

use crate::LONG;
use crate::endpoints::endpoint;
use crate::witness::Witness;

#[test]
fn connections_that_are_not_let_in_are_told() {
    let rules = AddressRules::new().deny("127.0.0.0/8").unwrap();
    let options = Options { address_rules: rules, ..Options::default() };
    let pull = Pull::with_options(&Context::new(), options).unwrap();
    let mut monitor = Witness::of(&pull);
    let place = pull.bind(&endpoint("tcp")).unwrap();
    let push = Push::new(&Context::new()).unwrap();
    push.connect(&place.to_string()).unwrap();
    assert_eq!(monitor.wait_for(|kind| *kind == EventKind::Denied).endpoint, Some(place));

    let pull =
        Pull::with_options(&Context::new(), Options { connections_max: 1, ..Options::default() }).unwrap();
    let mut monitor = Witness::of(&pull);
    let place = pull.bind(&endpoint("tcp")).unwrap();
    for _ in 0..2 {
        let push = Push::new(&Context::new()).unwrap();
        push.connect(&place.to_string()).unwrap();
        std::mem::forget(push);
    }
    assert_eq!(monitor.wait_for(|kind| *kind == EventKind::Refused).endpoint, Some(place));
}

#[test]
fn a_second_peer_of_a_pair_and_a_second_of_a_name_are_told() {
    for transport in ["tcp", "inproc"] {
        let pair = Pair::new(&Context::new()).unwrap();
        let mut monitor = Witness::of(&pair);
        let place = pair.bind(&endpoint(transport)).unwrap().to_string();
        let (first, second) = (Pair::new(&Context::new()).unwrap(), Pair::new(&Context::new()).unwrap());
        first.connect(&place).unwrap();
        assert!(pair.wait_for_peers(1, LONG));
        second.connect(&place).unwrap();
        monitor.wait_for(|kind| *kind == EventKind::Refused);
    }
    for handover in [false, true] {
        let options = Options { router_handover: handover, ..Options::default() };
        let router = Router::with_options(&Context::new(), options).unwrap();
        let mut monitor = Witness::of(&router);
        let place = router.bind(&endpoint("tcp")).unwrap().to_string();
        let options = Options { routing_id: Some(b"ann".to_vec()), ..Options::default() };
        let dealer = || Dealer::with_options(&Context::new(), options.clone()).unwrap();
        let (first, second) = (dealer(), dealer());
        first.connect(&place).unwrap();
        let ready = monitor.wait_for(|kind| *kind == EventKind::HandshakeSucceeded);
        second.connect(&place).unwrap();
        if handover {
            let gone = monitor.wait_for(|kind| matches!(kind, EventKind::Disconnected { .. }));
            let EventKind::Disconnected { cause, .. } = gone.kind else { unreachable!() };
            assert_eq!((cause, gone.connection), (DisconnectCause::HandedOver, ready.connection));
        } else {
            let gone = monitor.wait_for(|kind| matches!(kind, EventKind::HandshakeFailed { .. }));
            let EventKind::HandshakeFailed { failure, .. } = gone.kind else { unreachable!() };
            assert_eq!(failure, HandshakeFailure::Unwanted);
        }
    }
}

#[test]
fn a_peer_that_passes_a_limit_or_breaks_the_protocol_is_told_of() {
    let small = Options { message_size_max: 100, ..Options::default() };
    let pull = Pull::with_options(&Context::new(), small).unwrap();
    let mut monitor = Witness::of(&pull);
    let place = pull.bind(&endpoint("tcp")).unwrap().to_string();
    let push = Push::new(&Context::new()).unwrap();
    push.connect(&place).unwrap();
    push.send_timeout(&[7; 1000], LONG).unwrap();
    push.flush();
    let gone = monitor.wait_for(|kind| matches!(kind, EventKind::Disconnected { .. }));
    let EventKind::Disconnected { cause, reason } = gone.kind else { unreachable!() };
    assert_eq!(cause, DisconnectCause::Limit);
    assert!(reason.contains("message_size_max"), "{reason}");

    // A command frame that MORE follows is none.
    let pull = Pull::new(&Context::new()).unwrap();
    let mut monitor = Witness::of(&pull);
    let place = pull.bind(&endpoint("tcp")).unwrap().to_string();
    let mut raw = std::net::TcpStream::connect(place.strip_prefix("tcp://").unwrap()).unwrap();
    let mut greeting = [0u8; 64];
    (greeting[0], greeting[9], greeting[10], greeting[11]) = (0xff, 0x7f, 3, 1);
    greeting[12..16].copy_from_slice(b"NULL");
    raw.write_all(&greeting).unwrap();
    raw.write_all(b"\x04\x1a\x05READY\x0bSocket-Type\x00\x00\x00\x04PUSH\x05\x00").unwrap();
    let ready = monitor.wait_for(|kind| *kind == EventKind::HandshakeSucceeded);
    let gone = monitor.wait_for(|kind| matches!(kind, EventKind::Disconnected { .. }));
    let EventKind::Disconnected { cause, .. } = gone.kind else { unreachable!() };
    assert_eq!((cause, gone.connection), (DisconnectCause::Protocol, ready.connection));
}

#[test]
fn a_subscriber_that_is_refused_is_told_why() {
    let small = Options { subscription_size_max: 4, ..Options::default() };
    let publisher = XPub::with_options(&Context::new(), small).unwrap();
    let mut host = Witness::of(&publisher);
    let place = publisher.bind(&endpoint("tcp")).unwrap().to_string();
    let subscriber = XSub::new(&Context::new()).unwrap();
    let mut guest = Witness::of(&subscriber);
    subscriber.connect(&place).unwrap();
    subscriber.send_timeout(b"\x01too long", LONG).unwrap();
    subscriber.flush();
    let is_end = |kind: &EventKind| matches!(kind, EventKind::Disconnected { .. });
    let gone = host.wait_for(is_end);
    let EventKind::Disconnected { cause, reason } = gone.kind else { unreachable!() };
    assert_eq!(cause, DisconnectCause::Limit);
    let EventKind::Disconnected { cause, reason: told } = guest.wait_for(is_end).kind else { unreachable!() };
    assert_eq!(cause, DisconnectCause::Peer);
    assert!(told.contains(&reason), "{told} should say: {reason}");
    // Once each.
    let retrying = guest.next();
    assert!(matches!(retrying.kind, EventKind::Retrying { .. }), "{retrying:?}");
    subscriber.close();
    publisher.close();
    host.read_to_the_end();
    let of_it = host.told.iter().filter(|event| event.connection == gone.connection);
    assert_eq!(of_it.count(), 3, "accepted, ready, disconnected: {:#?}", host.told);
}

#[test]
fn who_is_refused_waits_longer_each_time_whichever_side_connects() {
    let settles = Settlement { is_required: true, ..Settlement::default() };
    let options = Options { reconnect_min_ms: 1, ..Options::default() };
    let strict = Options { settlement: Some(settles), ..options.clone() };
    for (is_strict_host, host, guest) in [(true, &strict, &options), (false, &options, &strict)] {
        let pull = Pull::with_options(&Context::new(), host.clone()).unwrap();
        let place = pull.bind(&endpoint("tcp")).unwrap().to_string();
        let push = Push::with_options(&Context::new(), guest.clone()).unwrap();
        let mut monitor = Witness::of(&push);
        push.connect(&place).unwrap();
        let waits = (1..=6).map(|number| {
            let retrying = monitor.wait_for(|kind| matches!(kind, EventKind::Retrying { .. }));
            let EventKind::Retrying { wait, attempt } = retrying.kind else { unreachable!() };
            assert_eq!(attempt, number, "the host is strict: {is_strict_host}");
            wait
        });
        let waits = waits.collect::<Vec<_>>();
        assert!(waits[5] > waits[1], "{waits:?}");
    }
}
