//! Timers of a crowd: each fires for the connection that it is for.

use hairstreak_socket::monitor::{DisconnectCause, EventKind, HandshakeFailure, Monitor};
use hairstreak_socket::{Context, Dealer, Options, Router};
use hairstreak_testkit::until_eq;

use crate::LONG;
use crate::crowd::{alone, size};
use crate::endpoints::endpoint;
use crate::raw::{Raw, greeting, ready};

/// So that a machine that is busy elsewhere is no dead peer.
const TIMEOUT_MS: u64 = 2000;

/// A crowd of DEALERs in an engine of their own.
fn crowd(places: impl Iterator<Item = String>) -> Vec<Dealer> {
    let context = Context::new();
    let connect = |place: String| {
        let dealer = Dealer::new(&context).unwrap();
        dealer.connect(&place).unwrap();
        dealer
    };
    places.map(connect).collect()
}

fn told(monitor: &Monitor) -> Vec<hairstreak_socket::monitor::Event> {
    std::iter::from_fn(|| monitor.try_recv().ok()).collect()
}

#[test]
fn heartbeats_and_handshake_timeouts_end_the_connections_that_they_are_for() {
    let _alone = alone();
    let options = Options {
        heartbeat_ms: TIMEOUT_MS / 20,
        heartbeat_timeout_ms: TIMEOUT_MS,
        handshake_timeout_ms: TIMEOUT_MS,
        ..Options::default()
    };
    let router = Router::with_options(&Context::new(), options).unwrap();
    let place = router.bind(&endpoint("tcp")).unwrap().to_string();
    let half = size() / 2;
    let before = crowd((0..half).map(|_| place.clone()));
    assert!(router.wait_for_peers(half, LONG));

    // One goes silent, one never says a word, among many that live.
    let mut silent = Raw::connect(&place);
    silent.send(&greeting());
    silent.send(&ready(&[("Socket-Type", b"DEALER"), ("Identity", b"silent")]));
    silent.read_handshake();
    assert!(router.wait_for_peers(half + 1, LONG));
    let monitor = router.monitor().unwrap();
    let mut mute = Raw::connect(&place);
    let after = crowd((0..half).map(|_| place.clone()));
    assert!(router.wait_for_peers(2 * half + 1, LONG));

    mute.wait_for_end();
    silent.wait_for_end();
    until_eq("failed connections", 2, || router.stats().failed_connections);
    let (mut ended, mut failed) = (Vec::new(), Vec::new());
    for event in told(&monitor) {
        match event.kind {
            EventKind::Silent { .. } => assert_eq!(event.routing_id, b"silent"),
            EventKind::Disconnected { cause, .. } => ended.push((cause, event.routing_id)),
            EventKind::HandshakeFailed { failure, .. } => failed.push(failure),
            _ => {}
        }
    }
    assert_eq!(ended, [(DisconnectCause::Silent, b"silent".to_vec())]);
    assert_eq!(failed, [HandshakeFailure::TimedOut]);
    assert_eq!(router.peers().len(), 2 * half);
    for dealer in before.iter().chain(&after) {
        dealer.send_timeout("here", LONG).unwrap();
        dealer.flush();
        assert_eq!(router.recv_timeout(LONG).unwrap().body(), b"here");
    }
}

#[test]
fn of_many_connectors_those_whose_peer_is_away_try_again_and_connect() {
    let _alone = alone();
    let (near, far) = (Context::new(), Context::new());
    let dealer = Dealer::new(&near).unwrap();
    let count = size() / 4;
    let listen = |place: &str| {
        let router = Router::new(&far).unwrap();
        (router.bind(place).unwrap(), router)
    };
    let mut routers: Vec<_> = (0..count).map(|_| listen(&endpoint("ipc"))).collect();
    routers.iter().for_each(|(place, _)| dealer.connect(&place.to_string()).unwrap());
    assert!(dealer.wait_for_peers(count, LONG));

    let monitor = dealer.monitor().unwrap();
    let away = [count / 3, count / 2];
    let places = away.map(|at| routers[at].0.clone());
    for at in away {
        routers[at].1 = Router::new(&far).unwrap();
    }
    let mut tries = 0;
    while tries < 6 {
        let event = monitor.recv_timeout(LONG).unwrap();
        if let EventKind::Retrying { .. } = event.kind {
            assert!(places.contains(event.endpoint.as_ref().unwrap()), "{event:?}");
            tries += 1;
        }
    }
    assert_eq!(dealer.peers().len(), count - away.len());
    for at in away {
        let place = routers[at].0.to_string();
        routers[at] = listen(&place);
    }
    assert!(dealer.wait_for_peers(count, LONG));
    let retried = told(&monitor).into_iter().filter(|event| matches!(event.kind, EventKind::Retrying { .. }));
    retried.for_each(|event| assert!(places.contains(event.endpoint.as_ref().unwrap()), "{event:?}"));
}
