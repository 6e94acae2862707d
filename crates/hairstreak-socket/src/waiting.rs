//! `Waiter`: what a future that waits leaves in its socket, and takes back when it is dropped.

use std::sync::atomic::{AtomicU64, Ordering};
use std::task::Waker;

use crate::engine::{Guard, Wait, Wish};
use crate::socket::Handle;

/// One future's place among those who wait for a socket.
pub(crate) struct Waiter<'a> {
    handle: &'a Handle,
    wish: Wish,
    /// Given with the first wait; 0 before. An atomic so that the future may move between threads.
    number: AtomicU64,
}

impl<'a> Waiter<'a> {
    pub fn new(handle: &'a Handle, wish: Wish) -> Waiter<'a> {
        Waiter { handle, wish, number: AtomicU64::new(0) }
    }

    /// Has `waker` woken when there is news for the socket.
    pub fn wait(&self, state: &mut Guard<'_>, waker: &Waker) {
        let mut number = self.number.load(Ordering::Relaxed);
        if number == 0 {
            number = state.new_waiter();
            self.number.store(number, Ordering::Relaxed);
        }
        state.await_news(&self.handle.engine, self.as_wait(number), waker);
    }

    /// The future is ready.
    pub fn end(&self, state: &mut Guard<'_>) {
        state.end_waiter(self.as_wait(self.number.swap(0, Ordering::Relaxed)));
    }

    fn as_wait(&self, number: u64) -> Wait {
        Wait { socket: self.handle.index, number, wish: self.wish }
    }
}

impl Drop for Waiter<'_> {
    fn drop(&mut self) {
        let number = *self.number.get_mut();
        if number != 0 && !self.handle.is_forked() {
            self.handle.engine.lock().forget_waiter(self.as_wait(number));
        }
    }
}
