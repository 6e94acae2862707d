//! Peers that misbehave after READY: they are closed, and lose nobody else's messages.

use hairstreak_socket::Options;

use crate::raw::{COMMAND, MORE, Raw, command, frame, long_header, ready};
use crate::siege::{MEMORY_MAX, Siege, alone, besiege, besiege_within};

const MESSAGE_SIZE_MAX: usize = 1 << 20;

fn options() -> Options {
    Options { message_size_max: MESSAGE_SIZE_MAX, ..Options::default() }
}

/// Each of these has its connection closed.
fn bad_frames() -> Vec<Vec<u8>> {
    let over = MESSAGE_SIZE_MAX as u64 + 1;
    let half = frame(MORE, &vec![0; MESSAGE_SIZE_MAX / 2]);
    vec![
        frame(0x08, b"reserved"),
        frame(0x80, b"reserved"),
        vec![0xff; 1000],
        long_header(0, u64::MAX),
        long_header(0, i64::MAX as u64),
        long_header(0, 1 << 32),
        long_header(0, over),
        long_header(MORE, over),
        [&half[..], &half, &frame(0, b"x")].concat(),
        [&half[..], &long_header(0, u64::MAX)].concat(),
        long_header(COMMAND, u64::MAX),
        long_header(COMMAND, 64 * 1024 + 1),
        frame(COMMAND | MORE, b"\x04PING\0\0"),
        frame(COMMAND, b""),
        frame(COMMAND, b"\0"),
        frame(COMMAND, b"\xffPING"),
        command("PING", b""),
        command("PING", &[0; 2 + 17]),
        command("PONG", &[0; 17]),
        command("ERROR", b"\xff"),
        ready(&[("Socket-Type", b"PUSH")]),
    ]
}

#[test]
fn what_is_no_frame_is_closed_and_counted() {
    besiege_within(MEMORY_MAX, &options(), |place, peer_type| {
        let streams = bad_frames();
        for bytes in &streams {
            let mut raw = Raw::ready(place, peer_type);
            raw.send(&frame(0, b"a good message first"));
            raw.send(bytes);
            raw.wait_for_end();
        }
        ((), streams.len() as u64)
    });
}

#[test]
fn nothing_is_taken_behind_an_error() {
    let _alone = alone();
    for (role, transport) in [("PULL", "tcp"), ("ROUTER", "ipc")] {
        let mut siege = Siege::new(role, transport, &options());
        let mut raw = Raw::ready(&siege.place, siege.peer_type());
        raw.send(&[command("ERROR", b"\x03bad"), frame(0, b"behind the error")].concat());
        raw.wait_for_end();
        siege.serve_until("left alone", |stats| {
            assert!(stats.received > 0);
            stats.peer_count == 1
        });
        let received = siege.stats().received;
        siege.exchange();
        assert_eq!(siege.stats().received, received + 1);
    }
}

#[test]
fn commands_that_nobody_knows_are_skipped() {
    besiege(&options(), |place, peer_type| {
        let mut raw = Raw::ready(place, peer_type);
        raw.send(&command("NOVELTY", &[7; 10_000]));
        raw.send(&command("SUBSCRIBE", b"prefix"));
        raw.send(&command("PING", b"\0\0context"));
        assert_eq!(raw.read_exactly(14), command("PONG", b"context"));
        raw
    });
}

#[test]
fn frames_without_an_end_are_closed_and_counted() {
    besiege_within(MEMORY_MAX, &options(), |place, peer_type| {
        let empty = frame(MORE, b"").repeat(10_000);
        let mut raw = Raw::ready(place, peer_type);
        raw.send(&empty);
        raw.wait_for_end();
        ((), 1)
    });
}

#[test]
fn sizes_that_are_only_announced_take_no_memory() {
    let options = Options::default();
    besiege(&options, |place, peer_type| {
        let start = [long_header(0, options.message_size_max as u64), vec![0; 1000]].concat();
        let mut raws: Vec<Raw> = (0..200).map(|_| Raw::ready(place, peer_type)).collect();
        raws.iter_mut().for_each(|raw| raw.send(&start));
        raws
    });
}

#[test]
fn many_frames_that_nobody_receives_take_no_more_than_the_marks() {
    check_unreceived(&[frame(MORE, b"").repeat(1000), frame(0, b"")].concat());
}

#[test]
fn short_messages_that_nobody_receives_take_no_more_than_the_marks() {
    check_unreceived(&frame(0, b""));
}

#[test]
fn messages_between_commands_that_nobody_receives_take_no_more_than_the_marks() {
    let filler = command("PONG", b"").repeat(70_000 / 7);
    check_unreceived(&[frame(0, &[7; 100]), filler].concat());
}

/// Sends `bytes` again and again to a PULL that does not receive until no more is taken, or 50 MB were.
fn check_unreceived(bytes: &[u8]) {
    let _alone = alone();
    let siege = Siege::new("PULL", "tcp", &options());
    let before = crate::memory::resident_bytes();
    let mut raw = Raw::ready(&siege.place, "PUSH");
    raw.send_until_stuck(bytes, 50_000_000);
    let grown = crate::memory::resident_bytes().saturating_sub(before);
    assert!(grown <= MEMORY_MAX, "{grown} bytes more than before");
}

#[test]
fn a_flood_of_commands_leaves_the_others_their_share() {
    besiege(&options(), |place, peer_type| {
        let flood = command("PING", &[0; 10]).repeat(4096);
        // Never reads: its answers are given up once enough of them wait.
        let mut raw = Raw::ready(place, peer_type);
        raw.send_until_stuck(&flood, 64 << 20);
        raw
    });
}
