//! HSD1, the directory's protocol: any frames are a request, or refused with a reply that the client
//! understands; any frames are a reply or refused; and what was decoded encodes to the very same frames.
#![no_main]

use hairstreak_wire::directory::{LIST_ENTRY_COUNT_MAX, Reply, Request, TEXT_SIZE_MAX};
use libfuzzer_sys::fuzz_target;

/// More frames than any message of the protocol has.
const FRAMES_MAX: usize = 4 + 2 * (LIST_ENTRY_COUNT_MAX + 2);

fuzz_target!(|bytes: &[u8]| {
    let frames = frames(bytes);
    match Request::decode(&frames) {
        Ok((envelope, request)) => assert_eq!(request.encode(&envelope), frames),
        Err(refused) => {
            let reply = refused.reply();
            assert!(matches!(&reply, Reply::Error { text, .. } if text.len() <= TEXT_SIZE_MAX));
            let encoded = reply.encode(&refused.envelope);
            let encoded: Vec<&[u8]> = encoded.iter().map(Vec::as_slice).collect();
            assert_eq!(Reply::decode(&encoded), Ok((refused.envelope, reply)));
        }
    }
    if let Ok((envelope, reply)) = Reply::decode(&frames) {
        assert_eq!(reply.encode(&envelope), frames);
    }
});

/// Two bytes of size before each frame; the last one may be cut short.
fn frames(mut bytes: &[u8]) -> Vec<&[u8]> {
    let mut frames = Vec::new();
    while let Some((size, rest)) = bytes.split_first_chunk() {
        let size = usize::from(u16::from_be_bytes(*size));
        let (frame, rest) = rest.split_at(size.min(rest.len()));
        frames.push(frame);
        if frames.len() == FRAMES_MAX {
            break;
        }
        bytes = rest;
    }
    frames
}
