//! The cuts of the network between bytes change nothing: the client gets the same errors, and the connection goes on or ends
//! alike.

use fastrand::Rng;
use hairstreak_wire::amqp::{
    FRAME_SIZE_ALLOWANCE, FrameKind, HEARTBEAT_FRAME, Method, PROTOCOL_HEADER_0_9, basic, channel,
    connection, decode_frame, encode_content_header, queue,
};

use super::{FRAME_SIZE, SEEDS, World, frames, login};

/// A frame with any type, size and end.
fn frame(kind: u8, channel: u16, payload: &[u8], end: u8) -> Vec<u8> {
    let size = payload.len() as u32;
    [&[kind][..], &channel.to_be_bytes(), &size.to_be_bytes(), payload, &[end]].concat()
}

fn method(method: &Method<'_>, channel: u16) -> Vec<u8> {
    let mut bytes = Vec::new();
    method.encode(channel, &mut bytes);
    bytes
}

fn publish(body_size: u64) -> Vec<u8> {
    let publish = basic::Publish { routing_key: b"nobody", ..Default::default() };
    let mut bytes = method(&Method::BasicPublish(publish), 1);
    encode_content_header(1, body_size, &[0, 0], &mut bytes);
    bytes
}

fn body(size: usize, end: u8) -> Vec<u8> {
    frame(FrameKind::Body as u8, 1, &vec![b'x'; size], end)
}

/// The closes and their texts, and whether the node still reads the client.
#[derive(Debug, PartialEq)]
struct Outcome {
    closes: Vec<String>,
    is_reading: bool,
    is_connected: bool,
}

/// The outcome of pieces that a new client of the node with an open channel sends.
fn outcome<'a>(world: &mut World, pieces: impl Iterator<Item = &'a [u8]>) -> Outcome {
    world.client = world.node.connect().unwrap();
    world.feed(&login(), usize::MAX);
    world.feed(&method(&Method::ChannelOpen(channel::Open {}), 1), usize::MAX);
    let written: Vec<u8> = pieces.flat_map(|piece| world.feed(piece, usize::MAX)).collect();
    let outcome = outcome_of(world, &written);
    world.node.break_off(world.client);
    world.node.settle();
    outcome
}

fn outcome_of(world: &World, mut written: &[u8]) -> Outcome {
    let mut closes = Vec::new();
    while let Ok(Some(frame)) = decode_frame(written, FRAME_SIZE as usize) {
        match Method::decode(frame.payload) {
            _ if frame.kind != FrameKind::Method => {}
            Ok(
                close @ (Method::ConnectionClose(_) | Method::ConnectionCloseOk(_) | Method::ChannelClose(_)),
            ) => {
                closes.push(format!("{close:?}"));
            }
            _ => {}
        }
        written = &written[frame.size()..];
    }
    let (is_reading, is_connected) =
        (world.node.is_reading(world.client), world.node.is_connected(world.client));
    Outcome { closes, is_reading, is_connected }
}

/// The outcome of bytes in one piece, which is the same in two pieces, cut at each place, and octet by octet.
#[track_caller]
fn check(world: &mut World, bytes: &[u8], close_count: usize, is_reading: bool) {
    let whole = outcome(world, std::iter::once(bytes));
    assert_eq!((whole.closes.len(), whole.is_reading), (close_count, is_reading), "{whole:?}");
    assert_eq!(outcome(world, bytes.chunks(1)), whole, "octet by octet");
    // Long input is cut at few places but at its ends.
    let step = bytes.len() / 50 + 1;
    for at in (1..bytes.len()).filter(|at| at % step == 0 || *at < 20 || *at + 20 > bytes.len()) {
        let (head, tail) = bytes.split_at(at);
        assert_eq!(outcome(world, [head, tail].into_iter()), whole, "cut at {at} of {}", bytes.len());
    }
}

const END: u8 = 0xce;
const LIMIT: usize = FRAME_SIZE as usize;

