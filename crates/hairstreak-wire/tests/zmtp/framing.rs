//! ZMTP's framing as the buffers see it: which bytes are a message of one frame.

use hairstreak_base::{BlockPool, Message, READ_SIZE, ReadBuffer};
use hairstreak_wire::zmtp::frame::{HEADER_SIZE_MAX, ZmtpFraming, encode_header};

fn take(bytes: &[u8]) -> Option<Vec<u8>> {
    let (mut buffer, mut message) = (ReadBuffer::new(&BlockPool::new()), Message::new());
    buffer.append(bytes);
    buffer.take_single::<ZmtpFraming>(&mut message).then(|| message.body().to_vec())
}

#[test]
fn only_whole_single_frames_are_taken_the_short_way() {
    for (bytes, expected) in [
        (vec![0, 3, b'a', b'b', b'c'], Some(&b"abc"[..])),
        (vec![0, 0], Some(&b""[..])),
        (vec![], None),
        (vec![0], None),
        (vec![0, 2, b'x'], None),
        (vec![1, 1, b'x'], None),
        ([vec![0, 63], vec![7; 63]].concat(), Some(&[7; 63])),
        ([vec![0, 63], vec![7; 62]].concat(), None),
        ([vec![2, 0, 0, 0, 0, 0, 0, 1, 0], vec![7; 256]].concat(), Some(&[7; 256])),
        ([vec![2, 0, 0, 0, 0, 0, 0, 1, 0], vec![7; 255]].concat(), None),
        (vec![2, 0, 0, 0, 0, 0, 0, 0, 1, b'x'], Some(&b"x"[..])),
        (vec![2, 0, 0, 0, 0, 0, 0, 0], None),
        (vec![2, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0], None),
        (vec![2, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xf8, 0], None),
        (vec![4, 1, b'x'], None),
    ] {
        assert_eq!(take(&bytes).as_deref(), expected, "{bytes:?}");
    }
}

#[test]
fn what_the_encoder_writes_is_taken_at_every_size() {
    for size in (0..300).chain([4096, READ_SIZE - HEADER_SIZE_MAX]) {
        let body: Vec<u8> = (0..size).map(|at| at as u8).collect();
        let mut header = [0; HEADER_SIZE_MAX];
        let header_size = encode_header(&mut header, false, false, size);
        let bytes = [&header[..header_size], &body].concat();
        assert_eq!(take(&bytes), Some(body), "{size}");
        assert_eq!(take(&bytes[..bytes.len() - 1]), None, "{size}");
    }
}

#[test]
fn several_are_taken_at_once_up_to_the_first_that_is_not_single() {
    let (mut buffer, mut messages) = (ReadBuffer::new(&BlockPool::new()), Vec::new());
    buffer.append(b"\0\x01a\0\0\0\x02bc\x01\x01d\0\x01e");
    assert_eq!(buffer.take_singles::<ZmtpFraming>(&mut messages, 9), 9);
    let bodies: Vec<_> = messages.iter().map(Message::body).collect();
    assert_eq!(bodies, [&b"a"[..], b"", b"bc"]);
    assert_eq!(buffer.unread(), b"\x01\x01d\0\x01e");
}
