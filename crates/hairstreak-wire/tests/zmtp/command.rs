//! Commands: literal bytes, malformed ones, limits, round trips.

use hairstreak_wire::zmtp::{
    Command, CommandError,
    command::{self, CONTEXT_SIZE_MAX, REASON_SIZE_MAX},
    frame,
};
use proptest::prelude::*;

/// `encoded` is exactly one command frame, and its body is `expected`.
fn check_whole_frame(encoded: &[u8], expected: Command<'_>) {
    let header = frame::decode_header(encoded, 0).expect("a valid header").expect("a whole header");
    assert!(header.command && !header.more);
    assert_eq!(header.header_size == 9, header.body_size > 255, "LONG exactly when the size is over 255");
    assert_eq!(encoded.len(), header.header_size + header.body_size);
    assert_eq!(command::parse(&encoded[header.header_size..]), Ok(expected));
}

fn encoded(encode: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut out = Vec::new();
    encode(&mut out);
    out
}

#[test]
fn commands_have_the_bytes_that_libzmq_sends() {
    const LIBZMQ_PING: &[u8] = b"\x04\x07\x04PING\x00\x07";
    assert_eq!(encoded(|out| command::encode_ping(out, 7, b"")), LIBZMQ_PING);
    assert_eq!(encoded(|out| command::encode_ping(out, 0, b"LOL")), b"\x04\x0a\x04PING\x00\x00LOL");
    assert_eq!(encoded(|out| command::encode_pong(out, b"LOL")), b"\x04\x08\x04PONGLOL");
    assert_eq!(encoded(|out| command::encode_subscribe(out, b"A")), b"\x04\x0b\x09SUBSCRIBEA");
    assert_eq!(encoded(|out| command::encode_cancel(out, b"A")), b"\x04\x08\x06CANCELA");
    assert_eq!(encoded(|out| command::encode_error(out, b"400")), b"\x04\x0a\x05ERROR\x03400");
    assert_eq!(encoded(|out| command::encode_ready(out, b"")), b"\x04\x06\x05READY");
}

#[test]
fn commands_are_appended() {
    let mut out = b"before".to_vec();
    command::encode_pong(&mut out, b"");
    assert_eq!(out, b"before\x04\x05\x04PONG");
}

#[test]
fn a_command_turns_long_when_its_body_passes_255_bytes() {
    // 10 bytes of the body are the name and its size.
    let short = encoded(|out| command::encode_subscribe(out, &[b'x'; 245]));
    assert_eq!(short[..3], [0x04, 0xff, 9]);
    let long = encoded(|out| command::encode_subscribe(out, &[b'x'; 246]));
    assert_eq!(long[..10], [0x06, 0, 0, 0, 0, 0, 0, 1, 0, 9]);
}

#[test]
fn a_command_of_another_name_comes_out_whole() {
    let expected = Command::Unknown { name: b"TASKS", data: b"\x01\x02" };
    assert_eq!(command::parse(b"\x05TASKS\x01\x02"), Ok(expected));
    assert_eq!(expected.name(), b"TASKS");
    let names = Command::Unknown { name: b"ready", data: b"" };
    assert_eq!(command::parse(b"\x05ready"), Ok(names), "names of commands have a case");
}

#[test]
fn a_command_needs_a_whole_name() {
    assert_eq!(command::parse(b""), Err(CommandError::NoName));
    assert_eq!(command::parse(b"\x00"), Err(CommandError::NoName));
    assert_eq!(command::parse(b"\x00data"), Err(CommandError::NoName));
    assert_eq!(command::parse(b"\x05PING"), Err(CommandError::NameCut { name_size: 5, body_size: 5 }));
}

#[test]
fn an_error_has_exactly_the_reason_it_announces() {
    assert_eq!(command::parse(b"\x05ERROR\x00"), Ok(Command::Error { reason: b"" }));
    for body in [b"\x05ERROR".as_slice(), b"\x05ERROR\x04400", b"\x05ERROR\x02400"] {
        assert_eq!(command::parse(body), Err(CommandError::MalformedError { body_size: body.len() }));
    }
}

