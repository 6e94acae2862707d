//! `ReadBuffer`: read big, slice, never copy; and `BodyBuffer`: a large body in its own allocation.
//!
//! Bytes enter at the end by [`ReadBuffer::fill`] and leave at the start as frames. A short frame is
//! copied out, so a stream of short frames reuses one block for ever; a longer one becomes a counted
//! slice of the block, and the next read goes to a fresh block while slices of the old one live.
//!
//! ```text
//!   block: | handed out | unread     | spare            | slack |
//!          0            start        end         capacity
//! ```

use std::mem::MaybeUninit;
use std::ptr::NonNull;
use std::sync::Arc;

use crate::block::Block;
use crate::frame::{Frame, INLINE_SIZE_MAX, SHORT, SHORT_HEADER_SIZE};
use crate::message::Message;
use crate::pool::BlockPool;

/// How many bytes a read buffer holds, and so the most that one read takes.
pub const READ_SIZE: usize = 64 * 1024;

/// The first byte of a frame's header that gives the size in eight bytes (ZMTP: LONG and no other flag).
const LONG: u8 = 2;
const LONG_HEADER_SIZE: usize = 9;

/// A copied body larger than this gets a block of its own.
const ARENA_SIZE_MAX: usize = 8 * 1024;

/// References taken at once; topped up long before they run out.
const CREDIT: usize = 1 << 20;

/// Received bytes that have not been handed out yet, and room for more.
pub struct ReadBuffer {
    pool: Arc<BlockPool>,
    block: Block,
    bytes: NonNull<u8>,
    start: usize,
    end: usize,
    /// References this buffer may still give away; it keeps the last for itself.
    credit: usize,
}

// SAFETY: the buffer owns its references and is the block's only writer.
unsafe impl Send for ReadBuffer {}

impl ReadBuffer {
    /// An empty buffer of [`READ_SIZE`] bytes.
    pub fn new(pool: &Arc<BlockPool>) -> ReadBuffer {
        let (block, bytes) = Block::pooled(pool, READ_SIZE, CREDIT);
        ReadBuffer { pool: Arc::clone(pool), block, bytes, start: 0, end: 0, credit: CREDIT }
    }

    /// What has been received and not been handed out.
    #[inline]
    pub fn unread(&self) -> &[u8] {
        // SAFETY: `start..end` was initialised by `fill` or `append`, and is written by nobody else.
        unsafe { std::slice::from_raw_parts(self.bytes.as_ptr().add(self.start), self.end - self.start) }
    }

    /// As [`ReadBuffer::unread`], to be changed in place before it is handed out.
    #[inline]
    pub fn unread_mut(&mut self) -> &mut [u8] {
        // SAFETY: as in `unread`; slices handed out end before `start`, so nobody else sees these bytes.
        unsafe { std::slice::from_raw_parts_mut(self.bytes.as_ptr().add(self.start), self.end - self.start) }
    }

    /// Drops the next `count` unread bytes.
    #[inline]
    pub fn consume(&mut self, count: usize) {
        assert!(count <= self.end - self.start);
        self.start += count;
    }

    /// Hands out the `size` unread bytes that follow `skip` others, as a frame, and consumes both.
    #[inline]
    pub fn take(&mut self, skip: usize, size: usize) -> Frame {
        assert!(skip + size <= self.end - self.start);
        // SAFETY: within the unread part, by the assertion.
        let start = unsafe { self.bytes.add(self.start + skip) };
        self.start += skip + size;
        if size <= INLINE_SIZE_MAX {
            // SAFETY: `size` initialised bytes that nobody writes while they are copied.
            return Frame::copy_of(unsafe { std::slice::from_raw_parts(start.as_ptr(), size) });
        }
        self.count_slice();
        // SAFETY: one reference of the credit goes with the slice; bytes before `start` are not
        // written while other references exist (`make_room`).
        unsafe { Frame::slice(self.block, start, size) }
    }

    /// As [`ReadBuffer::take`], in place, for any size.
    #[inline]
    fn take_slice(&mut self, frame: &mut Frame, skip: usize, size: usize) {
        if size <= INLINE_SIZE_MAX {
            *frame = self.take(skip, size);
            return;
        }
        assert!(skip + size <= self.end - self.start);
        // SAFETY: within the unread part, by the assertion.
        let start = unsafe { self.bytes.add(self.start + skip) };
        self.start += skip + size;
        self.count_slice();
        // SAFETY: as in `take`.
        unsafe { frame.set_slice(self.block, start, size) };
    }

