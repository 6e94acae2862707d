//! A side that takes nothing: what is under way is bounded, and nothing is lost.

use std::time::Duration;

use hairstreak_socket::pipeline::{PullPattern, PushPattern};
use hairstreak_socket::reqrep::DealerPattern;
use hairstreak_socket::{Dealer, Options, Pull, Push};
use hairstreak_testkit::until_eq;

use crate::bridge::Bridge;
use crate::{LONG, TRANSPORTS};

const BODY_SIZE: usize = 100_000;
/// More than fit the marks and the kernel's buffers together.
const MANY: usize = 2000;
/// Who waits this long for room waits for somebody who does not take.
const PATIENCE: Duration = Duration::from_millis(100);

fn low() -> Options {
    Options { send_count_max: 8, receive_count_max: 8, ..Options::default() }
}

fn body(number: usize) -> Vec<u8> {
    let mut body = vec![0; BODY_SIZE];
    body[..8].copy_from_slice(&number.to_le_bytes());
    body
}

#[test]
fn a_backend_that_takes_nothing_has_the_sender_wait_and_loses_nothing() {
    for transport in TRANSPORTS {
        let bridge = Bridge::<PullPattern, PushPattern>::start(transport, &low());
        let (push, pull): (Push, Pull) = (bridge.enter(&low()), bridge.leave(&low()));
        let mut sent = 0;
        while push.send_timeout(&body(sent), PATIENCE).is_ok() {
            sent += 1;
            assert!(sent < MANY, "{transport}: nobody waits");
        }
        let stats = bridge.control.statistics();
        assert!(stats.frontend.received - stats.backend.sent <= 1, "{stats:?}");
        assert!(bridge.backend.stats().queued_count <= low().send_count_max);
        // And on: the sender gives more whenever something is taken.
        let mut taken = 0;
        while taken < sent {
            assert_eq!(pull.recv_timeout(LONG).unwrap().body(), body(taken), "{transport}");
            taken += 1;
            if sent < MANY / 4 && push.try_send(&body(sent)).is_ok() {
                sent += 1;
            }
        }
        drop((push, pull));
        assert_eq!(bridge.end().backend.sent, sent as u64);
    }
}

#[test]
fn no_backend_at_all_has_the_sender_wait() {
    for transport in TRANSPORTS {
        let bridge = Bridge::<PullPattern, PushPattern>::start(transport, &low());
        let push: Push = bridge.enter(&low());
        let mut sent = 0;
        while push.send_timeout(&body(sent), PATIENCE).is_ok() {
            sent += 1;
            assert!(sent < MANY, "{transport}: nobody waits");
        }
        assert_eq!(bridge.control.statistics().frontend.received, 0, "{transport}");
        let pull: Pull = bridge.leave(&low());
        (0..sent).for_each(|number| assert_eq!(pull.recv_timeout(LONG).unwrap().body(), body(number)));
        bridge.end();
    }
}

#[test]
fn one_way_that_is_full_does_not_hold_up_the_other() {
    for transport in TRANSPORTS {
        let bridge = Bridge::<DealerPattern, DealerPattern>::start(transport, &low());
        let (front, back): (Dealer, Dealer) = (bridge.enter(&low()), bridge.leave(&low()));
        let mut sent = 0;
        while front.send_timeout(&body(sent), PATIENCE).is_ok() {
            sent += 1;
            assert!(sent < MANY, "{transport}: nobody waits");
        }
        for number in 0..100 {
            back.send_timeout(&body(number), LONG).unwrap();
            back.flush();
            assert_eq!(front.recv_timeout(LONG).unwrap().body(), body(number), "{transport}");
        }
        (0..sent).for_each(|number| assert_eq!(back.recv_timeout(LONG).unwrap().body(), body(number)));
        until_eq("messages sent to the back", sent as u64, || bridge.control.statistics().backend.sent);
        bridge.end();
    }
}
