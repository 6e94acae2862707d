//! PLAIN and CURVE between two of our ends: every mechanism in every role, for all cuts of the bytes; verdicts;
//! and commands that were changed, cut, repeated or meant for others.

use std::sync::Arc;
use std::time::Duration;

use hairstreak_wire::zmtp::curve::{
    CurveCipher, KeyPair, MESSAGE_OVERHEAD, MessageError, MessageFlags, SecretKey,
};
use hairstreak_wire::zmtp::role::{Acceptance, Entropy, Login};
use hairstreak_wire::zmtp::{
    Credentials, Handshake, HandshakeError, HandshakeLimits, LocalPeer, RemotePeer, Role, SocketType,
    Verdict, command,
};
use proptest::prelude::*;

use crate::pair::local;

fn keys(byte: u8) -> KeyPair {
    KeyPair::new(SecretKey::from_bytes([byte; 32]))
}

const SERVER: u8 = 1;
const CLIENT: u8 = 2;

fn client_role(mechanism: &str) -> Role {
    match mechanism {
        "NULL" => Role::Peer,
        "PLAIN" => Role::PlainClient(Login::new(b"ann", b"secret").expect("short")),
        _ => Role::CurveClient { keys: keys(CLIENT), server_key: *keys(SERVER).public() },
    }
}

fn acceptance(mechanisms: &[&str]) -> Arc<Acceptance> {
    let has = |name| mechanisms.contains(&name);
    Arc::new(Acceptance::new(has("NULL"), has("PLAIN"), has("CURVE").then(|| keys(SERVER))))
}

fn handshake_at(local: LocalPeer, role: &Role, random: u8, now: u64) -> Handshake {
    let entropy = Entropy::new([random; Entropy::SIZE].into());
    Handshake::secured(local, HandshakeLimits::default(), role, entropy, Duration::from_secs(now))
}

fn client(mechanism: &str) -> Handshake {
    handshake_at(local(SocketType::Push), &client_role(mechanism), 3, 0)
}

fn server(acceptance: &Arc<Acceptance>) -> Handshake {
    handshake_at(local(SocketType::Pull), &Role::Server(Arc::clone(acceptance)), 4, 0)
}

fn accept() -> Verdict {
    Verdict::Accept { user_id: Some("user".to_owned()) }
}

/// The result of a handshake: the peer that each end found, and its ciphers.
struct Joined {
    client: (RemotePeer, Option<Box<CurveCipher>>),
    server: (RemotePeer, Option<Box<CurveCipher>>),
    asked: Vec<Credentials>,
}

/// Carries bytes between the two until neither has more, and gives `verdict` when the server asks.
fn join(ends: [Handshake; 2], chunk_size: usize, verdict: &Verdict) -> Result<Joined, HandshakeError> {
    let mut ends = ends.map(|handshake| (handshake, Vec::new(), None));
    let (mut asked, mut moved) = (Vec::new(), true);
    while moved {
        moved = false;
        for index in 0..2 {
            let (handshake, inbox, remote) = &mut ends[index];
            let size = inbox.len().min(chunk_size);
            let consumed = handshake.handle_bytes(&inbox[..size])?;
            inbox.drain(..consumed);
            let mut sent = handshake.poll_transmit().unwrap_or_default();
            if let Some(credentials) = handshake.poll_credentials() {
                assert_eq!(handshake.handle_bytes(b"stands still"), Ok(0));
                asked.push(credentials);
                handshake.handle_verdict(verdict.clone())?;
                sent.extend(handshake.poll_transmit().unwrap_or_default());
                moved = true;
            }
            if let Some(peer) = handshake.poll_ready() {
                *remote = Some((peer, handshake.take_cipher()));
                assert!(handshake.take_cipher().is_none());
            }
            moved |= consumed > 0 || !sent.is_empty();
            ends[1 - index].1.extend(sent);
        }
    }
    let [client, server] = ends.map(|(_, _, remote)| remote.expect("an end never became ready"));
    Ok(Joined { client, server, asked })
}

