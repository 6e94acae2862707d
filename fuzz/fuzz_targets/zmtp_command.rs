//! Commands and their metadata: any body is parsed or refused, and what was parsed encodes to the
//! very same bytes.
#![no_main]

use hairstreak_wire::zmtp::{Command, command, frame, metadata};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|body: &[u8]| {
    let parsed = match command::parse(body) {
        Ok(parsed) => parsed,
        Err(error) => {
            assert_eq!(command::parse_traffic(body), Err(error));
            return;
        }
    };
    let mut encoded = Vec::new();
    match parsed {
        Command::Ready { metadata: bytes } => {
            if let Ok(properties) = metadata::parse(bytes) {
                check_metadata(&properties, bytes);
            }
            command::encode_ready(&mut encoded, bytes);
        }
        Command::Error { reason } => command::encode_error(&mut encoded, reason),
        Command::Ping { ttl_tenths, context } => command::encode_ping(&mut encoded, ttl_tenths, context),
        Command::Pong { context } => command::encode_pong(&mut encoded, context),
        Command::Subscribe { prefix } => command::encode_subscribe(&mut encoded, prefix),
        Command::Cancel { prefix } => command::encode_cancel(&mut encoded, prefix),
        Command::Unknown { name, data } => command::encode(&mut encoded, name, &[data]),
    }
    if let Ok(Some(header)) = frame::decode_header(&encoded, 0) {
        assert!(header.command);
        assert_eq!(encoded[header.header_size..], *body);
    } else {
        assert!(body.len() > frame::COMMAND_SIZE_MAX);
    }
});

fn check_metadata(properties: &metadata::Properties, bytes: &[u8]) {
    assert!(properties.len() <= metadata::PROPERTY_COUNT_MAX);
    let mut encoded = Vec::new();
    for (name, value) in properties {
        assert_eq!(metadata::find(properties, name), Some(value.as_slice()), "a name that is there twice");
        metadata::encode(&mut encoded, name, value);
    }
    assert_eq!(encoded, bytes);
}