#[test]
fn a_ping_needs_a_time_to_live() {
    assert_eq!(command::parse(b"\x04PING"), Err(CommandError::PingCut));
    assert_eq!(command::parse(b"\x04PING\x00"), Err(CommandError::PingCut));
    let ping = Command::Ping { ttl_tenths: 0xffff, context: b"" };
    assert_eq!(command::parse(b"\x04PING\xff\xff"), Ok(ping));
}

#[test]
fn a_context_at_the_limit_passes_and_one_byte_more_does_not() {
    for start in [b"\x04PING\x00\x00".as_slice(), b"\x04PONG"] {
        let mut body = start.to_vec();
        body.extend([b'c'; CONTEXT_SIZE_MAX]);
        assert!(command::parse(&body).is_ok());
        body.push(b'c');
        let error = CommandError::ContextTooLarge { size: CONTEXT_SIZE_MAX + 1 };
        assert_eq!(command::parse(&body), Err(error));
    }
}

#[test]
fn a_reason_is_cut_at_its_limit() {
    for size in [REASON_SIZE_MAX, REASON_SIZE_MAX + 1] {
        let frame = encoded(|out| command::encode_error(out, &vec![b'r'; size]));
        check_whole_frame(&frame, Command::Error { reason: &[b'r'; REASON_SIZE_MAX] });
    }
}

#[test]
fn a_second_ready_is_refused_and_other_traffic_is_not() {
    assert_eq!(command::parse_traffic(b"\x05READY"), Err(CommandError::SecondReady));
    assert_eq!(command::parse_traffic(b"\x04PONG"), Ok(Command::Pong { context: b"" }));
    assert_eq!(command::parse_traffic(b""), Err(CommandError::NoName));
}

#[test]
fn a_subscription_that_libzmq_4_3_4_announces_without_long_is_refused() {
    let mut stream = vec![0x04, 0, 0, 0, 0, 0, 0, 1, 0];
    stream.extend_from_slice(b"\x09SUBSCRIBE");
    stream.extend([b't'; 246]);
    let header = frame::decode_header(&stream, 1000).expect("a valid header").expect("a whole header");
    let body = &stream[header.header_size..][..header.body_size];
    assert_eq!(command::parse_traffic(body), Err(CommandError::NoName));
}

proptest! {
    #[test]
    fn commands_come_out_as_they_went_in(
        data in prop::collection::vec(any::<u8>(), 0..600),
        ttl_tenths in any::<u16>(),
        name in "[A-Z]{1,255}",
    ) {
        let context = &data[..data.len().min(CONTEXT_SIZE_MAX)];
        let reason = &data[..data.len().min(REASON_SIZE_MAX)];
        let (name, data) = (name.as_bytes(), data.as_slice());
        check_whole_frame(
            &encoded(|out| command::encode_ping(out, ttl_tenths, context)),
            Command::Ping { ttl_tenths, context },
        );
        check_whole_frame(&encoded(|out| command::encode_pong(out, context)), Command::Pong { context });
        check_whole_frame(
            &encoded(|out| command::encode_subscribe(out, data)),
            Command::Subscribe { prefix: data },
        );
        check_whole_frame(&encoded(|out| command::encode_cancel(out, data)), Command::Cancel { prefix: data });
        check_whole_frame(&encoded(|out| command::encode_error(out, data)), Command::Error { reason });
        check_whole_frame(
            &encoded(|out| command::encode_ready(out, data)),
            Command::Ready { metadata: data },
        );
        let known: [&[u8]; 6] = [b"READY", b"ERROR", b"PING", b"PONG", b"SUBSCRIBE", b"CANCEL"];
        prop_assume!(!known.contains(&name));
        let (left, right) = data.split_at(data.len() / 2);
        check_whole_frame(
            &encoded(|out| command::encode(out, name, &[left, right])),
            Command::Unknown { name, data },
        );
    }

    #[test]
    fn any_body_is_parsed_or_refused(
        name in prop_oneof!["READY", "ERROR", "PING", "PONG", "SUBSCRIBE", "CANCEL", "[A-Z]{0,4}"],
        size_error in -1_i16..=1,
        data in prop::collection::vec(any::<u8>(), 0..300),
    ) {
        let mut body = vec![(name.len() as i16 + size_error) as u8];
        body.extend_from_slice(name.as_bytes());
        body.extend_from_slice(&data);
        let _ = command::parse(&body);
        let _ = command::parse_traffic(&data);
    }
}
