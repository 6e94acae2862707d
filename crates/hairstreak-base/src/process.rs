//! The identity of this process: a number that a forked child does not share with its parent.
//!
//! The number lies in a page that the kernel wipes in a child (`MADV_WIPEONFORK`, Linux 4.14). Reading it costs one
//! load from otherwise constant memory, and no system call. A value of one process records [`current`] when it is
//! created, and checks [`is_current`] before use: in the child, the parent's other threads do not exist, even if they
//! held a lock.
//!
//! [`PerProcess`] holds a value of which each process has one. A child creates its own: the parent's value may have
//! been in the middle of a change, and is never touched again.

use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering};

use rustix::mm::{Advice, madvise};
use rustix::param::page_size;

/// At least one page on any Linux. Only its first page is ever touched.
#[repr(C, align(65536))]
struct Page {
    /// The process's number; 0 before it has one, and in a child.
    number: AtomicU32,
    _rest: [u8; 65532],
}

static PAGE: Page = Page { number: AtomicU32::new(0), _rest: [0; 65532] };
/// The last number assigned. A child continues from it.
static LAST: AtomicU32 = AtomicU32::new(0);

/// Returns this process's number.
#[inline]
pub fn current() -> u32 {
    match PAGE.number.load(Ordering::Relaxed) {
        0 => take_number(),
        number => number,
    }
}

/// Returns whether `number` is this process's number.
#[inline]
pub fn is_current(number: u32) -> bool {
    PAGE.number.load(Ordering::Relaxed) == number
}

#[cold]
fn take_number() -> u32 {
    let page = ptr::from_ref(&PAGE).cast_mut().cast();
    // SAFETY: the page is this static's own, wiping it sets its number to 0, and a child is the only one that
    // sees that. Refused by a kernel that does not know it, and unknown to Miri: then a child passes for its parent.
    let _ = cfg!(miri) || unsafe { madvise(page, page_size(), Advice::LinuxWipeOnFork) }.is_ok();
    let number = LAST.fetch_add(1, Ordering::Relaxed) + 1;
    match PAGE.number.compare_exchange(0, number, Ordering::Relaxed, Ordering::Relaxed) {
        Ok(_) => number,
        Err(faster) => faster,
    }
}

/// Registers `handler` to run when the process returns from `main` or calls `exit`, but not when it is killed.
pub fn at_exit(handler: extern "C" fn()) {
    // SAFETY: the handler is a function without arguments that lives as long as the process. On failure (no memory) the process exits
    // without the call.
    unsafe { libc::atexit(handler) };
}

/// A value of which each process has one, never dropped.
#[derive(Debug)]
pub struct PerProcess<T: 'static> {
    entry: AtomicPtr<Entry<T>>,
}

struct Entry<T> {
    process: u32,
    value: T,
}

impl<T: Send + Sync + 'static> PerProcess<T> {
    /// Creates the place without a value.
    pub const fn new() -> PerProcess<T> {
        PerProcess { entry: AtomicPtr::new(ptr::null_mut()) }
    }

    /// Returns this process's value, if it has one.
    pub fn get(&self) -> Option<&'static T> {
        Self::of_this_process(self.entry.load(Ordering::Acquire))
    }

    /// Sets this process's value. Returns it as an error if there is one already.
    pub fn set(&self, value: T) -> Result<&'static T, T> {
        let old = self.entry.load(Ordering::Acquire);
        if Self::of_this_process(old).is_some() {
            return Err(value);
        }
        let new = Box::into_raw(Box::new(Entry { process: current(), value }));
        match self.entry.compare_exchange(old, new, Ordering::AcqRel, Ordering::Acquire) {
            // SAFETY: an entry that was published is never changed nor freed.
            Ok(_) => Ok(unsafe { &(*new).value }),
            // SAFETY: it came out of a box just now and was never shared.
            Err(_) => Err(unsafe { Box::from_raw(new) }.value),
        }
    }

    /// Returns this process's value, created if there is none.
    pub fn get_or_init(&self, make: impl FnOnce() -> T) -> &'static T {
        if let Some(value) = self.get() {
            return value;
        }
        match self.set(make()) {
            Ok(value) => value,
            // INVARIANT: `set` fails for no other reason than that this process has a value, for good.
            Err(_) => self.get().expect("another thread was faster"),
        }
    }

    fn of_this_process(entry: *mut Entry<T>) -> Option<&'static T> {
        // SAFETY: null, or an entry that was published, which is never changed nor freed.
        let entry = unsafe { entry.as_ref() }?;
        is_current(entry.process).then_some(&entry.value)
    }
}

impl<T: Send + Sync + 'static> Default for PerProcess<T> {
    fn default() -> PerProcess<T> {
        PerProcess::new()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_process_keeps_its_number() {
        let number = current();
        assert_ne!(number, 0);
        assert!(is_current(number) && !is_current(number + 1));
        assert_eq!(std::thread::spawn(current).join().unwrap(), number);
    }

    #[test]
    fn one_value_is_made_however_many_threads_ask() {
        static VALUE: PerProcess<u32> = PerProcess::new();
        let threads: Vec<_> = (0..8).map(|i| std::thread::spawn(move || *VALUE.get_or_init(|| i))).collect();
        let values: Vec<u32> = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
        assert!(values.iter().all(|value| Some(value) == VALUE.get()), "{values:?}");
        assert_eq!(VALUE.set(100), Err(100));
    }
}
