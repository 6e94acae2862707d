//! `ReadBuffer`: large reads, sliced without a copy; and `BodyBuffer`: a large body in its own allocation.
//!
//! Bytes enter at the end by [`ReadBuffer::fill`] and leave at the start as frames. A short frame is copied out, so a
//! stream of short frames reuses one block for ever. A longer frame becomes a counted slice of the block; while such
//! slices live, the next read goes to a fresh block.
//!
//! ```text
//!   block: | handed out | unread     | spare            | slack |
//!          0            start        end         capacity
//! ```

use std::mem::MaybeUninit;
use std::ptr::NonNull;
use std::sync::Arc;

use crate::block::Block;
use crate::bytes::{Bytes, INLINE_SIZE_MAX, SHORT_HEADER_SIZE};
use crate::framing::Framing;
use crate::message::Message;
use crate::pool::BlockPool;

/// Size of a read buffer in bytes, and so the most that one read takes.
pub const READ_SIZE: usize = 64 * 1024;

/// Largest copied body that shares a block, in bytes. A larger one gets a block of its own.
const ARENA_SIZE_MAX: usize = 8 * 1024;

/// Number of references taken at once. They are topped up long before they run out.
const CREDIT: usize = 1 << 20;

/// Received bytes that have not been handed out yet, and room for more.
pub struct ReadBuffer {
    pool: Arc<BlockPool>,
    /// `None` at rest: then no byte is unread.
    block: Option<Block>,
    bytes: NonNull<u8>,
    start: usize,
    end: usize,
    /// References that this buffer may still give away. It keeps the last for itself.
    credit: usize,
    /// The buffer keeps its block at rest.
    keeps_block: bool,
}

// SAFETY: the buffer owns its references and is the block's only writer.
unsafe impl Send for ReadBuffer {}

impl ReadBuffer {
    /// Creates an empty buffer. It borrows a block of [`READ_SIZE`] bytes from the pool before the first read.
    pub fn new(pool: &Arc<BlockPool>) -> ReadBuffer {
        ReadBuffer {
            pool: Arc::clone(pool),
            block: None,
            bytes: NonNull::dangling(),
            start: 0,
            end: 0,
            credit: 0,
            keeps_block: false,
        }
    }

    /// Makes [`ReadBuffer::rest`] keep the block until [`ReadBuffer::give_block_back`], because borrowing takes a
    /// lock. Returns whether it did so before.
    #[inline]
    pub fn keep_block(&mut self) -> bool {
        std::mem::replace(&mut self.keeps_block, true)
    }

    /// Ends [`ReadBuffer::keep_block`], and rests.
    pub fn give_block_back(&mut self) {
        self.keeps_block = false;
        self.rest();
    }

    /// Gives the block back to the pool if no byte is unread and no slice of the block lives. Live slices keep the
    /// block here: the next bytes go behind them, so that many small slices share one block. Returns whether the
    /// buffer has no block.
    #[inline]
    pub fn rest(&mut self) -> bool {
        let is_free =
            |block: Block| !self.keeps_block && self.start == self.end && block.references() == self.credit;
        if self.block.is_some_and(is_free) {
            self.give_back();
        }
        self.block.is_none()
    }

    fn give_back(&mut self) {
        if let Some(block) = self.block.take() {
            // SAFETY: the credit is the buffer's own, and it is gone after this.
            unsafe { block.release(self.credit) };
        }
        (self.bytes, self.start, self.end, self.credit) = (NonNull::dangling(), 0, 0, 0);
    }

    /// Returns the block to read into.
    fn borrow(&mut self) -> Block {
        if let Some(block) = self.block {
            return block;
        }
        let (block, bytes) = Block::pooled(&self.pool, READ_SIZE, CREDIT);
        (self.block, self.bytes, self.start, self.end, self.credit) = (Some(block), bytes, 0, 0, CREDIT);
        block
    }

    /// Returns the received bytes that have not been handed out.
    #[inline]
    pub fn unread(&self) -> &[u8] {
        // SAFETY: `start..end` was initialised by `fill` or `append`, and only this buffer writes it.
        unsafe { std::slice::from_raw_parts(self.bytes.as_ptr().add(self.start), self.end - self.start) }
    }

