//! `Fault`: an error that closes a channel or the connection, and the method that brought it about.

use hairstreak_broker::{Refusal, print_binary, print_numbers};
use hairstreak_wire::amqp::{
    CONTENT_HEADER_SIZE, DecodeError, FRAME_HEADER_SIZE, FRAME_OVERHEAD, Frame, FrameError, FrameKind,
    ReplyCode,
};

/// The ids of class and method, with which each method begins.
const METHOD_ID_SIZE: usize = 4;
/// The octets of a payload that a text shows.
pub(super) const SHOWN_SIZE: usize = 16;
/// The octets of fields that a text shows. The rest would not fit into a short string.
const FIELDS_SIZE: usize = 128;

/// An error and the method that caused it: (0, 0) if no method did.
#[derive(Debug)]
pub(super) struct Fault {
    pub refusal: Refusal,
    pub method: (u16, u16),
    /// The end of the frame is not known, so that nothing behind the frame can be read.
    pub is_fatal: bool,
}

impl Fault {
    pub fn new(code: ReplyCode, text: impl Into<String>, method: (u16, u16)) -> Fault {
        Fault::in_method(Refusal::new(code, text), method)
    }

    pub fn in_method(refusal: Refusal, method: (u16, u16)) -> Fault {
        Fault { refusal, method, is_fatal: false }
    }

    /// Sets the method to `id` if none is known.
    pub fn of_method(self, id: (u16, u16)) -> Fault {
        Fault { method: if self.method == (0, 0) { id } else { self.method }, ..self }
    }

    /// The error of the frame at the start of `bytes`.
    pub fn of_frame(error: &FrameError, bytes: &[u8]) -> Fault {
        let kind = bytes.first().copied().unwrap_or_default();
        match error {
            FrameError::TooLarge { size, limit } => {
                let problem = format!("{{frame_too_large,{size},{}}}", limit - FRAME_OVERHEAD);
                Fault { is_fatal: true, ..Fault::in_frame(kind, b"", &problem) }
            }
            FrameError::BadEnd { found } => Fault::bad_end(kind, payload(bytes), *found),
            FrameError::UnknownKind { .. } => Fault::in_frame(kind, payload(bytes), "unknown_frame"),
        }
    }

    /// A frame whose payload begins with the octets of `payload` ends with the wrong octet `found`.
    pub fn bad_end(kind: u8, payload: &[u8], found: u8) -> Fault {
        let problem = format!("{{invalid_frame_end_marker,{found}}}");
        Fault { is_fatal: true, ..Fault::in_frame(kind, payload, &problem) }
    }

    /// Returns the error of a frame that is invalid on its channel in any state. `None`: the frame has no such error.
    pub fn of_kind(frame: &Frame<'_>) -> Option<Fault> {
        let Frame { kind, channel, payload } = *frame;
        let size_min = match kind {
            FrameKind::Method => METHOD_ID_SIZE,
            FrameKind::Header => CONTENT_HEADER_SIZE,
            FrameKind::Body | FrameKind::Heartbeat => 0,
        };
        if payload.len() < size_min || kind == FrameKind::Heartbeat && !payload.is_empty() {
            return Some(Fault::in_frame(kind as u8, payload, "unknown_frame"));
        }
        let is_of_connection = matches!(kind, FrameKind::Method | FrameKind::Heartbeat);
        let is_of_channel = kind != FrameKind::Heartbeat;
        let is_right = if channel == 0 { is_of_connection } else { is_of_channel };
        (!is_right).then(|| Fault::unexpected(frame))
    }

    /// A frame comes where there can be none of its kind.
    pub fn unexpected(frame: &Frame<'_>) -> Fault {
        let text = picture(frame.kind as u8, frame.payload);
        Fault::new(ReplyCode::UnexpectedFrame, text, (0, 0))
    }

    /// The error of a method with these fields, or of a content header.
    pub fn of_payload(error: &DecodeError, method: (u16, u16), fields: &[u8]) -> Fault {
        match error {
            DecodeError::Cut | DecodeError::Surplus { .. } => {
                let shown = &fields[..fields.len().min(FIELDS_SIZE)];
                let text = format!("cannot decode {}", print_numbers(shown));
                Fault::new(ReplyCode::FrameError, text, method)
            }
            DecodeError::Utf8 => Fault::new(ReplyCode::FrameError, error.to_string(), (0, 0)),
            error => Fault::new(error.reply_code(), error.to_string(), method),
        }
    }

    fn in_frame(kind: u8, payload: &[u8], problem: &str) -> Fault {
        let text = format!("{}: {problem}", picture(kind, payload));
        Fault::new(ReplyCode::FrameError, text, (0, 0))
    }
}

/// The payload of the whole frame at the start of `bytes`.
fn payload(bytes: &[u8]) -> &[u8] {
    let Some(&[_, _, _, s0, s1, s2, s3]) = bytes.first_chunk() else { return &[] };
    let size = u32::from_be_bytes([s0, s1, s2, s3]) as usize;
    bytes.get(FRAME_HEADER_SIZE..FRAME_HEADER_SIZE + size).unwrap_or_default()
}

/// A frame as RabbitMQ's texts show it.
fn picture(kind: u8, payload: &[u8]) -> String {
    match payload.get(..SHOWN_SIZE) {
        Some(first) if payload.len() > SHOWN_SIZE => {
            format!("type {kind}, first {SHOWN_SIZE} octets = {}", print_binary(first))
        }
        _ => format!("type {kind}, all octets = {}", print_binary(payload)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(fault: Fault, code: ReplyCode, text: &str) {
        assert_eq!((fault.refusal.code, &*fault.refusal.text), (code, text));
    }

    /// The texts of RabbitMQ 3.10.8.
    #[test]
    fn frames_are_shown_as_rabbitmq_shows_them() {
        let unknown = FrameError::UnknownKind { kind: 7 };
        let text = "type 7, all octets = <<\"abc\">>: unknown_frame";
        check(Fault::of_frame(&unknown, b"\x07\0\x01\0\0\0\x03abc\xce"), ReplyCode::FrameError, text);
        let text = "type 3, first 16 octets = <<0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15>>: {invalid_frame_end_marker,1}";
        let body: Vec<u8> = (0..20).collect();
        check(Fault::bad_end(3, &body, 1), ReplyCode::FrameError, text);
        let large = FrameError::TooLarge { size: 4097, limit: 4096 };
        let text = "type 1, all octets = <<>>: {frame_too_large,4097,4088}";
        check(Fault::of_frame(&large, b"\x01\0\x01\0\0\x10\x01"), ReplyCode::FrameError, text);
        let frame = Frame { kind: FrameKind::Heartbeat, channel: 1, payload: b"" };
        let text = "type 8, all octets = <<>>";
        check(Fault::of_kind(&frame).unwrap(), ReplyCode::UnexpectedFrame, text);
        let fault = Fault::of_payload(&DecodeError::Cut, (50, 10), b"\0\0\x05abc");
        check(fault, ReplyCode::FrameError, "cannot decode <<0,0,5,97,98,99>>");
    }
}
