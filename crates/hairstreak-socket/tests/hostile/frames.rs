//! Peers that send messages of many empty frames: batches and what is read ahead are bounded by frames, and nothing is left behind.

use hairstreak_socket::{Context, Pull};

use crate::LONG;
use crate::endpoints::endpoint;
use crate::raw::{MORE, Raw, command, frame};
use crate::siege::alone;

fn pull() -> (Pull, String) {
    let pull = Pull::new(&Context::new()).unwrap();
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
