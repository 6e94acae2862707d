//! `Bytes`: immutable bytes. Short ones are stored inside the value; long ones are a counted slice of a block.
//!
//! The value is 64 bytes wide, one cache line, so that a ring slot is a line. Cloning long bytes adds a reference; no
//! clone copies more than a line.

use std::fmt;
use std::mem::MaybeUninit;
use std::ptr::NonNull;
use std::sync::Arc;

use crate::block::Block;
use crate::copy::copy_short;
use crate::pool::BlockPool;
use crate::read_buffer::BodyBuffer;

/// Longest content that is stored inside the value, in bytes.
pub const INLINE_SIZE_MAX: usize = 62;

/// A value is wasteful when it keeps more than this many times its size in memory.
const WASTE_FACTOR: usize = 4;

/// Immutable bytes, cheap to clone.
pub struct Bytes(Repr);

/// Short bytes have the same layout in memory as in a ring's record: [`SHORT`], the size, the bytes. One copy of a
/// fixed width moves them ([`Bytes::set_short`]).
#[repr(u8)]
enum Repr {
    Inline(Inline) = SHORT,
    Slice(Slice) = SLICE,
}

#[repr(C)]
struct Inline {
    size: u8,
    bytes: [MaybeUninit<u8>; INLINE_SIZE_MAX],
}

/// First byte of short bytes, in memory and in a ring.
pub(crate) const SHORT: u8 = 0;
/// First byte of long bytes, in memory and in a ring.
pub(crate) const SLICE: u8 = 1;
/// Size of the meaningful part of long bytes in memory.
pub(crate) const SLICE_SIZE: usize = 8 + size_of::<Slice>();
/// Size of the header of short bytes: [`SHORT`] and the size.
pub(crate) const SHORT_HEADER_SIZE: usize = 2;

/// One reference to `block`, and a part of the block.
#[repr(C)]
struct Slice {
    block: Block,
    start: NonNull<u8>,
    size: usize,
}

// SAFETY: a slice is immutable bytes and an atomic count.
unsafe impl Send for Slice {}
// SAFETY: as above.
unsafe impl Sync for Slice {}

const _: () = assert!(size_of::<Bytes>() == SHORT_HEADER_SIZE + INLINE_SIZE_MAX);

impl Bytes {
    /// The empty frame.
    pub const EMPTY: Bytes =
        Bytes(Repr::Inline(Inline { size: 0, bytes: [MaybeUninit::uninit(); INLINE_SIZE_MAX] }));

    /// Returns a copy of `bytes`.
    #[inline]
    pub fn copy_of(bytes: &[u8]) -> Bytes {
        if bytes.len() <= INLINE_SIZE_MAX {
            // SAFETY: the slice is readable for its length.
            unsafe { Bytes::inline(bytes.as_ptr(), bytes.len()) }
        } else {
            Bytes::from_vec(bytes.to_vec())
        }
    }

    /// Returns a copy of `bytes`. Long bytes go to a block of the pool.
    pub fn pooled_copy_of(bytes: &[u8], pool: &Arc<BlockPool>) -> Bytes {
        if bytes.len() <= INLINE_SIZE_MAX {
            return Bytes::copy_of(bytes);
        }
        let mut body = BodyBuffer::new(bytes.len(), pool);
        body.append(bytes);
        body.finish()
    }

    /// Takes the vector over. Only a short one is copied.
    pub fn from_vec(bytes: Vec<u8>) -> Bytes {
        if bytes.len() <= INLINE_SIZE_MAX {
            return Bytes::copy_of(&bytes);
        }
        let size = bytes.len();
        let (block, start) = Block::from_vec(bytes);
        Bytes(Repr::Slice(Slice { block, start, size }))
    }

    /// # Safety
    /// `start` is readable for `size` bytes and `size` is at most [`INLINE_SIZE_MAX`].
    #[inline]
    unsafe fn inline(start: *const u8, size: usize) -> Bytes {
        let mut bytes = [MaybeUninit::<u8>::uninit(); INLINE_SIZE_MAX];
        // SAFETY: both ranges are valid for `size` bytes by the caller's promise.
        unsafe { copy_short(std::slice::from_raw_parts(start, size), bytes.as_mut_ptr().cast()) };
        Bytes(Repr::Inline(Inline { size: size as u8, bytes }))
    }

    /// Replaces this frame by the short frame at `start`, with a copy of `WIDTH` bytes.
    ///
    /// # Safety
    /// `start` is readable for `WIDTH` bytes, at most 64. The first byte is [`SHORT`], the second is a size, and that
    /// many bytes behind them are initialised and within `WIDTH`.
    #[inline(always)]
    pub(crate) unsafe fn set_short<const WIDTH: usize>(&mut self, start: *const u8) {
        if self.is_shared() {
            *self = Bytes::EMPTY;
        }
        // SAFETY: the caller promises bytes in the layout of `Repr::Inline`, a `repr(u8)` enum (RFC 2195). The former
        // value needs no drop.
        unsafe {
            std::ptr::from_mut(self)
                .cast::<[MaybeUninit<u8>; WIDTH]>()
                .write(start.cast::<[MaybeUninit<u8>; WIDTH]>().read_unaligned());
        }
    }

