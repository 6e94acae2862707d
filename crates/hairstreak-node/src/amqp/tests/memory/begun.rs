//! Bodies and transactions that have begun when the memory alarm is raised: they share one room, and bodies come whole one after the other.

use std::time::Duration;

use super::*;

/// An incomplete body: its client, and the missing bytes.
struct Begun {
    client: Address,
    rest: Vec<u8>,
}

impl World {
    /// Clients that send the first `sent` bytes of a message with a body of `size` bytes.
    fn begin(&mut self, count: usize, size: usize, sent: usize) -> Vec<Begun> {
        let mut bytes = Vec::new();
        publish(1, b"out", size, &mut bytes);
        let before = self.client;
        let mut begun = Vec::new();
        for _ in 0..count {
            self.switch();
            assert_eq!(self.send(&bytes[..sent]).0, sent);
            begun.push(Begun { client: self.client, rest: bytes[sent..].to_vec() });
        }
        self.client = before;
        begun
    }

    /// The client sends at most `size_max` bytes more of its body, as long as the node reads. Returns how many bytes were read.
    fn send_rest(&mut self, begun: &mut Begun, size_max: usize) -> usize {
        let before = std::mem::replace(&mut self.client, begun.client);
        let taken = self.send(&begun.rest[..begun.rest.len().min(size_max)]).0;
        begun.rest.drain(..taken);
        self.client = before;
        taken
    }

    /// Starts a consumer for the messages that come whole.
    fn consume(&mut self) {
        let consume = basic::Consume { queue: b"out", no_ack: true, no_wait: true, ..Default::default() };
        self.say_methods(2, &[Method::BasicConsume(consume)]);
    }

    /// The consumer takes all messages that have come whole.
    fn drain(&mut self) {
        while !self.hear().is_empty() {
            self.node.settle();
        }
    }

    fn send_rests(&mut self, begun: &mut [Begun]) -> usize {
        begun.iter_mut().map(|begun| self.send_rest(begun, usize::MAX)).sum()
    }
}

const KIBIBYTE: usize = 1024;
/// One read.
const READ: usize = 64 * KIBIBYTE;
/// The bytes that a connection may take even if others take all the room.
const GRANTED: usize = 128 * KIBIBYTE;

#[test]
fn bodies_that_have_begun_share_a_room_and_one_more_comes_whole() {
    const COUNT: usize = 16;
    const SIZE: usize = 900 * KIBIBYTE;
    let mut world = world();
    world.consume();
    let mut begun = world.begin(COUNT, SIZE, 10 * KIBIBYTE);
    world.raise();
    let mut taken = 0;
    for _ in 0..COUNT {
        taken += world.send_rests(&mut begun);
        world.drain();
    }
    // The room, the part of each connection, and the body of the connection with the pass. A read exceeds each bound.
    let bytes_max = WATERMARK / 4 + COUNT * (GRANTED + READ) + SIZE;
    assert!((SIZE..bytes_max).contains(&taken), "{taken} bytes, at most {bytes_max}");
    let whole = begun.iter().filter(|begun| begun.rest.is_empty()).count();
    assert!((1..=3).contains(&whole), "{whole}");
    world.clear();
    for _ in 0..COUNT {
        world.send_rests(&mut begun);
        world.drain();
    }
    assert!(begun.iter().all(|begun| begun.rest.is_empty()));
    assert_eq!(world.ready(), 0);
}

#[test]
fn a_client_whose_body_waits_is_told_and_goes_on_after_the_alarm() {
    let mut world = world();
    let mut bytes = login_that_hears_blocked();
    // Two take the room and the pass.
    let mut greedy = world.begin(2, 2 * LARGE, READ);
    let worker = std::mem::replace(&mut world.client, world.node.connect().unwrap());
    Method::ChannelOpen(channel::Open {}).encode(1, &mut bytes);
    let mut message = Vec::new();
    publish(1, b"out", LARGE, &mut message);
    bytes.extend_from_slice(&message[..READ]);
    world.say(&bytes);
    let mut begun =
        Begun { client: std::mem::replace(&mut world.client, worker), rest: message[READ..].to_vec() };
    world.raise();
    world.send_rests(&mut greedy);
    let before = std::mem::replace(&mut world.client, begun.client);
    let (taken, heard) = world.send(&begun.rest);
    assert_eq!((heard, world.node.is_reading(begun.client)), (vec!["connection.blocked"], false));
    begun.rest.drain(..taken);
    world.client = before;
    world.clear();
    world.client = begun.client;
    let (taken, heard) = world.send(&begun.rest);
    assert_eq!((taken, heard), (begun.rest.len(), vec!["connection.unblocked"]));
}

