//! Frame headers: literal bytes, the boundary between short and long, limits, round trips.

use hairstreak_wire::zmtp::frame::{
    COMMAND_SIZE_MAX, FrameError, FrameHeader, HEADER_SIZE_MAX, decode_header, encode_header,
};
use proptest::prelude::*;

fn check(bytes: &[u8], more: bool, command: bool, body_size: usize) {
    let mut out = [0xee; HEADER_SIZE_MAX];
    let header_size = encode_header(&mut out, more, command, body_size);
    assert_eq!(out[..header_size], *bytes);
    let expected = FrameHeader { more, command, header_size, body_size };
    assert_eq!(decode_header(bytes, usize::MAX), Ok(Some(expected)));
    for cut in 0..bytes.len() {
        assert_eq!(decode_header(&bytes[..cut], usize::MAX), Ok(None), "cut at {cut}");
    }
}

#[test]
fn headers_have_the_bytes_that_libzmq_sends() {
    check(b"\x00\x00", false, false, 0);
    check(b"\x01\x00", true, false, 0);
    check(b"\x00\x05", false, false, 5);
    check(b"\x01\xff", true, false, 255);
    check(b"\x02\x00\x00\x00\x00\x00\x00\x01\x00", false, false, 256);
    check(b"\x03\x00\x00\x00\x00\x00\x00\x01\x00", true, false, 256);
    check(b"\x02\x00\x00\x00\x01\x00\x00\x00\x00", false, false, 1 << 32);
    check(b"\x04\x29", false, true, 41);
    check(b"\x04\xff", false, true, 255);
    check(b"\x06\x00\x00\x00\x00\x00\x00\x01\x00", false, true, 256);
}

#[test]
fn a_long_header_of_a_short_body_is_decoded() {
    let header = FrameHeader { more: false, command: false, header_size: 9, body_size: 5 };
    assert_eq!(decode_header(b"\x02\x00\x00\x00\x00\x00\x00\x00\x05hello", 5), Ok(Some(header)));
}

#[test]
fn reserved_flags_are_refused_from_the_first_byte() {
    for flags in 8..=255 {
        assert_eq!(decode_header(&[flags], 100), Err(FrameError::ReservedFlags { flags }));
    }
}

#[test]
fn a_command_of_several_frames_is_refused_from_the_first_byte() {
    for flags in [5, 7] {
        assert_eq!(decode_header(&[flags], 100), Err(FrameError::CommandWithMore { flags }));
    }
}

#[test]
fn a_body_at_the_limit_passes_and_one_byte_more_does_not() {
    for limit in [0, 1, 254, 255, 256, 70_000] {
        for more in [false, true] {
            let mut out = [0; HEADER_SIZE_MAX];
            encode_header(&mut out, more, false, limit);
            assert!(matches!(decode_header(&out, limit), Ok(Some(header)) if header.body_size == limit));
            encode_header(&mut out, more, false, limit + 1);
            let error = FrameError::TooLarge { size: limit as u64 + 1, limit };
            assert_eq!(decode_header(&out, limit), Err(error));
        }
    }
}

#[test]
fn a_command_has_its_own_limit() {
    let mut out = [0; HEADER_SIZE_MAX];
    encode_header(&mut out, false, true, COMMAND_SIZE_MAX);
    assert!(matches!(decode_header(&out, 0), Ok(Some(header)) if header.body_size == COMMAND_SIZE_MAX));
    encode_header(&mut out, false, true, COMMAND_SIZE_MAX + 1);
    let error = FrameError::TooLarge { size: COMMAND_SIZE_MAX as u64 + 1, limit: COMMAND_SIZE_MAX };
    assert_eq!(decode_header(&out, usize::MAX), Err(error));
}

#[test]
fn a_size_that_fits_no_buffer_is_refused_without_any_limit() {
    let limit = isize::MAX as usize;
    for size in [1 << 63, u64::MAX] {
        let mut bytes = [2; HEADER_SIZE_MAX];
        bytes[1..].copy_from_slice(&size.to_be_bytes());
        assert_eq!(decode_header(&bytes, usize::MAX), Err(FrameError::TooLarge { size, limit }));
    }
    let mut bytes = [2; HEADER_SIZE_MAX];
    bytes[1..].copy_from_slice(&(limit as u64).to_be_bytes());
    assert!(matches!(decode_header(&bytes, usize::MAX), Ok(Some(header)) if header.body_size == limit));
}

/// A frame: more, command, body.
type Frame = (bool, bool, Vec<u8>);

fn frames() -> impl Strategy<Value = Vec<Frame>> {
    let size = prop_oneof![0..20_usize, 250..260_usize, 0..3000_usize];
    let body = (size, any::<u8>()).prop_map(|(size, byte)| vec![byte; size]);
    let flags = prop_oneof![Just((false, false)), Just((true, false)), Just((false, true))];
    prop::collection::vec((flags, body).prop_map(|((more, command), body)| (more, command, body)), 0..8)
}

/// Every whole frame at the start of `buffer`, which keeps the rest.
fn drain_frames(buffer: &mut Vec<u8>) -> Vec<Frame> {
    let mut found = Vec::new();
    while let Some(header) = decode_header(buffer, usize::MAX).expect("valid frames") {
        let end = header.header_size + header.body_size;
        if buffer.len() < end {
            break;
        }
        found.push((header.more, header.command, buffer[header.header_size..end].to_vec()));
        buffer.drain(..end);
    }
    found
}

proptest! {
    #[test]
    fn frames_come_out_as_they_went_in_however_the_stream_is_cut(
        sent in frames(),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..6),
    ) {
        let mut stream = Vec::new();
        for (more, command, body) in &sent {
            let mut header = [0; HEADER_SIZE_MAX];
            let size = encode_header(&mut header, *more, *command, body.len());
            stream.extend_from_slice(&header[..size]);
            stream.extend_from_slice(body);
        }
        let mut ends: Vec<usize> = cuts.iter().map(|cut| cut.index(stream.len() + 1)).collect();
        ends.push(stream.len());
        ends.sort_unstable();
        let (mut buffer, mut received, mut start) = (Vec::new(), Vec::new(), 0);
        for end in ends {
            buffer.extend_from_slice(&stream[start..end]);
            received.extend(drain_frames(&mut buffer));
            start = end;
        }
        prop_assert_eq!(received, sent);
        prop_assert!(buffer.is_empty());
    }

    #[test]
    fn any_bytes_are_decoded_within_the_limit_or_refused(
        bytes in prop::collection::vec(any::<u8>(), 0..12),
        limit in any::<usize>(),
    ) {
        if let Ok(Some(header)) = decode_header(&bytes, limit) {
            prop_assert!(header.header_size <= bytes.len());
            let limit = if header.command { COMMAND_SIZE_MAX } else { limit };
            prop_assert!(header.body_size <= limit);
            prop_assert!(!(header.more && header.command));
        }
    }
}
