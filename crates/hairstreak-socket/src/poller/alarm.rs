//! `Alarm`: what sockets, and the application, wake a poller by.
//!
//! It is rung where the poller sleeps at that moment. Who rings sets a flag first and then looks where that is; who
//! goes to sleep says where first and then looks at the flag: one of the two sees the other.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Wake, Waker};

use crate::ring_link::Doorbell;

/// Where a poller sleeps.
#[derive(Debug)]
pub(super) enum Bed {
    /// Nowhere: it will look before it does.
    Awake,
    /// In its own epoll.
    Own,
    /// In the epoll of the only engine that it waits for.
    Engine(Arc<Doorbell>),
    /// In a task.
    Task(Waker),
}

#[derive(Debug)]
pub(super) struct Alarm {
    /// The poller's own epoll: descriptors, and engines while it drives them.
    pub own: Arc<hairstreak_transport::Poller>,
    rung: AtomicBool,
    /// By the application, whatever there is to be found.
    interrupted: AtomicBool,
    bed: Mutex<Bed>,
}

/// Ends the present or the next wait.
pub(super) struct Interrupt(pub Arc<Alarm>);

impl Alarm {
    pub fn new() -> io::Result<Arc<Alarm>> {
        Ok(Arc::new(Alarm {
            own: Arc::new(hairstreak_transport::Poller::new()?),
            rung: AtomicBool::new(false),
            interrupted: AtomicBool::new(false),
            bed: Mutex::new(Bed::Awake),
        }))
    }

    /// The poller is about to look: news until now is not news any more.
    pub fn silence(&self) {
        self.rung.store(false, Ordering::Release);
    }

    /// The poller goes to sleep there. Returns whether it must not: there has been news.
    pub fn go_to(&self, bed: Bed) -> bool {
        let before = std::mem::replace(&mut *self.bed(), bed);
        // A task's waker is the application's: its end must not come under the lock.
        drop(before);
        self.rung.swap(false, Ordering::Acquire)
    }

    pub fn get_up(&self) {
        let before = std::mem::replace(&mut *self.bed(), Bed::Awake);
        drop(before);
    }

    pub fn take_interrupt(&self) -> bool {
        self.interrupted.load(Ordering::Relaxed) && self.interrupted.swap(false, Ordering::Acquire)
    }

    fn bed(&self) -> MutexGuard<'_, Bed> {
        self.bed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn ring(&self) {
        self.rung.store(true, Ordering::Release);
        let task = match &*self.bed() {
            Bed::Awake => None,
            Bed::Own => {
                self.own.wake();
                None
            }
            Bed::Engine(doorbell) => {
                doorbell.poller.wake();
                None
            }
            Bed::Task(waker) => Some(waker.clone()),
        };
        if let Some(waker) = task {
            waker.wake();
        }
    }
}

impl Wake for Alarm {
    fn wake(self: Arc<Self>) {
        self.ring();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.ring();
    }
}

impl Wake for Interrupt {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.0.interrupted.store(true, Ordering::Release);
        self.0.ring();
    }
}
