//! The third socket, which gets a copy of everything.

use std::time::Duration;

use hairstreak_socket::pipeline::{PullPattern, PushPattern};
use hairstreak_socket::reqrep::{DealerPattern, RouterPattern};
use hairstreak_socket::{Context, Dealer, Options, Pair, Pattern, Pub, Pull, Push, Sends, Socket, Sub};

use crate::bridge::Bridge;
use crate::endpoints::endpoint;
use crate::{LONG, TRANSPORTS};

/// A capture socket and its peer.
fn joined<C: Sends, P: Pattern>(transport: &str, options: &Options) -> (Socket<C>, Socket<P>) {
    let capture = Socket::<C>::with_options(&Context::new(), options.clone()).unwrap();
    let peer = Socket::<P>::with_options(&Context::new(), options.clone()).unwrap();
    peer.connect(&capture.bind(&endpoint(transport)).unwrap().to_string()).unwrap();
    assert!(capture.wait_for_peers(1, LONG) && peer.wait_for_peers(1, LONG));
    (capture, peer)
}

#[test]
fn a_capture_gets_both_ways_whole() {
    for transport in TRANSPORTS {
        let options = Options::default();
        let (pair, of_pair) = joined::<_, hairstreak_socket::pair::PairPattern>(transport, &options);
        let _: &Pair = &pair;
        let bridge = Bridge::<RouterPattern, DealerPattern>::start_with(transport, &options, |proxy| {
            proxy.capture(&pair).unwrap();
        });
        let (client, server): (Dealer, Dealer) = (bridge.enter(&options), bridge.leave(&options));
        for number in 0..200u32 {
            client.send_timeout(&[&b"q"[..], &number.to_le_bytes()], LONG).unwrap();
            client.flush();
            let question = server.recv_timeout(LONG).unwrap();
            server.send_timeout(&question, LONG).unwrap();
            server.flush();
            assert_eq!(client.recv_timeout(LONG).unwrap().body(), number.to_le_bytes());
            for _ in 0..2 {
                let copy = of_pair.recv_timeout(LONG).unwrap();
                assert!(copy == question, "{transport}: {copy:?}");
            }
        }
        bridge.end();
    }
}

#[test]
fn a_publisher_captures_without_holding_anything_up() {
    let options = Options::default();
    let (publisher, subscriber): (Pub, Sub) = joined("tcp", &options);
    let bridge = Bridge::<PullPattern, PushPattern>::start_with("tcp", &options, |proxy| {
        proxy.capture(&publisher).unwrap();
    });
    let (push, pull): (Push, Pull) = (bridge.enter(&options), bridge.leave(&options));
    push.send_timeout("nobody listens in", LONG).unwrap();
    push.flush();
    pull.recv_timeout(LONG).unwrap();
    subscriber.subscribe("").unwrap();
    assert!(publisher.wait_for_subscribers(1, LONG));
    push.send_timeout("somebody does", LONG).unwrap();
    push.flush();
    assert_eq!(pull.recv_timeout(LONG).unwrap().body(), b"somebody does");
    assert_eq!(subscriber.recv_timeout(LONG).unwrap().body(), b"somebody does");
    bridge.end();
}

#[test]
fn a_capture_that_takes_nothing_has_all_wait_and_misses_nothing() {
    let low = Options { send_count_max: 4, receive_count_max: 4, ..Options::default() };
    for transport in TRANSPORTS {
        let (capturing, captured): (Push, Pull) = joined(transport, &low);
        let bridge = Bridge::<PullPattern, PushPattern>::start_with(transport, &low, |proxy| {
            proxy.capture(&capturing).unwrap();
        });
        let (push, pull): (Push, Pull) = (bridge.enter(&low), bridge.leave(&low));
        let body = |number: usize| [&number.to_le_bytes()[..], &[0; 100_000]].concat();
        // The receiver takes all it gets; the sender has to wait for the capture.
        let (mut sent, mut taken) = (0, 0);
        while push.send_timeout(&body(sent), Duration::from_millis(100)).is_ok() {
            sent += 1;
            assert!(sent < 2000, "{transport}: nobody waits");
            while pull.try_recv().is_ok() {
                taken += 1;
            }
        }
        for number in 0..sent {
            assert_eq!(captured.recv_timeout(LONG).unwrap().body(), body(number), "{transport}");
            while pull.try_recv().is_ok() {
                taken += 1;
            }
        }
        (taken..sent).for_each(|_| drop(pull.recv_timeout(LONG).unwrap()));
        assert_eq!(bridge.end().backend.sent, sent as u64);
    }
}
