//! The handshake: any peer is accepted or refused, with the same outcome and the same answer
//! whether its bytes come at once or in chunks.
//!
//! The peer's bytes are put together from valid pieces and noise, and then one of them is changed:
//! bytes alone would rarely get past the greeting.
#![no_main]

use hairstreak_wire::zmtp::{
    Greeting, Handshake, HandshakeError, HandshakeLimits, LocalPeer, RemotePeer, SocketType, command,
    metadata,
};
use libfuzzer_sys::{arbitrary, arbitrary::Arbitrary, fuzz_target};

#[derive(Arbitrary, Debug)]
struct Input<'a> {
    socket_type: u8,
    command_size_max: u16,
    chunk_size: u8,
    change: Option<(u16, u8)>,
    pieces: Vec<Piece<'a>>,
}

#[derive(Arbitrary, Debug)]
enum Piece<'a> {
    Greeting,
    Ready(Vec<Property<'a>>),
    Command { name_size: u8, body: &'a [u8] },
    Noise(&'a [u8]),
}

#[derive(Arbitrary, Debug)]
enum Property<'a> {
    SocketType(u8),
    Identity(&'a [u8]),
    Other(&'a str, &'a [u8]),
}

fn socket_type(choice: u8) -> SocketType {
    SocketType::ALL[usize::from(choice) % SocketType::ALL.len()]
}

fn encode_pieces(pieces: &[Piece<'_>]) -> Vec<u8> {
    let mut stream = Vec::new();
    for piece in pieces {
        match piece {
            Piece::Greeting => stream.extend_from_slice(&Greeting::encode("NULL", false)),
            Piece::Ready(properties) => command::encode_ready(&mut stream, &encode_properties(properties)),
            Piece::Command { name_size, body } => {
                let (name, data) = body.split_at(usize::from(*name_size).min(body.len()));
                if !name.is_empty() {
                    command::encode(&mut stream, name, &[data]);
                }
            }
            Piece::Noise(bytes) => stream.extend_from_slice(bytes),
        }
    }
    stream
}

fn encode_properties(properties: &[Property<'_>]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for property in properties {
        match property {
            Property::SocketType(choice) => {
                metadata::encode(&mut bytes, "Socket-Type", socket_type(*choice).as_str().as_bytes());
            }
            Property::Identity(value) => metadata::encode(&mut bytes, "Identity", value),
            Property::Other(name, value) if metadata::is_name(name) => {
                metadata::encode(&mut bytes, name, value)
            }
            Property::Other(name, value) => bytes.extend([name.as_bytes(), value].concat()),
        }
    }
    bytes
}

/// How many bytes were consumed, or why it failed; what was sent; the peer, if it became ready.
#[derive(Debug, PartialEq)]
struct Outcome {
    consumed: Result<usize, HandshakeError>,
    sent: Option<Vec<u8>>,
    remote: Option<RemotePeer>,
}

fn run(mut handshake: Handshake, chunks: std::slice::Chunks<'_, u8>) -> Outcome {
    let consumed = feed(&mut handshake, chunks);
    if let Err(error) = &consumed {
        assert_eq!(handshake.handle_bytes(b"x").as_ref(), Err(error), "failed, but not for good");
    }
    Outcome { consumed, sent: handshake.poll_transmit(), remote: handshake.poll_ready() }
}

fn feed(handshake: &mut Handshake, chunks: std::slice::Chunks<'_, u8>) -> Result<usize, HandshakeError> {
    let mut consumed = 0;
    for chunk in chunks {
        let taken = handshake.handle_bytes(chunk)?;
        consumed += taken;
        if taken < chunk.len() {
            break;
        }
    }
    Ok(consumed)
}

fuzz_target!(|input: Input<'_>| {
    let ours = socket_type(input.socket_type);
    let local = LocalPeer { socket_type: ours, routing_id: b"fuzz".to_vec(), properties: Vec::new() };
    let limits = HandshakeLimits { command_size_max: usize::from(input.command_size_max) };
    let handshake = Handshake::new(local, limits);
    let mut stream = encode_pieces(&input.pieces);
    if let Some((at, byte)) = input.change
        && !stream.is_empty()
    {
        let at = usize::from(at) % stream.len();
        stream[at] = byte;
    }

    let at_once = run(handshake.clone(), stream.chunks(stream.len().max(1)));
    let in_chunks = run(handshake, stream.chunks(usize::from(input.chunk_size).max(1)));
    assert_eq!(at_once, in_chunks);
    if let Some(remote) = at_once.remote {
        assert!(at_once.consumed.is_ok() && ours.compatible(remote.socket_type));
    }
    if let Err(error) = at_once.consumed {
        let line = error.to_string();
        assert!(line.len() < 400 && line.bytes().all(|byte| matches!(byte, b' '..=b'~')), "{line:?}");
    }
});
