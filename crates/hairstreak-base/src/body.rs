//! `Body`: the last frames of a message, kept with it.

use crate::frame::Frame;
use crate::message::Message;

/// What follows the head of a message, which may end within a frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Body {
    message: Message,
    /// Where the body begins among its frames.
    index: usize,
}

impl Body {
    /// The frames from `index` on, the first of them without its first `start` bytes.
    pub fn new(message: Message, index: usize, start: usize) -> Body {
        if start == 0 {
            return Body { message, index };
        }
        let mut frames = message.as_frames().iter().skip(index).cloned();
        let first = frames.next().unwrap_or_default().without_first(start);
        let message = match frames.len() {
            0 => first.into(),
            _ => std::iter::once(first).chain(frames).collect(),
        };
        Body { message, index: 0 }
    }

    /// Its frames.
    #[inline]
    pub fn frames(&self) -> &[Frame] {
        self.message.as_frames().get(self.index..).unwrap_or_default()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_body_begins_where_it_is_said_to() {
        let frames = ["id", "head body", "more"];
        let body = |count: usize, index, start| -> Vec<Vec<u8>> {
            let body = Body::new(Message::from_frames(&frames[..count]), index, start);
            body.frames().iter().map(|frame| frame.as_bytes().to_vec()).collect()
        };
        assert_eq!(body(3, 1, 0), [&b"head body"[..], b"more"]);
        assert_eq!(body(2, 1, 5), [b"body"]);
        assert_eq!(body(3, 1, 5), [b"body", b"more"]);
        assert_eq!(body(2, 1, 9), [b""]);
        assert_eq!(body(2, 2, 0), Vec::<Vec<u8>>::new());
        assert_eq!(body(2, 2, 1), [b""]);
    }
}