    /// Like [`ReadBuffer::unread`], for changes in place before the bytes are handed out.
    #[inline]
    pub fn unread_mut(&mut self) -> &mut [u8] {
        // SAFETY: as in `unread`; slices handed out end before `start`, so these bytes are not shared.
        unsafe { std::slice::from_raw_parts_mut(self.bytes.as_ptr().add(self.start), self.end - self.start) }
    }

    /// Drops the next `count` unread bytes.
    #[inline]
    pub fn consume(&mut self, count: usize) {
        assert!(count <= self.end - self.start);
        self.start += count;
    }

    /// Hands out the `size` unread bytes behind `skip` others as a frame, and consumes both.
    #[inline]
    pub fn take(&mut self, skip: usize, size: usize) -> Bytes {
        assert!(skip + size <= self.end - self.start);
        // SAFETY: within the unread part, by the assertion.
        let start = unsafe { self.bytes.add(self.start + skip) };
        self.start += skip + size;
        if size <= INLINE_SIZE_MAX {
            // SAFETY: `size` initialised bytes, which only this buffer writes.
            return Bytes::copy_of(unsafe { std::slice::from_raw_parts(start.as_ptr(), size) });
        }
        let block = self.count_slice();
        // SAFETY: one reference of the credit goes with the slice; bytes before `start` are not
        // written while other references exist (`make_room`).
        unsafe { Bytes::slice(block, start, size) }
    }

    /// Like [`ReadBuffer::take`], in place, for any size.
    #[inline(never)]
    fn take_slice(&mut self, frame: &mut Bytes, skip: usize, size: usize) {
        if size <= INLINE_SIZE_MAX {
            *frame = self.take(skip, size);
            return;
        }
        assert!(skip + size <= self.end - self.start);
        // SAFETY: within the unread part, by the assertion.
        let start = unsafe { self.bytes.add(self.start + skip) };
        self.start += skip + size;
        let block = self.count_slice();
        // SAFETY: as in `take`.
        unsafe { frame.set_slice(block, start, size) };
    }

    /// Takes one reference of the credit.
    #[inline]
    fn count_slice(&mut self) -> Block {
        // INVARIANT: bytes that are handed out lie in a block.
        let block = self.block.expect("a slice has a block");
        if self.credit == 1 {
            block.retain(CREDIT);
            self.credit += CREDIT;
        }
        self.credit -= 1;
        block
    }

    /// Takes a completely received message of one frame, as `F` frames it. For anything else returns false and takes
    /// nothing.
    #[inline(always)]
    pub fn take_single<F: Framing>(&mut self, message: &mut Message) -> bool {
        let Some(header) = F::single(self.unread()) else { return false };
        let whole_size = header.size.saturating_add(header.body_size);
        if whole_size > self.end - self.start {
            return false;
        }
        if header.size >= SHORT_HEADER_SIZE && header.body_size <= INLINE_SIZE_MAX {
            // SAFETY: a completely received short body, behind a header of at least that size.
            unsafe { self.copy_short(message.single_mut(), header.size, header.body_size) };
            self.start += whole_size;
        } else {
            self.take_slice(message.single_mut(), header.size, header.body_size);
        }
        true
    }

    /// Takes messages like [`ReadBuffer::take_single`], at most `max`, and appends them to `into`. Returns their
    /// encoded size in bytes.
    pub fn take_singles<F: Framing>(&mut self, into: &mut Vec<Message>, max: usize) -> usize {
        let before = self.start;
        for _ in 0..max {
            into.push(Message::new());
            let at = into.len() - 1;
            if !self.take_single::<F>(&mut into[at]) {
                into.pop();
                break;
            }
        }
        self.start - before
    }

    /// # Safety
    /// `size` unread bytes, at most [`INLINE_SIZE_MAX`], lie behind `skip` others, at least [`SHORT_HEADER_SIZE`].
    #[inline(always)]
    unsafe fn copy_short(&self, bytes: &mut Bytes, skip: usize, size: usize) {
        // SAFETY: passed on; 64 bytes may be read from anywhere in the block, which has slack behind its capacity.
        unsafe {
            let start = self.bytes.as_ptr().add(self.start + skip);
            if size <= 14 {
                bytes.copy_inline::<16>(start, size);
            } else {
                bytes.copy_inline::<64>(start, size);
            }
        }
    }