    #[inline]
    fn count_slice(&mut self) {
        if self.credit == 1 {
            self.block.retain(CREDIT);
            self.credit += CREDIT;
        }
        self.credit -= 1;
    }

    /// Takes a message of one frame that is here whole: a header of 2 or 9 bytes (0 and the size, or 2
    /// and the size in eight bytes, big endian), then the body. Returns false, taking nothing, for
    /// anything else.
    #[inline]
    pub fn take_single(&mut self, message: &mut Message) -> bool {
        let (header_size, size) = match self.unread() {
            [SHORT, size, ..] => (SHORT_HEADER_SIZE, *size as usize),
            [LONG, size @ ..] if size.len() >= 8 => {
                // INVARIANT: eight bytes are there, by the condition.
                let size = u64::from_be_bytes(*size.first_chunk().expect("eight bytes"));
                (LONG_HEADER_SIZE, size.min(READ_SIZE as u64) as usize)
            }
            _ => return false,
        };
        if header_size + size > self.end - self.start {
            return false;
        }
        if header_size == SHORT_HEADER_SIZE && size <= INLINE_SIZE_MAX {
            // SAFETY: a short frame that is here whole, in a block that has slack behind its capacity.
            unsafe { self.copy_short(message.single_mut()) };
            self.start += SHORT_HEADER_SIZE + size;
        } else {
            self.take_slice(message.single_mut(), header_size, size);
        }
        true
    }

    /// Takes messages as [`ReadBuffer::take_single`] does, at most `max`, and appends them to `into`. Returns how many
    /// bytes they had here.
    pub fn take_singles(&mut self, into: &mut Vec<Message>, max: usize) -> usize {
        let before = self.start;
        for _ in 0..max {
            into.push(Message::new());
            let at = into.len() - 1;
            if !self.take_single(&mut into[at]) {
                into.pop();
                break;
            }
        }
        self.start - before
    }

    /// # Safety
    /// The unread bytes start with a short frame that is here whole.
    #[inline(always)]
    unsafe fn copy_short(&self, frame: &mut Frame) {
        // SAFETY: passed on; 64 bytes may be read from anywhere in the block.
        unsafe {
            let start = self.bytes.as_ptr().add(self.start);
            if start.add(1).read() <= 14 {
                frame.set_short::<16>(start);
            } else {
                frame.set_short::<64>(start);
            }
        }
    }

    /// Room behind the unread bytes, at least half the buffer unless more than that is unread.
    fn make_room(&mut self) {
        let unread = self.end - self.start;
        let alone = self.block.references() == self.credit;
        if self.start == 0 || (unread > 0 && READ_SIZE - self.end >= READ_SIZE / 2) {
            return;
        }
        if alone {
            // SAFETY: no slice refers to the block; the ranges may overlap.
            unsafe {
                let from = self.bytes.as_ptr().add(self.start);
                std::ptr::copy(from, self.bytes.as_ptr(), unread);
            }
        } else {
            if READ_SIZE - self.end >= READ_SIZE / 2 {
                return;
            }
            let (block, bytes) = Block::pooled(&self.pool, READ_SIZE, CREDIT);
            // SAFETY: `unread` bytes fit a fresh block of the same capacity.
            unsafe {
                let from = self.bytes.as_ptr().add(self.start);
                std::ptr::copy_nonoverlapping(from, bytes.as_ptr(), unread);
                self.block.release(self.credit);
            }
            (self.block, self.bytes, self.credit) = (block, bytes, CREDIT);
        }
        (self.start, self.end) = (0, unread);
    }

