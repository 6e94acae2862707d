//! How many peers there are: a connection that has ended is none, though messages of it are left to be taken.

use std::time::Duration;

use hairstreak_socket::monitor::EventKind;
use hairstreak_socket::{Context, Dealer, Options, Pair, Pull, Push, Rep, Req, SendError, Socket};
use hairstreak_testkit::until_eq;

use crate::LONG;
use crate::endpoints::endpoint;

const TRANSPORTS: [&str; 4] = ["tcp", "ipc", "shm", "inproc"];
/// Sent before the end.
const COUNT: usize = 100;

/// Waits until the peer that has sent its messages and gone is missed.
fn wait_until_missed<P: hairstreak_socket::Pattern>(socket: &Socket<P>) {
    until_eq("peers", 0, || socket.stats().peer_count);
    assert_eq!(socket.peers(), []);
    assert!(!socket.wait_for_peers(1, Duration::ZERO));
}

#[test]
fn a_peer_that_has_gone_counts_no_more_though_its_messages_are_taken_later() {
    for transport in TRANSPORTS {
        let pull = Pull::new(&Context::new()).unwrap();
        let place = pull.bind(&endpoint(transport)).unwrap().to_string();
        let monitor = pull.monitor().unwrap();
        let push = Push::new(&Context::new()).unwrap();
        push.connect(&place).unwrap();
        assert!(pull.wait_for_peers(1, LONG));
        assert_eq!(pull.stats().peer_count, 1);
        for number in 0..COUNT {
            push.send_timeout(&number.to_be_bytes(), LONG).unwrap();
        }
        push.close();
        wait_until_missed(&pull);
        let bytes = pull.stats().received_bytes;
        for number in 0..COUNT {
            assert_eq!(pull.recv_timeout(LONG).unwrap().body(), number.to_be_bytes(), "{transport}");
            assert_eq!(pull.stats().received, number as u64 + 1);
        }
        assert!(pull.try_recv().is_err());
        let stats = pull.stats();
        assert_eq!((stats.peer_count, stats.drops.total()), (0, 0), "{transport}");
        let total = if transport == "inproc" { (COUNT * 8) as u64 } else { bytes };
        assert_eq!(stats.received_bytes, total, "{transport}");
        pull.close();
        let mut ends = 0;
        while let Ok(event) = monitor.recv_timeout(LONG) {
            ends += usize::from(matches!(event.kind, EventKind::Disconnected { .. }));
        }
        assert_eq!(ends, 1, "{transport}: the end is told of once");
    }
}

#[test]
fn nothing_is_sent_to_a_peer_that_has_gone_and_left_messages() {
    for transport in TRANSPORTS {
        let dealer = Dealer::new(&Context::new()).unwrap();
        let place = dealer.bind(&endpoint(transport)).unwrap().to_string();
        let first = Dealer::new(&Context::new()).unwrap();
        first.connect(&place).unwrap();
        first.send_timeout("left", LONG).unwrap();
        first.send_timeout("behind", LONG).unwrap();
        assert!(dealer.wait_for_peers(1, LONG));
        first.close();
        wait_until_missed(&dealer);
        assert_eq!(dealer.try_send("to nobody"), Err(SendError::WouldBlock), "{transport}");
        let second = Dealer::new(&Context::new()).unwrap();
        second.connect(&place).unwrap();
        dealer.send_timeout("to the second", LONG).unwrap();
        dealer.flush();
        assert_eq!(second.recv_timeout(LONG).unwrap().body(), b"to the second", "{transport}");
        assert_eq!(dealer.recv_timeout(LONG).unwrap().body(), b"left");
        assert_eq!(dealer.recv_timeout(LONG).unwrap().body(), b"behind");
        assert_eq!((dealer.stats().peer_count, dealer.stats().drops.total()), (1, 0), "{transport}");
    }
}

#[test]
fn a_pair_takes_its_next_peer_before_the_messages_of_the_last() {
    for transport in TRANSPORTS {
        let pair = Pair::new(&Context::new()).unwrap();
        let place = pair.bind(&endpoint(transport)).unwrap().to_string();
        for round in 0..3 {
            let passing = Pair::new(&Context::new()).unwrap();
            passing.connect(&place).unwrap();
            passing.send_timeout("here", LONG).unwrap();
            pair.send_timeout("there", LONG).unwrap();
            pair.flush();
            assert_eq!(passing.recv_timeout(LONG).unwrap().body(), b"there", "{transport}, {round}");
            passing.close();
            wait_until_missed(&pair);
        }
        assert_eq!(pair.stats().refused_connections, 0, "{transport}");
        (0..3).for_each(|_| assert_eq!(pair.recv_timeout(LONG).unwrap().body(), b"here"));
    }
}

