//! What a session retains of the messages that it sent, until they are settled.
//!
//! It is what was written: the segments of the outgoing buffer stay until all messages in them are settled. Where traffic is
//! sealed they would be of no use for another peer; then the plain frames are kept beside.

use hairstreak_base::{Bytes, Message, RetainedBytes, RetainedPart};
use hairstreak_wire::settlement::{Ranges, TaskRun};
use hairstreak_wire::zmtp::frame::{self, HEADER_SIZE_MAX, encode_header};

use super::settling::Sending;
use super::zmtp::Session;
use crate::outgoing::Parcel;

impl Session {
    /// Keeps what is sent sealed.
    pub(super) fn retain_plain(&mut self, parcel: &Parcel<'_>) {
        let Some(Sending { plain: Some(plain), encoded, .. }) = self.sending_mut() else { return };
        encoded.clear();
        Session::encode(parcel.message, encoded);
        plain.push_copy(encoded, &[], true);
        // It is as good as written.
        while !plain.is_empty() {
            let _ = plain.write_with(|slices| Ok(slices.iter().map(|slice| slice.len()).sum()));
        }
    }

    /// Those of these numbers, ascending, that are retained.
    pub(super) fn messages_of(&self, tasks: Vec<(u64, TaskRun)>) -> Vec<(TaskRun, Message)> {
        let mut wanted = Ranges::new();
        for (number, _) in &tasks {
            wanted.insert(*number..number + 1);
        }
        let mut messages = self.retained_messages(&wanted).into_iter().peekable();
        let with_message = tasks.into_iter().filter_map(|(number, task)| {
            let (_, message) = messages.next_if(|(other, _)| *other == number)?;
            Some((task, message))
        });
        with_message.collect()
    }

    /// Those of the retained messages whose numbers are wanted, in order.
    pub(super) fn retained_messages(&self, wanted: &Ranges) -> Vec<(u64, Message)> {
        let plain = self.sending().and_then(|sending| sending.plain.as_ref());
        let Some(parts) = plain.unwrap_or(&self.connection.output).retained() else { return Vec::new() };
        let (Some(first), count) = (wanted.first(), wanted.count() as usize) else { return Vec::new() };
        let mut picking =
            Picking { wanted, number: 0, listed: &[], frames: Vec::new(), messages: Vec::new() };
        // The header whose body is the next part.
        let mut split = None;
        let mut parts = parts.peekable();
        while let Some(part) = parts.next().filter(|_| picking.messages.len() < count) {
            // The message behind those that ended before the next part may have begun in this one.
            if parts.peek().is_some_and(|next| (next.before as u64) + 1 < first) {
                continue;
            }
            picking.begin(part);
            match part.bytes {
                RetainedBytes::Body(frame) => picking.take(|| frame.clone(), split.take().unwrap_or(false)),
                RetainedBytes::Encoded(mut bytes) => {
                    while let Ok(Some(header)) = frame::decode_header(bytes, usize::MAX) {
                        let (start, end) = (header.header_size, header.header_size + header.body_size);
                        let Some(body) = bytes.get(start..end) else {
                            split = Some(header.more);
                            break;
                        };
                        if !header.command {
                            picking.take(|| Bytes::pooled_copy_of(body, &self.pool), header.more);
                        }
                        bytes = &bytes[end..];
                    }
                }
            }
        }
        debug_assert_eq!(picking.messages.len() as u64, wanted.count(), "what is unsettled is retained");
        picking.messages
    }

    /// Appends a body that is too long to be copied into a segment, in memory of its own, to be retained.
    pub(super) fn push_owned(&mut self, body: &[u8], more: bool) {
        let mut header = [0; HEADER_SIZE_MAX];
        let size = encode_header(&mut header, more, false, body.len());
        let frame = Bytes::pooled_copy_of(body, &self.pool);
        self.connection.output.push_shared(&header[..size], frame, !more);
    }
}

/// Takes messages out of what is retained.
struct Picking<'a> {
    wanted: &'a Ranges,
    /// The message that the next frame belongs to, and those behind it, if they do not follow each other.
    number: u64,
    listed: &'a [usize],
    frames: Vec<Bytes>,
    messages: Vec<(u64, Message)>,
}

impl<'a> Picking<'a> {
    fn begin(&mut self, part: RetainedPart<'a>) {
        (self.number, self.listed) = match part.numbers {
            Some([first, rest @ ..]) => (*first as u64, rest),
            _ => (part.before as u64 + 1, &[][..]),
        };
    }

    fn take(&mut self, frame: impl FnOnce() -> Bytes, more: bool) {
        if self.wanted.contains(self.number) {
            self.frames.push(frame());
            if !more {
                self.messages.push((self.number, self.frames.drain(..).collect()));
            }
        }
        if !more {
            self.number = match self.listed.split_first() {
                Some((next, rest)) => {
                    self.listed = rest;
                    *next as u64
                }
                None => self.number + 1,
            };
        }
    }
}
