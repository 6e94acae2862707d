//! `Lock`: mutual exclusion without any atomic exchange for its usual owner.
//!
//! Any thread takes the lock by one `swap` of its state and releases it by a store. A thread that has taken it so
//! [`STREAK`] times in a row gets the seat, and is the owner from then on. The owner enters by making its seat's
//! count odd and checking that it is still the owner. It leaves by making the count even.
//! Another thread takes the state, ends the ownership, and waits until the seat is left. The asymmetric fence
//! ([`crate::fence`]) puts the cost of this on the other thread. A streak of exchanges costs about as much as ending
//! an ownership, so that no pattern of callers pays more than twice.
//!
//! The seat belongs to one thread for the life of the lock. If it changed hands, a late step of the former holder
//! could not be distinguished from a step of the new one.
//!
//! ```text
//!   owner:    seat += 1 (odd); light fence; owner == me ? enter : { seat += 1; as anybody }
//!             leave: seat += 1 (even)
//!   anybody:  swap(state, held) == free ? : spin, then sleep
//!             owner != nobody ? { owner = nobody; heavy fence; wait until the seat is even }
//!             leave: state = free
//!   leaving:  light fence; sleepers != 0 ? futex wake : done
//!   sleeper:  sleepers += 1; heavy fence; look again, futex wait
//! ```
//! Either the owner sees that its ownership has ended, or the other thread sees the seat taken. Either the leaving
//! thread sees the sleeper counted, or the sleeper sees the lock released. A thread that holds the lock and takes it
//! again waits for ever, as with any lock; with debug assertions it panics.
//! The lock is for sections of nanoseconds to a few system calls. A holder of the lock must not sleep.

use std::cell::{Cell, UnsafeCell};
use std::ops::{Deref, DerefMut};

use crate::fence;
use crate::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use crate::sync::{FutexWord, spin_hint, thread_token};

const FREE: u32 = 0;
const HELD: u32 = 1;
/// Number of looks at a taken lock before sleeping: about two microseconds.
const SPIN_COUNT: u32 = if cfg!(loom) { 1 } else { 60 };
/// Number of exchanges in a row that make a thread the owner.
const STREAK: u32 = if cfg!(loom) { 1 } else { 256 };
/// The token of no thread.
const NOBODY: usize = 0;

/// A value that one thread at a time may touch; see the module's description.
#[derive(Debug)]
pub struct Lock<T> {
    /// Token of the thread that may enter by its seat. Only the holder of the state writes it.
    owner: AtomicUsize,
    /// Odd while the owner is inside.
    seat: FutexWord,
    state: FutexWord,
    sleepers: AtomicU32,
    /// Accessed only by the holder of the state.
    record: Record,
    holder: Holder,
    value: UnsafeCell<T>,
}

/// The last thread to take the state, the length of its streak, and the thread that has the seat.
#[derive(Debug)]
struct Record {
    last: Cell<usize>,
    streak: Cell<u32>,
    seated: Cell<usize>,
}

/// The thread inside, used only by debug assertions. It orders nothing: each thread compares it only with itself.
#[derive(Debug, Default)]
struct Holder {
    #[cfg(debug_assertions)]
    token: std::sync::atomic::AtomicUsize,
}

impl Holder {
    #[inline]
    fn set(&self, _token: usize) {
        #[cfg(debug_assertions)]
        self.token.store(_token, Ordering::Relaxed);
    }

    /// Panics if the holder is `me`.
    #[inline]
    fn assert_not(&self, _me: usize) {
        #[cfg(debug_assertions)]
        assert!(self.token.load(Ordering::Relaxed) != _me, "a thread takes a lock that it has");
    }
}

// SAFETY: the lock hands out the value to one thread at a time, so sharing the lock needs only that the value may
// move between threads. Only the holder of the state touches the record.
unsafe impl<T: Send> Sync for Lock<T> {}
// SAFETY: owning the lock is owning the value.
unsafe impl<T: Send> Send for Lock<T> {}

