//! Hostile peers: random bytes, and valid handshakes with bytes changed, lost,
//! doubled and cut. The memory that a peer can occupy is checked beside the state machine, in
//! `handshake.rs` of the crate.

use crate::pair::{greeting_and_ready, handshake, local, socket_type_metadata};
use hairstreak_wire::zmtp::{Greeting, Handshake, SocketType, metadata};
use proptest::{prelude::*, sample::Index};

/// The bytes of a well-behaved DEALER, including some traffic.
fn valid_stream() -> Vec<u8> {
    let mut metadata = socket_type_metadata(b"DEALER");
    metadata::encode(&mut metadata, "Identity", b"worker-7");
    metadata::encode(&mut metadata, "X-key", &[b'v'; 300]);
    let mut stream = greeting_and_ready(&metadata);
    stream.extend_from_slice(b"\x00\x05hello");
    stream
}

/// Feeds `stream` in two pieces and checks the guarantees of the handshake.
fn check_promises(mut ours: Handshake, stream: &[u8], split: Index) -> Result<(), TestCaseError> {
    let (first, second) = stream.split_at(split.index(stream.len() + 1));
    let mut failure = None;
    for piece in [first, second] {
        match ours.handle_bytes(piece) {
            Ok(consumed) => {
                prop_assert!(failure.is_none(), "went on after it failed");
                prop_assert!(consumed <= piece.len());
            }
            Err(error) => {
                let line = error.to_string();
                prop_assert!(
                    line.bytes().all(|byte| matches!(byte, b' '..=b'~')),
                    "not one clear line: {line:?}"
                );
                prop_assert!(line.len() < 400, "long line: {line}");
                if let Some(earlier) = failure.replace(error.clone()) {
                    prop_assert_eq!(earlier, error);
                }
            }
        }
    }
    let sent_size = ours.poll_transmit().map_or(0, |sent| sent.len());
    prop_assert!(sent_size < 64 + 100 + 300, "{sent_size} bytes to send");
    if let Some(remote) = ours.poll_ready() {
        prop_assert!(failure.is_none(), "ready after it failed");
        prop_assert!(SocketType::Router.compatible(remote.socket_type));
    }
    Ok(())
}

#[derive(Clone, Debug)]
enum Mutation {
    Set(Index, u8),
    Remove(Index),
    Double(Index),
    Insert(Index, Vec<u8>),
    Truncate(Index),
}

fn mutation() -> impl Strategy<Value = Mutation> {
    prop_oneof![
        4 => (any::<Index>(), any::<u8>()).prop_map(|(at, byte)| Mutation::Set(at, byte)),
        2 => any::<Index>().prop_map(Mutation::Remove),
        2 => any::<Index>().prop_map(Mutation::Double),
        1 => (any::<Index>(), prop::collection::vec(any::<u8>(), 1..20)).prop_map(|(at, bytes)| Mutation::Insert(at, bytes)),
        1 => any::<Index>().prop_map(Mutation::Truncate),
    ]
}

fn mutate(stream: &mut Vec<u8>, mutation: &Mutation) {
    let size = stream.len();
    match mutation {
        Mutation::Truncate(at) => stream.truncate(at.index(size + 1)),
        Mutation::Insert(at, bytes) => drop(stream.splice(at.index(size + 1).., bytes.clone())),
        _ if size == 0 => {}
        Mutation::Set(at, byte) => stream[at.index(size)] = *byte,
        Mutation::Remove(at) => drop(stream.remove(at.index(size))),
        Mutation::Double(at) => stream.insert(at.index(size), stream[at.index(size)]),
    }
}

proptest! {
    #[test]
    fn random_bytes_are_survived(stream in prop::collection::vec(any::<u8>(), 0..300), split: Index) {
        check_promises(handshake(local(SocketType::Router)), &stream, split)?;
    }

    #[test]
    fn random_bytes_behind_a_greeting_are_survived(
        noise in prop::collection::vec(prop_oneof![0..8_u8, any::<u8>()], 0..300),
        split: Index,
    ) {
        let stream = [Greeting::encode("NULL", false).as_slice(), &noise].concat();
        check_promises(handshake(local(SocketType::Router)), &stream, split)?;
    }

    #[test]
    fn a_mutated_handshake_is_survived(
        mutations in prop::collection::vec(mutation(), 1..4),
        split: Index,
    ) {
        let mut stream = valid_stream();
        for mutation in &mutations {
            mutate(&mut stream, mutation);
        }
        check_promises(handshake(local(SocketType::Router)), &stream, split)?;
    }
}

#[test]
fn any_single_byte_of_a_handshake_may_have_any_value() {
    let valid = valid_stream();
    for at in 0..valid.len() {
        for byte in 0..=255 {
            let mut stream = valid.clone();
            stream[at] = byte;
            let mut ours = handshake(local(SocketType::Router));
            if let Ok(consumed) = ours.handle_bytes(&stream) {
                assert!(consumed <= stream.len());
            }
        }
    }
}
