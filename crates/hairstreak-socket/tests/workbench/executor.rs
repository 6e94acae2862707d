//! An executor of one future: it parks the thread while the future has nothing to do.

use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::Instant;

use crate::LONG;

/// Wakes the thread that made it.
pub struct Alarm {
    thread: Thread,
    rung: AtomicBool,
}

impl Alarm {
    pub fn new() -> Arc<Alarm> {
        Arc::new(Alarm { thread: thread::current(), rung: AtomicBool::new(false) })
    }

    /// Sleeps until it is rung.
    pub fn wait(&self) {
        let since = Instant::now();
        while !self.rung.swap(false, Ordering::Acquire) {
            assert!(since.elapsed() < LONG, "nobody woke the task");
            thread::park_timeout(LONG);
        }
    }
}

impl Wake for Alarm {
    fn wake(self: Arc<Self>) {
        self.rung.store(true, Ordering::Release);
        self.thread.unpark();
    }
}

/// Runs the future to its end.
pub fn block_on<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    let alarm = Alarm::new();
    loop {
        if let Poll::Ready(output) = poll_with(&alarm, future.as_mut()) {
            return output;
        }
        alarm.wait();
    }
}

/// Polls the future once.
pub fn poll_with<F: Future>(alarm: &Arc<Alarm>, future: Pin<&mut F>) -> Poll<F::Output> {
    let waker = Waker::from(Arc::clone(alarm));
    future.poll(&mut Context::from_waker(&waker))
}
