//! Hostile peers: random payloads, and valid payloads with bytes changed, lost and cut.

use hairstreak_wire::amqp::sasl::Mechanism;
use hairstreak_wire::amqp::{ContentHeader, FieldTable, Method, Properties, decode_frame};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;

use crate::methods_of_the_specification::METHODS;
use crate::values::{encoded, table};

/// Every decoder reads `bytes`. The encoding of a decoded value decodes to the same value.
fn survive(bytes: &[u8]) {
    let mut out = Vec::new();
    if let Ok(Some(frame)) = decode_frame(bytes, 4096) {
        assert!(frame.size() <= bytes.len().min(4096));
    }
    if let Ok(method) = Method::decode(bytes) {
        method.encode(1, &mut out);
        let again = Method::decode(&out[7..out.len() - 1]).unwrap();
        assert_eq!((again.id(), format!("{again:?}")), (method.id(), format!("{method:?}")));
    }
    if let Ok(header) = ContentHeader::decode(bytes) {
        assert_eq!(header.properties.len() + 12, bytes.len());
    }
    let properties = Properties::decode(bytes);
    let flat = Properties::decode_flat(bytes);
    assert_eq!(properties.as_ref().err(), flat.as_ref().err());
    if let Ok(properties) = properties {
        out.clear();
        properties.encode(&mut out);
        assert_eq!(format!("{:?}", Properties::decode(&out).unwrap()), format!("{properties:?}"));
    }
    if let Ok(table) = FieldTable::decode(bytes) {
        assert_eq!(encoded(&table).len(), bytes.len());
    }
    for mechanism in Mechanism::ALL {
        assert!(mechanism.has_password() || mechanism.login(bytes).is_ok());
        if let Ok(credentials) = mechanism.decode(bytes) {
            assert!(credentials.user.len() + credentials.password.len() <= bytes.len());
        }
    }
}

proptest! {
    #[test]
    fn random_bytes_are_survived(bytes in vec(prop_oneof![0..12_u8, any::<u8>()], 0..100)) {
        survive(&bytes);
    }

    #[test]
    fn random_fields_of_any_method_are_survived(
        (class, method) in prop::sample::select(METHODS).prop_map(|entry| (entry.0, entry.1)),
        fields in vec(prop_oneof![4 => 0..4_u8, 1 => any::<u8>()], 0..60),
    ) {
        survive(&[&class.to_be_bytes(), &method.to_be_bytes(), &fields[..]].concat());
    }

    #[test]
    fn a_mutated_table_is_survived(
        table in table(),
        changes in vec((any::<Index>(), prop_oneof![0..4_u8, any::<u8>()]), 1..4),
        end: Index,
    ) {
        let mut bytes = encoded(&table);
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        survive(&bytes);
        survive(&bytes[..end.index(bytes.len())]);
        survive(&[b"\x20\0", &bytes[..]].concat());
    }
}