    /// Reads once into the spare room. `read` gets the room and returns the part it filled, which
    /// starts where the room starts. Returns that part's length and whether it was all the room.
    pub fn fill<E>(
        &mut self,
        read: impl for<'a> FnOnce(&'a mut [MaybeUninit<u8>]) -> Result<&'a mut [u8], E>,
    ) -> Result<(usize, bool), E> {
        self.make_room();
        let room = READ_SIZE - self.end;
        // SAFETY: `end..capacity` belongs to the buffer alone: slices end before `start`.
        let spare = unsafe {
            std::slice::from_raw_parts_mut(self.bytes.as_ptr().add(self.end).cast::<MaybeUninit<u8>>(), room)
        };
        let at = spare.as_ptr().cast::<u8>();
        let filled = read(spare)?;
        assert!(std::ptr::eq(filled.as_ptr(), at) && filled.len() <= room);
        let count = filled.len();
        self.end += count;
        Ok((count, count == room))
    }

    /// Whether there is no room for another byte however the unread ones are moved.
    pub fn is_full(&self) -> bool {
        self.end - self.start == READ_SIZE
    }

    /// A frame of these bytes: a buffer that nothing is read into serves as an arena for such copies. A
    /// large one gets a block of its own. Nothing may be unread.
    #[inline]
    pub fn copy_of(&mut self, bytes: &[u8]) -> Frame {
        if bytes.len() <= INLINE_SIZE_MAX {
            return Frame::copy_of(bytes);
        }
        if bytes.len() > ARENA_SIZE_MAX {
            return Frame::pooled_copy_of(bytes, &self.pool);
        }
        self.append(bytes);
        self.take(0, bytes.len())
    }

    /// Copies `bytes` behind the unread ones; they must fit.
    pub fn append(&mut self, bytes: &[u8]) {
        self.make_room();
        assert!(bytes.len() <= READ_SIZE - self.end);
        // SAFETY: the spare room is the buffer's own and large enough.
        unsafe {
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), self.bytes.as_ptr().add(self.end), bytes.len());
        }
        self.end += bytes.len();
    }
}

impl Drop for ReadBuffer {
    fn drop(&mut self) {
        // SAFETY: the credit is the buffer's own, and it is gone after this.
        unsafe { self.block.release(self.credit) };
    }
}

/// A body of known size that is read straight into its own allocation.
pub struct BodyBuffer {
    block: Block,
    bytes: NonNull<u8>,
    size: usize,
    filled: usize,
}

// SAFETY: the buffer owns the block's only reference.
unsafe impl Send for BodyBuffer {}

impl BodyBuffer {
    /// Room for a body of `size` bytes. Memory is used as it fills, not before.
    pub fn new(size: usize, pool: &Arc<BlockPool>) -> BodyBuffer {
        let (block, bytes) = Block::pooled(pool, size, 1);
        BodyBuffer { block, bytes, size, filled: 0 }
    }

    /// How many bytes are still missing.
    pub fn missing(&self) -> usize {
        self.size - self.filled
    }

    /// Copies `bytes` in; no more than are missing.
    pub fn append(&mut self, bytes: &[u8]) {
        assert!(bytes.len() <= self.missing());
        // SAFETY: within the block's capacity, which nobody else sees yet.
        unsafe {
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), self.bytes.as_ptr().add(self.filled), bytes.len());
        }
        self.filled += bytes.len();
    }

    /// Reads once into the missing part; as [`ReadBuffer::fill`].
    pub fn fill<E>(
        &mut self,
        read: impl for<'a> FnOnce(&'a mut [MaybeUninit<u8>]) -> Result<&'a mut [u8], E>,
    ) -> Result<(usize, bool), E> {
        // SAFETY: within the block's capacity, which nobody else sees yet.
        let room = unsafe {
            let from = self.bytes.as_ptr().add(self.filled).cast::<MaybeUninit<u8>>();
            std::slice::from_raw_parts_mut(from, self.missing())
        };
        let (at, room_size) = (room.as_ptr().cast::<u8>(), room.len());
        let filled = read(room)?;
        assert!(std::ptr::eq(filled.as_ptr(), at) && filled.len() <= room_size);
        let count = filled.len();
        self.filled += count;
        Ok((count, count == room_size))
    }

    /// What is there of the body, to be changed in place.
    pub fn filled_mut(&mut self) -> &mut [u8] {
        // SAFETY: the first `filled` bytes are initialised, in a block that nobody else sees yet.
        unsafe { std::slice::from_raw_parts_mut(self.bytes.as_ptr(), self.filled) }
    }

    /// The complete body.
    pub fn finish(self) -> Frame {
        self.finish_behind(0)
    }

    /// The complete body without its first `skip` bytes.
    pub fn finish_behind(self, skip: usize) -> Frame {
        assert!(self.missing() == 0 && skip <= self.size);
        let this = std::mem::ManuallyDrop::new(self);
        // SAFETY: all `size` bytes are initialised, `skip` is among them; the one reference goes with the frame.
        unsafe { Frame::slice(this.block, this.bytes.add(skip), this.size - skip) }
    }
}