#[test]
fn bodies_that_take_all_the_memory_come_whole_one_after_the_other() {
    const COUNT: usize = 8;
    let mut world = world();
    world.consume();
    // Nearly all of the memory.
    let mut begun = world.begin(COUNT, 2 * LARGE, 360 * KIBIBYTE);
    let mut rounds = 0;
    while begun.iter().any(|begun| !begun.rest.is_empty()) {
        assert!(world.send_rests(&mut begun) > 0, "nobody goes on");
        let told = world.node.figures().told_bytes;
        assert!(told < WATERMARK + WATERMARK / 4 + COUNT * (GRANTED + READ) + 2 * LARGE, "{told} bytes");
        world.drain();
        rounds += 1;
    }
    assert!(rounds > 1, "all bodies go on at once");
    assert_eq!(world.ready(), 0);
}

#[test]
fn the_pass_goes_on_from_a_client_that_ends_or_sends_nothing() {
    for ends in [true, false] {
        let mut world = world();
        let before = world.switch();
        let mut bytes = Vec::new();
        publish(1, b"full", 2000 * KIBIBYTE, &mut bytes);
        world.say(&bytes);
        world.client = before;
        let mut begun = world.begin(4, 2 * LARGE, 150 * KIBIBYTE);
        let read = |world: &World, begun: &[Begun]| -> Vec<bool> {
            begun.iter().map(|begun| world.node.is_reading(begun.client)).collect()
        };
        // The first one raises the alarm and takes the room of the node. Then it is the first one in the line.
        world.send_rest(&mut begun[0], 1600 * KIBIBYTE);
        for begun in &mut begun[1..] {
            world.send_rest(begun, GRANTED + 2 * READ);
        }
        assert_eq!(read(&world, &begun), [true, false, false, false]);
        // It sends nothing more.
        if ends {
            world.node.break_off(begun[0].client);
            world.node.settle();
            assert_eq!(read(&world, &begun), [false, true, false, false]);
        } else {
            for _ in 0..2 {
                world.node.pass(Duration::from_secs(10));
                world.node.settle();
            }
            assert_eq!(read(&world, &begun), [true, true, false, false]);
            // It stands in the line again.
            world.send_rest(&mut begun[0], READ);
            assert_eq!(read(&world, &begun), [false, true, false, false]);
        }
    }
}

#[test]
fn transactions_that_have_begun_share_the_room() {
    const COUNT: usize = 16;
    const SIZE: usize = 10 * KIBIBYTE;
    let mut world = world();
    let mut first = Vec::new();
    Method::TxSelect(tx::Select {}).encode(1, &mut first);
    publish(1, b"out", 10, &mut first);
    let mut message = Vec::new();
    publish(1, b"out", SIZE, &mut message);
    let mut begun = Vec::new();
    for _ in 0..COUNT {
        let before = world.switch();
        world.say(&first);
        begun.push(Begun { client: std::mem::replace(&mut world.client, before), rest: message.repeat(40) });
    }
    world.raise();
    let told = world.node.figures().told_bytes;
    for _ in 0..COUNT {
        world.send_rests(&mut begun);
    }
    let grown = world.node.figures().told_bytes - told;
    let bytes_max = WATERMARK / 4 + COUNT * (GRANTED + 2 * SIZE);
    assert!((WATERMARK / 8..bytes_max).contains(&grown), "{grown} bytes, at most {bytes_max}");
    world.clear();
    for begun in &mut begun {
        Method::TxCommit(tx::Commit {}).encode(1, &mut begun.rest);
    }
    for _ in 0..COUNT {
        world.send_rests(&mut begun);
        world.say_methods(1, &[Method::QueuePurge(queue::Purge { queue: b"out", no_wait: true })]);
        world.node.settle();
    }
    assert!(begun.iter().all(|begun| begun.rest.is_empty()));
}
