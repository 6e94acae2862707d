//! Peers that send messages of many empty frames, or very many small messages: others have their turn. What is counted here is
//! what goes before them, not time.

use hairstreak_socket::{Message, Options, Pull};

use crate::LONG;
use crate::endpoints::endpoint;
use crate::raw::{MORE, Raw, command, frame};
use crate::siege::alone;

/// Frames that a caller takes from others before it sees a peer that was quiet. A caller's turn comes after 4,096; one read
/// has up to 32,768 messages of one frame that go the short way. Where frames do not count, it is 524,288.
const FRAMES_BEFORE_MAX: usize = 200_000;
/// Enough to fill the system's buffers.
const FLOOD_SIZE: usize = 64 << 20;

fn pull() -> (Pull, String) {
    let pull = Pull::with_options(&hairstreak_socket::Context::new(), Options::default()).unwrap();
    let place = pull.bind(&endpoint("tcp")).unwrap().to_string();
    (pull, place)
}

/// A message of so many empty frames.
fn empty(frame_count: usize) -> Vec<u8> {
    [frame(MORE, b"").repeat(frame_count - 1), frame(0, b"")].concat()
}

#[test]
fn a_batch_is_over_after_so_many_frames_however_small_they_are() {
    let _alone = alone();
    for (frame_count, most) in [(1000, 5), (100, 41), (2, 2048), (1, 4096)] {
        let (pull, place) = pull();
        let (mut raw, mut messages) = (Raw::ready(&place, "PUSH"), Vec::new());
        let count = 4 * most;
        raw.send_all(&empty(frame_count).repeat(count));
        let (mut received, mut largest) = (0, 0);
        while received < count {
            let batch = pull.recv_many_timeout(&mut messages, usize::MAX, LONG).unwrap();
            assert!(messages.iter().all(|message| message.frame_count() == frame_count));
            (received, largest) = (received + batch, largest.max(batch));
        }
        assert!(largest <= most, "{largest} messages of {frame_count}");
    }
}

#[test]
fn a_quiet_peer_is_seen_beside_one_that_floods_frames() {
    let _alone = alone();
    for frame_count in [1000, 10, 1] {
        let (pull, place) = pull();
        let (mut flooder, mut quiet) = (Raw::ready(&place, "PUSH"), Raw::ready(&place, "PUSH"));
        assert!(pull.wait_for_peers(2, LONG));
        let flood = empty(frame_count).repeat((1 << 16) / frame_count);
        // More than is looked at below.
        assert!(flooder.send_until_stuck(&flood, FLOOD_SIZE) > 3 * FRAMES_BEFORE_MAX);
        let mut message = Message::new();
        pull.recv_into(&mut message).unwrap();
        quiet.send_all(&frame(0, b"quiet"));
        let mut before = 0;
        while message.body() != b"quiet" && before < 4 * FRAMES_BEFORE_MAX {
            before += message.frame_count();
            pull.recv_into(&mut message).unwrap();
        }
        assert!(before < FRAMES_BEFORE_MAX, "{before} frames before it, {frame_count} in a message");
    }
}

#[test]
fn what_lies_behind_many_frames_is_read_though_nobody_receives_them() {
    let _alone = alone();
    let (pull, place) = pull();
    let mut raw = Raw::ready(&place, "PUSH");
    raw.send_all(&[empty(1000).repeat(8), command("PING", b"\0\0context")].concat());
    assert_eq!(raw.read_exactly(14), command("PONG", b"context"));
    for _ in 0..8 {
        assert_eq!(pull.recv_timeout(LONG).unwrap().frame_count(), 1000);
    }
}
