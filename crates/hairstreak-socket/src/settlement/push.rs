//! What a settled PUSH can be asked.

use std::sync::Arc;
use std::task::Waker;
use std::time::{Duration, Instant};

use super::{Ending, Refusal, RefusedTasks, SocketName, TaskId, TaskRun};
use crate::engine::State;
use crate::errors::SendError;
use crate::options::Overflow;
use crate::outgoing::Outgoing;
use crate::pipeline::{Pull, Push, PushPattern};
use crate::sending::outcome;
use crate::socket::Socket;

/// How many messages are where.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Unsettled {
    /// Accepted by a send and not settled.
    pub count: u64,
    /// Of those, waiting for a receiver to be sent again.
    pub waiting_count: u64,
    /// Messages refused so far: rejected, or given up after too many deliveries or for want of time; without those that were
    /// reported as done before they were taken.
    pub refused_count: u64,
    /// Refusals lost because nobody took them in time.
    pub lost_refusals: u64,
}

impl Socket<PushPattern> {
    /// What is not settled now; nothing where settlement is not wanted.
    pub fn unsettled(&self) -> Unsettled {
        if self.handle.is_forked() {
            return Unsettled::default();
        }
        let state = self.handle.engine.lock();
        let count = state.unsettled_count(self.handle.index);
        let backlog = state.sockets.get(self.handle.index).and_then(|socket| socket.backlog.as_ref());
        backlog.map_or(Unsettled::default(), |backlog| Unsettled {
            count,
            waiting_count: backlog.redelivery.waiting_count(),
            refused_count: backlog.redelivery.refused_count(),
            lost_refusals: backlog.redelivery.lost_refusals(),
        })
    }

    /// The first task that is not settled; the next new one if all are. `None` where settlement is not wanted.
    pub fn first_unsettled(&self) -> Option<TaskId> {
        if self.handle.is_forked() {
            return None;
        }
        self.handle.engine.lock().first_unsettled(self.handle.index)
    }

    /// The next new task, and those before it that are not settled: the first of each run, and how many follow in sequence
    /// with it, ascending. `None` where settlement is not wanted. For a socket whose tasks are its own.
    pub fn unsettled_tasks(&self) -> Option<(TaskId, Vec<(TaskId, u64)>)> {
        if self.handle.is_forked() {
            return None;
        }
        self.handle.engine.lock().unsettled_tasks(self.handle.index)
    }

