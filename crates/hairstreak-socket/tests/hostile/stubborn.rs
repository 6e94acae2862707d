//! Peers that do not read: they fill what is theirs, and nothing else.

use hairstreak_socket::{Context, Dealer, Options, Pull, Push, Router, SendError};
use hairstreak_testkit::until_eq;

use crate::LONG;
use crate::endpoints::endpoint;
use crate::memory::resident_bytes;
use crate::raw::{Raw, command, frame, greeting, ready};
use crate::siege::{MEMORY_MAX, alone, besiege};

const TRANSPORTS: [&str; 2] = ["tcp", "ipc"];

#[test]
fn a_peer_that_never_reads_holds_up_to_its_marks_and_nobody_else() {
    let _alone = alone();
    for transport in TRANSPORTS {
        for size in [0, 100, 10_000, 1_000_000] {
            check_never_reading(transport, &vec![7; size]);
        }
    }
}

fn check_never_reading(transport: &str, body: &Vec<u8>) {
    let options = Options::default();
    let push = Push::with_options(&Context::new(), options.clone()).unwrap();
    let place = push.bind(&endpoint(transport)).unwrap().to_string();
    let before = resident_bytes();
    let stubborn = Raw::ready(&place, "PULL");
    assert!(push.wait_for_peers(1, LONG));
    let mut sent = 0u64;
    while push.try_send(body).is_ok() {
        sent += 1;
        assert!(sent < 10_000_000, "{place}: no mark holds");
    }
    let stats = push.stats();
    assert!(stats.queued_count <= options.send_count_max, "{place}: {stats:?}");
    assert!(stats.queued_bytes < options.send_bytes_max + body.len() + 9, "{place}: {stats:?}");
    assert!(resident_bytes().saturating_sub(before) <= MEMORY_MAX, "{place}");

    let pull = Pull::new(&Context::new()).unwrap();
    pull.connect(&place).unwrap();
    assert!(push.wait_for_peers(2, LONG));
    for _ in 0..100 {
        push.send_timeout(body, LONG).unwrap();
        push.flush();
        assert_eq!(pull.recv_timeout(LONG).unwrap().body(), body);
    }

    drop(stubborn);
    until_eq("peers", 1, || push.peers().len());
    let stats = push.stats();
    assert_eq!((stats.sent, stats.queued_count), (sent + 100, 0), "{place}: {stats:?}");
    assert!(stats.drops.peer_lost <= sent, "{place}: {stats:?}");
}

#[test]
fn a_router_serves_others_while_one_does_not_read() {
    let _alone = alone();
    for transport in TRANSPORTS {
        let options = Options { router_mandatory: true, ..Options::default() };
        let router = Router::with_options(&Context::new(), options).unwrap();
        let place = router.bind(&endpoint(transport)).unwrap().to_string();
        let mut stubborn = Raw::connect(&place);
        stubborn.send(&greeting());
        stubborn.send(&ready(&[("Socket-Type", b"DEALER"), ("Identity", b"stubborn")]));
        stubborn.send(&frame(0, b"here"));
        assert_eq!(router.recv_timeout(LONG).unwrap().frame(0), Some(&b"stubborn"[..]));
        let body = [7; 1000];
        let to_stubborn: [&[u8]; 2] = [b"stubborn", &body];
        while router.try_send(&to_stubborn).is_ok() {}
        assert_eq!(router.try_send(&to_stubborn), Err(SendError::WouldBlock));

        let options = Options { routing_id: Some(b"good".to_vec()), ..Options::default() };
        let dealer = Dealer::with_options(&Context::new(), options).unwrap();
        dealer.connect(&place).unwrap();
        assert!(router.wait_for_peers(2, LONG));
        for _ in 0..1000 {
            router.send_timeout(&[b"good" as &[u8], &body], LONG).unwrap();
            router.flush();
            assert_eq!(dealer.recv_timeout(LONG).unwrap().body(), body);
        }
    }
}

#[test]
fn endless_pings_of_a_peer_that_does_not_read_cost_nothing() {
    besiege(&Options::default(), |place, peer_type| {
        let mut raw = Raw::ready(place, peer_type);
        let pings = command("PING", b"\0\0sixteen bytes ..").repeat(10_000);
        for _ in 0..100 {
            raw.send(&pings);
        }
        raw
    });
}