    /// Makes room behind the unread bytes: at least half the buffer, unless more than half is unread.
    fn make_room(&mut self) {
        let unread = self.end - self.start;
        let block = self.borrow();
        let alone = block.references() == self.credit;
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
            let (fresh, bytes) = Block::pooled(&self.pool, READ_SIZE, CREDIT);
            // SAFETY: `unread` bytes fit a fresh block of the same capacity.
            unsafe {
                let from = self.bytes.as_ptr().add(self.start);
                std::ptr::copy_nonoverlapping(from, bytes.as_ptr(), unread);
                block.release(self.credit);
            }
            (self.block, self.bytes, self.credit) = (Some(fresh), bytes, CREDIT);
        }
        (self.start, self.end) = (0, unread);
    }

    /// Reads once into the spare room. `read` gets the room and returns the filled part, which starts where the room
    /// starts. Returns the length of that part and whether it was all the room.
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

    /// Returns whether the buffer has no room for another byte, even after moving the unread bytes.
    pub fn is_full(&self) -> bool {
        self.end - self.start == READ_SIZE
    }

    /// Returns a frame with a copy of these bytes. A buffer that receives nothing serves as an arena for such copies;
    /// a large copy gets a block of its own. No byte may be unread.
    #[inline]
    pub fn copy_of(&mut self, bytes: &[u8]) -> Bytes {
        if bytes.len() <= INLINE_SIZE_MAX {
            return Bytes::copy_of(bytes);
        }
        if bytes.len() > ARENA_SIZE_MAX {
            return Bytes::pooled_copy_of(bytes, &self.pool);
        }
        self.append(bytes);
        self.take(0, bytes.len())
    }

    /// Copies `bytes` behind the unread ones. They must fit.
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
        self.give_back();
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
    /// Creates a buffer for a body of `size` bytes. Memory is used only as it fills.
    pub fn new(size: usize, pool: &Arc<BlockPool>) -> BodyBuffer {
        let (block, bytes) = Block::pooled(pool, size, 1);
        BodyBuffer { block, bytes, size, filled: 0 }
    }

    /// Returns the number of missing bytes.
    pub fn missing(&self) -> usize {
        self.size - self.filled
    }

    /// Copies `bytes` in, at most as many as are missing.
    pub fn append(&mut self, bytes: &[u8]) {
        assert!(bytes.len() <= self.missing());
        // SAFETY: within the block's capacity, and the block is not shared yet.
        unsafe {
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), self.bytes.as_ptr().add(self.filled), bytes.len());
        }
        self.filled += bytes.len();
    }

    /// Reads once into the missing part, like [`ReadBuffer::fill`].
    pub fn fill<E>(
        &mut self,
        read: impl for<'a> FnOnce(&'a mut [MaybeUninit<u8>]) -> Result<&'a mut [u8], E>,
    ) -> Result<(usize, bool), E> {
        // SAFETY: within the block's capacity, and the block is not shared yet.
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

    /// Returns the received part of the body, for changes in place.
    pub fn filled_mut(&mut self) -> &mut [u8] {
        // SAFETY: the first `filled` bytes are initialised, and the block is not shared yet.
        unsafe { std::slice::from_raw_parts_mut(self.bytes.as_ptr(), self.filled) }
    }

    /// Returns the complete body.
    pub fn finish(self) -> Bytes {
        self.finish_behind(0)
    }

    /// Returns the complete body without its first `skip` bytes.
    pub fn finish_behind(self, skip: usize) -> Bytes {
        assert!(self.missing() == 0 && skip <= self.size);
        let this = std::mem::ManuallyDrop::new(self);
        // SAFETY: all `size` bytes are initialised, `skip` is among them; the one reference goes with the frame.
        unsafe { Bytes::slice(this.block, this.bytes.add(skip), this.size - skip) }
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
    use crate::framing::{FrameShape, Header};

    /// Fills from `source` as a read(2) would, and returns the number of bytes taken.
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
        let source: Vec<u8> = (0..READ_SIZE).map(|i| i as u8).collect();
        feed(&mut buffer, &source[..0]);
        let before = buffer.bytes;
        for _ in 0..5 {
            feed(&mut buffer, &source[..READ_SIZE - 100]);
            while buffer.unread().len() > 10 {
                let first = buffer.unread()[2];
                assert_eq!(buffer.take(2, 7).as_bytes()[0], first);
            }
        }
        assert_eq!(buffer.bytes, before);
    }

    /// A header of three bytes: 7, and the size in two bytes. With another first byte it is not a message of one
    /// frame.
    struct Plain;

    impl Framing for Plain {
        fn single(bytes: &[u8]) -> Option<Header> {
            match bytes {
                [7, high, low, ..] => {
                    Some(Header { size: 3, body_size: usize::from(u16::from_be_bytes([*high, *low])) })
                }
                [9, ..] => Some(Header { size: 1, body_size: usize::MAX }),
                _ => None,
            }
        }

        fn shape(_: &[u8]) -> Option<FrameShape> {
            None
        }
    }

    fn framed(body: &[u8]) -> Vec<u8> {
        [&[7], &(body.len() as u16).to_be_bytes()[..], body].concat()
    }

    #[test]
    fn only_whole_messages_of_one_frame_are_taken() {
        let mut buffer = ReadBuffer::new(&BlockPool::new());
        let mut message = Message::new();
        let sizes = [0, 1, 14, 15, INLINE_SIZE_MAX, INLINE_SIZE_MAX + 1, 5000];
        for body in sizes.map(|size| (0..size).map(|at| at as u8).collect::<Vec<u8>>()) {
            let whole = framed(&body);
            for (bytes, is_taken) in [(&whole[..], true), (&whole[..whole.len() - 1], false)] {
                buffer.consume(buffer.unread().len());
                buffer.append(bytes);
                assert_eq!(
                    buffer.take_single::<Plain>(&mut message),
                    is_taken,
                    "{} of {body:?}",
                    bytes.len()
                );
                if is_taken {
                    assert_eq!(message.body(), body);
                }
            }
        }
        for other in [&[8, 0, 0][..], &[9, 0, 0, 0]] {
            buffer.consume(buffer.unread().len());
            buffer.append(other);
            assert!(!buffer.take_single::<Plain>(&mut message), "{other:?}");
        }
    }

    #[test]
    fn several_are_taken_at_once_up_to_the_first_that_is_not_whole() {
        let mut buffer = ReadBuffer::new(&BlockPool::new());
        let mut messages = vec![Message::new()];
        let bodies = [&b"a"[..], b"", b"bc"];
        buffer.append(&bodies.map(framed).concat());
        buffer.append(&[7, 0]);
        assert_eq!(buffer.take_singles::<Plain>(&mut messages, 2), 7);
        assert_eq!(buffer.take_singles::<Plain>(&mut messages, 9), 5);
        assert_eq!(buffer.take_singles::<Plain>(&mut messages, 9), 0);
        let taken: Vec<_> = messages.iter().skip(1).map(Message::body).collect();
        assert_eq!(taken, bodies);
        assert_eq!(buffer.unread(), [7, 0]);
    }

    #[test]
    fn a_buffer_at_rest_owns_no_block() {
        let mut buffer = ReadBuffer::new(&BlockPool::new());
        assert!(buffer.rest());
        feed(&mut buffer, &[1; 300]);
        buffer.consume(200);
        assert!(!buffer.rest(), "something is unread");
        buffer.consume(100);
        assert!(buffer.rest() && buffer.unread().is_empty());
        feed(&mut buffer, &[2; 300]);
        assert_eq!(buffer.take(0, 300).as_bytes(), [2; 300]);
    }

    #[test]
    fn slices_that_come_one_by_one_share_a_block_however_often_the_buffer_rests() {
        let mut buffer = ReadBuffer::new(&BlockPool::new());
        let mut slices = Vec::new();
        for number in 0..100 {
            feed(&mut buffer, &[number; 100]);
            slices.push(buffer.take(0, 100));
            assert!(!buffer.rest());
        }
        assert!(slices.iter().all(|slice| slice.block() == slices[0].block()));
        assert!(slices.iter().zip(0..).all(|(slice, number)| slice.as_bytes() == [number; 100]));
        drop(slices);
        assert!(buffer.rest());
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