#[test]
fn the_reply_to_a_peer_that_has_gone_is_dropped_as_lost() {
    for transport in TRANSPORTS {
        let rep = Rep::new(&Context::new()).unwrap();
        let place = rep.bind(&endpoint(transport)).unwrap().to_string();
        let dealer = Dealer::new(&Context::new()).unwrap();
        dealer.connect(&place).unwrap();
        for question in ["first", "second"] {
            dealer.send_timeout(&[&b""[..], question.as_bytes()], LONG).unwrap();
        }
        assert!(rep.wait_for_peers(1, LONG));
        dealer.close();
        wait_until_missed(&rep);
        for lost in 1..=2 {
            rep.recv_timeout(LONG).unwrap();
            rep.send_timeout("in vain", LONG).unwrap();
            assert_eq!((rep.stats().drops.peer_lost, rep.stats().drops.total()), (lost, lost), "{transport}");
        }
        let req = Req::new(&Context::new()).unwrap();
        req.connect(&place).unwrap();
        req.send_timeout("third", LONG).unwrap();
        assert_eq!(rep.recv_timeout(LONG).unwrap().body(), b"third");
        rep.send_timeout("reply", LONG).unwrap();
        rep.flush();
        assert_eq!(req.recv_timeout(LONG).unwrap().body(), b"reply", "{transport}");
    }
}

#[test]
fn nothing_is_sent_to_a_peer_that_was_given_up_and_is_behind() {
    for transport in ["tcp", "ipc", "shm"] {
        let pull = Pull::with_options(
            &Context::new(),
            Options { receive_count_max: 1, receive_bytes_max: 1, ..Options::default() },
        );
        let pull = pull.unwrap();
        let place = pull.bind(&endpoint(transport)).unwrap().to_string();
        let push = Push::new(&Context::new()).unwrap();
        push.connect(&place).unwrap();
        assert!(push.wait_for_peers(1, LONG));
        let mut accepted = 0;
        // More than its buffers hold, and fewer than the marks allow.
        while push.stats().queued_bytes < 2 << 20 {
            push.send_timeout(&[7; 50_000], LONG).unwrap();
            accepted += 1;
        }
        assert!(push.disconnect(&place));
        assert_eq!(push.stats().peer_count, 0, "{transport}");
        assert!(push.stats().queued_count > 0, "what was accepted is still on its way");
        assert_eq!(push.try_send("to nobody"), Err(SendError::WouldBlock), "{transport}");
        (0..accepted).for_each(|_| assert_eq!(pull.recv_timeout(LONG).unwrap().size(), 50_000));
        until_eq("queued messages", 0, || push.stats().queued_count);
        assert_eq!((push.stats().sent, push.stats().drops.total()), (accepted, 0), "{transport}");
    }
}

#[test]
fn who_is_disconnected_by_its_receiver_is_told_and_sends_it_nothing_more() {
    for transport in TRANSPORTS {
        let push = Push::new(&Context::new()).unwrap();
        let place = push.bind(&endpoint(transport)).unwrap().to_string();
        let pull = Pull::new(&Context::new()).unwrap();
        pull.connect(&place).unwrap();
        assert!(push.wait_for_peers(1, LONG));
        for number in 0..COUNT {
            push.send_timeout(&number.to_be_bytes(), LONG).unwrap();
        }
        // What gathers would not be with the receiver yet.
        push.flush();
        assert_eq!(pull.recv_timeout(LONG).unwrap().body(), 0_usize.to_be_bytes());
        assert!(pull.disconnect(&place));
        wait_until_missed(&push);
        assert_eq!(push.try_send("late"), Err(SendError::WouldBlock), "{transport}");
        if transport == "inproc" {
            let (sent, received) = (push.stats(), pull.stats().received);
            assert_eq!((sent.sent, received), (COUNT as u64, 1));
            assert_eq!((sent.drops.total(), pull.stats().drops.unreceived), (0, COUNT as u64 - received));
        }
    }
}

#[test]
fn what_a_receiver_still_takes_after_its_sender_has_disconnected_is_not_lost() {
    let pull = Pull::new(&Context::new()).unwrap();
    let place = pull.bind(&endpoint("inproc")).unwrap().to_string();
    let push = Push::new(&Context::new()).unwrap();
    push.connect(&place).unwrap();
    assert!(push.wait_for_peers(1, LONG));
    for number in 0..COUNT {
        push.send_timeout(&number.to_be_bytes(), LONG).unwrap();
    }
    assert!(push.disconnect(&place));
    for number in 0..COUNT {
        assert_eq!(pull.recv_timeout(LONG).unwrap().body(), number.to_be_bytes());
    }
    assert_eq!((push.stats().sent, push.stats().drops.total()), (COUNT as u64, 0));
}