#[test]
fn every_mechanism_joins_a_client_and_a_server_in_chunks_of_any_size() {
    for mechanism in ["NULL", "PLAIN", "CURVE"] {
        for accepted in [&[mechanism][..], &["NULL", "PLAIN", "CURVE"]] {
            for chunk_size in (1..=70).chain([300, usize::MAX]) {
                let ends = [client(mechanism), server(&acceptance(accepted))];
                let joined = join(ends, chunk_size, &accept()).expect("two that fit");
                assert_eq!(joined.client.0.socket_type, SocketType::Pull);
                assert_eq!(joined.server.0.socket_type, SocketType::Push);
                assert_eq!(
                    (joined.client.0.user_id, joined.server.0.user_id.as_deref()),
                    (None, Some("user"))
                );
                let expected = match mechanism {
                    "NULL" => Credentials::Null,
                    "PLAIN" => {
                        Credentials::Plain { username: b"ann".to_vec(), password: b"secret".to_vec().into() }
                    }
                    _ => Credentials::Curve { public_key: *keys(CLIENT).public() },
                };
                assert_eq!(joined.asked, [expected]);
                let sealed = (joined.client.1.is_some(), joined.server.1.is_some());
                assert_eq!(sealed, (mechanism == "CURVE", mechanism == "CURVE"));
            }
        }
    }
}

#[test]
fn a_refused_client_gets_the_status_and_nothing_else() {
    for mechanism in ["NULL", "PLAIN", "CURVE"] {
        for (verdict, status) in [(Verdict::Refuse, "400"), (Verdict::TryLater, "300")] {
            let (mut client, mut server) = (client(mechanism), server(&acceptance(&[mechanism])));
            let outcome = loop {
                server.handle_bytes(&client.poll_transmit().unwrap_or_default()).expect("a good client");
                if let Some(credentials) = server.poll_credentials() {
                    assert!(!format!("{credentials:?}").contains("secret"));
                    break server.handle_verdict(verdict.clone());
                }
                client.handle_bytes(&server.poll_transmit().unwrap_or_default()).expect("a good server");
            };
            assert_eq!(outcome, Err(HandshakeError::Unauthorized { status }));
            let sent = server.poll_transmit().expect("an ERROR");
            let mut error = Vec::new();
            command::encode_error(&mut error, status.as_bytes());
            let before = if mechanism == "NULL" { 64 } else { 0 };
            assert_eq!(sent[before..], error);
            let refused = HandshakeError::Refused { reason: status.to_owned() };
            assert_eq!(client.handle_bytes(&sent), Err(refused));
            assert!(server.poll_ready().is_none() && server.take_cipher().is_none());
        }
    }
}

#[test]
fn a_mechanism_that_is_not_accepted_is_refused_and_ours_is_named() {
    for (mechanism, accepted, ours) in [
        ("NULL", &["PLAIN", "CURVE"][..], "CURVE"),
        ("CURVE", &["NULL", "PLAIN"], "PLAIN"),
        ("PLAIN", &["NULL"], "NULL"),
    ] {
        let (mut client, mut server) = (client(mechanism), server(&acceptance(accepted)));
        server.handle_bytes(&client.poll_transmit().expect("a greeting")).expect_err("another mechanism");
        let said = server.poll_transmit().expect("a greeting");
        assert_eq!((said.len(), &said[12..12 + ours.len()]), (64, ours.as_bytes()));
        client.handle_bytes(&said).expect_err("another mechanism");
    }
}

#[test]
fn libzmqs_misspelt_refusal_is_understood_by_a_plain_client() {
    let mut client = client("PLAIN");
    let greeting = hairstreak_wire::zmtp::Greeting::encode("PLAIN", false);
    client.handle_bytes(&greeting).expect("a greeting");
    let outcome = client.handle_bytes(b"\x04\x09^RROR\x03400");
    assert_eq!(outcome, Err(HandshakeError::Refused { reason: "400".to_owned() }));
}

/// The bytes that each side of a CURVE handshake sends, in order, with the two ends before each of them was taken.
fn steps() -> Vec<(Handshake, Vec<u8>)> {
    let (mut client, mut server) = (client("CURVE"), server(&acceptance(&["CURVE"])));
    let mut steps = Vec::new();
    let greeting = client.poll_transmit().expect("a greeting");
    server.handle_bytes(&greeting).expect("a greeting");
    client.handle_bytes(&server.poll_transmit().expect("a greeting")).expect("a greeting");
    for _ in 0..2 {
        let to_server = client.poll_transmit().expect("HELLO, INITIATE");
        steps.push((server.clone(), to_server.clone()));
        server.handle_bytes(&to_server).expect("a good client");
        server.handle_verdict(accept()).expect("let in");
        let to_client = server.poll_transmit().expect("WELCOME, READY");
        steps.push((client.clone(), to_client.clone()));
        client.handle_bytes(&to_client).expect("a good server");
    }
    assert!(client.poll_ready().is_some() && server.poll_ready().is_some());
    steps
}