impl Drop for BodyBuffer {
    fn drop(&mut self) {
        // SAFETY: the only reference, and it is gone after this.
        unsafe { self.block.release(1) };
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// Fills from `source` as a read(2) would and returns how much was taken.
    fn feed(buffer: &mut ReadBuffer, source: &[u8]) -> usize {
        let result: Result<_, ()> = buffer.fill(|room| {
            let count = room.len().min(source.len());
            let (to, from) = (&mut room[..count], &source[..count]);
            Ok(to.write_copy_of_slice(from))
        });
        result.unwrap().0
    }

    #[test]
    fn long_frames_survive_later_reads() {
        let mut buffer = ReadBuffer::new(&BlockPool::new());
        let mut held = Vec::new();
        for round in 0..50u8 {
            let source = vec![round; 3 * 1000];
            assert_eq!(feed(&mut buffer, &source), 3000);
            held.extend((0..3).map(|_| buffer.take(0, 1000)));
        }
        for (i, frame) in held.iter().enumerate() {
            assert_eq!(frame.as_bytes(), vec![(i / 3) as u8; 1000]);
        }
    }

    #[test]
    fn short_frames_reuse_the_block_and_leftovers_move_to_its_front() {
        let mut buffer = ReadBuffer::new(&BlockPool::new());
        let before = buffer.bytes;
        let source: Vec<u8> = (0..READ_SIZE).map(|i| i as u8).collect();
        for _ in 0..5 {
            feed(&mut buffer, &source[..READ_SIZE - 100]);
            while buffer.unread().len() > 10 {
                let first = buffer.unread()[2];
                assert_eq!(buffer.take(2, 7).as_bytes()[0], first);
            }
        }
        assert_eq!(buffer.bytes, before);
    }

    #[test]
    fn only_whole_single_frames_are_taken_the_short_way() {
        let mut buffer = ReadBuffer::new(&BlockPool::new());
        let mut message = Message::new();
        for (bytes, expected) in [
            (vec![0, 3, b'a', b'b', b'c'], Some(&b"abc"[..])),
            (vec![0, 0], Some(&b""[..])),
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
            (vec![4, 1, b'x'], None),
        ] {
            buffer.consume(buffer.unread().len());
            buffer.append(&bytes);
            assert_eq!(buffer.take_single(&mut message), expected.is_some(), "{bytes:?}");
            if let Some(body) = expected {
                assert_eq!(message.body(), body);
            }
        }
    }

    #[test]
    fn several_are_taken_at_once_up_to_the_first_that_is_not_whole_or_not_single() {
        let mut buffer = ReadBuffer::new(&BlockPool::new());
        let mut messages = vec![Message::new()];
        buffer.append(b"\0\x01a\0\0\0\x02bc\x01\x01d\0\x01e");
        assert_eq!(buffer.take_singles(&mut messages, 2), 5);
        assert_eq!(buffer.take_singles(&mut messages, 9), 4);
        assert_eq!(buffer.take_singles(&mut messages, 9), 0);
        let bodies: Vec<_> = messages.iter().map(Message::body).collect();
        assert_eq!(bodies, [&b""[..], b"a", b"", b"bc"]);
        assert_eq!(buffer.unread(), b"\x01\x01d\0\x01e");
    }

    #[test]
    fn what_is_changed_in_place_is_what_is_handed_out() {
        let mut buffer = ReadBuffer::new(&BlockPool::new());
        feed(&mut buffer, &[1; 1000]);
        let first = buffer.take(0, 400);
        buffer.unread_mut()[..300].fill(2);
        let second = buffer.take(0, 600);
        assert_eq!((first.as_bytes(), &second.as_bytes()[..300]), (&[1; 400][..], &[2; 300][..]));
        assert_eq!(second.as_bytes()[300..], [1; 300]);

        let mut body = BodyBuffer::new(1000, &BlockPool::new());
        body.append(&[1; 1000]);
        body.filled_mut()[33..].fill(3);
        assert_eq!(body.finish_behind(33).as_bytes(), [3; 967]);
    }

    #[test]
    fn a_body_arrives_in_pieces() {
        let mut body = BodyBuffer::new(100_000, &BlockPool::new());
        body.append(&[1; 10]);
        while body.missing() > 0 {
            let result: Result<_, ()> = body.fill(|room| {
                let count = room.len().min(7777);
                Ok(room[..count].write_copy_of_slice(&vec![2; count]))
            });
            result.unwrap();
        }
        let frame = body.finish();
        assert_eq!(frame.size(), 100_000);
        assert_eq!((frame.as_bytes()[9], frame.as_bytes()[10], frame.as_bytes()[99_999]), (1, 2, 2));
    }
}
