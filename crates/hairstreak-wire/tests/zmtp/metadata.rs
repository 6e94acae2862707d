//! Metadata: malformed properties, limits, round trips.

use hairstreak_wire::zmtp::metadata::{
    MetadataError, NAME_SIZE_MAX, PROPERTY_COUNT_MAX, Properties, encode, find, is_name, parse,
};
use proptest::prelude::*;

fn encoded(properties: &Properties) -> Vec<u8> {
    let mut out = Vec::new();
    for (name, value) in properties {
        encode(&mut out, name, value);
    }
    out
}

fn numbered(count: usize) -> Properties {
    (0..count).map(|index| (format!("X-{index}"), vec![0; index])).collect()
}

#[test]
fn properties_have_the_bytes_that_libzmq_sends() {
    const LIBZMQ_PULL: &[u8] = b"\x0bSocket-Type\x00\x00\x00\x04PULL\x05X-key\x00\x00\x00\x05hello";
    let properties =
        vec![("Socket-Type".to_owned(), b"PULL".to_vec()), ("X-key".to_owned(), b"hello".to_vec())];
    assert_eq!(parse(LIBZMQ_PULL), Ok(properties.clone()));
    assert_eq!(encoded(&properties), LIBZMQ_PULL);
}

#[test]
fn no_bytes_are_no_properties() {
    assert_eq!(parse(b""), Ok(Vec::new()));
}

#[test]
fn metadata_cut_anywhere_but_between_properties_is_refused() {
    let whole = encoded(&vec![("X-a".to_owned(), b"1234".to_vec()), ("X-b".to_owned(), Vec::new())]);
    let first_size = 1 + 3 + 4 + 4;
    for size in 1..whole.len() {
        let expected = usize::from(size > first_size);
        match parse(&whole[..size]) {
            Ok(properties) => assert_eq!((size, properties.len()), (first_size, 1)),
            Err(error) => assert_eq!(error, MetadataError::Cut { size, index: expected }),
        }
    }
}

#[test]
fn a_value_larger_than_the_rest_is_refused_without_room_being_made_for_it() {
    let error = MetadataError::Cut { size: 10, index: 0 };
    assert_eq!(parse(b"\x03X-a\xff\xff\xff\xff12"), Err(error.clone()));
    assert_eq!(parse(b"\x03X-a\x00\x00\x00\x0312"), Err(error));
}

#[test]
fn a_name_that_cannot_be_printed_is_refused_and_shown_escaped() {
    for (bytes, name) in [
        (b"\x00\x00\x00\x00\x00".as_slice(), ""),
        (b"\x02a\n\x00\x00\x00\x00", r"a\n"),
        (b"\x02a\x7f\x00\x00\x00\x00", r"a\x7f"),
        (b"\x02\xc3\xa9\x00\x00\x00\x00", r"\xc3\xa9"),
        (b"\x01\xff\x00\x00\x00\x00", r"\xff"),
    ] {
        assert_eq!(parse(bytes), Err(MetadataError::BadName { index: 0, name: name.to_owned() }));
    }
}

#[test]
fn a_second_property_of_one_name_is_refused_whatever_its_case() {
    for second in ["X-name", "x-NAME"] {
        let bytes = encoded(&vec![("X-name".to_owned(), b"1".to_vec()), (second.to_owned(), b"1".to_vec())]);
        assert_eq!(parse(&bytes), Err(MetadataError::Duplicate { name: second.to_owned() }));
    }
}

#[test]
fn properties_are_found_whatever_the_case_of_their_name() {
    let properties = vec![("X-a".to_owned(), b"1".to_vec()), ("socket-type".to_owned(), b"PUSH".to_vec())];
    assert_eq!(find(&properties, "Socket-Type"), Some(b"PUSH".as_slice()));
    assert_eq!(find(&properties, "X-b"), None);
}

#[test]
fn properties_at_the_count_limit_pass_and_one_more_does_not() {
    let most = numbered(PROPERTY_COUNT_MAX);
    assert_eq!(parse(&encoded(&most)), Ok(most));
    assert_eq!(parse(&encoded(&numbered(PROPERTY_COUNT_MAX + 1))), Err(MetadataError::TooMany));
}

#[test]
fn a_name_at_the_size_limit_passes_and_one_byte_more_is_none() {
    let name = "n".repeat(NAME_SIZE_MAX);
    assert_eq!(parse(&encoded(&vec![(name.clone(), Vec::new())])), Ok(vec![(name.clone(), Vec::new())]));
    assert!(is_name(&name) && !is_name(&(name + "n")) && !is_name(""));
}

proptest! {
    #[test]
    fn properties_come_out_as_they_went_in(
        named in prop::collection::btree_map("[a-z0-9 ._+-]{1,255}", prop::collection::vec(any::<u8>(), 0..300), 0..64),
    ) {
        let properties: Properties = named.into_iter().collect();
        prop_assert_eq!(parse(&encoded(&properties)), Ok(properties));
    }

    #[test]
    fn any_bytes_are_parsed_or_refused_and_what_is_parsed_encodes_to_the_same(
        bytes in prop::collection::vec(prop_oneof![0..4_u8, any::<u8>()], 0..100),
    ) {
        if let Ok(properties) = parse(&bytes) {
            prop_assert_eq!(encoded(&properties), bytes);
        }
    }
}