    /// As [`Socket::send`], of a message that is given up if it is not settled within that time from when it was accepted: as
    /// [`Settlement::deadline`](super::Settlement::deadline), and the shorter time of both.
    pub fn send_within<'a>(
        &self,
        message: impl Into<Outgoing<'a>>,
        within: Duration,
    ) -> Result<(), SendError> {
        self.send_within_until(&message.into(), within, None)
    }

    /// As [`Push::send_within`], waiting for room at most `timeout`.
    pub fn send_within_timeout<'a>(
        &self,
        message: impl Into<Outgoing<'a>>,
        within: Duration,
        timeout: Duration,
    ) -> Result<(), SendError> {
        self.send_within_until(&message.into(), within, Instant::now().checked_add(timeout))
    }

    fn send_within_until(
        &self,
        message: &Outgoing<'_>,
        within: Duration,
        deadline: Option<Instant>,
    ) -> Result<(), SendError> {
        if self.handle.is_forked() {
            return Err(SendError::Forked);
        }
        let (engine, index) = (&self.handle.engine, self.handle.index);
        let state = engine.lock();
        self.check(&state, message)?;
        let attempt = |state: &mut State| outcome(state.send_within(engine, index, message, within));
        let is_error = state.sockets[index].overflow == Overflow::Error;
        let (deadline, error) = match is_error {
            true => (Some(Instant::now()), SendError::WouldBlock),
            false => (deadline, SendError::TimedOut),
        };
        engine.wait(state, index, false, deadline, attempt).unwrap_or(Err(error))
    }

    /// Waits until everything that was sent is settled, `timeout` at most. Returns whether it is.
    pub fn wait_settled(&self, timeout: Duration) -> bool {
        if self.handle.is_forked() {
            return false;
        }
        let (engine, index) = (&self.handle.engine, self.handle.index);
        let attempt = |state: &mut State| (state.unsettled_count(index) == 0).then_some(());
        let deadline = Instant::now().checked_add(timeout);
        engine.wait(engine.lock(), index, false, deadline, attempt).is_some()
    }

    /// What is passed on here with [`Socket::pass_on`] was received by `pull`: what becomes of it here becomes of it
    /// there. How much may be unsettled here is then for those who receive it: what there is, the source bounds. Where
    /// they pass it on too, those who sent it tell what is done ([`Pull::report`]), so that it is not sent again here. To be
    /// called before either socket has connections. Both must have been opened by one thread in one context. Returns whether they were.
    pub fn settle_upstream(&self, pull: &Pull) -> bool {
        let (engine, upstream) = (&self.handle.engine, pull.handle.index);
        if self.handle.is_forked() || !Arc::ptr_eq(engine, &pull.handle.engine) {
            return false;
        }
        let mut state = engine.lock();
        let Some(socket) = state.sockets.get_mut(self.handle.index) else { return false };
        let name = SocketName { index: self.handle.index, serial: socket.serial };
        let Some(backlog) = &mut socket.backlog else { return false };
        backlog.upstream = Some(upstream);
        if let Some(pull) = state.sockets.get_mut(upstream) {
            pull.passed_on_by = Some(name);
        }
        true
    }

    /// What is refused here from now on is sent by `letters`, with one frame more, which says why
    /// (a [`LetterNote`](super::LetterNote)), and kept
    /// there until it is settled; [`Socket::take_refusals`] has none of it. While as many are not settled there as may be
    /// ([`Settlement::unsettled_count_max`](super::Settlement::unsettled_count_max)), sends here wait; what is on its way by
    /// then may still be refused, so that there are at most as many more as may be unsettled here. Both must want settlement
    /// and have been opened by one thread in one context. Returns whether they were.
    pub fn pass_refusals_to(&self, letters: &Push) -> bool {
        let (engine, [source, target]) = (&self.handle.engine, [self.handle.index, letters.handle.index]);
        if self.handle.is_forked() || !Arc::ptr_eq(engine, &letters.handle.engine) || source == target {
            return false;
        }
        let mut state = engine.lock();
        state.pass_refusals_to(source, target)
    }

    /// The next messages that are sent are these tasks, in sequence: results of tasks that were received. By one
    /// thread at a time. Without settlement nothing changes.
    pub fn pass_on(&self, first: TaskRun) {
        if !self.handle.is_forked() {
            self.handle.engine.lock().set_next_task(self.handle.index, first);
        }
    }

    /// Whether this task was passed on and is not settled. Its settlement then holds for every copy of the task that
    /// was received.
    pub fn is_under_way(&self, task: TaskId) -> bool {
        !self.handle.is_forked() && self.handle.engine.lock().is_under_way(self.handle.index, task)
    }

    /// Waits until everything is settled, `timeout` at most, and tells the receivers that no message follows; later
    /// sends are refused as on a closed socket. Returns whether it is; if not, nothing was told.
    pub fn end(&self, timeout: Duration) -> bool {
        let is_settled = self.wait_settled(timeout);
        if is_settled {
            self.announce_end();
        }
        is_settled
    }

    /// Says that tasks are done, `count` in sequence from `first` on, whoever has them: as a receiver does by
    /// [`Pull::report`](crate::Pull::report), for who hears of it in this process.
    pub fn note_done(&self, first: TaskId, count: u64) {
        if !self.handle.is_forked() {
            self.handle.engine.lock().note_done(&self.handle.engine, self.handle.index, &[(first, count)]);
        }
    }

    /// Says that nothing new follows: later sends are refused as on a closed socket. Each receiver is told behind the last
    /// message that it may get, once no other has any that it has not settled. Waits for nothing.
    pub fn announce_end(&self) {
        self.end_by(Ending::WhenOver);
    }

    /// As [`Socket::announce_end`], whatever is not settled: for who passes on tasks that their source needs no more.
    pub fn end_now(&self) {
        self.end_by(Ending::Now);
    }

    fn end_by(&self, ending: Ending) {
        if !self.handle.is_forked() {
            self.handle.engine.lock().end_sending_to_all(&self.handle.engine, self.handle.index, ending);
        }
    }

    /// The messages that receivers rejected, that were sent too often or had their time, since the last call. Those that were given up
    /// may have been dealt with all the same; what was reported as done since ([`Pull::report`](crate::Pull::report)) is not among them.
    pub fn take_refusals(&self) -> Vec<Refusal> {
        if self.handle.is_forked() {
            return Vec::new();
        }
        let mut state = self.handle.engine.lock();
        let socket = state.sockets.get_mut(self.handle.index);
        let Some(backlog) = socket.and_then(|socket| socket.backlog.as_mut()) else { return Vec::new() };
        backlog.redelivery.expect_taker(Instant::now);
        let refusals = backlog.redelivery.take_refusals();
        if !refusals.is_empty() {
            // A send may wait for that.
            state.notify(self.handle.index);
        }
        refusals
    }

    /// Which tasks receivers rejected, or were sent too often, since the last call: for those who wait for their results. The
    /// messages are kept for [`Socket::take_refusals`].
    pub fn take_refused(&self) -> RefusedTasks {
        let nothing = RefusedTasks::Runs(Vec::new());
        if self.handle.is_forked() {
            return nothing;
        }
        let mut state = self.handle.engine.lock();
        let socket = state.sockets.get_mut(self.handle.index);
        let Some(backlog) = socket.and_then(|socket| socket.backlog.as_mut()) else { return nothing };
        backlog.has_woken = false;
        backlog.redelivery.take_refused()
    }

    /// Who is to be woken when there is something to be had by [`Socket::take_refused`]; once, until it is taken.
    pub fn wake_on_refusal(&self, waker: Waker) {
        if !self.handle.is_forked() {
            self.handle.engine.lock().wake_on_refusal(self.handle.index, waker);
        }
    }
}
