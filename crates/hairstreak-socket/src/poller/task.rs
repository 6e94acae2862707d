//! Waiting in a task: the background thread drives the engines, and watches descriptors and times.

use std::future::poll_fn;
use std::io;
use std::sync::Arc;
use std::task::{Poll, Waker};
use std::time::Instant;

use hairstreak_transport::{Interest as Watched, Timer};

use super::alarm::Bed;
use super::ready::Ready;
use super::table::Poller;
use crate::background::Background;
use crate::errors::WaitError;

/// A wait that takes back what it has left everywhere, however it ends.
struct Waiting<'a>(&'a mut Poller);

impl Poller {
    /// Waits until something is ready, or [`Poller::waker`] is woken, and puts what is ready in the place of what
    /// `ready` was. Cancel safe: nothing is lost, but for a time that has come, which is reported once.
    pub async fn wait_async(&mut self, ready: &mut Vec<Ready>) -> Result<(), WaitError> {
        let mut waiting = Waiting(self);
        poll_fn(|context| waiting.poll(ready, context.waker())).await
    }
}

impl Waiting<'_> {
    fn poll(&mut self, ready: &mut Vec<Ready>, waker: &Waker) -> Poll<Result<(), WaitError>> {
        ready.clear();
        let poller = &mut *self.0;
        if poller.is_forked() {
            return Poll::Ready(Err(WaitError::Forked));
        }
        loop {
            poller.alarm.silence();
            if let Err(error) = poller.look(ready) {
                return Poll::Ready(Err(error.into()));
            }
            if poller.alarm.take_interrupt() || !ready.is_empty() {
                return Poll::Ready(Ok(()));
            }
            let rung = poller.alarm.go_to(Bed::Task(waker.clone()));
            if rung || !poller.leave_wakers() {
                continue;
            }
            return match poller.have_descriptors_watched() {
                Ok(()) => Poll::Pending,
                Err(error) => Poll::Ready(Err(error.into())),
            };
        }
    }
}

impl Poller {
    /// Leaves wakers with all sockets. False: something is ready after all.
    fn leave_wakers(&mut self) -> bool {
        for group in &mut self.groups {
            group.touched = true;
            if std::mem::take(&mut group.listed) {
                self.alarm.own.remove(&*group.engine);
            }
            let mut state = group.engine.lock();
            for member in &group.members {
                if member.look(&mut state, &group.engine).is_anything() {
                    return false;
                }
                state.add_waiter(member.wait(), &self.waker);
            }
            state.leave_to_others(&group.engine);
        }
        true
    }

    /// Has the background thread ring the alarm when a descriptor is ready or a time has come.
    fn have_descriptors_watched(&mut self) -> io::Result<()> {
        self.forget_descriptors();
        if let Some((_, at)) = self.times.first().copied() {
            let timer = match self.timer.take() {
                Some(timer) => timer,
                None => {
                    let timer = Timer::new()?;
                    let token = self.new_token();
                    self.alarm.own.add(&timer, token, Watched::Readable)?;
                    timer
                }
            };
            timer.acknowledge();
            timer.arm(at.saturating_duration_since(Instant::now()));
            self.timer = Some(timer);
        } else if self.descriptors.is_empty() {
            return Ok(());
        }
        let waker = Waker::from(Arc::clone(&self.alarm));
        self.awaited = Some(Background::start()?.await_poller(&self.alarm.own, waker)?);
        Ok(())
    }

    fn forget_descriptors(&mut self) {
        if let Some(number) = self.awaited.take() {
            Background::running().forget_poller(number);
        }
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        if self.0.is_forked() {
            return;
        }
        self.0.forget_descriptors();
        self.0.alarm.get_up();
        self.0.let_go();
    }
}
