//! Writes frames.
//!
//! ```text
//! +------+---------+--------+-----------------+------+
//! | kind | channel | size   | payload         | 0xCE |
//! | u8   | u16     | u32    | `size` bytes    | u8   |
//! +------+---------+--------+-----------------+------+
//! ```

use hairstreak_wire::amqp::{FieldTable, FieldValue, Properties, encode_content_header};

use super::methods::{BASIC_PUBLISH, BODY, CHANNEL, FRAME_END, FRAME_OVERHEAD, METHOD};

/// The properties of a message that has none.
pub(super) const NO_PROPERTIES: &[u8] = &[0; 2];
/// The properties of a persistent message: delivery mode 2.
const PERSISTENT: &[u8] = &[0x10, 0, 2];

/// A table without fields.
pub const EMPTY_TABLE: Argument<'static> = Argument::Table(&[]);

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
    /// A table of four-byte numbers and long strings, with their names.
    Table(&'a [(&'a str, Argument<'a>)]),
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
            Argument::Table(fields) => {
                let mut table = Vec::new();
                for (name, value) in fields {
                    Argument::Short(name).push(&mut table);
                    table.push(if matches!(value, Argument::Long(_)) { b'S' } else { b'I' });
                    value.push(&mut table);
                }
                Argument::Long(&table).push(out);
            }
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

/// Appends basic.publish. `exchange` and `key` are the route of a message.
fn push_publish_method(out: &mut Vec<u8>, channel: u16, (exchange, key): (&str, &str)) {
    let arguments = [Argument::U16(0), Argument::Short(exchange), Argument::Short(key), Argument::U8(0)];
    push_method(out, channel, BASIC_PUBLISH, &arguments);
}

/// Appends basic.publish and the header of its content: the frames before a body of `body_size` bytes.
pub fn push_publish_head(out: &mut Vec<u8>, channel: u16, route: (&str, &str), body_size: u64) {
    push_publish_method(out, channel, route);
    encode_content_header(channel, body_size, NO_PROPERTIES, out);
}

/// Appends the frames of a body that consists of `first`, which fits a frame, and `rest`.
pub fn push_body(out: &mut Vec<u8>, channel: u16, first: &[u8], rest: &[u8], frame_size_max: usize) {
    let room = frame_size_max - FRAME_OVERHEAD;
    let (beside, rest) = rest.split_at(rest.len().min(room - first.len()));
    push_frame(out, BODY, channel, |out| {
        out.extend_from_slice(first);
        out.extend_from_slice(beside);
    });
    for part in rest.chunks(room) {
        push_frame(out, BODY, channel, |out| out.extend_from_slice(part));
    }
}

/// Appends basic.publish and its content. No frame is larger than `frame_max`.
pub fn push_publish(out: &mut Vec<u8>, route: (&str, &str), body: &[u8], frame_max: usize) {
    push_publish_head(out, CHANNEL, route, body.len() as u64);
    push_body(out, CHANNEL, &[], body, frame_max);
}

/// Appends a publish as [`push_publish`] does, of a persistent message.
pub fn push_persistent(out: &mut Vec<u8>, route: (&str, &str), body: &[u8], frame_max: usize) {
    push_publish_method(out, CHANNEL, route);
    encode_content_header(CHANNEL, body.len() as u64, PERSISTENT, out);
    push_body(out, CHANNEL, &[], body, frame_max);
}

/// Appends basic.publish and an empty content whose header CC names further routing keys. They must fit a frame.
pub fn push_publish_to_all(out: &mut Vec<u8>, route: (&str, &str), keys: impl Iterator<Item = String>) {
    let keys: Vec<FieldValue> = keys.map(|key| key.as_str().into()).collect();
    let headers = Some(FieldTable::from_iter([("CC", keys)]));
    let mut properties = Vec::new();
    Properties { headers, ..Properties::default() }.encode(&mut properties);
    push_publish_method(out, CHANNEL, route);
    encode_content_header(CHANNEL, 0, &properties, out);
}

#[cfg(test)]
mod tests {
    use super::super::methods::FRAME_SIZE_MAX;
    use super::{push_body, push_publish, push_publish_head};

    fn publish_size(body_size: usize) -> usize {
        let mut out = Vec::new();
        push_publish(&mut out, ("bench", "key.0"), &vec![0; body_size], FRAME_SIZE_MAX);
        out.len()
    }

    #[test]
    fn a_publish_is_as_large_as_the_protocol_says() {
        let mut out = Vec::new();
        push_publish(&mut out, ("e", "k"), b"ab", FRAME_SIZE_MAX);
        let expected: &[u8] = b"\x01\x00\x01\x00\x00\x00\x0b\x00\x3c\x00\x28\x00\x00\x01e\x01k\x00\xce\
            \x02\x00\x01\x00\x00\x00\x0e\x00\x3c\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\x00\xce\
            \x03\x00\x01\x00\x00\x00\x02ab\xce";
        assert_eq!(out, expected);
        assert_eq!(publish_size(16), 27 + 22 + 24);
    }

    #[test]
    fn a_publish_in_two_steps_and_a_body_in_two_parts_are_the_same_bytes() {
        for size in
            [8, 9, 100, FRAME_SIZE_MAX - 9, FRAME_SIZE_MAX - 8, FRAME_SIZE_MAX - 7, 3 * FRAME_SIZE_MAX]
        {
            let body: Vec<u8> = (0..size).map(|index| index as u8).collect();
            let (mut whole, mut steps) = (Vec::new(), Vec::new());
            push_publish(&mut whole, ("bench", "key.0"), &body, FRAME_SIZE_MAX);
            push_publish_head(&mut steps, 1, ("bench", "key.0"), size as u64);
            push_body(&mut steps, 1, &body[..8], &body[8..], FRAME_SIZE_MAX);
            assert!(whole == steps, "{size}");
        }
    }

    #[test]
    fn a_body_larger_than_a_frame_has_several() {
        assert_eq!(publish_size(FRAME_SIZE_MAX - 8), 27 + 22 + FRAME_SIZE_MAX);
        assert_eq!(publish_size(FRAME_SIZE_MAX), 27 + 22 + FRAME_SIZE_MAX + 2 * 8);
    }
}
