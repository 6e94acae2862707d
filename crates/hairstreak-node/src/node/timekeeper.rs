//! `Timekeeper`: the thread that has the timers of the virtual hosts fire: expiry of messages and queues.
//!
//! Connections have timers of their loops. A virtual host belongs to no loop, so that one thread sleeps until the earliest time that
//! any host is waiting for. A host that begins to wait for an earlier time wakes the thread.
//!
//! - `Clock`: the node's milliseconds, which the virtual hosts count in.

use std::io;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Longest sleep of the thread.
const SLEEP_MAX: Duration = Duration::from_secs(3600);

/// The thread calls this when it wakes. It fires due timers, and returns the clock and the next time, or `None` at the end. The
/// argument is true if publishers of all hosts are to be woken.
type Fire = dyn FnMut(bool) -> Option<(Clock, Option<u64>)> + Send;

/// The thread and how to wake it.
pub struct Timekeeper {
    shared: Arc<Shared>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

struct Shared {
    /// Until when the thread sleeps, in the node's milliseconds.
    sleeps_until: AtomicU64,
    wakes_publishers: AtomicBool,
    /// True if the thread must wake up. At the end it stays true for ever.
    is_wanted: Mutex<bool>,
    wanted: Condvar,
    is_stopping: AtomicBool,
}

impl Timekeeper {
    pub fn new() -> Timekeeper {
        let shared = Shared {
            sleeps_until: AtomicU64::new(0),
            wakes_publishers: AtomicBool::new(false),
            is_wanted: Mutex::new(false),
            wanted: Condvar::new(),
            is_stopping: AtomicBool::new(false),
        };
        Timekeeper { shared: Arc::new(shared), thread: Mutex::new(None) }
    }

    /// Starts the thread.
    ///
    /// Errors: the system has no thread to give.
    pub fn start(
        &self,
        mut fire: impl FnMut(bool) -> Option<(Clock, Option<u64>)> + Send + 'static,
    ) -> io::Result<()> {
        let shared = Arc::clone(&self.shared);
        let run = move || shared.run(&mut fire);
        let thread = std::thread::Builder::new().name("amqp-timers".into()).spawn(run)?;
        *self.thread.lock().unwrap_or_else(PoisonError::into_inner) = Some(thread);
        Ok(())
    }

    /// A host waits for this time.
    #[inline]
    pub fn wake_by(&self, due: u64) {
        if due < self.shared.sleeps_until.load(SeqCst) {
            self.shared.wake();
        }
    }

    /// Publishers of all hosts may go on.
    pub fn wake_publishers(&self) {
        self.shared.wakes_publishers.store(true, SeqCst);
        self.shared.wake();
    }

    /// Returns true if publishers of all hosts are to be woken: once for each call of [`Timekeeper::wake_publishers`].
    pub fn take_wakes_publishers(&self) -> bool {
        self.shared.wakes_publishers.swap(false, SeqCst)
    }

    /// Ends the thread and waits for it.
    pub fn stop(&self) {
        self.shared.is_stopping.store(true, SeqCst);
        self.shared.wake();
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread {
            // A panic of the thread has been reported by itself.
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn wake(&self) {
        *self.is_wanted.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.wanted.notify_one();
    }

    fn run(&self, fire: &mut Fire) {
        while !self.is_stopping.load(SeqCst) {
            // A host that begins to wait from here on wakes the thread if the time is earlier.
            self.sleeps_until.store(u64::MAX, SeqCst);
            let clears = self.wakes_publishers.swap(false, SeqCst);
            let Some((clock, next)) = fire(clears) else { return };
            self.sleep(clock, next);
        }
    }

    /// Sleeps until `next`, or until a wakeup is requested.
    fn sleep(&self, clock: Clock, next: Option<u64>) {
        self.sleeps_until.store(next.unwrap_or(u64::MAX), SeqCst);
        let now = clock.millis(Instant::now());
        let time =
            next.map_or(SLEEP_MAX, |next| Duration::from_millis(next.saturating_sub(now)).min(SLEEP_MAX));
        let wanted = self.is_wanted.lock().unwrap_or_else(PoisonError::into_inner);
        let result = self.wanted.wait_timeout_while(wanted, time, |wanted| !*wanted);
        let (mut wanted, _) = result.unwrap_or_else(PoisonError::into_inner);
        *wanted = false;
    }
}

/// Counts milliseconds since 1970, by a clock that is never set: the system's time is read once, when the node starts.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    start: Instant,
    start_millis: u64,
}

impl Clock {
    pub fn start() -> Clock {
        let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Clock { start: Instant::now(), start_millis: since_1970.as_millis() as u64 }
    }

    /// `now` in milliseconds.
    pub fn millis(&self, now: Instant) -> u64 {
        self.start_millis + now.saturating_duration_since(self.start).as_millis() as u64
    }
}
