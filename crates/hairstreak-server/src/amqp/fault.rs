//! `Fault`: an error that closes a channel or the connection, and the method that brought it about.

use hairstreak_broker::Refusal;
use hairstreak_wire::amqp::{DecodeError, FRAME_OVERHEAD, FrameError, ReplyCode};

/// An error and the method that caused it: (0, 0) if no method did.
#[derive(Debug)]
pub(super) struct Fault {
    pub refusal: Refusal,
    pub method: (u16, u16),
}

impl Fault {
    pub fn new(code: ReplyCode, text: impl Into<String>, method: (u16, u16)) -> Fault {
        Fault { refusal: Refusal::new(code, text), method }
    }

    pub fn in_method(refusal: Refusal, method: (u16, u16)) -> Fault {
        Fault { refusal, method }
    }

    /// The same, and the method is `id` where none is known.
    pub fn of_method(self, id: (u16, u16)) -> Fault {
        Fault { method: if self.method == (0, 0) { id } else { self.method }, ..self }
    }

    /// The error of the frame at the start of `bytes`.
    pub fn of_frame(error: &FrameError, bytes: &[u8]) -> Fault {
        let kind = bytes.first().copied().unwrap_or_default();
        match error {
            FrameError::TooLarge { size, limit } => {
                Fault::frame_too_large(kind, *size as usize, limit - FRAME_OVERHEAD)
            }
            error => Fault::new(error.reply_code(), error.to_string(), (0, 0)),
        }
    }

    /// A frame whose payload is larger than was agreed on.
    pub fn frame_too_large(kind: u8, size: usize, size_max: usize) -> Fault {
        let text = format!("type {kind}, all octets = <<>>: {{frame_too_large,{size},{size_max}}}");
        Fault::new(ReplyCode::FrameError, text, (0, 0))
    }

    pub fn of_payload(error: &DecodeError, method: (u16, u16)) -> Fault {
        Fault::new(error.reply_code(), error.to_string(), method)
    }
}
