//! Bytes and rates, of a socket and of each peer, of those that are gone too.

use std::time::Duration;

use hairstreak_socket::{Context, Options, Pull, Push, Rates, Stats};
use hairstreak_testkit::until;

use crate::LONG;
use crate::endpoints::endpoint;

const COUNT: u64 = 1000;
const SIZE: usize = 100;

fn exchange(push: &Push, pull: &Pull) {
    for _ in 0..COUNT {
        push.send_timeout(&[7; SIZE], LONG).unwrap();
    }
    push.flush();
    for _ in 0..COUNT {
        assert_eq!(pull.recv_timeout(LONG).unwrap().size(), SIZE);
    }
}

#[test]
fn bytes_are_counted_as_they_cross_and_stay_counted_when_the_peer_is_gone() {
    for transport in ["tcp", "ipc", "shm", "inproc"] {
        let (push, pull) = (Push::new(&Context::new()).unwrap(), Pull::new(&Context::new()).unwrap());
        let place = pull.bind(&endpoint(transport)).unwrap().to_string();
        push.connect(&place).unwrap();
        exchange(&push, &pull);
        let (out, into) = (push.stats(), pull.stats());
        let least = COUNT * SIZE as u64;
        // Handshake and framing come on top.
        let most = if transport == "inproc" { least } else { least + COUNT * 9 + 1000 };
        for bytes in [out.sent_bytes, into.received_bytes] {
            assert!((least..=most).contains(&bytes), "{transport}: {bytes}");
        }
        assert_eq!(push.peers()[0].sent_bytes, out.sent_bytes);
        assert_eq!(pull.peers()[0].received_bytes, into.received_bytes);
        assert!(push.disconnect(&place));
        until("it is gone", || pull.stats().peer_count == 0 && push.stats().peer_count == 0);
        assert!(push.stats().sent_bytes >= out.sent_bytes && push.stats().sent_bytes <= most);
        assert!(pull.stats().received_bytes >= into.received_bytes && pull.stats().received_bytes <= most);
        assert_eq!(push.stats().sent, COUNT);
    }
}

#[test]
fn what_one_side_writes_the_other_reads() {
    let options = Options { shared_memory: false, ..Options::default() };
    for transport in ["tcp", "ipc"] {
        let push = Push::with_options(&Context::new(), options.clone()).unwrap();
        let pull = Pull::with_options(&Context::new(), options.clone()).unwrap();
        push.connect(&pull.bind(&endpoint(transport)).unwrap().to_string()).unwrap();
        exchange(&push, &pull);
        // One so large that it is written from where it lies, and not at once.
        push.send_timeout(&vec![7; 20 << 20], LONG).unwrap();
        push.flush();
        assert_eq!(pull.recv_timeout(LONG).unwrap().size(), 20 << 20);
        let (out, into) = (push.stats(), pull.stats());
        assert_eq!(out.sent_bytes, into.received_bytes, "{transport}");
        assert_eq!(out.received_bytes, into.sent_bytes, "{transport}");
        assert_eq!(push.peers()[0].sent, COUNT + 1);
    }
}

#[test]
fn rates_are_what_happened_between_two_looks() {
    let (push, pull) = (Push::new(&Context::new()).unwrap(), Pull::new(&Context::new()).unwrap());
    push.connect(&pull.bind(&endpoint("tcp")).unwrap().to_string()).unwrap();
    assert!(push.wait_for_peers(1, LONG));
    let (before, peer_before) = (push.stats(), push.peers().remove(0));
    exchange(&push, &pull);
    let (after, peer_after) = (push.stats(), push.peers().remove(0));
    let seconds = (after.uptime - before.uptime).as_secs_f64();
    let rates = after.rates_since(&before);
    assert!((rates.sent_per_s * seconds - COUNT as f64).abs() < 0.001);
    let bytes = after.sent_bytes - before.sent_bytes;
    assert!((rates.sent_bytes_per_s * seconds - bytes as f64).abs() < 0.001);
    assert_eq!((rates.received_per_s, rates.dropped_per_s), (0.0, 0.0));
    let of_peer = peer_after.rates_since(Some(&peer_before)).unwrap();
    assert!(of_peer.sent_per_s > 0.0 && of_peer.sent_bytes_per_s > 0.0);
    assert!(
        peer_after.rates_since(None).unwrap().sent_per_s <= COUNT as f64 / peer_after.uptime.as_secs_f64()
    );
    assert_eq!(before.rates_since(&after), Rates::default(), "no time has passed backwards");
    assert_eq!(after.rates_since(&after), Rates::default());
    assert!(after.rates_since(&Stats::default()).sent_per_s <= COUNT as f64 / after.uptime.as_secs_f64());
    let other = hairstreak_socket::PeerInfo {
        connection: hairstreak_socket::monitor::ConnectionId(7),
        ..peer_before
    };
    assert_eq!(peer_after.rates_since(Some(&other)), None);
    assert!(peer_after.uptime > Duration::ZERO && peer_after.uptime <= after.uptime + LONG);
}