impl<T> Lock<T> {
    /// Creates a free lock around `value`.
    pub fn new(value: T) -> Self {
        fence::register();
        Lock {
            owner: AtomicUsize::new(NOBODY),
            seat: FutexWord::new(0),
            state: FutexWord::new(FREE),
            sleepers: AtomicU32::new(0),
            record: Record { last: Cell::new(NOBODY), streak: Cell::new(0), seated: Cell::new(NOBODY) },
            holder: Holder::default(),
            value: UnsafeCell::new(value),
        }
    }

    /// Takes the lock. Waits if the lock is taken.
    pub fn lock(&self) -> LockGuard<'_, T> {
        let me = thread_token();
        self.holder.assert_not(me);
        if let Some(taken) = self.take_seat(me) {
            return self.enter(me, taken);
        }
        if self.state.value.swap(HELD, Ordering::Acquire) != FREE {
            self.wait_for_state();
        }
        self.enter_by_state(me)
    }

    /// Takes the lock if this thread is its owner. This path is short enough to be inlined, unlike the others.
    #[inline]
    pub fn lock_as_owner(&self) -> Option<OwnerGuard<'_, T>> {
        let me = thread_token();
        let taken = self.take_seat(me)?;
        self.holder.set(me);
        Some(OwnerGuard { lock: self, taken })
    }

    /// Takes the lock if it is free now.
    pub fn try_lock(&self) -> Option<LockGuard<'_, T>> {
        let me = thread_token();
        if let Some(taken) = self.take_seat(me) {
            return Some(self.enter(me, taken));
        }
        if is_taken(self.seat.value.load(Ordering::Relaxed))
            || self.state.value.swap(HELD, Ordering::Acquire) != FREE
        {
            return None;
        }
        Some(self.enter_by_state(me))
    }

    /// Enters as the owner. Returns the new count of the seat, or `None` if the thread has to take the state.
    #[inline]
    fn take_seat(&self, me: usize) -> Option<u32> {
        if self.owner.load(Ordering::Relaxed) != me {
            return None;
        }
        let taken = self.seat.value.load(Ordering::Relaxed).wrapping_add(1);
        if !is_taken(taken) {
            return None;
        }
        self.seat.value.store(taken, Ordering::Relaxed);
        // With a symmetric fence, no thread becomes the owner.
        fence::free();
        if self.owner.load(Ordering::Relaxed) == me {
            return Some(taken);
        }
        self.leave_seat(taken);
        None
    }

    #[inline]
    fn leave_seat(&self, taken: u32) {
        self.seat.value.store(taken.wrapping_add(1), Ordering::Release);
        fence::free();
        if self.sleepers.load(Ordering::Relaxed) != 0 {
            self.wake_for_seat();
        }
    }

    #[cold]
    #[inline(never)]
    fn wake_for_seat(&self) {
        self.seat.wake_one();
    }

    /// Enters with the state in hand. Ends the ownership of another thread, and makes a thread with a long streak the
    /// owner.
    #[inline]
    fn enter_by_state(&self, me: usize) -> LockGuard<'_, T> {
        if self.owner.load(Ordering::Relaxed) != NOBODY {
            self.end_ownership();
        }
        let record = &self.record;
        if record.last.get() == me {
            record.streak.set(record.streak.get() + 1);
            if record.streak.get() >= STREAK {
                self.offer_seat(me);
            }
        } else {
            record.last.set(me);
            record.streak.set(0);
        }
        self.enter(me, 0)
    }

    #[inline]
    fn enter(&self, me: usize, taken: u32) -> LockGuard<'_, T> {
        self.holder.set(me);
        LockGuard { lock: self, taken }
    }

    #[cold]
    fn offer_seat(&self, me: usize) {
        let record = &self.record;
        record.streak.set(0);
        if record.seated.get() == NOBODY {
            record.seated.set(me);
        }
        if record.seated.get() == me && fence::is_asymmetric() {
            self.owner.store(me, Ordering::Relaxed);
        }
    }

    #[cold]
    fn end_ownership(&self) {
        self.owner.store(NOBODY, Ordering::Relaxed);
        fence::heavy();
        self.record.streak.set(0);
        for _ in 0..SPIN_COUNT {
            if !is_taken(self.seat.value.load(Ordering::Acquire)) {
                return;
            }
            spin_hint();
        }
        self.sleepers.fetch_add(1, Ordering::Relaxed);
        fence::heavy();
        loop {
            let seat = self.seat.value.load(Ordering::Acquire);
            if !is_taken(seat) {
                break;
            }
            self.seat.wait(seat);
        }
        self.sleepers.fetch_sub(1, Ordering::Relaxed);
    }

    #[cold]
    fn wait_for_state(&self) {
        for _ in 0..SPIN_COUNT {
            if self.state.value.load(Ordering::Relaxed) == FREE
                && self.state.value.swap(HELD, Ordering::Acquire) == FREE
            {
                return;
            }
            spin_hint();
        }
        self.sleepers.fetch_add(1, Ordering::Relaxed);
        fence::heavy();
        while self.state.value.swap(HELD, Ordering::Acquire) != FREE {
            self.state.wait(HELD);
        }
        self.sleepers.fetch_sub(1, Ordering::Relaxed);
    }

    #[inline]
    fn leave_state(&self) {
        #[cfg(not(loom))]
        self.state.value.store(FREE, Ordering::Release);
        // loom lets a plain store slip into another thread's exchange (tokio-rs/loom#254).
        #[cfg(loom)]
        self.state.value.swap(FREE, Ordering::Release);
        fence::light();
        if self.sleepers.load(Ordering::Relaxed) != 0 {
            self.state.wake_one();
        }
    }
}

