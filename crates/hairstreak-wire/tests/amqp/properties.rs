//! Properties: literal bytes, flags that mean nothing, round trips.

use hairstreak_wire::amqp::{DecodeError, FieldTable, Properties, ReplyCode};
use proptest::option;
use proptest::prelude::*;

use crate::values::{short_string, table};

fn encoded(properties: &Properties<'_>) -> Vec<u8> {
    let mut bytes = Vec::new();
    properties.encode(&mut bytes);
    bytes
}

fn check(bytes: &[u8], properties: Properties<'_>) {
    assert_eq!(encoded(&properties), bytes);
    assert_eq!(Properties::decode(bytes), Ok(properties));
}

#[test]
fn properties_have_the_bytes_that_rabbitmq_sends_and_takes() {
    check(b"\0\0", Properties::default());
    check(b"\x10\0\x02", Properties { delivery_mode: Some(2), ..Properties::default() });
    let properties = Properties {
        content_type: Some(b"text/plain"),
        headers: Some(FieldTable::from_iter([("n", 1)])),
        priority: Some(4),
        timestamp: Some(5),
        cluster_id: Some(b"c"),
        ..Properties::default()
    };
    let bytes = b"\xa8\x44\x0atext/plain\0\0\0\x07\x01nI\0\0\0\x01\x04\0\0\0\0\0\0\0\x05\x01c";
    check(bytes, properties);
}

#[test]
fn each_property_has_its_flag() {
    let text = Some(&b"v"[..]);
    let none = Properties::default;
    for (flags, properties) in [
        (1 << 15, Properties { content_type: text, ..none() }),
        (1 << 14, Properties { content_encoding: text, ..none() }),
        (1 << 13, Properties { headers: Some(FieldTable::new()), ..none() }),
        (1 << 12, Properties { delivery_mode: Some(1), ..none() }),
        (1 << 11, Properties { priority: Some(1), ..none() }),
        (1 << 10, Properties { correlation_id: text, ..none() }),
        (1 << 9, Properties { reply_to: text, ..none() }),
        (1 << 8, Properties { expiration: text, ..none() }),
        (1 << 7, Properties { message_id: text, ..none() }),
        (1 << 6, Properties { timestamp: Some(1), ..none() }),
        (1 << 5, Properties { kind: text, ..none() }),
        (1 << 4, Properties { user_id: text, ..none() }),
        (1 << 3, Properties { app_id: text, ..none() }),
        (1 << 2, Properties { cluster_id: text, ..none() }),
    ] {
        assert_eq!(encoded(&properties)[..2], u16::to_be_bytes(flags));
    }
}

#[test]
fn flags_without_a_property_mean_nothing() {
    for flags in 1..4_u16 {
        assert_eq!(Properties::decode(&flags.to_be_bytes()), Ok(Properties::default()));
        let with_type = [&(flags | 1 << 5).to_be_bytes()[..], b"\x01t"].concat();
        let kind = Properties { kind: Some(b"t"), ..Properties::default() };
        assert_eq!(Properties::decode(&with_type), Ok(kind));
    }
}

#[test]
fn malformed_headers_are_refused_however_deep_they_lie() {
    let bytes = b"\x20\0\0\0\0\x09\x01tF\0\0\0\x02\x01n";
    let error = Properties::decode(bytes).unwrap_err();
    assert_eq!(error, DecodeError::CutTable);
    assert_eq!(error.reply_code(), ReplyCode::SyntaxError);
    assert_eq!(Properties::decode_flat(bytes).unwrap_err(), error);
}

proptest! {
    #[test]
    fn properties_come_back_as_they_were_encoded(
        strings in prop::collection::vec(option::of(short_string()), 10),
        octets in (option::of(any::<u8>()), option::of(any::<u8>())),
        timestamp in option::of(any::<u64>()),
        headers in option::of(table()),
    ) {
        let string = |index: usize| strings[index].as_deref();
        let properties = Properties {
            content_type: string(0),
            content_encoding: string(1),
            headers,
            delivery_mode: octets.0,
            priority: octets.1,
            correlation_id: string(2),
            reply_to: string(3),
            expiration: string(4),
            message_id: string(5),
            timestamp,
            kind: string(6),
            user_id: string(7),
            app_id: string(8),
            cluster_id: string(9),
        };
        let bytes = encoded(&properties);
        prop_assert_eq!(Properties::decode(&bytes), Ok(properties.clone()));
        for cut in 0..bytes.len() {
            prop_assert_eq!(Properties::decode(&bytes[..cut]), Err(DecodeError::Cut));
        }
        let longer = [&bytes[..], b"\0"].concat();
        prop_assert_eq!(Properties::decode(&longer), Err(DecodeError::Surplus { size: 1 }));
        let (flat, fields) = Properties::decode_flat(&bytes).unwrap();
        let names = fields.map(|fields| fields.map(|field| field.unwrap().name.to_vec()).collect::<Vec<_>>());
        let expected = properties.headers.as_ref().map(|table| table.iter().map(|(name, _)| name.to_vec()).collect());
        prop_assert_eq!(names, expected);
        prop_assert_eq!(flat, Properties { headers: None, ..properties });
    }
}
