//! Writes frames.
//!
//! ```text
//! +------+---------+--------+-----------------+------+
//! | kind | channel | size   | payload         | 0xCE |
//! | u8   | u16     | u32    | `size` bytes    | u8   |
//! +------+---------+--------+-----------------+------+
//! ```

use super::methods::{BASIC_PUBLISH, BODY, CONTENT_HEADER, FRAME_END, FRAME_OVERHEAD, METHOD};

const CLASS_BASIC: u16 = 60;

/// An argument of a method.
#[derive(Clone, Copy, Debug)]
pub enum Argument<'a> {
    /// A number of one byte, or up to eight bits, the first one lowest.
    U8(u8),
    /// A number of two bytes.
    U16(u16),
    /// A number of four bytes.
    U32(u32),
    /// A number of eight bytes.
    U64(u64),
    /// A short string.
    Short(&'a str),
    /// A long string.
    Long(&'a [u8]),
    /// A table without fields.
    EmptyTable,
}

impl Argument<'_> {
    fn push(self, out: &mut Vec<u8>) {
        match self {
            Argument::U8(value) => out.push(value),
            Argument::U16(value) => out.extend_from_slice(&value.to_be_bytes()),
            Argument::U32(value) => out.extend_from_slice(&value.to_be_bytes()),
            Argument::U64(value) => out.extend_from_slice(&value.to_be_bytes()),
            Argument::Short(text) => {
                out.push(text.len() as u8);
                out.extend_from_slice(text.as_bytes());
            }
            Argument::Long(bytes) => {
                out.extend_from_slice(&(bytes.len() as u32).to_be_bytes());
                out.extend_from_slice(bytes);
            }
            Argument::EmptyTable => out.extend_from_slice(&[0; 4]),
        }
    }
}

/// Appends a frame whose payload `fill` writes.
fn push_frame(out: &mut Vec<u8>, kind: u8, channel: u16, fill: impl FnOnce(&mut Vec<u8>)) {
    out.push(kind);
    out.extend_from_slice(&channel.to_be_bytes());
    let size_at = out.len();
    out.extend_from_slice(&[0; 4]);
    fill(out);
    let size = (out.len() - size_at - 4) as u32;
    out[size_at..size_at + 4].copy_from_slice(&size.to_be_bytes());
    out.push(FRAME_END);
}

/// Appends the frame of a method.
pub fn push_method(out: &mut Vec<u8>, channel: u16, id: u32, arguments: &[Argument<'_>]) {
    push_frame(out, METHOD, channel, |out| {
        out.extend_from_slice(&id.to_be_bytes());
        arguments.iter().for_each(|argument| argument.push(out));
    });
}

/// Appends the frames of a content without properties. None of them is larger than `frame_size_max`.
pub fn push_content(out: &mut Vec<u8>, channel: u16, body: &[u8], frame_size_max: usize) {
    push_frame(out, CONTENT_HEADER, channel, |out| {
        out.extend_from_slice(&CLASS_BASIC.to_be_bytes());
        out.extend_from_slice(&[0; 2]);
        out.extend_from_slice(&(body.len() as u64).to_be_bytes());
        out.extend_from_slice(&[0; 2]);
    });
    for part in body.chunks(frame_size_max - FRAME_OVERHEAD) {
        push_frame(out, BODY, channel, |out| out.extend_from_slice(part));
    }
}

/// Appends basic.publish and its content.
pub fn push_publish(
    out: &mut Vec<u8>,
    channel: u16,
    (exchange, key): (&str, &str),
    body: &[u8],
    frame_size_max: usize,
) {
    let arguments = [Argument::U16(0), Argument::Short(exchange), Argument::Short(key), Argument::U8(0)];
    push_method(out, channel, BASIC_PUBLISH, &arguments);
    push_content(out, channel, body, frame_size_max);
}

#[cfg(test)]
mod tests {
    use super::super::link::FRAME_SIZE_MAX;
    use super::push_publish;

    fn publish_size(body_size: usize) -> usize {
        let mut out = Vec::new();
        push_publish(&mut out, 1, ("bench", "key.0"), &vec![0; body_size], FRAME_SIZE_MAX);
        out.len()
    }

    #[test]
    fn a_publish_is_as_large_as_the_protocol_says() {
        let mut out = Vec::new();
        push_publish(&mut out, 1, ("e", "k"), b"ab", FRAME_SIZE_MAX);
        let expected: &[u8] = b"\x01\x00\x01\x00\x00\x00\x0b\x00\x3c\x00\x28\x00\x00\x01e\x01k\x00\xce\
            \x02\x00\x01\x00\x00\x00\x0e\x00\x3c\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\x00\xce\
            \x03\x00\x01\x00\x00\x00\x02ab\xce";
        assert_eq!(out, expected);
        assert_eq!(publish_size(16), 27 + 22 + 24);
    }

    #[test]
    fn a_body_larger_than_a_frame_has_several() {
        assert_eq!(publish_size(FRAME_SIZE_MAX - 8), 27 + 22 + FRAME_SIZE_MAX);
        assert_eq!(publish_size(FRAME_SIZE_MAX), 27 + 22 + FRAME_SIZE_MAX + 2 * 8);
    }
}
