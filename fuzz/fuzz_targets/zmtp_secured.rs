//! PLAIN and CURVE in every role: any peer is let in, asked about or refused, with the same outcome whether its bytes
//! come at once or in chunks; only who has the client's key is asked about as that client; and messages that the
//! peer did not seal, in this order, are never opened.
//!
//! The peer's bytes are put together from the valid commands of one handshake, others and noise, and then one of them
//! is changed. Randomness is fixed, so that valid commands stay valid.
#![no_main]

use std::sync::{Arc, LazyLock};
use std::time::Duration;

use hairstreak_wire::zmtp::curve::{
    CurveCipher, KeyPair, MESSAGE_OVERHEAD, MessageFlags, PublicKey, SecretKey,
};
use hairstreak_wire::zmtp::role::{Acceptance, Entropy, Login};
use hairstreak_wire::zmtp::{
    Credentials, Greeting, Handshake, HandshakeError, HandshakeLimits, LocalPeer, Role, SocketType, Verdict,
    command,
};
use libfuzzer_sys::{arbitrary, arbitrary::Arbitrary, fuzz_target};

#[derive(Arbitrary, Debug)]
struct Input<'a> {
    role: u8,
    chunk_size: u8,
    change: Option<(u16, u8)>,
    pieces: Vec<Piece<'a>>,
    key: &'a str,
    messages: Vec<Traffic<'a>>,
}

