//! PING and PONG with libzmq: they keep a connection that nobody uses, and end one to a peer that does
//! not answer, but not one to a peer that is merely behind; and with our own, slow and busy.

use std::thread;

use hairstreak_socket::{Context, Options, Pull, Push};
use hairstreak_testkit::until;

use crate::endpoints::endpoint;
use crate::script::Script;
use crate::stream::Tally;
use crate::{LONG, PAUSE};

const INTERVAL_MS: u64 = 50;
const TIMEOUT_MS: u64 = 10 * INTERVAL_MS;
/// How long a connection is watched: several time-outs.
const WATCH: &str = "watch 2000";

fn quick_heartbeats() -> Options {
    Options { heartbeat_ms: INTERVAL_MS, heartbeat_timeout_ms: TIMEOUT_MS, ..Options::default() }
}

/// A script that watches its one connection; 0 for no heartbeats of its own.
fn watcher(role: &str, join: &str, place: &str, heartbeat_ms: u64) -> Script {
    let numbers = [heartbeat_ms, TIMEOUT_MS].map(|number| number.to_string());
    Script::python("watch.py", [role, join, place, &numbers[0], &numbers[1]])
}

#[test]
fn pings_of_pyzmq_are_answered_while_nobody_calls() {
    for transport in ["tcp", "ipc"] {
        let pull = Pull::new(&Context::new()).unwrap();
        let place = pull.bind(&endpoint(transport)).unwrap().to_string();
        let mut push = watcher("push", "connect", &place, INTERVAL_MS);
        push.hear("connected");
        push.say(WATCH);
        assert_eq!(push.hear("ended"), "0", "{transport}");
        push.say("send alive");
        assert_eq!(pull.recv_timeout(LONG).unwrap().body(), b"alive");
    }
}

#[test]
fn pings_to_pyzmq_keep_an_idle_connection() {
    for transport in ["tcp", "ipc"] {
        let mut pull = watcher("pull", "bind", &endpoint(transport), 0);
        let push = Push::with_options(&Context::new(), quick_heartbeats()).unwrap();
        push.connect(&pull.hear("bound")).unwrap();
        pull.hear("connected");
        pull.say(WATCH);
        assert_eq!(pull.hear("ended"), "0", "{transport}");
        push.send_timeout("alive", LONG).unwrap();
        pull.say("receive 1");
        assert!(pull.hear("tally").starts_with("1 messages, 1 frames, 5 bytes"));
        assert_eq!(push.stats().failed_connections, 0, "{transport}");
    }
}

#[test]
fn a_peer_that_answers_no_ping_is_given_up_and_found_again() {
    for transport in ["tcp", "ipc"] {
        let mut push = watcher("push", "bind", &endpoint(transport), 0);
        let pull = Pull::with_options(&Context::new(), quick_heartbeats()).unwrap();
        pull.connect(&push.hear("bound")).unwrap();
        push.hear("connected");
        push.freeze();
        until("the peer is given up", || pull.stats().failed_connections > 0);
        push.thaw();
        // The first ones may go the way of the old connection.
        until("a message arrives", || {
            push.say("send back");
            pull.recv_timeout(PAUSE)
        });
    }
}

#[test]
fn a_peer_that_is_behind_is_not_taken_for_dead() {
    for transport in ["tcp", "ipc"] {
        let mut pull = watcher("pull", "bind", &endpoint(transport), 0);
        let push = Push::with_options(&Context::new(), quick_heartbeats()).unwrap();
        push.connect(&pull.hear("bound")).unwrap();
        pull.hear("connected");
        let (body, mut tally) = (vec![0; 10_000], Tally::default());
        // Until every buffer on the way is full.
        while push.send_timeout(&body, PAUSE).is_ok() {
            tally.add(std::iter::once(&body[..]));
        }
        pull.say(WATCH);
        assert_eq!(pull.hear("ended"), "0", "{transport}");
        pull.say(&format!("receive {}", push.stats().sent));
        assert_eq!(pull.hear("tally"), tally.text(), "{transport}");
    }
}

#[test]
fn a_peer_that_stops_is_given_up_although_it_was_sent_messages() {
    for transport in ["tcp", "ipc"] {
        let push = Push::with_options(&Context::new(), quick_heartbeats()).unwrap();
        let place = push.bind(&endpoint(transport)).unwrap().to_string();
        let mut pull = watcher("pull", "connect", &place, 0);
        pull.hear("connected");
        assert!(push.wait_for_peers(1, LONG));
        push.send_timeout("before", LONG).unwrap();
        pull.freeze();
        // One after the other, as an application sends that is not busy.
        let mut sent = 0;
        while push.stats().failed_connections == 0 {
            let _ = push.send_timeout("after", PAUSE);
            sent += 1;
            // tidy: allow(sleeps) the pace of an application, which nothing waits for
            thread::sleep(PAUSE);
            assert!(sent < 10_000, "{transport}: never given up");
        }
        pull.thaw();
    }
}

/// A receiver that reads next to nothing before its application asks, and its sender.
fn reluctant_pair(transport: &str, timeout_ms: u64) -> (Push, Pull) {
    let options = Options { heartbeat_ms: 0, receive_count_max: 1, ..Options::default() };
    let pull = Pull::with_options(&Context::new(), options).unwrap();
    let place = pull.bind(&endpoint(transport)).unwrap().to_string();
    let options = Options { heartbeat_timeout_ms: timeout_ms, ..quick_heartbeats() };
    let push = Push::with_options(&Context::new(), options).unwrap();
    push.connect(&place).unwrap();
    assert!(push.wait_for_peers(1, LONG));
    (push, pull)
}

/// What lies unread in the last of the buffers on the way may show only when all of it is read, half a
/// megabyte over loopback: that takes this receiver a tenth of the time after which it would be given up,
/// and all together twice that time.
#[test]
fn a_peer_that_reads_slowly_is_kept() {
    for transport in ["tcp", "ipc"] {
        let (push, pull) = reluctant_pair(transport, 4 * TIMEOUT_MS);
        let sender = thread::spawn(move || {
            for number in 0..1000_u32 {
                push.send_timeout(&vec![number as u8; 10_000], LONG).unwrap();
            }
            push.flush();
            push
        });
        for number in 0..1000_u32 {
            assert_eq!(pull.recv_timeout(LONG).unwrap().body(), vec![number as u8; 10_000], "{transport}");
            // tidy: allow(sleeps) the pace of an application, which nothing waits for
            thread::sleep(PAUSE / 5);
        }
        assert_eq!(sender.join().unwrap().stats().failed_connections, 0, "{transport}");
    }
}

#[test]
fn a_peer_that_was_busy_for_longer_than_the_time_out_still_gets_what_was_sent() {
    for transport in ["tcp", "ipc"] {
        let (push, pull) = reluctant_pair(transport, TIMEOUT_MS);
        for number in 0..200 {
            push.send_timeout(&[number; 100], LONG).unwrap();
        }
        push.flush();
        until("the peer is given up", || push.stats().failed_connections > 0);
        for number in 0..200 {
            assert_eq!(pull.recv_timeout(LONG).unwrap().body(), [number; 100], "{transport}");
        }
        assert_eq!(push.stats().drops.peer_lost, 0, "{transport}");
    }
}
