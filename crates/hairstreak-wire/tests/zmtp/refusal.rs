//! Handshakes that fail, each for a reason of its own. The peer gets the reason if ZMTP requires it.

use crate::{
    greeting::{LIBZMQ_START, greeting},
    pair::{greeting_and_ready, handshake, local, receive, socket_type_metadata},
};
use hairstreak_wire::{
    Blame,
    zmtp::{
        Command, CommandError, FrameError, Greeting, GreetingError, Handshake, HandshakeError,
        HandshakeLimits, MetadataError, PeerError, SocketType, command, frame, metadata,
    },
};

/// A PUSH refuses `stream` with `expected`, at once and byte by byte, and stays refusing; the ERROR
/// that it leaves for the peer repeats `line`, or there is none.
#[track_caller]
fn check(stream: &[u8], expected: HandshakeError, blame: Blame, line: &str, told: bool) {
    for chunks in [vec![stream], stream.chunks(1).collect()] {
        let mut ours = handshake(local(SocketType::Push));
        assert_eq!(receive(&mut ours, chunks), Err(expected.clone()));
        let sent = ours.poll_transmit().unwrap_or_default();
        let mut error = Vec::new();
        command::encode_error(&mut error, line.as_bytes());
        assert_eq!(sent.ends_with(&error), told, "{sent:?}");
        assert_eq!(ours.handle_bytes(b"more"), Err(expected.clone()), "a failed handshake stays failed");
        assert_eq!((ours.poll_transmit(), ours.poll_ready()), (None, None));
    }
    assert_eq!((expected.to_string().as_str(), expected.blame()), (line, blame));
}

fn after_greeting(bytes: &[u8]) -> Vec<u8> {
    [&Greeting::encode("NULL", false), bytes].concat()
}

#[test]
fn an_http_request_is_refused_from_its_first_byte() {
    let mut ours = handshake(local(SocketType::Push));
    let error = HandshakeError::Greeting(GreetingError::NotZmtp { first: b'G' });
    assert_eq!(ours.handle_bytes(b"G"), Err(error.clone()));
    let line = "peer speaks ZMTP 1.0 or something else: first byte 0x47";
    check(b"GET / HTTP/1.1\r\n\r\n", error, Blame::PeerIncompatible, line, false);
}

#[test]
fn older_versions_are_refused() {
    check(
        b"\xff\0\0\0\0\0\0\x01\x01\x00",
        HandshakeError::Greeting(GreetingError::Zmtp1 { last: 0 }),
        Blame::PeerIncompatible,
        "peer speaks ZMTP 1.0: signature ends with 0x00",
        false,
    );
    check(
        b"\xff\0\0\0\0\0\0\0\x01\x7f\x01",
        HandshakeError::Greeting(GreetingError::Zmtp2 { version: 1 }),
        Blame::PeerIncompatible,
        "peer speaks ZMTP 2.0 or older: version byte 0x01, 3 is the lowest accepted",
        false,
    );
}

#[test]
fn another_mechanism_is_refused() {
    check(
        &greeting(LIBZMQ_START, b"CURVE"),
        HandshakeError::Greeting(GreetingError::OtherMechanism {
            ours: "NULL".to_owned(),
            theirs: "CURVE".to_owned(),
        }),
        Blame::PeerIncompatible,
        "peer wants mechanism \"CURVE\", ours is NULL",
        false,
    );
}

#[test]
fn a_peer_without_a_socket_type_is_refused() {
    check(
        &greeting_and_ready(b""),
        HandshakeError::Peer(PeerError::NoSocketType),
        Blame::PeerMisbehaved,
        "peer names no Socket-Type",
        true,
    );
}

#[test]
fn an_unknown_socket_type_is_refused() {
    check(
        &greeting_and_ready(&socket_type_metadata(b"SCATTER\n")),
        HandshakeError::Peer(PeerError::UnknownSocketType { theirs: r"SCATTER\n".to_owned() }),
        Blame::PeerIncompatible,
        r#"peer has the unknown socket type "SCATTER\n""#,
        true,
    );
}

#[test]
fn an_incompatible_socket_type_is_refused() {
    let (ours, theirs) = (SocketType::Push, SocketType::Pub);
    check(
        &greeting_and_ready(&socket_type_metadata(b"PUB")),
        HandshakeError::Peer(PeerError::IncompatibleSocketType { ours, theirs }),
        Blame::PeerIncompatible,
        "a PUSH cannot talk to a PUB peer",
        true,
    );
}

#[test]
fn an_identity_one_byte_over_the_limit_is_refused_and_one_at_the_limit_is_not() {
    for size in [255, 256] {
        let mut metadata = socket_type_metadata(b"DEALER");
        metadata::encode(&mut metadata, "Identity", &vec![1; size]);
        let outcome = handshake(local(SocketType::Router)).handle_bytes(&greeting_and_ready(&metadata));
        let error = HandshakeError::Peer(PeerError::RoutingIdTooLarge { size });
        assert_eq!(outcome.err(), (size == 256).then_some(error));
    }
}

