//! Frames: literal bytes, limits, streams cut anywhere.

use hairstreak_wire::amqp::{
    FRAME_OVERHEAD, FRAME_SIZE_ALLOWANCE, FRAME_SIZE_MIN, Frame, FrameError, FrameKind, HEARTBEAT_FRAME,
    PROTOCOL_HEADER, ProtocolHeaderError, ReplyCode, decode_frame, decode_protocol_header, encode_body,
};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;

fn body_frame(size: usize) -> Vec<u8> {
    [&b"\x03\0\x07"[..], &(size as u32).to_be_bytes(), &vec![b'x'; size], b"\xce"].concat()
}

#[test]
fn a_frame_is_whole_with_its_end() {
    let bytes = b"\x01\0\x07\0\0\0\x03abc\xce";
    let frame = Frame { kind: FrameKind::Method, channel: 7, payload: b"abc" };
    assert_eq!(decode_frame(bytes, 4096), Ok(Some(frame)));
    assert_eq!(decode_frame(&[bytes, &b"more"[..]].concat(), 4096), Ok(Some(frame)));
    assert_eq!(frame.size(), bytes.len());
    for cut in 0..bytes.len() {
        assert_eq!(decode_frame(&bytes[..cut], 4096), Ok(None), "cut at {cut}");
    }
}

#[test]
fn a_heartbeat_is_an_empty_frame() {
    let frame = Frame { kind: FrameKind::Heartbeat, channel: 0, payload: b"" };
    assert_eq!(decode_frame(&HEARTBEAT_FRAME, 4096), Ok(Some(frame)));
}

#[test]
fn frames_are_as_large_as_agreed_and_eight_octets_more() {
    for limit in [FRAME_OVERHEAD, FRAME_SIZE_MIN, 131_072] {
        let size = limit + FRAME_SIZE_ALLOWANCE - FRAME_OVERHEAD;
        assert_eq!(decode_frame(&body_frame(size), limit).unwrap().unwrap().size(), limit + 8);
        let larger = FrameError::TooLarge { size: size as u32 + 1, limit };
        assert_eq!(decode_frame(&body_frame(size + 1)[..7], limit), Err(larger));
        assert_eq!(larger.reply_code(), ReplyCode::FrameError);
    }
    assert_eq!(decode_frame(b"\x03\0\0\xff\xff\xff\xff", usize::MAX), Ok(None));
}

#[test]
fn other_types_and_other_ends_are_refused() {
    for kind in (0..=u8::MAX).filter(|kind| !matches!(kind, 1 | 2 | 3 | 8)) {
        let frame = [kind, 0, 0, 0, 0, 0, 0, 0xce];
        assert_eq!(decode_frame(&frame[..7], 4096), Ok(None));
        assert_eq!(decode_frame(&frame, 4096), Err(FrameError::UnknownKind { kind }));
    }
    for found in 0..0xce {
        assert_eq!(decode_frame(&[1, 0, 0, 0, 0, 0, 0, found], 4096), Err(FrameError::BadEnd { found }));
    }
}

#[test]
fn the_protocol_header_is_refused_from_the_first_byte_that_differs() {
    for size in 0..8 {
        assert_eq!(decode_protocol_header(&PROTOCOL_HEADER[..size]), Ok(None));
        let mut other = PROTOCOL_HEADER;
        other[size] ^= 0x80;
        assert_eq!(decode_protocol_header(&other[..size]), Ok(None));
        assert_eq!(decode_protocol_header(&other[..=size]), Err(ProtocolHeaderError));
    }
    assert_eq!(decode_protocol_header(b"AMQP\0\0\x09\x01\x01"), Ok(Some(8)));
    assert_eq!(decode_protocol_header(b"AMQP\x01\x01\0\x09\x01"), Ok(Some(8)));
    for mixed in [b"AMQP\0\x01\0\x09", b"AMQP\x01\x01\x09\x01", b"AMQP\x01\x01\x08\0", b"AMQP\0\x01\0\0"] {
        assert_eq!(decode_protocol_header(mixed), Err(ProtocolHeaderError));
    }
}

#[test]
fn an_empty_body_has_no_frame() {
    let mut out = Vec::new();
    encode_body(1, b"", 4096, &mut out);
    assert_eq!(out, b"");
    encode_body(1, b"a", 4096, &mut out);
    assert_eq!(out, b"\x03\0\x01\0\0\0\x01a\xce");
}

proptest! {
    #[test]
    fn a_body_comes_out_of_its_frames_however_the_stream_is_cut(
        sizes in vec(0..20_000_usize, 0..4),
        frame_size_max in 4096..10_000_usize,
        cuts in vec(any::<Index>(), 0..6),
    ) {
        let mut stream = Vec::new();
        let body: Vec<u8> = (0..sizes.iter().sum()).map(|index: usize| index as u8).collect();
        let mut rest = &body[..];
        for (channel, size) in sizes.iter().enumerate() {
            let (part, after) = rest.split_at(*size);
            encode_body(channel as u16, part, frame_size_max, &mut stream);
            rest = after;
        }
        let mut ends: Vec<usize> = cuts.iter().map(|cut| cut.index(stream.len() + 1)).collect();
        ends.push(stream.len());
        ends.sort_unstable();
        let (mut buffer, mut received, mut start) = (Vec::new(), vec![Vec::new(); sizes.len()], 0);
        for end in ends {
            buffer.extend_from_slice(&stream[start..end]);
            start = end;
            while let Some(frame) = decode_frame(&buffer, frame_size_max).unwrap() {
                prop_assert_eq!(frame.kind, FrameKind::Body);
                prop_assert!(frame.size() <= frame_size_max);
                received[usize::from(frame.channel)].extend_from_slice(frame.payload);
                let size = frame.size();
                buffer.drain(..size);
            }
        }
        prop_assert!(buffer.is_empty());
        prop_assert_eq!(received.iter().map(Vec::len).collect::<Vec<_>>(), sizes);
        prop_assert_eq!(received.concat(), body);
    }
}