    /// Replaces this frame by a copy of `size` bytes from `start` on, with a copy of `WIDTH` bytes that begins
    /// [`SHORT_HEADER_SIZE`] before them.
    ///
    /// # Safety
    /// `WIDTH` bytes, at most 64, may be read from [`SHORT_HEADER_SIZE`] before `start` on; `size` of them from `start` on
    /// are initialised and within `WIDTH`.
    #[inline(always)]
    pub(crate) unsafe fn copy_inline<const WIDTH: usize>(&mut self, start: *const u8, size: usize) {
        if self.is_shared() {
            *self = Bytes::EMPTY;
        }
        // SAFETY: as in `set_short`. The header of short bytes overwrites the bytes read from before `start`.
        unsafe {
            let to = std::ptr::from_mut(self);
            let from = start.sub(SHORT_HEADER_SIZE).cast::<[MaybeUninit<u8>; WIDTH]>();
            to.cast::<[MaybeUninit<u8>; WIDTH]>().write(from.read_unaligned());
            to.cast::<[u8; SHORT_HEADER_SIZE]>().write([SHORT, size as u8]);
        }
    }

    /// Replaces this frame by a slice, in place.
    ///
    /// # Safety
    /// As [`Bytes::slice`].
    #[inline(always)]
    pub(crate) unsafe fn set_slice(&mut self, block: Block, start: NonNull<u8>, size: usize) {
        match &mut self.0 {
            Repr::Slice(slice) => *slice = Slice { block, start, size },
            // SAFETY: passed on.
            Repr::Inline(_) => *self = unsafe { Bytes::slice(block, start, size) },
        }
    }

    /// Moves a frame that is not short to `to`, in the form that [`Bytes::read_slice`] reads.
    ///
    /// # Safety
    /// The frame is shared ([`Bytes::is_shared`]); `to` is writable for [`SLICE_SIZE`] bytes.
    #[inline]
    pub(crate) unsafe fn write_slice(self, to: *mut u8) {
        let this = std::mem::ManuallyDrop::new(self);
        // SAFETY: by the caller's promise and the layout of a `repr(u8)` enum (RFC 2195).
        unsafe { std::ptr::copy_nonoverlapping(std::ptr::from_ref(&*this).cast(), to, SLICE_SIZE) };
    }

    /// # Safety
    /// [`Bytes::write_slice`] wrote a frame to `from`, which is read once.
    #[inline]
    pub(crate) unsafe fn read_slice(from: *const u8) -> Bytes {
        let mut frame = MaybeUninit::<Bytes>::uninit();
        // SAFETY: the bytes behind [`SLICE_SIZE`] mean nothing in such a frame.
        unsafe {
            std::ptr::copy_nonoverlapping(from, frame.as_mut_ptr().cast(), SLICE_SIZE);
            frame.assume_init()
        }
    }

    /// # Safety
    /// The caller hands over one reference to `block`, of which `start..start + size` is initialised
    /// and will not be written while the reference lives.
    #[inline]
    pub(crate) unsafe fn slice(block: Block, start: NonNull<u8>, size: usize) -> Bytes {
        Bytes(Repr::Slice(Slice { block, start, size }))
    }

    /// Returns the bytes.
    #[inline]
    pub fn as_bytes(&self) -> &[u8] {
        match &self.0 {
            // SAFETY: the first `size` bytes were initialised when the frame was made.
            Repr::Inline(inline) => unsafe {
                std::slice::from_raw_parts(inline.bytes.as_ptr().cast(), inline.size as usize)
            },
            // SAFETY: the reference keeps the block, and these bytes are not written any more.
            Repr::Slice(slice) => unsafe { std::slice::from_raw_parts(slice.start.as_ptr(), slice.size) },
        }
    }

    /// Returns the number of bytes.
    #[inline]
    pub fn size(&self) -> usize {
        match &self.0 {
            Repr::Inline(inline) => inline.size as usize,
            Repr::Slice(slice) => slice.size,
        }
    }

    /// Returns the number of frames that share the bytes; 0 if they are stored inside.
    #[cfg(test)]
    pub(crate) fn reference_count(&self) -> usize {
        match &self.0 {
            Repr::Inline(_) => 0,
            Repr::Slice(slice) => slice.block.references(),
        }
    }

    /// Returns the block with the bytes, unless they are stored inside.
    #[inline]
    pub(crate) fn block(&self) -> Option<Block> {
        match &self.0 {
            Repr::Inline(_) => None,
            Repr::Slice(slice) => Some(slice.block),
        }
    }

    /// Returns a copy of the frame without counting a reference.
    ///
    /// # Safety
    /// The caller hands over one reference to its block, if it has one.
    #[inline]
    pub(crate) unsafe fn counted_copy(&self) -> Bytes {
        match &self.0 {
            Repr::Inline(_) => self.clone(),
            Repr::Slice(slice) => {
                Bytes(Repr::Slice(Slice { block: slice.block, start: slice.start, size: slice.size }))
            }
        }
    }