#[derive(Arbitrary, Debug)]
enum Piece<'a> {
    Valid(u8),
    Command(u8, &'a [u8]),
    Noise(&'a [u8]),
}

#[derive(Arbitrary, Debug)]
enum Traffic<'a> {
    Sealed(&'a [u8]),
    Changed(&'a [u8], u16, u8),
    Again,
    Noise(&'a [u8]),
}

const NAMES: [&[u8]; 8] =
    [b"HELLO", b"WELCOME", b"INITIATE", b"READY", b"ERROR", b"MESSAGE", b"PING", b"^RROR"];
const MECHANISMS: [&str; 3] = ["NULL", "PLAIN", "CURVE"];

fn keys(byte: u8) -> KeyPair {
    KeyPair::new(SecretKey::from_bytes([byte; 32]))
}

fn handshake(socket_type: SocketType, role: &Role) -> Handshake {
    let local = LocalPeer { socket_type, routing_id: Vec::new(), properties: Vec::new() };
    let entropy = Entropy::new([7; Entropy::SIZE].into());
    Handshake::secured(local, HandshakeLimits::default(), role, entropy, Duration::ZERO)
}

/// Roles 0 to 2 are the clients of a server, 3 is that server.
fn role(choice: usize) -> Role {
    match choice {
        0 => Role::Peer,
        1 => Role::PlainClient(Login::new(b"ann", b"secret").unwrap()),
        2 => Role::CurveClient { keys: keys(2), server_key: *keys(1).public() },
        _ => Role::Server(Arc::new(Acceptance::new(true, true, Some(keys(1))))),
    }
}

fn fresh(choice: usize) -> Handshake {
    handshake(if choice < 3 { SocketType::Push } else { SocketType::Pull }, &role(choice))
}

/// What the two ends of each mechanism say, and their ciphers if there are any.
struct Spoken {
    said: Vec<Vec<u8>>,
    ciphers: Option<[Box<CurveCipher>; 2]>,
}

static SPOKEN: LazyLock<Vec<Spoken>> = LazyLock::new(|| (0..3).map(speak).collect());

fn speak(client: usize) -> Spoken {
    let (mut ends, mut said) = ([fresh(client), fresh(3)], Vec::new());
    for turn in 0..8 {
        let bytes = ends[turn % 2].poll_transmit().unwrap_or_default();
        ends[1 - turn % 2].handle_bytes(&bytes).unwrap();
        ends[1 - turn % 2].handle_verdict(Verdict::Accept { user_id: None }).unwrap();
        said.push(bytes);
    }
    let [one, other] = &mut ends;
    assert!(one.poll_ready().is_some() && other.poll_ready().is_some());
    Spoken { said, ciphers: one.take_cipher().zip(other.take_cipher()).map(|(one, other)| [one, other]) }
}

fn encode_pieces(pieces: &[Piece<'_>], mechanism: usize) -> Vec<u8> {
    let mut stream = Vec::new();
    for piece in pieces {
        match piece {
            Piece::Valid(choice) => {
                let said = &SPOKEN[mechanism].said;
                stream.extend_from_slice(&said[usize::from(*choice) % said.len()]);
            }
            Piece::Command(name, data) => {
                command::encode(&mut stream, NAMES[usize::from(*name) % NAMES.len()], &[data]);
            }
            Piece::Noise(bytes) => stream.extend_from_slice(bytes),
        }
    }
    stream
}

#[derive(Debug, PartialEq)]
struct Outcome {
    consumed: Result<usize, HandshakeError>,
    sent: Vec<u8>,
    asked: Option<Credentials>,
    ready: bool,
}

fn run(mut handshake: Handshake, stream: &[u8], chunk_size: usize) -> Outcome {
    let (mut consumed, mut sent, mut asked) = (Ok(0), Vec::new(), None);
    for chunk in stream.chunks(chunk_size) {
        let mut rest = chunk;
        while !rest.is_empty() && consumed.is_ok() {
            let step = handshake.handle_bytes(rest);
            sent.extend(handshake.poll_transmit().unwrap_or_default());
            if let Some(credentials) = handshake.poll_credentials() {
                asked = Some(credentials);
                handshake.handle_verdict(Verdict::Accept { user_id: None }).unwrap_or_default();
                sent.extend(handshake.poll_transmit().unwrap_or_default());
            } else if step == Ok(0) {
                break;
            }
            match (step, &mut consumed) {
                (Ok(taken), Ok(all)) => {
                    *all += taken;
                    rest = &rest[taken..];
                }
                (Err(error), _) => consumed = Err(error),
                _ => {}
            }
        }
    }
    if let Err(error) = &consumed {
        assert_eq!(handshake.handle_bytes(b"x").as_ref(), Err(error), "failed, but not for good");
        assert!(handshake.take_cipher().is_none());
    }
    Outcome { consumed, sent, asked, ready: handshake.poll_ready().is_some() }
}

fn check_traffic(messages: &[Traffic<'_>]) {
    let [mut sends, mut receives] = SPOKEN[2].ciphers.clone().unwrap();
    let mut last = Vec::new();
    for message in messages {
        let (payload, change) = match message {
            Traffic::Sealed(payload) => (payload, None),
            Traffic::Changed(payload, at, byte) => (payload, Some((usize::from(*at), *byte))),
            Traffic::Again => {
                assert!(receives.open(&mut last.clone()).is_err());
                continue;
            }
            Traffic::Noise(bytes) => {
                assert!(receives.open(&mut bytes.to_vec()).is_err());
                continue;
            }
        };
        let mut body = [&[0; MESSAGE_OVERHEAD], *payload].concat();
        let flags = MessageFlags { more: payload.len() % 2 == 1, command: false };
        sends.seal(&mut body, flags);
        if let Some((at, byte)) = change {
            let at = at % body.len();
            let is_changed = std::mem::replace(&mut body[at], byte) != byte;
            if is_changed {
                assert!(receives.open(&mut body).is_err());
                continue;
            }
        }
        last = body.clone();
        assert_eq!(receives.open(&mut body), Ok(flags));
        assert_eq!(&body[MESSAGE_OVERHEAD..], *payload);
    }
}

fuzz_target!(|input: Input<'_>| {
    let choice = usize::from(input.role) % 6;
    let (end, mechanism) = (choice.min(3), if choice < 3 { choice } else { choice - 3 });
    let mut stream = Greeting::encode(MECHANISMS[mechanism], false).to_vec();
    stream.extend(encode_pieces(&input.pieces, mechanism));
    let mut is_changed = false;
    if let Some((at, byte)) = input.change {
        let at = usize::from(at) % stream.len();
        is_changed = std::mem::replace(&mut stream[at], byte) != byte;
    }
    let at_once = run(fresh(end), &stream, stream.len());
    let in_chunks = run(fresh(end), &stream, usize::from(input.chunk_size).max(1));
    assert_eq!(at_once, in_chunks);
    if let Some(Credentials::Curve { public_key }) = at_once.asked {
        assert_eq!(public_key, *keys(2).public());
        assert!(is_changed || input.pieces.iter().any(|piece| matches!(piece, Piece::Valid(_))));
    }
    if let Err(error) = at_once.consumed {
        let line = error.to_string();
        assert!(line.len() < 400 && line.bytes().all(|byte| matches!(byte, b' '..=b'~')), "{line:?}");
    }
    if let Ok(key) = input.key.parse::<PublicKey>() {
        assert_eq!(key.to_string(), input.key);
    }
    check_traffic(&input.messages);
});