#[test]
fn the_commands_have_the_sizes_of_the_rfc() {
    let sizes: Vec<usize> = steps().iter().map(|(_, bytes)| bytes.len() - 2).collect();
    let metadata = 1 + 11 + 4 + 4;
    // INITIATE is long enough for a long header.
    assert_eq!(sizes, [200, 168, 257 + metadata + 7, 30 + metadata]);
}

#[test]
fn a_handshake_command_changed_in_any_byte_or_cut_anywhere_is_refused() {
    for (index, (end, bytes)) in steps().into_iter().enumerate() {
        let header = if bytes[0] & 2 == 0 { 2 } else { 9 };
        let name = 1 + usize::from(bytes[header]);
        for at in header..bytes.len() {
            let mut changed = bytes.clone();
            changed[at] ^= 0x10;
            let mut end = end.clone();
            let outcome = end.handle_bytes(&changed);
            let is_padding = index == 0 && (header + name + 2..header + name + 74).contains(&at);
            assert_eq!(outcome.is_ok(), is_padding, "step {index}, byte {at}: {outcome:?}");
            assert!(end.poll_credentials().is_none() && end.poll_ready().is_none());
        }
        for size in 0..bytes.len() - header - name {
            let mut cut = Vec::new();
            command::encode(&mut cut, &bytes[header + 1..header + name], &[&bytes[header + name..][..size]]);
            end.clone().handle_bytes(&cut).expect_err("a cut command");
        }
    }
}

#[test]
fn what_was_said_before_cannot_be_said_again() {
    let steps = steps();
    let [(server, hello), (_, _), (initiated, initiate), _] = &steps[..] else { panic!("four steps") };
    initiated.clone().handle_bytes(hello).expect_err("a second HELLO");
    server.clone().handle_bytes(initiate).expect_err("INITIATE before HELLO");
    // The same server in another connection knows the cookie, but no other server does.
    let mut other = handshake_at(local(SocketType::Pull), &Role::Server(acceptance(&["CURVE"])), 5, 0);
    let mut client = client("CURVE");
    other.handle_bytes(&client.poll_transmit().expect("a greeting")).expect("a greeting");
    other.handle_bytes(hello).expect("a HELLO is good for every connection of that key");
    assert_eq!(other.handle_bytes(initiate), Err(HandshakeError::Cookie));
}

#[test]
fn a_server_remembers_no_client_between_welcome_and_initiate() {
    let accepted = acceptance(&["CURVE"]);
    let (mut client, mut first) = (client("CURVE"), server(&accepted));
    let mut second = server(&accepted);
    let greeting = client.poll_transmit().expect("a greeting");
    first.handle_bytes(&greeting).expect("a greeting");
    client.handle_bytes(&first.poll_transmit().expect("a greeting")).expect("a greeting");
    let hello = client.poll_transmit().expect("HELLO");
    first.handle_bytes(&hello).expect("HELLO");
    client.handle_bytes(&first.poll_transmit().expect("WELCOME")).expect("WELCOME");
    // Another connection of the server gets another HELLO, and takes the INITIATE of the first one's client.
    second.handle_bytes(&greeting).expect("a greeting");
    second.handle_bytes(&hello).expect("HELLO");
    second.handle_bytes(&client.poll_transmit().expect("INITIATE")).expect("all it needs is in the cookie");
    assert_eq!(second.poll_credentials(), Some(Credentials::Curve { public_key: *keys(CLIENT).public() }));
}

#[test]
fn a_client_of_another_server_and_a_client_without_its_key_are_refused() {
    let outcome_of = |role: Role| {
        let client = handshake_at(local(SocketType::Push), &role, 3, 0);
        join([client, server(&acceptance(&["CURVE"]))], usize::MAX, &accept()).err()
    };
    let misled = Role::CurveClient { keys: keys(CLIENT), server_key: *keys(9).public() };
    assert_eq!(outcome_of(misled), Some(HandshakeError::Sealed { command: "HELLO" }));
    let low = "0".repeat(40).parse().expect("forty characters of Z85");
    let nobodys = Role::CurveClient { keys: keys(CLIENT), server_key: low };
    assert_eq!(outcome_of(nobodys), Some(HandshakeError::Sealed { command: "HELLO" }));
}

