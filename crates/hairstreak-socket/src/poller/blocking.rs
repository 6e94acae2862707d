//! Waiting in a thread: it drives the engines that nobody else drives, and sleeps.
//!
//! With sockets of one engine and nothing else it sleeps in that engine's epoll, as a receive does. Otherwise in
//! its own, which has the descriptors, and the epolls of the engines that it leads. Wakers lie with every socket
//! all the while, for news that other threads bring.

use std::time::{Duration, Instant};

use hairstreak_transport::Interest as Watched;

use super::alarm::Bed;
use super::ready::Ready;
use super::table::{Group, Poller};
use crate::errors::WaitError;

impl Poller {
    /// Waits until something is ready, or [`Poller::waker`] is woken, and puts what is ready in the place of what
    /// `ready` was.
    pub fn wait(&mut self, ready: &mut Vec<Ready>) -> Result<(), WaitError> {
        self.wait_until(ready, None)
    }

    /// As [`Poller::wait`], at most `timeout`: nothing may be ready then. With a time-out of zero it only looks.
    pub fn wait_timeout(&mut self, ready: &mut Vec<Ready>, timeout: Duration) -> Result<(), WaitError> {
        self.wait_until(ready, Instant::now().checked_add(timeout))
    }

    fn wait_until(&mut self, ready: &mut Vec<Ready>, deadline: Option<Instant>) -> Result<(), WaitError> {
        ready.clear();
        if self.is_forked() {
            return Err(WaitError::Forked);
        }
        let mut is_over = false;
        let result = loop {
            self.alarm.silence();
            if let Err(error) = self.look(ready) {
                break Err(error.into());
            }
            if self.alarm.take_interrupt() || !ready.is_empty() || is_over {
                break Ok(());
            }
            let now = Instant::now();
            is_over = deadline.is_some_and(|deadline| deadline <= now);
            let next = self.times.first().map(|(_, at)| *at);
            let timeout =
                next.into_iter().chain(deadline).min().map(|until| until.saturating_duration_since(now));
            if let Err(error) = self.sleep(timeout) {
                break Err(error.into());
            }
        };
        self.let_go();
        result
    }

    fn sleep(&mut self, timeout: Option<Duration>) -> std::io::Result<()> {
        let alone = self.descriptors.is_empty() && self.groups.len() == 1;
        let mut timeout = timeout;
        for at in 0..self.groups.len() {
            if !self.lead_or_leave(at, alone, &mut timeout) {
                timeout = Some(Duration::ZERO);
            }
        }
        if alone
            && let Some(group) = self.groups.first_mut()
            && let Some(sleep) = group.leading.take()
        {
            let rung = self.alarm.go_to(Bed::Engine(group.engine.doorbell.clone()));
            let state = group.engine.end_leading(sleep.or_look(rung));
            // Before the guard runs wakers, which are this poller's own for the most part.
            self.alarm.get_up();
            drop(state);
            return Ok(());
        }
        let rung = self.alarm.go_to(Bed::Own);
        let result = self.alarm.own.wait(if rung { Some(Duration::ZERO) } else { timeout }, |_| {});
        self.alarm.get_up();
        for group in &mut self.groups {
            if let Some(sleep) = group.leading.take() {
                drop(group.engine.end_leading(sleep.or_look(true)));
            }
        }
        result.map(drop)
    }

    /// Leaves wakers with the group's sockets, and leads its engine unless another does. False: something is
    /// ready after all.
    fn lead_or_leave(&mut self, at: usize, alone: bool, timeout: &mut Option<Duration>) -> bool {
        let group = &mut self.groups[at];
        group.touched = true;
        let engine = &group.engine;
        let mut state = engine.lock();
        for member in &group.members {
            if member.look(&mut state, engine).is_anything() {
                return false;
            }
            state.add_waiter(member.wait(), &self.waker);
        }
        let own = &self.alarm.own;
        let may_lead = !state.leader;
        if may_lead && !alone && !group.listed {
            group.listed = own.add(&**engine, group.token, Watched::Readable).is_ok();
        } else if !may_lead && group.listed {
            // Its events are another's now.
            own.remove(&**engine);
            group.listed = false;
        }
        if may_lead && (alone || group.listed) {
            let sleep = state.begin_to_lead(engine, None, *timeout);
            *timeout = sleep.timeout;
            group.leading = Some(sleep);
        } else {
            state.leave_to_others(engine);
        }
        true
    }

    /// The wait is over: takes the wakers back, and leaves the engines to others.
    pub(super) fn let_go(&mut self) {
        for group in &mut self.groups {
            if std::mem::take(&mut group.touched) {
                group.let_go();
            }
        }
    }
}

impl Group {
    fn let_go(&self) {
        let mut state = self.engine.lock();
        for member in &self.members {
            state.forget_waiter(member.wait());
        }
        self.engine.leave(&mut state);
    }
}
