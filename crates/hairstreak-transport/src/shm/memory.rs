//! `SharedMemory`: memory that processes share, made by one of them and checked by the others.
//!
//! The file of the memory is sealed: no process can shrink it, so touching it never faults because of the peer.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::OnceLock;

use hairstreak_base::process;
use rustix::fs::{MemfdFlags, SealFlags};
use rustix::io::Errno;
use rustix::mm::{MapFlags, ProtFlags};
use rustix::process::{Resource, getrlimit};
use thiserror::Error;

const SEALS: SealFlags = SealFlags::SHRINK.union(SealFlags::GROW).union(SealFlags::SEAL);
/// The `fstatfs` type of a memfd without huge pages. Huge pages can be gone when they are touched.
const TMPFS_MAGIC: u64 = 0x0102_1994;

/// Memory that is mapped while the value lives.
#[derive(Debug)]
pub(crate) struct SharedMemory {
    start: NonNull<u8>,
    size: usize,
    /// The process that mapped the memory.
    process: u32,
}

// SAFETY: the memory belongs to the value; who may touch it when is the users' business.
unsafe impl Send for SharedMemory {}
// SAFETY: as above: words are atomics, bytes are copied through raw pointers.
unsafe impl Sync for SharedMemory {}

impl SharedMemory {
    /// New memory of zeros, and the descriptor to be passed.
    pub fn create(size: usize) -> Result<(SharedMemory, OwnedFd), SegmentError> {
        SharedMemory::create_sealed(size, SEALS)
    }

    /// Creates memory as [`SharedMemory::create`] does, which no other process can write.
    pub fn create_to_show(size: usize) -> Result<(SharedMemory, OwnedFd), SegmentError> {
        SharedMemory::create_sealed(size, SEALS | SealFlags::FUTURE_WRITE)
    }

    fn create_sealed(size: usize, seals: SealFlags) -> Result<(SharedMemory, OwnedFd), SegmentError> {
        if is_strict() {
            return Err(SegmentError::Strict);
        }
        if getrlimit(Resource::Fsize).current.is_some_and(|limit| limit < size as u64) {
            return Err(SegmentError::FileSize);
        }
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        let file = match rustix::fs::memfd_create(c"hairstreak", flags | MemfdFlags::NOEXEC_SEAL) {
            // Linux before 6.3 knows no such flag.
            Err(Errno::INVAL) => rustix::fs::memfd_create(c"hairstreak", flags)?,
            other => other?,
        };
        rustix::fs::ftruncate(&file, size as u64)?;
        // Before the seals, of which one forbids to map it so.
        let memory = SharedMemory::map(file.as_fd(), size, ProtFlags::READ | ProtFlags::WRITE)?;
        rustix::fs::fcntl_add_seals(&file, seals)?;
        Ok((memory, file))
    }

    /// Maps the memory that a peer passed, once it has been seen to be sealed and of that size.
    pub fn open(file: BorrowedFd<'_>, size: usize) -> Result<SharedMemory, SegmentError> {
        let no_writers = SealFlags::WRITE | SealFlags::FUTURE_WRITE;
        let seals = rustix::fs::fcntl_get_seals(file).map_err(|_| SegmentError::Unfit)?;
        if seals.intersects(no_writers) {
            return Err(SegmentError::Unfit);
        }
        SharedMemory::open_with(file, size, ProtFlags::READ | ProtFlags::WRITE)
    }

    /// Opens the memory as [`SharedMemory::open`] does, read-only.
    pub fn open_to_read(file: BorrowedFd<'_>, size: usize) -> Result<SharedMemory, SegmentError> {
        SharedMemory::open_with(file, size, ProtFlags::READ)
    }

    fn open_with(file: BorrowedFd<'_>, size: usize, access: ProtFlags) -> Result<SharedMemory, SegmentError> {
        if is_strict() {
            return Err(SegmentError::Strict);
        }
        let unfit = |_| SegmentError::Unfit;
        let seals = rustix::fs::fcntl_get_seals(file).map_err(unfit)?;
        let is_sealed = seals.contains(SealFlags::SHRINK);
        let has_size = rustix::fs::fstat(file).map_err(unfit)?.st_size == size as i64;
        let is_plain = rustix::fs::fstatfs(file).map_err(unfit)?.f_type as u64 == TMPFS_MAGIC;
        if !is_sealed || !has_size || !is_plain {
            return Err(SegmentError::Unfit);
        }
        SharedMemory::map(file, size, access)
    }

    fn map(file: BorrowedFd<'_>, size: usize, access: ProtFlags) -> Result<SharedMemory, SegmentError> {
        // SAFETY: a new mapping, wherever the kernel has room for it.
        let start =
            unsafe { rustix::mm::mmap(std::ptr::null_mut(), size, access, MapFlags::SHARED, file, 0)? };
        let start = NonNull::new(start.cast()).ok_or(SegmentError::Unfit)?;
        Ok(SharedMemory { start, size, process: process::current() })
    }

    /// The first byte. The memory begins at a page.
    #[inline]
    pub fn start(&self) -> NonNull<u8> {
        self.start
    }
}

impl Drop for SharedMemory {
    fn drop(&mut self) {
        // In a forked child the address may belong to another mapping by now.
        if process::is_current(self.process) {
            // SAFETY: the mapping is this value's own, and no reference to it is left.
            let unmapped = unsafe { rustix::mm::munmap(self.start.as_ptr().cast(), self.size) };
            debug_assert!(unmapped.is_ok());
        }
    }
}

/// Returns `true` if a touched page may be missing (SIGBUS), which no seal prevents.
fn is_strict() -> bool {
    static STRICT: OnceLock<bool> = OnceLock::new();
    *STRICT.get_or_init(|| {
        std::fs::read_to_string("/proc/sys/vm/overcommit_memory").is_ok_and(|mode| mode.trim() == "2")
    })
}

/// The smallest ring.
pub const RING_SIZE_MIN: usize = 4096;
/// The largest ring.
pub const RING_SIZE_MAX: usize = 64 << 20;

/// An error of making or mapping a segment.
#[derive(Debug, Error)]
pub enum SegmentError {
    /// The system has none to give.
    #[error("no shared memory: {0}")]
    System(#[from] std::io::Error),
    /// The host limits the memory that it promises. A process that touches memory without backing would be killed.
    #[error("no shared memory: this host accounts memory strictly (vm.overcommit_memory = 2)")]
    Strict,
    /// Files of this process may not be that large.
    #[error("no shared memory: the process's limit on the size of files is too low")]
    FileSize,
    /// No ring can have that size.
    #[error("no ring of {0} bytes: a power of two from {RING_SIZE_MIN} to {RING_SIZE_MAX} it must be")]
    RingSize(usize),
    /// The peer passed another descriptor than was agreed on.
    #[error("the peer passed no descriptor of a sealed segment of that size")]
    Unfit,
}

impl From<Errno> for SegmentError {
    fn from(error: Errno) -> SegmentError {
        SegmentError::System(error.into())
    }
}
