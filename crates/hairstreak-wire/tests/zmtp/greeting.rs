//! The greeting: literal bytes, every other protocol refused at the first differing byte.

use hairstreak_wire::{
    Blame,
    zmtp::greeting::{GREETING_SIZE, Greeting, GreetingError},
};

/// The 64 bytes of a peer: signature and version, then the mechanism, then zeros.
pub fn greeting(start: &[u8; 12], mechanism: &[u8]) -> [u8; GREETING_SIZE] {
    let mut bytes = [0; GREETING_SIZE];
    bytes[..12].copy_from_slice(start);
    bytes[12..12 + mechanism.len()].copy_from_slice(mechanism);
    bytes
}

pub const LIBZMQ_START: &[u8; 12] = b"\xff\x00\x00\x00\x00\x00\x00\x00\x01\x7f\x03\x01";

#[test]
fn ours_is_that_of_the_rfc() {
    let expected = greeting(b"\xff\x00\x00\x00\x00\x00\x00\x00\x00\x7f\x03\x01", b"NULL");
    assert_eq!(Greeting::encode("NULL", false), expected);
    assert_eq!(Greeting::encode("CURVE", true)[12..33], *b"CURVE\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x01");
    assert_eq!(Greeting::encode("A2345678901234567890", false)[12..33], *b"A2345678901234567890\0");
}

#[test]
fn that_of_libzmq_is_accepted() {
    let theirs = Greeting::decode(&greeting(LIBZMQ_START, b"NULL")).expect("a greeting of libzmq");
    assert_eq!((theirs.major, theirs.minor, theirs.shared_minor()), (3, 1, 1));
    assert_eq!(theirs.check_mechanism(&["NULL"]), Ok("NULL"));
}

#[test]
fn padding_all_but_one_bit_of_the_signatures_end_as_server_and_filler_are_never_looked_at() {
    let mut bytes = greeting(b"\xffpadding!\x01\x03\x00", b"NULL");
    bytes[32..].fill(0xaa);
    let theirs = Greeting::decode(&bytes).expect("a greeting with noise where nothing counts");
    assert_eq!(theirs.check_mechanism(&["NULL"]), Ok("NULL"));
}

#[test]
fn both_sides_speak_the_lower_minor_version() {
    for (major, minor, shared) in [(3, 0, 0), (3, 1, 1), (3, 2, 1), (4, 0, 1), (255, 255, 1)] {
        let mut bytes = greeting(LIBZMQ_START, b"NULL");
        bytes[10..12].copy_from_slice(&[major, minor]);
        let theirs = Greeting::decode(&bytes).expect("a version from 3.0 on");
        assert_eq!(theirs.shared_minor(), shared, "{major}.{minor}");
    }
}

#[track_caller]
fn check_refused_from(byte_count: usize, bytes: &[u8], expected: GreetingError, line: &str) {
    for size in 0..=bytes.len() {
        let outcome = if size < byte_count { Ok(()) } else { Err(expected.clone()) };
        assert_eq!(Greeting::check_start(&bytes[..size]), outcome, "after {size} bytes");
    }
    assert_eq!(expected.to_string(), line);
    assert_eq!(expected.blame(), Blame::PeerIncompatible);
}

#[test]
fn other_protocols_are_refused_from_their_first_byte() {
    check_refused_from(
        1,
        b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
        GreetingError::NotZmtp { first: b'G' },
        "peer speaks ZMTP 1.0 or something else: first byte 0x47",
    );
    check_refused_from(
        1,
        b"\x01\x00",
        GreetingError::NotZmtp { first: 1 },
        "peer speaks ZMTP 1.0 or something else: first byte 0x01",
    );
}

#[test]
fn a_zmtp_1_peer_with_a_long_identity_is_refused_at_its_flags() {
    check_refused_from(
        10,
        b"\xff\x00\x00\x00\x00\x00\x00\x01\x01\x00identity",
        GreetingError::Zmtp1 { last: 0 },
        "peer speaks ZMTP 1.0: signature ends with 0x00",
    );
}

#[test]
fn a_zmtp_2_peer_is_refused_at_its_version() {
    for version in 0..3 {
        let mut bytes = *b"\xff\x00\x00\x00\x00\x00\x00\x00\x01\x7f\x03\x05\x00\x00";
        bytes[10] = version;
        check_refused_from(
            11,
            &bytes,
            GreetingError::Zmtp2 { version },
            &format!("peer speaks ZMTP 2.0 or older: version byte 0x0{version}, 3 is the lowest accepted"),
        );
    }
}

#[test]
fn a_mechanism_is_compared_to_its_last_byte() {
    for (mechanism, shown) in [
        (b"CURVE".as_slice(), "CURVE"),
        (b"NULLX", "NULLX"),
        (b"NUL", "NUL"),
        (b"null", "null"),
        (b"NULL\0X", r"NULL\x00X"),
        (b"\0NULL", r"\x00NULL"),
        (b"", ""),
        (b"A2345678901234567890", "A2345678901234567890"),
    ] {
        let theirs = Greeting::decode(&greeting(LIBZMQ_START, mechanism)).expect("a greeting");
        let error = GreetingError::OtherMechanism { ours: "NULL".to_owned(), theirs: shown.to_owned() };
        assert_eq!(theirs.check_mechanism(&["NULL"]), Err(error));
    }
}
