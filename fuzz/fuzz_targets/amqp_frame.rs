//! AMQP frames and what methods and content headers carry: any stream is cut into frames within the limit or
//! refused, the answer does not depend on how much of the stream is there, and what was decoded encodes to the very
//! same frame, apart from reserved fields, bits that mean nothing, and what tables leave open.
#![no_main]

use hairstreak_wire::amqp::{
    ContentHeader, FRAME_HEADER_SIZE, FRAME_SIZE_ALLOWANCE, Frame, FrameKind, Method, ack_frame, decode_frame,
    decode_protocol_header, encode_body, method_id,
};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (u16, &[u8])| {
    let (frame_size_max, mut stream) = (usize::from(input.0), input.1);
    if let Ok(Some(size)) = decode_protocol_header(stream) {
        stream = &stream[size..];
    }
    loop {
        let decoded = decode_frame(stream, frame_size_max);
        for size in 0..stream.len().min(FRAME_HEADER_SIZE + 4) {
            let early = decode_frame(&stream[..size], frame_size_max);
            assert!(early == Ok(None) || early == decoded, "{size} bytes of {stream:02x?}");
        }
        let Ok(Some(frame)) = decoded else { break };
        assert!(frame.size() <= frame_size_max + FRAME_SIZE_ALLOWANCE);
        check_payload(&frame, &stream[..frame.size()]);
        stream = &stream[frame.size()..];
    }
});

fn check_payload(frame: &Frame<'_>, bytes: &[u8]) {
    let mut out = Vec::new();
    match frame.kind {
        FrameKind::Method => check_method(frame),
        FrameKind::Header => {
            if let Ok(header) = ContentHeader::decode(frame.payload) {
                header.encode(frame.channel, &mut out);
                assert_eq!(out, bytes);
            }
        }
        FrameKind::Body => {
            encode_body(frame.channel, frame.payload, usize::MAX, &mut out);
            assert!(frame.payload.is_empty() || out == bytes);
        }
        FrameKind::Heartbeat => {}
    }
}

fn check_method(frame: &Frame<'_>) {
    let Ok(method) = Method::decode(frame.payload) else { return };
    assert_eq!(method_id(frame.payload), Some(method.id()));
    let mut out = Vec::new();
    method.encode(frame.channel, &mut out);
    let again = decode_frame(&out, usize::MAX).unwrap().unwrap();
    assert_eq!((again.kind, again.channel, again.size()), (FrameKind::Method, frame.channel, out.len()));
    let method_again = Method::decode(again.payload).unwrap();
    // Not with `==`: a table may have a number that does not equal itself.
    assert_eq!(format!("{method:?}"), format!("{method_again:?}"));
    if let Method::BasicAck(ack) = method {
        assert_eq!(ack_frame(frame.channel, ack.delivery_tag, ack.multiple)[..], out);
    }
}
