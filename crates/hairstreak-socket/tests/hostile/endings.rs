//! Peers that end their connection at an awkward moment: what they sent before is received, and then
//! they are gone.

use hairstreak_socket::{Context, Options, Pull};
use hairstreak_testkit::until_eq;

use crate::LONG;
use crate::endpoints::endpoint;
use crate::raw::{MORE, Raw, command, frame};
use crate::siege::alone;

/// A PULL that finds out by itself whether a peer is gone, not by PINGs.
fn pull(transport: &str) -> (Pull, String) {
    let options = Options { heartbeat_ms: 0, ..Options::default() };
    let pull = Pull::with_options(&Context::new(), options).unwrap();
    let place = pull.bind(&endpoint(transport)).unwrap().to_string();
    (pull, place)
}

fn wait_until_gone(pull: &Pull) {
    until_eq("peers", 0, || pull.peers().len());
}

#[test]
fn a_peer_whose_last_words_and_end_come_together_is_gone() {
    let _alone = alone();
    for transport in ["tcp", "ipc"] {
        let (pull, place) = pull(transport);
        for round in 0..200 {
            let mut raw = Raw::ready(&place, "PUSH");
            raw.send(&frame(0, b"last words"));
            drop(raw);
            assert_eq!(pull.recv_timeout(LONG).unwrap().body(), b"last words", "{place}, round {round}");
            wait_until_gone(&pull);
        }
    }
}

#[test]
fn a_message_that_is_cut_off_is_not_received() {
    let _alone = alone();
    for transport in ["tcp", "ipc"] {
        let (pull, place) = pull(transport);
        for cut in [1, 2, 10, 1000, 70_000, 70_010] {
            let cut_off = [frame(MORE, &[1; 70_000]), frame(0, b"the rest")].concat();
            let mut raw = Raw::ready(&place, "PUSH");
            raw.send(&frame(0, b"whole"));
            raw.send(&cut_off[..cut]);
            drop(raw);
            assert_eq!(pull.recv_timeout(LONG).unwrap().body(), b"whole", "{place}, {cut}");
            wait_until_gone(&pull);
            assert!(pull.try_recv().is_err(), "{place}, {cut}");
        }
    }
}

#[test]
fn all_is_received_from_a_peer_that_is_gone_and_wanted_answers() {
    let _alone = alone();
    for transport in ["tcp", "ipc"] {
        let (pull, place) = pull(transport);
        let stream = [frame(0, b"message").repeat(100), command("PING", b"\0\0")].concat().repeat(50);
        for round in 0..20 {
            let mut raw = Raw::ready(&place, "PUSH");
            raw.send(&stream);
            drop(raw);
            for number in 0..5000 {
                let message = pull.recv_timeout(LONG);
                let message = message.unwrap_or_else(|e| panic!("{place}, {round}: message {number}: {e}"));
                assert_eq!(message.body(), b"message");
            }
            wait_until_gone(&pull);
        }
    }
}
