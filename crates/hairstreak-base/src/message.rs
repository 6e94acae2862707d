//! `Message`: one or more frames, delivered atomically.
//!
//! The common message has one frame and is as wide as that frame. Several frames cost one allocation for their list.

use std::fmt;

use crate::bytes::Bytes;

/// One or more frames. Cloning shares long bodies.
#[derive(Clone, PartialEq, Eq)]
pub struct Message(Repr);

#[derive(Clone, PartialEq, Eq)]
enum Repr {
    One(Bytes),
    /// Never empty.
    Many(Box<[Bytes]>),
}

const _: () = assert!(size_of::<Option<Message>>() == 64);

impl Message {
    /// Creates a message of one empty frame.
    pub const fn new() -> Message {
        Message(Repr::One(Bytes::EMPTY))
    }

    /// Creates a message of copies of these frames, or of one empty frame if there are none.
    pub fn from_frames<I>(frames: I) -> Message
    where
        I: IntoIterator,
        I::Item: AsRef<[u8]>,
    {
        frames.into_iter().map(|frame| Bytes::copy_of(frame.as_ref())).collect()
    }

    /// Returns the last frame: the whole message if it has one frame, else the part behind the envelope.
    #[inline]
    pub fn body(&self) -> &[u8] {
        match &self.0 {
            Repr::One(frame) => frame.as_bytes(),
            // INVARIANT: `Many` is never empty.
            Repr::Many(frames) => frames.last().expect("a message has a frame").as_bytes(),
        }
    }

    /// Returns the number of frames, at least one.
    #[inline]
    pub fn frame_count(&self) -> usize {
        self.as_frames().len()
    }

    /// Returns the bytes of frame `index`, counted from 0.
    pub fn frame(&self, index: usize) -> Option<&[u8]> {
        self.as_frames().get(index).map(Bytes::as_bytes)
    }

    /// Returns the bytes of every frame, in order.
    pub fn frames(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        self.as_frames().iter().map(Bytes::as_bytes)
    }

    /// Returns the frames themselves, for sharing.
    #[inline]
    pub fn as_frames(&self) -> &[Bytes] {
        match &self.0 {
            Repr::One(frame) => std::slice::from_ref(frame),
            Repr::Many(frames) => frames,
        }
    }

    /// Copies the frames that keep far more memory than they need ([`Bytes::is_wasteful`]). Called before a message
    /// is stored.
    pub fn compact(&mut self) {
        if self.as_frames().iter().any(Bytes::is_wasteful) {
            *self = self.as_frames().iter().map(Bytes::compacted).collect();
        }
    }

    /// Returns the frame of a message of one frame.
    #[inline]
    pub fn as_single(&self) -> Option<&Bytes> {
        match &self.0 {
            Repr::One(frame) => Some(frame),
            Repr::Many(_) => None,
        }
    }

    /// Returns the frame of a message of one frame. Several frames are replaced by one empty frame.
    #[inline]
    pub(crate) fn single_mut(&mut self) -> &mut Bytes {
        if let Repr::Many(_) = self.0 {
            *self = Message::new();
        }
        match &mut self.0 {
            Repr::One(frame) => frame,
            // INVARIANT: replaced by a single frame above.
            Repr::Many(_) => unreachable!(),
        }
    }

    /// Returns the frame of a message of one frame, if its bytes are stored inside.
    #[inline]
    pub(crate) fn short_mut(&mut self) -> Option<&mut Bytes> {
        match &mut self.0 {
            Repr::One(frame) if !frame.is_shared() => Some(frame),
            _ => None,
        }
    }

    /// Returns the frame of a message of one frame, or the message itself if it has several.
    #[inline]
    pub(crate) fn into_single(self) -> Result<Bytes, Message> {
        match self.0 {
            Repr::One(frame) => Ok(frame),
            many @ Repr::Many(_) => Err(Message(many)),
        }
    }

    /// Returns the message with a frame in front.
    #[inline]
    pub fn with_first(self, first: Bytes) -> Message {
        Message(Repr::Many(match self.0 {
            Repr::One(frame) => Box::new([first, frame]),
            Repr::Many(frames) => {
                let mut all = Vec::with_capacity(frames.len() + 1);
                all.push(first);
                all.extend(frames);
                all.into_boxed_slice()
            }
        }))
    }

