//! The queue between an engine, which tells, and a monitor, which is read by whoever likes. Its lock is taken under
//! the engine's and held for a few instructions; nobody else's code runs under it.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};
use std::time::{Duration, Instant};

use hairstreak_base::process;
use thiserror::Error;

use super::event::Event;

/// Monitors of one socket.
pub(crate) const MONITORS_MAX: usize = 16;

/// Why a socket has no further monitor.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum MonitorError {
    /// It has as many as it may have.
    #[error("the socket has {MONITORS_MAX} monitors, which is the most")]
    TooMany,
    /// The socket is closed.
    #[error("the socket is closed")]
    Closed,
    /// The socket was opened by the process that this one was forked from.
    #[error("the socket belongs to the process that this one was forked from")]
    Forked,
}

/// Why there is no event.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum MonitorRecvError {
    /// None is here now.
    #[error("no event is here now")]
    WouldBlock,
    /// None came in time.
    #[error("no event came in time")]
    TimedOut,
    /// The socket is closed, its last connection is over, and all has been told.
    #[error("the socket is closed and all of it has been told")]
    Ended,
    /// The monitor was made by the process that this one was forked from.
    #[error("the monitor belongs to the process that this one was forked from")]
    Forked,
}

/// A stream of events. Dropped, it costs the socket nothing any more. Several threads or tasks may read one; each
/// event goes to one of them.
#[derive(Debug)]
pub struct Monitor {
    queue: Arc<Queue>,
    process: u32,
}

/// The engine's end. Dropped, the stream ends; not under the engine's lock, for that wakes tasks.
#[derive(Debug)]
pub(crate) struct MonitorSender {
    queue: Arc<Queue>,
}

#[derive(Debug, Default)]
struct Queue {
    inner: Mutex<Inner>,
    news: Condvar,
}

#[derive(Debug, Default)]
struct Inner {
    events: VecDeque<Event>,
    count_max: usize,
    /// Lost since the last event that is still here or was read.
    lost_count: u64,
    ended: bool,
    wakers: Vec<(u64, Waker)>,
    next_waiter: u64,
}

impl Queue {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    fn push(&mut self, event: Event) {
        if self.events.len() >= self.count_max {
            // The next event tells of it, together with what it would have told of itself.
            let lost = self.events.pop_front().map_or(0, |oldest| oldest.lost_count + 1);
            match self.events.front_mut() {
                Some(next) => next.lost_count += lost,
                None => self.lost_count += lost,
            }
        }
        let lost_count = std::mem::take(&mut self.lost_count);
        self.events.push_back(Event { lost_count, ..event });
    }

    fn pop(&mut self) -> Option<Result<Event, MonitorRecvError>> {
        let event = self.events.pop_front().map(Ok);
        event.or(self.ended.then_some(Err(MonitorRecvError::Ended)))
    }
}

impl MonitorSender {
    /// Both ends of a new queue for `count_max` events.
    pub fn new(count_max: usize) -> (MonitorSender, Monitor) {
        let queue = Arc::new(Queue::default());
        queue.lock().count_max = count_max.max(1);
        let monitor = Monitor { queue: Arc::clone(&queue), process: process::current() };
        (MonitorSender { queue }, monitor)
    }

    /// Whether anybody can still read it.
    pub fn is_wanted(&self) -> bool {
        Arc::strong_count(&self.queue) > 1
    }

    /// Adds an event. Tasks that wait are returned, to be woken when no lock is held.
    pub fn push(&self, event: Event) -> Vec<(u64, Waker)> {
        let mut inner = self.queue.lock();
        inner.push(event);
        self.queue.news.notify_one();
        std::mem::take(&mut inner.wakers)
    }
}

impl Drop for MonitorSender {
    fn drop(&mut self) {
        let mut inner = self.queue.lock();
        inner.ended = true;
        let wakers = std::mem::take(&mut inner.wakers);
        self.queue.news.notify_all();
        drop(inner);
        wakers.into_iter().for_each(|(_, waker)| waker.wake());
    }
}

impl Monitor {
    /// The next event, waiting for it.
    pub fn recv(&self) -> Result<Event, MonitorRecvError> {
        self.recv_until(None)
    }

    /// The next event, waiting at most `timeout`.
    pub fn recv_timeout(&self, timeout: Duration) -> Result<Event, MonitorRecvError> {
        self.recv_until(Instant::now().checked_add(timeout))
    }

    /// The next event if one is here; [`MonitorRecvError::WouldBlock`] if none is.
    pub fn try_recv(&self) -> Result<Event, MonitorRecvError> {
        self.check()?;
        self.queue.lock().pop().unwrap_or(Err(MonitorRecvError::WouldBlock))
    }

    /// The next event, when there is one. Cancel safe: an event leaves the monitor only in the poll that returns it.
    pub async fn recv_async(&self) -> Result<Event, MonitorRecvError> {
        let mut place = Place { monitor: self, number: 0 };
        poll_fn(|context| match place.pop_or_wait(context.waker()) {
            Some(result) => Poll::Ready(result),
            None => Poll::Pending,
        })
        .await
    }

    fn recv_until(&self, deadline: Option<Instant>) -> Result<Event, MonitorRecvError> {
        self.check()?;
        let mut inner = self.queue.lock();
        loop {
            if let Some(result) = inner.pop() {
                return result;
            }
            let news = &self.queue.news;
            inner = match deadline.map(|deadline| deadline.saturating_duration_since(Instant::now())) {
                None => news.wait(inner).unwrap_or_else(PoisonError::into_inner),
                Some(Duration::ZERO) => return Err(MonitorRecvError::TimedOut),
                Some(left) => news.wait_timeout(inner, left).unwrap_or_else(PoisonError::into_inner).0,
            };
        }
    }

    /// A forked child does not touch the lock: a thread that it does not have may hold it.
    fn check(&self) -> Result<(), MonitorRecvError> {
        if process::is_current(self.process) { Ok(()) } else { Err(MonitorRecvError::Forked) }
    }
}

/// A future's place among those who wait.
struct Place<'a> {
    monitor: &'a Monitor,
    /// Given with the first wait; 0 before.
    number: u64,
}

impl Place<'_> {
    fn pop_or_wait(&mut self, waker: &Waker) -> Option<Result<Event, MonitorRecvError>> {
        if let Err(error) = self.monitor.check() {
            return Some(Err(error));
        }
        let waker = waker.clone();
        let mut inner = self.monitor.queue.lock();
        if let Some(result) = inner.pop() {
            // Declared before the lock was taken, and so dropped after it is released.
            return Some(result);
        }
        if self.number == 0 {
            inner.next_waiter += 1;
            self.number = inner.next_waiter;
        }
        let old = inner.take_waker(self.number);
        inner.wakers.push((self.number, waker));
        drop(inner);
        drop(old);
        None
    }
}

impl Inner {
    fn take_waker(&mut self, number: u64) -> Option<(u64, Waker)> {
        let at = self.wakers.iter().position(|(other, _)| *other == number)?;
        Some(self.wakers.swap_remove(at))
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        if self.number == 0 || self.monitor.check().is_err() {
            return;
        }
        let mut inner = self.monitor.queue.lock();
        let own = inner.take_waker(self.number);
        drop(inner);
        drop(own);
    }
}