/// Returns whether a seat with this count is taken.
#[inline]
fn is_taken(seat: u32) -> bool {
    seat & 1 == 1
}

/// Access to the value. Dropping the guard releases the lock.
#[derive(Debug)]
pub struct LockGuard<'a, T> {
    lock: &'a Lock<T>,
    /// The seat's count, odd, if the owner entered; 0 if the thread took the state.
    taken: u32,
}

impl<T> LockGuard<'_, T> {
    /// Returns whether this thread entered as the owner.
    #[inline]
    pub fn is_owners(&self) -> bool {
        is_taken(self.taken)
    }
}

impl<T> Drop for LockGuard<'_, T> {
    #[inline]
    fn drop(&mut self) {
        self.lock.holder.set(NOBODY);
        if is_taken(self.taken) {
            self.lock.leave_seat(self.taken);
        } else {
            self.lock.leave_state();
        }
    }
}

/// Like [`LockGuard`], for the owner.
#[derive(Debug)]
pub struct OwnerGuard<'a, T> {
    lock: &'a Lock<T>,
    /// The seat's count, odd.
    taken: u32,
}

macro_rules! deref {
    ($($guard:ident),*) => {$(
        impl<T> Deref for $guard<'_, T> {
            type Target = T;
            #[inline]
            fn deref(&self) -> &T {
                // SAFETY: this guard is the only access to the value while it lives.
                unsafe { &*self.lock.value.get() }
            }
        }

        impl<T> DerefMut for $guard<'_, T> {
            #[inline]
            fn deref_mut(&mut self) -> &mut T {
                // SAFETY: this guard is the only access to the value while it lives.
                unsafe { &mut *self.lock.value.get() }
            }
        }
    )*};
}

deref!(LockGuard, OwnerGuard);

impl<T> Drop for OwnerGuard<'_, T> {
    #[inline]
    fn drop(&mut self) {
        self.lock.holder.set(NOBODY);
        self.lock.leave_seat(self.taken);
    }
}

#[cfg(all(test, loom))]
mod loom_tests;
#[cfg(all(test, not(loom)))]
mod tests;
