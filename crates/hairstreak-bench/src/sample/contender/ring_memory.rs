//! The memory of a limit program's ring: memory of this process, or a memfd that another process maps as well. The
//! other process finds it by the path of its descriptor.
//!
//! The memory is never freed: a process has a few rings, and ends with the sample.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, IntoRawFd};
use std::sync::atomic::{AtomicU32, AtomicU64};

use rustix::fs::MemfdFlags;
use rustix::mm::{MapFlags, ProtFlags};

const WORD_SIZE: usize = size_of::<u64>();
/// Words from one position to the next: on lines of their own.
const STEP: usize = 128 / WORD_SIZE;
/// Words before the slots.
const HEAD: usize = 3 * STEP;

/// The memory of one ring, all 0 at first.
#[derive(Clone, Copy)]
pub struct RingMemory {
    /// Messages put in.
    pub published: &'static AtomicU64,
    /// Messages taken out.
    pub consumed: &'static AtomicU64,
    /// Not 0: the receiver sleeps on it.
    pub sleeps: &'static AtomicU32,
    /// The words of the slots.
    pub words: &'static [AtomicU64],
}

impl RingMemory {
    /// Memory of this process.
    pub fn private(word_count: usize) -> Self {
        let words = (0..HEAD + word_count).map(|_| AtomicU64::new(0)).collect::<Box<[_]>>();
        Self::of(Box::leak(words))
    }

    /// Memory to be shared, and the path by which another process opens it.
    pub fn shared(word_count: usize) -> io::Result<(Self, String)> {
        let file = rustix::fs::memfd_create(c"hairstreak-bench", MemfdFlags::CLOEXEC)?;
        rustix::fs::ftruncate(&file, ((HEAD + word_count) * WORD_SIZE) as u64)?;
        let memory = Self::map(file.as_fd(), word_count)?;
        // It stays open: the path leads to it.
        let path = format!("/proc/{}/fd/{}", std::process::id(), file.into_raw_fd());
        Ok((memory, path))
    }

    /// Opens memory that another process has made.
    pub fn open(path: &str, word_count: usize) -> io::Result<Self> {
        let file = File::options().read(true).write(true).open(path)?;
        Self::map(file.as_fd(), word_count)
    }

    fn map(file: BorrowedFd<'_>, word_count: usize) -> io::Result<Self> {
        let (count, access) = (HEAD + word_count, ProtFlags::READ | ProtFlags::WRITE);
        // SAFETY: a new mapping, wherever the kernel has room for it.
        let start = unsafe {
            rustix::mm::mmap(std::ptr::null_mut(), count * WORD_SIZE, access, MapFlags::SHARED, file, 0)?
        };
        // SAFETY: `count` words, aligned to a page, mapped for as long as the process lives; as atomics they may be
        // written by another process, and no process shrinks the file.
        Ok(Self::of(unsafe { std::slice::from_raw_parts(start.cast(), count) }))
    }

    fn of(words: &'static [AtomicU64]) -> Self {
        let (head, words) = words.split_at(HEAD);
        // SAFETY: the third position is used as half a word, and as nothing else.
        let sleeps = unsafe { AtomicU32::from_ptr(head[2 * STEP].as_ptr().cast()) };
        Self { published: &head[0], consumed: &head[STEP], sleeps, words }
    }
}
