//! `Segment`: the memory that two processes share, made by one of them and checked by the other.
//!
//! The kernel allocates its pages when they are first touched.

use std::mem::MaybeUninit;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::Arc;

use hairstreak_base::byte_ring::{RingMemory, RingWords};

use super::memory::{RING_SIZE_MAX, RING_SIZE_MIN, SegmentError, SharedMemory};

/// Offset of the words of the second ring. The bytes begin at `HEAD_SIZE`.
const WORDS_SIZE: usize = 2048;
const HEAD_SIZE: usize = 2 * WORDS_SIZE;
const _: () = assert!(size_of::<RingWords>() <= WORDS_SIZE && align_of::<RingWords>() <= WORDS_SIZE);

/// A process's side of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// It made the segment.
    Giver,
    /// It was passed the segment.
    Taker,
}

/// Memory for two rings, mapped.
#[derive(Debug)]
pub struct Segment {
    memory: SharedMemory,
    ring_size: usize,
}

impl Segment {
    /// A new segment, and the descriptor to be passed.
    pub fn create(ring_size: usize) -> Result<(Segment, OwnedFd), SegmentError> {
        let (memory, file) = SharedMemory::create(check(ring_size)?)?;
        Ok((Segment { memory, ring_size }, file))
    }

    /// Maps the segment that a peer passed, once it has been seen to be one.
    pub fn open(file: BorrowedFd<'_>, ring_size: usize) -> Result<Segment, SegmentError> {
        Ok(Segment { memory: SharedMemory::open(file, check(ring_size)?)?, ring_size })
    }

    /// Both rings as seen from one side: first the one it writes, then the one it reads.
    pub(super) fn rings(self, side: Side) -> (RingView, RingView) {
        let segment = Arc::new(self);
        let view = |index| RingView { segment: Arc::clone(&segment), index };
        match side {
            Side::Giver => (view(0), view(1)),
            Side::Taker => (view(1), view(0)),
        }
    }
}

/// The size of the whole segment.
fn check(ring_size: usize) -> Result<usize, SegmentError> {
    if !ring_size.is_power_of_two() || !(RING_SIZE_MIN..=RING_SIZE_MAX).contains(&ring_size) {
        return Err(SegmentError::RingSize(ring_size));
    }
    Ok(HEAD_SIZE + 2 * ring_size)
}

/// One ring of a segment.
#[derive(Debug)]
pub(super) struct RingView {
    segment: Arc<Segment>,
    index: usize,
}

impl RingView {
    /// The address of `size` bytes of the ring from `at` on.
    fn place(&self, at: usize, size: usize) -> *mut u8 {
        let ring_size = self.segment.ring_size;
        assert!(at <= ring_size && size <= ring_size - at);
        // SAFETY: within the mapping, by the assertion.
        unsafe { self.segment.memory.start().as_ptr().add(HEAD_SIZE + self.index * ring_size + at) }
    }
}

// SAFETY: `take` copies as many bytes as `into` has; the size never changes and was checked to be a power of two.
unsafe impl RingMemory for RingView {
    #[inline]
    fn words(&self) -> &RingWords {
        // SAFETY: the words lie within the mapping, aligned to more than they need, are atomics of which any content
        // is valid, and stay mapped as long as the view.
        unsafe { self.segment.memory.start().add(self.index * WORDS_SIZE).cast().as_ref() }
    }

    #[inline]
    fn capacity(&self) -> usize {
        self.segment.ring_size
    }

    fn put(&self, at: usize, bytes: &[u8]) {
        // SAFETY: the place is `bytes.len()` bytes of shared memory, which no reference of this process refers to.
        unsafe { copy(bytes.as_ptr(), self.place(at, bytes.len()), bytes.len()) }
    }

    fn take(&self, at: usize, into: &mut [MaybeUninit<u8>]) {
        // SAFETY: as above, the other way round.
        unsafe { copy(self.place(at, into.len()), into.as_mut_ptr().cast(), into.len()) }
    }
}

/// Copies between shared memory and this process's own. Never inlined: later code must not read the copied bytes again
/// from the source, which the peer may have changed.
///
/// # Safety
/// The requirements of `ptr::copy_nonoverlapping`, except that another process may write the shared bytes meanwhile.
#[inline(never)]
unsafe fn copy(from: *const u8, to: *mut u8, count: usize) {
    // SAFETY: passed on.
    unsafe { std::ptr::copy_nonoverlapping(from, to, count) }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;

    use rustix::fs::{MemfdFlags, SealFlags};

    use super::*;

    #[test]
    fn a_segment_is_the_same_memory_on_both_sides() {
        let (given, file) = Segment::create(RING_SIZE_MIN).unwrap();
        let taken = Segment::open(file.as_fd(), RING_SIZE_MIN).unwrap();
        let ((out, back), (in_there, out_there)) = (given.rings(Side::Giver), taken.rings(Side::Taker));
        for (from, to) in [(&out, &out_there), (&in_there, &back)] {
            from.put(RING_SIZE_MIN - 3, b"end");
            let mut bytes = [MaybeUninit::uninit(); 3];
            to.take(RING_SIZE_MIN - 3, &mut bytes);
            // SAFETY: `take` has filled it.
            assert_eq!(bytes.map(|byte| unsafe { byte.assume_init() }), *b"end");
        }
    }

    #[test]
    fn what_is_no_sealed_segment_of_the_agreed_size_is_refused() {
        let memfd = |size: u64, seals: SealFlags| {
            let file = rustix::fs::memfd_create(c"test", MemfdFlags::ALLOW_SEALING).unwrap();
            rustix::fs::ftruncate(&file, size).unwrap();
            rustix::fs::fcntl_add_seals(&file, seals).unwrap();
            file
        };
        let size = (HEAD_SIZE + 2 * RING_SIZE_MIN) as u64;
        let is_taken = |file: OwnedFd| Segment::open(file.as_fd(), RING_SIZE_MIN).is_ok();
        assert!(is_taken(memfd(size, SealFlags::SHRINK)));
        assert!(!is_taken(memfd(size, SealFlags::GROW)), "it can be shrunk");
        assert!(!is_taken(memfd(size, SealFlags::SHRINK | SealFlags::WRITE)), "it cannot be written");
        assert!(!is_taken(memfd(size - 1, SealFlags::SHRINK)), "too small");
        assert!(!is_taken(memfd(size * 2, SealFlags::SHRINK)), "another size");
        assert!(!is_taken(std::fs::File::open("/proc/self/exe").unwrap().into()), "a file");
        assert!(!is_taken(std::os::unix::net::UnixDatagram::unbound().unwrap().into()), "no file");
    }

    #[test]
    fn rings_of_other_sizes_are_refused() {
        for size in [0, 1, RING_SIZE_MIN - 1, RING_SIZE_MIN + 1, RING_SIZE_MAX * 2, usize::MAX] {
            assert!(matches!(Segment::create(size), Err(SegmentError::RingSize(_))), "{size}");
        }
        assert!(Segment::create(RING_SIZE_MAX).is_ok());
    }
}