/// The two ciphers of a finished handshake, the client's first.
fn ciphers() -> [Box<CurveCipher>; 2] {
    let joined = join([client("CURVE"), server(&acceptance(&["CURVE"]))], usize::MAX, &accept());
    let joined = joined.expect("two that fit");
    [joined.client.1.expect("a cipher"), joined.server.1.expect("a cipher")]
}

fn sealed(cipher: &mut CurveCipher, payload: &[u8], flags: MessageFlags) -> Vec<u8> {
    let mut body = [&[0; MESSAGE_OVERHEAD], payload].concat();
    cipher.seal(&mut body, flags);
    body
}

const PLAIN: MessageFlags = MessageFlags { more: false, command: false };

#[test]
fn messages_of_every_short_size_are_sealed_and_opened_both_ways() {
    let [mut client, mut server] = ciphers();
    for size in (0..600).chain([8191, 8192, 70_000]) {
        let payload: Vec<u8> = (0..size).map(|i| i as u8).collect();
        let flags = MessageFlags { more: size % 3 == 0, command: size % 3 == 1 };
        let mut there = sealed(&mut client, &payload, flags);
        assert!(size < 16 || !there.windows(16).any(|window| window == &payload[..16]));
        assert_eq!(server.open(&mut there), Ok(flags));
        assert_eq!(there[MESSAGE_OVERHEAD..], payload);
        let mut back = sealed(&mut server, &payload, flags);
        assert_eq!(client.open(&mut back), Ok(flags));
        assert_eq!(back[MESSAGE_OVERHEAD..], payload);
    }
}

#[test]
fn a_message_repeated_out_of_order_changed_cut_or_reflected_is_refused() {
    let [mut client, mut server] = ciphers();
    let bodies: Vec<Vec<u8>> = (0..3).map(|i| sealed(&mut client, &[i; 200], PLAIN)).collect();
    assert_eq!(server.open(&mut bodies[1].clone()), Ok(PLAIN));
    for late in &bodies[..2] {
        let refused = server.open(&mut late.clone());
        assert!(matches!(refused, Err(MessageError::Replayed { .. })), "{refused:?}");
    }
    for size in [10, 95, 96, 200, 1000] {
        let body = sealed(&mut client, &vec![7; size], PLAIN);
        for at in 8..body.len() {
            let mut changed = body.clone();
            changed[at] ^= 1;
            let before = changed.clone();
            let refused = server.clone().open(&mut changed);
            assert!(matches!(refused, Err(MessageError::Forged | MessageError::Replayed { .. })), "{at}");
            assert_eq!(changed, before, "nothing was decrypted");
        }
        for cut in 0..body.len() {
            server.clone().open(&mut body[..cut].to_vec()).expect_err("a cut message");
        }
        assert_eq!(client.open(&mut body.clone()), Err(MessageError::Forged), "our own, sent back");
        assert_eq!(server.open(&mut body.clone()), Ok(PLAIN), "what failed before did no harm");
    }
    let refused = server.open(&mut b"\x04PING\0\0".to_vec());
    assert_eq!(refused, Err(MessageError::NotMessage { start: r"\x04PING\x00\x00".to_owned() }));
}

#[test]
fn flags_that_contradict_each_other_are_refused() {
    let [mut client, mut server] = ciphers();
    let both = MessageFlags { more: true, command: true };
    let mut body = sealed(&mut client, b"", both);
    assert_eq!(server.open(&mut body), Err(MessageError::BadFlags { flags: 3 }));
}

proptest! {
    #[test]
    fn keys_come_back_from_their_text(bytes: [u8; 32]) {
        let pair = KeyPair::new(SecretKey::from_bytes(bytes));
        let secret: SecretKey = pair.secret().to_z85().parse().expect("a key");
        prop_assert_eq!(secret.as_bytes(), &bytes);
        prop_assert_eq!(pair.public().to_string().parse(), Ok(*pair.public()));
    }

    #[test]
    fn any_payload_comes_back(payload: Vec<u8>, more: bool) {
        let [mut client, mut server] = ciphers();
        let flags = MessageFlags { more, command: false };
        let mut body = sealed(&mut client, &payload, flags);
        prop_assert_eq!(server.open(&mut body), Ok(flags));
        prop_assert_eq!(&body[MESSAGE_OVERHEAD..], &payload[..]);
    }
}