#[test]
fn frames_have_one_limit_however_they_come() {
    let (world, overhead) = (&mut World::running(), 8);
    let allowed = LIMIT + FRAME_SIZE_ALLOWANCE - overhead;
    check(world, &[publish(allowed as u64), body(allowed, END)].concat(), 0, true);
    check(world, &[publish(allowed as u64 + 1), body(allowed + 1, END)].concat(), 1, false);
    check(world, &[publish(9000), body(9000, END)].concat(), 1, false);
    // The second message is like the first.
    let size = allowed as u64 + 1;
    let alike = [publish(10), body(10, END), publish(size), body(allowed + 1, END)].concat();
    check(world, &alike, 1, false);
    check(world, &frame(FrameKind::Method as u8, 1, &vec![0; allowed + 1], END), 1, false);
    check(world, &frame(99, 1, &vec![0; allowed + 1], END), 1, false);
}

#[test]
fn a_wrong_end_is_told_with_the_octets_of_its_frame() {
    let world = &mut World::running();
    for bytes in [
        [publish(5), body(5, 0)].concat(),
        [publish(30), body(10, END), body(20, 0)].concat(),
        [publish(5), body(0, 0)].concat(),
        // A body of memory of its own.
        [publish(40_000), body(4000, END), body(4000, 0)].concat(),
        // No channel awaits this body: the frame end comes first all the same.
        body(5, 0),
        [publish(2), body(5, 0)].concat(),
        frame(FrameKind::Method as u8, 1, b"abcdefgh", 0),
        frame(FrameKind::Heartbeat as u8, 0, b"", 0),
    ] {
        check(world, &bytes, 1, false);
    }
    let told = outcome(world, [&publish(40_000)[..], &body(4000, 0)].into_iter());
    let text =
        b"FRAME_ERROR - type 3, first 16 octets = <<\"xxxxxxxxxxxxxxxx\">>: {invalid_frame_end_marker,0}";
    let close = connection::Close { reply_code: 501, reply_text: text, ..Default::default() };
    assert_eq!(told.closes, [format!("{:?}", Method::ConnectionClose(close))]);
}

#[test]
fn frames_that_nobody_awaits_are_refused_once_they_are_whole() {
    let world = &mut World::running();
    // The client answers connection.close in the same write, or closes at the same time.
    let close_ok = method(&Method::ConnectionCloseOk(connection::CloseOk {}), 0);
    let close = method(&Method::ConnectionClose(connection::Close::default()), 0);
    for bad in [
        body(5, END),
        [publish(2), body(5, END)].concat(),
        [publish(5), publish(5)].concat(),
        frame(7, 1, b"abc", END),
        frame(FrameKind::Heartbeat as u8, 1, b"", END),
        frame(FrameKind::Body as u8, 0, b"abc", END),
        frame(FrameKind::Header as u8, 1, b"short", END),
        method(&Method::QueueDeclare(queue::Declare::default()), 9),
    ] {
        check(world, &bad, 1, true);
        check(world, &[&bad[..], &close_ok].concat(), 1, false);
        // Later frames do not matter, of any size and type.
        let passed = [&body(LIMIT - 8, END)[..], &frame(7, 3, b"abc", END), &HEARTBEAT_FRAME].concat();
        check(world, &[&bad[..], &passed, &close_ok].concat(), 1, false);
        // Both sides have closed: the client ends its side.
        check(world, &[&bad[..], &passed, &close].concat(), 2, true);
    }
}

#[test]
fn the_headers_of_both_versions_are_taken_in_any_pieces() {
    let mut old = login();
    old[..8].copy_from_slice(&PROTOCOL_HEADER_0_9);
    for login in [login(), old] {
        for piece in [1, 3, 8, usize::MAX] {
            let mut world = World::new();
            world.feed(&login, piece);
            assert!(world.node.is_running(world.client), "{piece}");
        }
    }
}

#[test]
fn whatever_is_sent_the_pieces_make_no_difference() {
    SEEDS.check("pieces_make_no_difference", 30, |seed, _| {
        let mut random = Rng::with_seed(seed);
        let mut bytes = frames(&mut random);
        for _ in 0..random.usize(0..10) {
            let at = random.usize(0..bytes.len());
            bytes[at] = random.u8(..);
        }
        let whole = outcome(&mut World::running(), std::iter::once(&bytes[..]));
        for piece in [random.usize(1..100), random.usize(100..5000)] {
            let pieces = bytes.chunks(piece);
            assert_eq!(outcome(&mut World::running(), pieces), whole, "in pieces of {piece}");
        }
    });
}
