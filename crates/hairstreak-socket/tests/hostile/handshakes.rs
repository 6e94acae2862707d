//! Peers that fail before READY: they are closed, the good ones do not notice.

use hairstreak_socket::Options;

use crate::raw::{COMMAND, MORE, Raw, command, frame, greeting, long_header, property, ready};
use crate::siege::{MEMORY_MAX, besiege, besiege_within};

/// A greeting with one byte changed.
fn greeting_with(at: usize, byte: u8) -> Vec<u8> {
    let mut bytes = greeting();
    bytes[at] = byte;
    bytes
}

/// Each of these has its connection closed without a further byte.
fn bad_starts() -> Vec<Vec<u8>> {
    let mut random = fastrand::Rng::with_seed(1);
    let garbage: Vec<u8> = (0..100_000).map(|_| random.u8(..)).collect();
    vec![
        b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n".to_vec(),
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03".to_vec(),
        b"AMQP\x00\x00\x09\x01".to_vec(),
        [&[0x00], &garbage[..]].concat(),
        vec![0; 100_000],
        vec![0xff; 100_000],
        b"\x01\x00".to_vec(),
        greeting_with(9, 0x7e),
        greeting_with(10, 0),
        greeting_with(10, 1),
        greeting_with(10, 2),
        greeting_with(12, b'X'),
        greeting_with(16, b'L'),
        greeting_with(31, 1),
    ]
}

/// Each of these, behind a good greeting, has its connection closed.
fn bad_commands() -> Vec<Vec<u8>> {
    let many: Vec<String> = (0..65).map(|number| format!("X-{number}")).collect();
    let many: Vec<(&str, &[u8])> = many.iter().map(|name| (name.as_str(), &b""[..])).collect();
    let typed = |socket_type: &[u8]| ready(&[("Socket-Type", socket_type)]);
    let mut cut = property("Socket-Type", b"PUSH");
    cut.extend_from_slice(b"\x01X\xff\xff\xff\xff");
    vec![
        ready(&[]),
        ready(&many),
        typed(b""),
        typed(b"PUB"),
        typed(b"push"),
        typed(&[b'P'; 10_000]),
        ready(&[("Socket-Type", b"PUSH"), ("Socket-Type", b"PUSH")]),
        ready(&[("", b"PUSH")]),
        ready(&[("Socket-Type", b"DEALER"), ("Identity", &[b'i'; 256])]),
        command("READY", &cut),
        command("READY", &[0xff; 1000]),
        command("READY", &vec![0; 33_000]),
        command("HELLO", b""),
        command("PING", b"\0\0"),
        command("ERROR", b"\x02no"),
        command("ERROR", b"\xffno"),
        frame(COMMAND, b""),
        frame(COMMAND, b"\xffREADY"),
        frame(COMMAND | MORE, b"\x05READY"),
        frame(0, b"a message, already"),
        frame(0x80, b""),
        long_header(COMMAND, u64::MAX),
        long_header(COMMAND, 1 << 62),
        long_header(0, u64::MAX),
    ]
}

#[test]
fn what_is_no_greeting_is_closed_and_counted() {
    besiege_within(MEMORY_MAX, &Options::default(), |place, _| {
        let starts = bad_starts();
        for bytes in &starts {
            let mut raw = Raw::connect(place);
            raw.send(bytes);
            let said = raw.wait_for_end();
            assert!(greeting().starts_with(&said[..said.len().min(64)]), "only a greeting: {said:?}");
        }
        ((), starts.len() as u64)
    });
}

#[test]
fn what_is_no_handshake_is_closed_and_counted() {
    besiege_within(MEMORY_MAX, &Options::default(), |place, _| {
        let commands = bad_commands();
        for bytes in &commands {
            let mut raw = Raw::connect(place);
            raw.send(&greeting());
            raw.send(bytes);
            raw.wait_for_end();
        }
        ((), commands.len() as u64)
    });
}

#[test]
fn a_bad_handshake_is_told_what_was_wrong() {
    besiege(&Options::default(), |place, _| {
        let mut raw = Raw::connect(place);
        raw.send(&greeting());
        raw.read_handshake();
        raw.send(&ready(&[("Socket-Type", b"PUB")]));
        let said = raw.wait_for_end();
        let error = said.strip_prefix(&[COMMAND]).and_then(|rest| rest.get(1..7));
        assert_eq!(error, Some(&b"\x05ERROR"[..]), "{}", said.escape_ascii());
    });
}

#[test]
fn a_handshake_may_break_off_at_any_byte() {
    besiege(&Options::default(), |place, peer_type| {
        let stream = [greeting(), ready(&[("Socket-Type", peer_type.as_bytes())])].concat();
        for size in 0..stream.len() {
            Raw::connect(place).send(&stream[..size]);
        }
        // And some stay.
        (0..stream.len())
            .step_by(7)
            .map(|size| {
                let mut raw = Raw::connect(place);
                raw.send(&stream[..size]);
                raw
            })
            .collect::<Vec<_>>()
    });
}

#[test]
fn a_handshake_that_takes_too_long_is_closed_and_counted() {
    let options = Options { handshake_timeout_ms: 300, ..Options::default() };
    besiege_within(MEMORY_MAX, &options, |place, peer_type| {
        let stream = [greeting(), ready(&[("Socket-Type", peer_type.as_bytes())])].concat();
        let mut raws: Vec<Raw> = (0..stream.len()).map(|_| Raw::connect(place)).collect();
        for (size, raw) in raws.iter_mut().enumerate() {
            raw.send(&stream[..size]);
        }
        raws.iter_mut().for_each(|raw| drop(raw.wait_for_end()));
        ((), stream.len() as u64)
    });
}
