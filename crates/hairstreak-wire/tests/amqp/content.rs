//! Content headers: literal bytes, what is refused, round trips.

use hairstreak_wire::amqp::{
    CLASS_BASIC, CONTENT_HEADER_SIZE, ContentHeader, DecodeError, FrameKind, ReplyCode, decode_frame,
    encode_content_header,
};
use proptest::prelude::*;

#[test]
fn a_content_header_has_the_bytes_that_rabbitmq_sends_and_takes() {
    let mut out = Vec::new();
    encode_content_header(1, 16, b"\x10\0\x02", &mut out);
    assert_eq!(out, b"\x02\0\x01\0\0\0\x0f\0\x3c\0\0\0\0\0\0\0\0\0\x10\x10\0\x02\xce");
    let frame = decode_frame(&out, 4096).unwrap().unwrap();
    assert_eq!(frame.kind, FrameKind::Header);
    let header = ContentHeader { class: CLASS_BASIC, body_size: 16, properties: b"\x10\0\x02" };
    assert_eq!(ContentHeader::decode(frame.payload), Ok(header));
}

#[test]
fn a_short_header_and_a_weight_are_refused_with_their_reply_codes() {
    for size in 0..CONTENT_HEADER_SIZE {
        let error = ContentHeader::decode(&[0; CONTENT_HEADER_SIZE][..size]).unwrap_err();
        assert_eq!(error.reply_code(), ReplyCode::FrameError);
    }
    let error = ContentHeader::decode(b"\0\x3c\0\x01\0\0\0\0\0\0\0\0\0\0").unwrap_err();
    assert_eq!(error, DecodeError::Weight { weight: 1 });
    assert_eq!(error.reply_code(), ReplyCode::UnexpectedFrame);
}

proptest! {
    #[test]
    fn content_headers_come_back_as_they_were_encoded(
        class: u16,
        channel: u16,
        body_size: u64,
        properties in prop::collection::vec(any::<u8>(), 0..300),
    ) {
        let header = ContentHeader { class, body_size, properties: &properties };
        let mut out = Vec::new();
        header.encode(channel, &mut out);
        let frame = decode_frame(&out, 4096).unwrap().unwrap();
        prop_assert_eq!((frame.kind, frame.channel, frame.size()), (FrameKind::Header, channel, out.len()));
        prop_assert_eq!(ContentHeader::decode(frame.payload), Ok(header));
    }
}