    /// Becomes `rest` with a frame in front. Reuses a list of two frames, which a repeatedly received message has.
    #[inline]
    pub fn set_with_first(&mut self, first: &Bytes, rest: Message) {
        match (&mut self.0, rest.0) {
            (Repr::Many(frames), Repr::One(body)) if frames.len() == 2 => {
                if frames[0] != *first {
                    frames[0] = first.clone();
                }
                frames[1] = body;
            }
            (_, rest) => *self = Message(rest).with_first(first.clone()),
        }
    }

    /// Returns the size of all frames together, in bytes.
    #[inline]
    pub fn size(&self) -> usize {
        match &self.0 {
            Repr::One(frame) => frame.size(),
            Repr::Many(frames) => frames.iter().map(Bytes::size).sum(),
        }
    }
}

impl Default for Message {
    fn default() -> Message {
        Message::new()
    }
}

impl From<Bytes> for Message {
    #[inline]
    fn from(frame: Bytes) -> Message {
        Message(Repr::One(frame))
    }
}

impl FromIterator<Bytes> for Message {
    fn from_iter<I: IntoIterator<Item = Bytes>>(frames: I) -> Message {
        let mut frames = frames.into_iter();
        let Some(first) = frames.next() else { return Message::new() };
        match frames.next() {
            None => Message(Repr::One(first)),
            Some(second) => Message(Repr::Many([first, second].into_iter().chain(frames).collect())),
        }
    }
}

impl From<&[u8]> for Message {
    fn from(bytes: &[u8]) -> Message {
        Bytes::copy_of(bytes).into()
    }
}

impl<const N: usize> From<&[u8; N]> for Message {
    fn from(bytes: &[u8; N]) -> Message {
        Bytes::copy_of(bytes).into()
    }
}

impl From<&str> for Message {
    fn from(text: &str) -> Message {
        Bytes::copy_of(text.as_bytes()).into()
    }
}

impl From<Vec<u8>> for Message {
    fn from(bytes: Vec<u8>) -> Message {
        Bytes::from_vec(bytes).into()
    }
}

impl From<String> for Message {
    fn from(text: String) -> Message {
        Bytes::from_vec(text.into_bytes()).into()
    }
}

impl fmt::Debug for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.as_frames()).finish()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn frames_keep_their_number_and_order() {
        let message = Message::from_frames(["a", "", "ccc"]);
        assert_eq!(message.frame_count(), 3);
        assert_eq!(message.frames().collect::<Vec<_>>(), [&b"a"[..], b"", b"ccc"]);
        assert_eq!(message.body(), b"ccc");
        assert_eq!(message.size(), 4);
        assert_eq!(message.frame(3), None);
    }

    #[test]
    fn a_frame_goes_in_front_of_however_many() {
        let named = |frames: &[&str]| Message::from_frames(frames).with_first(Bytes::copy_of(b"name"));
        assert_eq!(named(&["a"]), Message::from_frames(["name", "a"]));
        assert_eq!(named(&["a", "b", "c"]), Message::from_frames(["name", "a", "b", "c"]));
    }

    #[test]
    fn a_list_of_two_frames_is_used_again_and_no_other() {
        let name = Bytes::copy_of(b"name");
        for before in [&["x"][..], &["name", "x"], &["other", "x"], &["name", "x", "y"]] {
            let mut message = Message::from_frames(before);
            let list = message.as_frames().as_ptr();
            message.set_with_first(&name, Message::from("a"));
            assert_eq!(message, Message::from_frames(["name", "a"]));
            assert_eq!(message.as_frames().as_ptr() == list, before.len() == 2, "{before:?}");
            message.set_with_first(&name, Message::from_frames(["", "b"]));
            assert_eq!(message, Message::from_frames(["name", "", "b"]));
        }
    }

    #[test]
    fn no_frames_make_one_empty_frame() {
        let message = Message::from_frames(Vec::<Vec<u8>>::new());
        assert_eq!((message.frame_count(), message.size()), (1, 0));
    }
}
