//! The budget for messages that have not arrived whole: at the bound and past it, and who has to wait for whom.

use std::thread;

use hairstreak_socket::{Context, Options, Pull, Push};

use crate::LONG;
use crate::endpoints::endpoint;
use crate::memory::resident_bytes;
use crate::raw::{MORE, Raw, frame, long_header};
use crate::siege::alone;

const BODY_SIZE: usize = 4 << 20;
/// What a body of that size is charged with: its header too, and without the first 64 KiB.
const CHARGE: usize = 9 + BODY_SIZE - (64 << 10);
/// Less than a body by far, more than what lies in buffers on the way.
const STUCK_SIZE: usize = 1 << 20;
const CHUNK: &[u8] = &[7; 4096];

/// Its ipc endpoint, for there little lies in the kernel on the way.
fn pull(arriving_bytes_max: usize, arriving_timeout_ms: u64) -> (Pull, String) {
    let options = Options { arriving_bytes_max, arriving_timeout_ms, ..Options::default() };
    let pull = Pull::with_options(&Context::new(), options).unwrap();
    let place = pull.bind(&endpoint("ipc")).unwrap().to_string();
    (pull, place)
}

/// A peer that has begun a body.
fn begin(place: &str) -> Raw {
    let mut raw = Raw::ready(place, "PUSH");
    raw.send(&long_header(0, BODY_SIZE as u64));
    raw
}

/// A peer whose body has been read but for its last chunk.
fn begin_and_be_read(place: &str) -> Raw {
    let mut raw = begin(place);
    raw.send_all(&vec![7; BODY_SIZE - CHUNK.len()]);
    raw
}

/// A peer that has begun a body and is not read. Returns how much of the body is on its way: whole chunks, for a
/// unix socket takes no part of one.
fn begin_and_wait(place: &str) -> (Raw, usize) {
    let mut raw = begin(place);
    let taken = raw.send_until_stuck(CHUNK, BODY_SIZE);
    assert!(taken < STUCK_SIZE, "{taken}");
    (raw, taken)
}

#[test]
fn bodies_within_the_budget_arrive_side_by_side_and_the_next_waits_for_room() {
    let _alone = alone();
    for (bytes_max, fitting) in [(0, 1), (1, 1), (2 * CHARGE - 1, 1), (2 * CHARGE, 2), (3 * CHARGE - 1, 2)] {
        let (pull, place) = pull(bytes_max, 3_600_000);
        let mut peers: Vec<Raw> = (0..fitting).map(|_| begin_and_be_read(&place)).collect();
        let (mut next, taken) = begin_and_wait(&place);
        // The small messages of others go on.
        let mut small = Raw::ready(&place, "PUSH");
        small.send(&frame(0, b"small"));
        assert_eq!(pull.recv_timeout(LONG).unwrap().body(), b"small");
        // One that ends makes room.
        peers[0].send(CHUNK);
        let body = pull.recv_timeout(LONG).unwrap();
        assert_eq!(body.size(), BODY_SIZE);
        let rest = thread::spawn(move || {
            next.send_all(&vec![7; BODY_SIZE - taken]);
            next
        });
        assert_eq!(pull.recv_timeout(LONG).unwrap().size(), BODY_SIZE, "{bytes_max}");
        rest.join().unwrap();
        assert_eq!(pull.stats().failed_connections, 0);
    }
}

#[test]
fn a_connection_that_ends_gives_its_room_back() {
    let _alone = alone();
    let (pull, place) = pull(0, 3_600_000);
    for _ in 0..3 {
        let lost = begin_and_be_read(&place);
        let waiting = begin_and_wait(&place);
        drop((lost, waiting));
    }
    let mut whole = begin_and_be_read(&place);
    whole.send(CHUNK);
    assert_eq!(pull.recv_timeout(LONG).unwrap().size(), BODY_SIZE);
}

#[test]
fn messages_of_many_frames_that_pass_the_budget_together_all_arrive() {
    let _alone = alone();
    let (pull, place) = pull(3 << 20, 3_600_000);
    let peers: Vec<_> = (0..4)
        .map(|_| {
            let place = place.clone();
            thread::spawn(move || {
                let mut raw = Raw::ready(&place, "PUSH");
                let part = frame(MORE, &vec![1; 100_000]);
                for _ in 0..40 {
                    raw.send(&part);
                }
                raw.send(&frame(0, b"end"));
                raw
            })
        })
        .collect();
    for _ in 0..4 {
        let message = pull.recv_timeout(LONG).unwrap();
        assert_eq!((message.frame_count(), message.size()), (41, 4_000_003));
    }
    peers.into_iter().for_each(|peer| drop(peer.join().unwrap()));
    assert_eq!(pull.stats().failed_connections, 0);
}

#[test]
fn a_peer_that_stalls_while_others_wait_for_its_room_is_closed() {
    let _alone = alone();
    for receives_meanwhile in [true, false] {
        let (pull, place) = pull(0, 100);
        let mut stalling = begin_and_be_read(&place);
        let push = Push::new(&Context::new()).unwrap();
        push.connect(&place).unwrap();
        push.send(&vec![1; BODY_SIZE]).unwrap();
        push.flush();
        if !receives_meanwhile {
            stalling.wait_for_end();
        }
        assert_eq!(pull.recv_timeout(LONG).unwrap().size(), BODY_SIZE);
        stalling.wait_for_end();
        assert_eq!(pull.stats().failed_connections, 1);
    }
}

#[test]
fn however_many_peers_begin_a_body_memory_stays_within_the_budget() {
    let _alone = alone();
    let (pull, place) = pull(4 * CHARGE, 3_600_000);
    let before = resident_bytes();
    let _read: Vec<Raw> = (0..4).map(|_| begin_and_be_read(&place)).collect();
    let _waiting: Vec<_> = (0..8).map(|_| begin_and_wait(&place)).collect();
    let growth = resident_bytes().saturating_sub(before);
    assert!(growth < 6 * BODY_SIZE, "{growth}");
    assert_eq!(pull.peers().len(), 12);
}
