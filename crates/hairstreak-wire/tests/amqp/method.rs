//! Methods: literal bytes, and every method against the table of the specification.

use hairstreak_wire::amqp::{
    DecodeError, FieldTable, FrameKind, Method, ReplyCode, ack_frame, basic, connection, decode_frame,
    encode_ack, method_id, queue,
};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;

use crate::methods_of_the_specification::METHODS;
use crate::values::{encoded, table};

fn frame(method: &Method<'_>, channel: u16) -> Vec<u8> {
    let mut out = Vec::new();
    method.encode(channel, &mut out);
    out
}

fn check(bytes: &[u8], channel: u16, method: Method<'_>) {
    assert_eq!(frame(&method, channel), bytes);
    let decoded = decode_frame(bytes, 4096).unwrap().unwrap();
    assert_eq!((decoded.kind, decoded.channel), (FrameKind::Method, channel));
    assert_eq!(Method::decode(decoded.payload), Ok(method));
}

#[test]
fn methods_have_the_bytes_that_rabbitmq_sends_and_takes() {
    let tune = connection::Tune { channel_max: 2047, frame_max: 131_072, heartbeat: 60 };
    let bytes = b"\x01\0\0\0\0\0\x0c\0\x0a\0\x1e\x07\xff\0\x02\0\0\0\x3c\xce";
    check(bytes, 0, Method::ConnectionTune(tune));
    let open = connection::Open { virtual_host: b"/" };
    check(b"\x01\0\0\0\0\0\x08\0\x0a\0\x28\x01/\0\0\xce", 0, Method::ConnectionOpen(open));
    let publish = basic::Publish { exchange: b"ex", routing_key: b"key", mandatory: true, immediate: false };
    let bytes = b"\x01\0\x01\0\0\0\x0e\0\x3c\0\x28\0\0\x02ex\x03key\x01\xce";
    check(bytes, 1, Method::BasicPublish(publish));
    let declare = queue::Declare {
        queue: b"q",
        durable: true,
        no_wait: true,
        arguments: FieldTable::from_iter([("x-max-length", 5)]),
        ..queue::Declare::default()
    };
    let bytes = b"\x01\0\x01\0\0\0\x1f\0\x32\0\x0a\0\0\x01q\x12\0\0\0\x12\x0cx-max-lengthI\0\0\0\x05\xce";
    check(bytes, 1, Method::QueueDeclare(declare));
    let ack = basic::Ack { delivery_tag: 258, multiple: true };
    check(b"\x01\0\x01\0\0\0\x0d\0\x3c\0\x50\0\0\0\0\0\0\x01\x02\x01\xce", 1, Method::BasicAck(ack));
}

#[test]
fn unknown_ids_are_told_apart_by_their_reply_code() {
    for class in [0, 11, 61, 70, u16::MAX] {
        let error = Method::decode(&[class.to_be_bytes(), [0, 10]].concat()).unwrap_err();
        assert_eq!(error, DecodeError::UnknownClass { class, method: 10 });
        assert_eq!(error.reply_code(), ReplyCode::CommandInvalid);
    }
    for (class, method) in [(60, 0), (60, 41), (10, 12), (90, 40)] {
        let error = Method::decode(&[0, class, 0, method]).unwrap_err();
        assert_eq!(error, DecodeError::UnknownMethod { class: class.into(), method: method.into() });
        assert_eq!(error.reply_code(), ReplyCode::NotImplemented);
    }
    for size in 0..4 {
        let error = Method::decode(&[0; 3][..size]).unwrap_err();
        assert_eq!(error.reply_code(), ReplyCode::FrameError);
    }
}

#[test]
fn every_method_of_the_specification_is_known_and_no_other() {
    let known = |class: u16, method: u16| METHODS.iter().any(|entry| (entry.0, entry.1) == (class, method));
    for class in 0..=100 {
        for method in 0..=130 {
            let payload = [0, class, 0, method];
            let decoded = Method::decode(&payload);
            let is_unknown =
                matches!(decoded, Err(DecodeError::UnknownClass { .. } | DecodeError::UnknownMethod { .. }));
            assert_eq!(is_unknown, !known(class.into(), method.into()), "{class} {method}");
        }
    }
}

/// The source of random fields.
#[derive(Clone, Debug)]
struct Fields {
    numbers: Vec<u64>,
    strings: Vec<Vec<u8>>,
    table: FieldTable,
}

/// A short string of a method: UTF-8 of at most 255 bytes.
fn text() -> impl Strategy<Value = Vec<u8>> {
    ".{0,60}".prop_map(String::into_bytes)
}