    /// Returns the bytes behind the first `count`, or no bytes if there are none. A short result is copied.
    pub fn without_first(self, count: usize) -> Bytes {
        let rest = self.as_bytes().get(count..).unwrap_or_default();
        if rest.len() <= INLINE_SIZE_MAX {
            return Bytes::copy_of(rest);
        }
        match self.0 {
            Repr::Slice(mut slice) => {
                // SAFETY: more than `count` bytes are there, so that this stays within them.
                slice.start = unsafe { slice.start.add(count) };
                slice.size -= count;
                Bytes(Repr::Slice(slice))
            }
            // INVARIANT: bytes stored inside are short.
            Repr::Inline(_) => unreachable!(),
        }
    }

    /// Returns the first `count` bytes, or all if there are fewer. A short result is copied.
    pub fn first(mut self, count: usize) -> Bytes {
        if count >= self.size() {
            return self;
        }
        match &mut self.0 {
            Repr::Slice(slice) if count > INLINE_SIZE_MAX => {
                slice.size = count;
                self
            }
            _ => Bytes::copy_of(&self.as_bytes()[..count]),
        }
    }

    /// Returns whether the frame keeps more than four times its size in memory. A received frame shares up to 64 KiB
    /// of memory with the bytes around it.
    pub fn is_wasteful(&self) -> bool {
        match &self.0 {
            Repr::Inline(_) => false,
            Repr::Slice(slice) => slice.block.capacity() / WASTE_FACTOR > slice.size,
        }
    }

    /// Returns the frame for storing: a copy with memory of its own if the frame is wasteful.
    pub fn compacted(&self) -> Bytes {
        if self.is_wasteful() { Bytes::copy_of(self.as_bytes()) } else { self.clone() }
    }

    /// Returns whether a clone shares the bytes (a long frame) or copies them (a short one).
    #[inline]
    pub fn is_shared(&self) -> bool {
        matches!(self.0, Repr::Slice(_))
    }
}

impl Clone for Bytes {
    #[inline]
    fn clone(&self) -> Bytes {
        match &self.0 {
            Repr::Inline(inline) => Bytes(Repr::Inline(Inline { size: inline.size, bytes: inline.bytes })),
            Repr::Slice(slice) => {
                slice.block.retain(1);
                Bytes(Repr::Slice(Slice { block: slice.block, start: slice.start, size: slice.size }))
            }
        }
    }
}

impl Drop for Slice {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: a slice owns one reference.
        unsafe { self.block.release(1) };
    }
}

impl Default for Bytes {
    fn default() -> Bytes {
        Bytes::EMPTY
    }
}

impl AsRef<[u8]> for Bytes {
    fn as_ref(&self) -> &[u8] {
        self.as_bytes()
    }
}

impl PartialEq for Bytes {
    fn eq(&self, other: &Bytes) -> bool {
        self.as_bytes() == other.as_bytes()
    }
}

impl Eq for Bytes {}

impl fmt::Debug for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = &self.as_bytes()[..self.size().min(32)];
        write!(f, "Bytes({} B, \"{}\"", self.size(), shown.escape_ascii())?;
        f.write_str(if self.size() > 32 { "...)" } else { ")" })
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn bodies_round_the_inline_bound_keep_their_bytes() {
        for size in [0, 1, 16, 17, INLINE_SIZE_MAX - 1, INLINE_SIZE_MAX, INLINE_SIZE_MAX + 1, 5000] {
            let bytes: Vec<u8> = (0..size).map(|i| i as u8).collect();
            let frame = Bytes::copy_of(&bytes);
            assert_eq!(frame.as_bytes(), bytes);
            assert_eq!(frame.is_shared(), size > INLINE_SIZE_MAX);
            let clone = frame.clone();
            drop(frame);
            assert_eq!(clone.as_bytes(), bytes);
            assert_eq!(Bytes::from_vec(bytes.clone()).as_bytes(), bytes);
        }
    }

    #[test]
    fn a_frame_without_its_first_bytes_shares_what_is_long_and_nothing_when_it_is_dropped() {
        let bytes: Vec<u8> = (0..200).map(|i| i as u8).collect();
        let whole = Bytes::copy_of(&bytes);
        for count in [0, 1, 137, 138, 199, 200, 201, usize::MAX] {
            let rest = whole.clone().without_first(count);
            assert_eq!(rest.as_bytes(), bytes.get(count..).unwrap_or_default());
            let shares = bytes.len().saturating_sub(count) > INLINE_SIZE_MAX;
            assert_eq!((rest.is_shared(), whole.reference_count()), (shares, if shares { 2 } else { 1 }));
        }
        assert_eq!(Bytes::copy_of(b"abc").without_first(2).as_bytes(), b"c");
        for count in [0, 1, 62, 63, 199, 200, 201] {
            assert_eq!(whole.clone().first(count).as_bytes(), &bytes[..count.min(200)]);
        }
    }
}
