//! Valid streams with bytes changed, lost, doubled, moved and cut, at random. The output of
//! the test names the seed.

use hairstreak_socket::Options;
use hairstreak_testkit::{Rng, rng};

use crate::raw::{MORE, Raw, command, frame, greeting, long_header, ready};
use crate::siege::besiege;
use crate::soak::amount;

/// What a well-behaved peer says.
fn valid_stream(peer_type: &str) -> Vec<u8> {
    let properties = [("Socket-Type", peer_type.as_bytes()), ("Identity", b"me"), ("X-more", &[b'x'; 300])];
    [
        greeting(),
        ready(&properties),
        frame(0, b"hello"),
        command("PING", b"\0\x01ctx"),
        [frame(MORE, b""), frame(MORE, &[1; 300]), frame(0, b"end")].concat(),
        frame(0, &[2; 40_000]),
        command("NOVELTY", b"?"),
        long_header(0, 3),
        b"abc".to_vec(),
        frame(0, &[3; 200]).repeat(20),
    ]
    .concat()
}

/// One to eight changes, most of them in the first bytes, where the meaning is densest.
fn mutate(random: &mut Rng, stream: &mut Vec<u8>) {
    for _ in 0..random.usize(1..=8) {
        let dense = stream.len().min(if random.bool() { 500 } else { usize::MAX });
        let at = random.usize(..dense.max(1)).min(stream.len().saturating_sub(1));
        match random.u8(..8) {
            _ if stream.is_empty() => {}
            0 => stream.truncate(at),
            1 => drop(stream.remove(at)),
            2 => stream.insert(at, random.u8(..)),
            3 => stream[at] ^= 1 << random.u8(..8),
            4 => stream[at] = [0, 1, 0x7f, 0x80, 0xff][random.usize(..5)],
            5 => {
                let end = (at + random.usize(..64)).min(stream.len());
                let piece = stream[at..end].to_vec();
                let to = random.usize(..=stream.len());
                drop(stream.splice(to..to, piece));
            }
            6 => drop(stream.drain(at..(at + random.usize(..64)).min(stream.len()))),
            _ => stream[at] = random.u8(..),
        }
    }
}

#[test]
fn streams_changed_at_random_harm_nobody() {
    let seeded = rng();
    besiege(&Options { message_size_max: 1 << 20, ..Options::default() }, |place, peer_type| {
        let mut random = seeded.clone();
        for _ in 0..amount(500, 100_000) {
            let mut stream = valid_stream(peer_type);
            mutate(&mut random, &mut stream);
            let mut raw = Raw::connect(place);
            let mut rest = &stream[..];
            while !rest.is_empty() {
                let (piece, after) = rest.split_at(random.usize(1..=rest.len()));
                raw.send(piece);
                rest = after;
            }
            if random.bool() {
                raw.end();
                raw.wait_for_end();
            }
        }
    });
}
