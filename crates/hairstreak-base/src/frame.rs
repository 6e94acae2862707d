//! `Frame`: the bytes of one frame, inside the value when short, a counted slice otherwise.
//!
//! Sixty-four bytes wide, one cache line, so that a ring slot is a line. Cloning a long frame counts
//! a reference; no clone copies more than a line.

use std::fmt;
use std::mem::MaybeUninit;
use std::ptr::NonNull;

use crate::block::Block;
use crate::copy::copy_short;

/// The longest body that is held inside the frame, in bytes.
pub const INLINE_SIZE_MAX: usize = 62;

/// The bytes of one frame. Immutable.
pub struct Frame(Repr);

enum Repr {
    Inline(Inline),
    Slice(Slice),
}

struct Inline {
    size: u8,
    bytes: [MaybeUninit<u8>; INLINE_SIZE_MAX],
}

/// One reference to `block`, and the part of it that is meant.
struct Slice {
    block: Block,
    start: NonNull<u8>,
    size: usize,
}

// SAFETY: a slice is immutable bytes and an atomic count.
unsafe impl Send for Slice {}
// SAFETY: as above.
unsafe impl Sync for Slice {}

const _: () = assert!(size_of::<Frame>() == 64);

impl Frame {
    /// The empty frame.
    pub const EMPTY: Frame =
        Frame(Repr::Inline(Inline { size: 0, bytes: [MaybeUninit::uninit(); INLINE_SIZE_MAX] }));

    /// A copy of `bytes`.
    #[inline]
    pub fn copy_of(bytes: &[u8]) -> Frame {
        if bytes.len() <= INLINE_SIZE_MAX {
            // SAFETY: the slice is readable for its length.
            unsafe { Frame::inline(bytes.as_ptr(), bytes.len()) }
        } else {
            Frame::from_vec(bytes.to_vec())
        }
    }

    /// Takes the vector over; only a short one is copied.
    pub fn from_vec(bytes: Vec<u8>) -> Frame {
        if bytes.len() <= INLINE_SIZE_MAX {
            return Frame::copy_of(&bytes);
        }
        let size = bytes.len();
        let (block, start) = Block::from_vec(bytes);
        Frame(Repr::Slice(Slice { block, start, size }))
    }

    /// # Safety
    /// `start` is readable for `size` bytes and `size` is at most [`INLINE_SIZE_MAX`].
    #[inline]
    unsafe fn inline(start: *const u8, size: usize) -> Frame {
        let mut bytes = [MaybeUninit::<u8>::uninit(); INLINE_SIZE_MAX];
        // SAFETY: both ranges are valid for `size` bytes by the caller's promise.
        unsafe { copy_short(std::slice::from_raw_parts(start, size), bytes.as_mut_ptr().cast()) };
        Frame(Repr::Inline(Inline { size: size as u8, bytes }))
    }

    /// As [`Frame::inline`], but copies a fixed width.
    ///
    /// # Safety
    /// `start` lies in a block with slack behind it: 64 bytes may be read whatever `size` is. `size`
    /// is at most [`INLINE_SIZE_MAX`], and `size` bytes are initialised.
    #[inline]
    pub(crate) unsafe fn inline_wide(start: *const u8, size: usize) -> Frame {
        let mut bytes = [MaybeUninit::<u8>::uninit(); INLINE_SIZE_MAX];
        let to: *mut MaybeUninit<u8> = bytes.as_mut_ptr();
        // SAFETY: 64 bytes are readable at `start`, 62 writable at `to`; possibly uninitialised
        // bytes are copied as such.
        unsafe {
            if size <= 16 {
                std::ptr::copy_nonoverlapping(start.cast(), to, 16);
            } else {
                std::ptr::copy_nonoverlapping(start.cast(), to, INLINE_SIZE_MAX);
            }
        }
        Frame(Repr::Inline(Inline { size: size as u8, bytes }))
    }

