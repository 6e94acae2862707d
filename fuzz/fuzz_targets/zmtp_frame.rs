//! Frame headers: any stream of bytes is cut into frames within the limit or refused, the answer
//! does not depend on how much of the stream is there, and a decoded header encodes to itself.
#![no_main]

use hairstreak_wire::zmtp::frame::{COMMAND_SIZE_MAX, HEADER_SIZE_MAX, decode_header, encode_header};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (u16, &[u8])| {
    let (body_size_max, mut stream) = (usize::from(input.0), input.1);
    loop {
        let start = &stream[..stream.len().min(HEADER_SIZE_MAX)];
        let decoded = decode_header(start, body_size_max);
        for size in 0..start.len() {
            let early = decode_header(&start[..size], body_size_max);
            assert!(early == Ok(None) || early == decoded, "{size} bytes of {start:02x?}");
        }
        let Ok(Some(header)) = decoded else { break };
        let limit = if header.command { COMMAND_SIZE_MAX } else { body_size_max };
        assert!(header.body_size <= limit && !(header.command && header.more));
        let mut encoded = [0; HEADER_SIZE_MAX];
        let size = encode_header(&mut encoded, header.more, header.command, header.body_size);
        if size == header.header_size {
            assert_eq!(encoded[..size], start[..size]);
        } else {
            assert!(header.body_size <= 255, "a long header for what fits a short one");
        }
        match stream.get(header.header_size + header.body_size..) {
            Some(rest) => stream = rest,
            None => break,
        }
    }
});
