//! `Outgoing`: what may be sent, always borrowed: a send that fails leaves it with the caller.

use hairstreak_base::{Bytes, Message};

/// A message to send.
#[derive(Clone, Copy, Debug)]
pub enum Outgoing<'a> {
    /// One frame, copied.
    Body(&'a [u8]),
    /// Several frames, copied. No frames stand for one empty frame.
    Frames(&'a [&'a [u8]]),
    /// A message; its long bodies are shared, not copied.
    Message(&'a Message),
    /// Frames of somebody else's message behind a head of this one's own: short ones are copied, long ones of the body shared.
    /// At least one frame in all.
    Headed {
        /// The first frames.
        head: &'a [&'a [u8]],
        /// Those behind them.
        body: &'a [Bytes],
    },
}

impl Outgoing<'_> {
    /// Bytes of all frames.
    #[inline]
    pub fn size(&self) -> usize {
        match self {
            Outgoing::Body(body) => body.len(),
            Outgoing::Frames(frames) => frames.iter().map(|frame| frame.len()).sum(),
            Outgoing::Message(message) => message.size(),
            Outgoing::Headed { head, body } => {
                let head: usize = head.iter().map(|frame| frame.len()).sum();
                head + body.iter().map(Bytes::size).sum::<usize>()
            }
        }
    }

    pub(crate) fn for_each_frame(&self, mut with: impl FnMut(usize, &[u8])) {
        match self {
            Outgoing::Body(body) => with(0, body),
            Outgoing::Frames([]) => with(0, &[]),
            Outgoing::Frames(frames) => frames.iter().enumerate().for_each(|(i, frame)| with(i, frame)),
            Outgoing::Message(message) => message.frames().enumerate().for_each(|(i, frame)| with(i, frame)),
            Outgoing::Headed { head, body } => {
                let body = body.iter().map(Bytes::as_bytes);
                head.iter().copied().chain(body).enumerate().for_each(|(i, frame)| with(i, frame));
            }
        }
    }

    /// A message of its own, to be shared.
    pub(crate) fn to_message(self) -> Message {
        match self {
            Outgoing::Body(body) => body.into(),
            Outgoing::Frames(frames) => Message::from_frames(frames),
            Outgoing::Message(message) => message.clone(),
            Outgoing::Headed { head, body } => {
                head.iter().map(|frame| Bytes::copy_of(frame)).chain(body.iter().cloned()).collect()
            }
        }
    }

    /// The first frame: what subscriptions are matched with.
    #[inline]
    pub(crate) fn first_frame(&self) -> &[u8] {
        match self {
            Outgoing::Body(body) => body,
            Outgoing::Frames(frames) => frames.first().copied().unwrap_or_default(),
            Outgoing::Message(message) => message.as_frames()[0].as_bytes(),
            Outgoing::Headed { head: [first, ..], .. } => first,
            Outgoing::Headed { body, .. } => body.first().map(Bytes::as_bytes).unwrap_or_default(),
        }
    }

    /// The first frame, if others follow.
    pub(crate) fn first_of_several(&self) -> Option<&[u8]> {
        match self {
            Outgoing::Frames([first, _, ..]) => Some(first),
            Outgoing::Message(message) if message.frame_count() > 1 => message.frame(0),
            Outgoing::Headed { head, body } if head.len() + body.len() > 1 => Some(self.first_frame()),
            _ => None,
        }
    }

    /// How many frames.
    pub fn frame_count(&self) -> usize {
        match self {
            Outgoing::Body(_) => 1,
            Outgoing::Frames(frames) => frames.len().max(1),
            Outgoing::Message(message) => message.frame_count(),
            Outgoing::Headed { head, body } => head.len() + body.len(),
        }
    }
}

/// A message on its way to one link.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Parcel<'a> {
    /// Frames that go before it.
    pub envelope: &'a [Bytes],
    pub message: &'a Outgoing<'a>,
    /// How many of its own first frames do not go.
    pub skip_frames: usize,
    /// The whole of it encoded for the wire, if it goes to several peers; a stream takes that.
    pub encoded: &'a [u8],
}

impl<'a> Parcel<'a> {
    /// Envelope and message as one.
    pub fn to_message(self) -> Message {
        if self.envelope.is_empty() && self.skip_frames == 0 {
            return self.message.to_message();
        }
        let message = self.message.to_message();
        self.envelope.iter().chain(message.as_frames().iter().skip(self.skip_frames)).cloned().collect()
    }

    /// The message as it is.
    pub fn plain(message: &'a Outgoing<'a>) -> Parcel<'a> {
        Parcel { envelope: &[], message, skip_frames: 0, encoded: &[] }
    }
}

impl<'a> From<&'a [u8]> for Outgoing<'a> {
    #[inline]
    fn from(body: &'a [u8]) -> Self {
        Outgoing::Body(body)
    }
}

impl<'a, const N: usize> From<&'a [u8; N]> for Outgoing<'a> {
    #[inline]
    fn from(body: &'a [u8; N]) -> Self {
        Outgoing::Body(body)
    }
}

impl<'a> From<&'a Vec<u8>> for Outgoing<'a> {
    fn from(body: &'a Vec<u8>) -> Self {
        Outgoing::Body(body)
    }
}

impl<'a> From<&'a str> for Outgoing<'a> {
    fn from(text: &'a str) -> Self {
        Outgoing::Body(text.as_bytes())
    }
}

impl<'a> From<&'a String> for Outgoing<'a> {
    fn from(text: &'a String) -> Self {
        Outgoing::Body(text.as_bytes())
    }
}

impl<'a> From<&'a [&'a [u8]]> for Outgoing<'a> {
    fn from(frames: &'a [&'a [u8]]) -> Self {
        Outgoing::Frames(frames)
    }
}

impl<'a, const N: usize> From<&'a [&'a [u8]; N]> for Outgoing<'a> {
    fn from(frames: &'a [&'a [u8]; N]) -> Self {
        Outgoing::Frames(frames)
    }
}

impl<'a> From<&'a Message> for Outgoing<'a> {
    #[inline]
    fn from(message: &'a Message) -> Self {
        Outgoing::Message(message)
    }
}