#[test]
fn a_property_that_is_there_twice_is_refused() {
    let metadata = [socket_type_metadata(b"PULL"), socket_type_metadata(b"PULL")].concat();
    check(
        &greeting_and_ready(&metadata),
        HandshakeError::Metadata(MetadataError::Duplicate { name: "Socket-Type".to_owned() }),
        Blame::PeerMisbehaved,
        "handshake: property Socket-Type is there twice",
        true,
    );
}

#[test]
fn a_ready_one_byte_over_the_limit_is_refused_from_its_header() {
    let limit = HandshakeLimits::default().command_size_max;
    let mut header = [0; frame::HEADER_SIZE_MAX];
    frame::encode_header(&mut header, false, true, limit + 1);
    check(
        &after_greeting(&header),
        HandshakeError::CommandTooLarge { size: limit + 1, limit },
        Blame::PeerMisbehaved,
        "handshake: command of 32769 bytes is over the limit of 32768",
        true,
    );
    frame::encode_header(&mut header, false, true, limit);
    let mut ours = handshake(local(SocketType::Push));
    assert_eq!(ours.handle_bytes(&after_greeting(&header)), Ok(64 + 9));
}

#[test]
fn a_command_over_what_any_command_may_have_is_refused_whatever_the_limit() {
    let mut ours = Handshake::new(local(SocketType::Push), HandshakeLimits { command_size_max: usize::MAX });
    let error = FrameError::TooLarge { size: u64::MAX, limit: frame::COMMAND_SIZE_MAX };
    let outcome = ours.handle_bytes(&after_greeting(b"\x06\xff\xff\xff\xff\xff\xff\xff\xff"));
    assert_eq!(outcome, Err(HandshakeError::Frame(error)));
}

#[test]
fn a_bad_frame_header_is_refused() {
    check(
        &after_greeting(b"\x80"),
        HandshakeError::Frame(FrameError::ReservedFlags { flags: 0x80 }),
        Blame::PeerMisbehaved,
        "handshake: frame header 0x80 sets reserved flags",
        true,
    );
}

#[test]
fn a_message_before_ready_is_refused() {
    check(
        &after_greeting(b"\x00\x05"),
        HandshakeError::MessageBeforeReady { size: 5 },
        Blame::PeerMisbehaved,
        "handshake: a message of 5 bytes before READY",
        true,
    );
}

#[test]
fn another_command_before_ready_is_refused() {
    for (stream, name) in [(b"\x04\x07\x04PING\x00\x00".as_slice(), "PING"), (b"\x04\x03\x02\x1b!", r"\x1b!")]
    {
        check(
            &after_greeting(stream),
            HandshakeError::UnexpectedCommand { name: name.to_owned() },
            Blame::PeerMisbehaved,
            &format!("handshake: unexpected command {name}"),
            true,
        );
    }
}

#[test]
fn a_malformed_command_is_refused() {
    check(
        &after_greeting(b"\x04\x00"),
        HandshakeError::Command(CommandError::NoName),
        Blame::PeerMisbehaved,
        "handshake: command without a name",
        true,
    );
}

#[test]
fn an_error_of_the_peer_is_passed_on_and_not_answered() {
    check(
        &after_greeting(b"\x04\x0e\x05ERROR\x07no\n\xffway"),
        HandshakeError::Refused { reason: r"no\n\xffway".to_owned() },
        Blame::PeerIncompatible,
        r#"peer refused the connection: "no\n\xffway""#,
        false,
    );
}

#[test]
fn a_reason_is_cut_at_255_bytes_after_escaping() {
    for (byte, size) in [(b'r', 255), (0, 63 * 4)] {
        let mut stream = after_greeting(b"");
        command::encode_error(&mut stream, &[byte; 255]);
        match handshake(local(SocketType::Push)).handle_bytes(&stream) {
            Err(HandshakeError::Refused { reason }) => assert_eq!(reason.len(), size),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn what_an_end_refuses_reaches_the_other_as_its_reason() {
    let (mut push, mut publisher) = (handshake(local(SocketType::Push)), handshake(local(SocketType::Pub)));
    let stream = greeting_and_ready(&socket_type_metadata(b"PUB"));
    push.handle_bytes(&stream).expect_err("a PUB");
    let sent = push.poll_transmit().expect("greeting, READY and ERROR");
    publisher.handle_bytes(&sent).expect_err("a PUSH, which it sees by itself");
    let error = &sent[64 + 2 + 26..];
    let header = frame::decode_header(error, 0).expect("a valid header").expect("a whole header");
    let parsed = command::parse(&error[header.header_size..]);
    assert_eq!(parsed, Ok(Command::Error { reason: b"a PUSH cannot talk to a PUB peer" }));
}