fn fields() -> impl Strategy<Value = Fields> {
    (vec(any::<u64>(), 9), vec(text(), 9), table()).prop_map(|(numbers, strings, table)| Fields {
        numbers,
        strings,
        table,
    })
}

/// The fields of a method as in the specification: an encoder independent of ours.
fn encode_by_the_table(domains: &str, fields: &Fields) -> Vec<u8> {
    let (mut out, mut bits) = (Vec::new(), 0);
    for (index, domain) in domains.chars().enumerate() {
        let number = fields.numbers[index];
        let string = &fields.strings[index];
        if matches!(domain, 'b' | 'B') {
            if bits == 0 {
                out.push(0);
            }
            let bit = if domain == 'b' { number as u8 & 1 } else { 0 };
            *out.last_mut().unwrap() |= bit << bits;
            bits += 1;
            continue;
        }
        bits = 0;
        match domain {
            'o' => out.push(number as u8),
            'h' => out.extend((number as u16).to_be_bytes()),
            'l' => out.extend((number as u32).to_be_bytes()),
            'q' => out.extend(number.to_be_bytes()),
            's' => {
                out.push(string.len() as u8);
                out.extend(string);
            }
            'S' => {
                out.extend((string.len() as u32).to_be_bytes());
                out.extend(string);
            }
            't' => out.extend(encoded(&fields.table)),
            'H' => out.extend([0; 2]),
            'E' => out.push(0),
            'L' => out.extend([0; 4]),
            other => panic!("{other} is no domain"),
        }
    }
    out
}

proptest! {
    #[test]
    fn every_method_comes_back_as_it_was_encoded(fields in fields(), channel: u16) {
        for (class, method, name, domains) in METHODS {
            let ids = [class.to_be_bytes(), method.to_be_bytes()].concat();
            let payload = [ids, encode_by_the_table(domains, &fields)].concat();
            let decoded = Method::decode(&payload).unwrap();
            prop_assert_eq!(decoded.name(), *name);
            prop_assert_eq!(decoded.id(), (*class, *method));
            prop_assert_eq!(method_id(&payload), Some((*class, *method)));
            let bytes = frame(&decoded, channel);
            let again = decode_frame(&bytes, usize::MAX).unwrap().unwrap();
            prop_assert_eq!(again.size(), bytes.len());
            prop_assert_eq!((again.kind, again.channel), (FrameKind::Method, channel));
            prop_assert_eq!(again.payload, &payload[..]);
        }
    }

    #[test]
    fn fields_fill_their_frame(fields in fields(), cut: Index) {
        for (class, method, name, domains) in METHODS {
            let ids = [class.to_be_bytes(), method.to_be_bytes()].concat();
            let payload = [ids, encode_by_the_table(domains, &fields)].concat();
            let cut = 4 + cut.index(payload.len() - 3);
            if cut < payload.len() {
                let error = Method::decode(&payload[..cut]).unwrap_err();
                prop_assert_eq!(error, DecodeError::Cut, "{} cut at {}", name, cut);
                prop_assert_eq!(error.reply_code(), ReplyCode::FrameError);
            }
            let longer = [&payload[..], b"\0"].concat();
            prop_assert_eq!(Method::decode(&longer), Err(DecodeError::Surplus { size: 1 }));
        }
    }

    #[test]
    fn the_direct_encoder_writes_the_same_bytes(channel: u16, delivery_tag: u64, multiple: bool) {
        let ack = frame(&Method::BasicAck(basic::Ack { delivery_tag, multiple }), channel);
        prop_assert_eq!(&ack_frame(channel, delivery_tag, multiple)[..], &ack[..]);
        let mut out = b"before".to_vec();
        encode_ack(channel, delivery_tag, multiple, &mut out);
        prop_assert_eq!(out, [&b"before"[..], &ack].concat());
    }
}

#[test]
fn a_short_string_of_a_method_has_to_be_utf_8() {
    let cancel = |tag: &[u8]| [&b"\0\x3c\0\x1e"[..], &[tag.len() as u8], tag, &[0]].concat();
    assert!(Method::decode(&cancel("Straße".as_bytes())).is_ok());
    let error = Method::decode(&cancel(b"Stra\xdfe")).unwrap_err();
    assert_eq!((error, error.reply_code()), (DecodeError::Utf8, ReplyCode::FrameError));
    assert_eq!(error.to_string(), "Malformed UTF-8 in shortstr");
}
