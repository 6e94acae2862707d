//! AMQP field tables, properties and SASL responses: any bytes are decoded or refused, tables encode to as many bytes
//! as they came in, the ways to decode agree with each other, and what was decoded is decoded again the same.
#![no_main]

use hairstreak_wire::amqp::sasl::Mechanism;
use hairstreak_wire::amqp::{FieldTable, FieldValue, Fields, Properties};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    check_table(bytes);
    check_properties(bytes);
    for mechanism in [Mechanism::Plain, Mechanism::Amqplain] {
        if let Ok(credentials) = mechanism.decode(bytes) {
            let response = mechanism.encode(credentials);
            assert_eq!(mechanism.decode(&response), Ok(credentials));
        }
    }
});

fn check_table(bytes: &[u8]) {
    let Ok(table) = FieldTable::decode(bytes) else { return };
    let mut encoded = Vec::new();
    table.encode(&mut encoded);
    assert_eq!(encoded.len(), bytes.len());
    // Not with `==`: a table may have a number that does not equal itself.
    assert_eq!(format!("{:?}", FieldTable::decode(&encoded).unwrap()), format!("{table:?}"));
    assert_eq!(Fields::new(&bytes[4..]).count(), table.len());
    for (field, (name, value)) in Fields::new(&bytes[4..]).zip(table.iter()) {
        let field = field.unwrap();
        assert_eq!((field.name, field.as_bytes()), (name, value.as_bytes()));
        assert!(table.get(name).is_some());
        assert!(value.as_i64().is_none() || value.is_equivalent(&FieldValue::I64(value.as_i64().unwrap())));
    }
}

fn check_properties(bytes: &[u8]) {
    let flat = Properties::decode_flat(bytes);
    let properties = match Properties::decode(bytes) {
        Ok(properties) => properties,
        Err(error) => {
            assert_eq!(flat.unwrap_err(), error);
            return;
        }
    };
    let (_, headers) = flat.unwrap();
    let count = headers.map(|headers| headers.inspect(|field| assert!(field.is_ok())).count());
    assert_eq!(count, properties.headers.as_ref().map(FieldTable::len));
    let mut encoded = Vec::new();
    properties.encode(&mut encoded);
    assert_eq!(encoded.len(), bytes.len());
    assert_eq!(format!("{:?}", Properties::decode(&encoded).unwrap()), format!("{properties:?}"));
}