    /// Becomes a copy of `bytes`, in place if they and what was there are short.
    #[inline]
    pub(crate) fn set(&mut self, bytes: &[u8]) {
        match &mut self.0 {
            Repr::Inline(inline) if bytes.len() <= INLINE_SIZE_MAX => {
                inline.size = bytes.len() as u8;
                // SAFETY: the bytes fit, by the condition.
                unsafe { copy_short(bytes, inline.bytes.as_mut_ptr().cast()) };
            }
            _ => *self = Frame::copy_of(bytes),
        }
    }

    /// As [`Frame::inline_wide`], in place: no copy of the whole frame on the way to its owner.
    ///
    /// # Safety
    /// As [`Frame::inline_wide`].
    #[inline]
    pub(crate) unsafe fn set_inline_wide(&mut self, start: *const u8, size: usize) {
        let Repr::Inline(inline) = &mut self.0 else {
            // SAFETY: passed on.
            *self = unsafe { Frame::inline_wide(start, size) };
            return;
        };
        inline.size = size as u8;
        let to: *mut MaybeUninit<u8> = inline.bytes.as_mut_ptr();
        let width = if size <= 16 { 16 } else { INLINE_SIZE_MAX };
        // SAFETY: 64 bytes are readable at `start`, 62 writable at `to`.
        unsafe { std::ptr::copy_nonoverlapping(start.cast(), to, width) };
    }

    /// # Safety
    /// The caller hands over one reference to `block`, of which `start..start + size` is initialised
    /// and will not be written while the reference lives.
    #[inline]
    pub(crate) unsafe fn slice(block: Block, start: NonNull<u8>, size: usize) -> Frame {
        Frame(Repr::Slice(Slice { block, start, size }))
    }

    /// The bytes.
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

    /// How many bytes.
    #[inline]
    pub fn size(&self) -> usize {
        match &self.0 {
            Repr::Inline(inline) => inline.size as usize,
            Repr::Slice(slice) => slice.size,
        }
    }

    /// How many frames share the bytes; 0 when they are held inside.
    #[cfg(test)]
    pub(crate) fn reference_count(&self) -> usize {
        match &self.0 {
            Repr::Inline(_) => 0,
            Repr::Slice(slice) => slice.block.references(),
        }
    }

    /// Whether cloning shares the bytes (a long frame) or copies them (a short one).
    pub fn is_shared(&self) -> bool {
        matches!(self.0, Repr::Slice(_))
    }
}

impl Clone for Frame {
    #[inline]
    fn clone(&self) -> Frame {
        match &self.0 {
            Repr::Inline(inline) => Frame(Repr::Inline(Inline { size: inline.size, bytes: inline.bytes })),
            Repr::Slice(slice) => {
                slice.block.retain(1);
                Frame(Repr::Slice(Slice { block: slice.block, start: slice.start, size: slice.size }))
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

impl Default for Frame {
    fn default() -> Frame {
        Frame::EMPTY
    }
}

impl AsRef<[u8]> for Frame {
    fn as_ref(&self) -> &[u8] {
        self.as_bytes()
    }
}

impl PartialEq for Frame {
    fn eq(&self, other: &Frame) -> bool {
        self.as_bytes() == other.as_bytes()
    }
}

impl Eq for Frame {}

impl fmt::Debug for Frame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = &self.as_bytes()[..self.size().min(32)];
        write!(f, "Frame({} B, \"{}\"", self.size(), shown.escape_ascii())?;
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
            let frame = Frame::copy_of(&bytes);
            assert_eq!(frame.as_bytes(), bytes);
            assert_eq!(frame.is_shared(), size > INLINE_SIZE_MAX);
            let clone = frame.clone();
            drop(frame);
            assert_eq!(clone.as_bytes(), bytes);
            assert_eq!(Frame::from_vec(bytes.clone()).as_bytes(), bytes);
        }
    }
}
