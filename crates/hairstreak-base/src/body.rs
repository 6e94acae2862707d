//! `Body`: the last frames of a message, kept together with the message.

use crate::bytes::Bytes;
use crate::message::Message;

/// The part of a message behind its head. The head may end within a frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Body {
    message: Message,
    /// Index of the frame in which the body begins.
    index: usize,
}

impl Body {
    /// Returns the frames from `index` on. The first of them lacks its first `start` bytes.
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

    /// Returns whether the body keeps far more memory than it needs, including the head before it: see
    /// [`Bytes::is_wasteful`].
    pub fn is_wasteful(&self) -> bool {
        self.message.as_frames().iter().any(Bytes::is_wasteful)
    }

    /// Copies the frames that keep far more memory than they need. Called before the body is stored; see
    /// [`Message::compact`].
    pub fn compact(&mut self) {
        self.message.compact();
    }

    /// Returns the frames of the body.
    #[inline]
    pub fn frames(&self) -> &[Bytes] {
        self.message.as_frames().get(self.index..).unwrap_or_default()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_has_memory_of_its_own_if_it_shares_too_much() {
        let block = Bytes::from_vec(vec![b'x'; 1_000]);
        let small = block.clone().without_first(900);
        let large = block.clone().without_first(100);
        assert!(small.is_wasteful() && !large.is_wasteful() && !block.is_wasteful());
        assert!(!block.clone().without_first(990).is_wasteful(), "it is held inside");
        let mut body = Body::new([Bytes::copy_of(b"id"), small, large].into_iter().collect(), 1, 0);
        assert_eq!(block.reference_count(), 3);
        body.compact();
        assert_eq!(block.reference_count(), 2);
        let sizes: Vec<usize> = body.frames().iter().map(Bytes::size).collect();
        assert_eq!(sizes, [100, 900]);
        assert!(body.frames().iter().all(|frame| frame.as_bytes().iter().all(|byte| *byte == b'x')));
    }

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
