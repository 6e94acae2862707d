//! Tasks of a settled PUSH that are not settled in their time: they are given up, wherever they are.

use std::time::{Duration, Instant};

use hairstreak_wire::settlement::{Ranges, TaskId};

use crate::engine::Engine;
use crate::engine::routing::Sent;
use crate::engine::state::State;
use crate::engine::timers::Due;
use crate::outgoing::Outgoing;

impl State {
    /// Messages are about to be sent: if they have a time, it is looked at them.
    pub fn wake_deadlines(&mut self, engine: &Engine, socket: usize) {
        let Some(backlog) = &mut self.sockets[socket].backlog else { return };
        if backlog.deadlines.is_asleep() && backlog.upstream.is_none() {
            backlog.deadlines.wake(Instant::now());
            self.look_at_deadlines(engine, socket);
        }
    }

    /// Sends one message that is to be settled within that time.
    pub fn send_within(
        &mut self,
        engine: &Engine,
        socket: usize,
        message: &Outgoing<'_>,
        within: Duration,
    ) -> Sent {
        let before = self.next_new(socket);
        let sent = self.send(engine, socket, message);
        // A receiver that does not settle has no tasks.
        if sent == Sent::Done
            && let Some(next) = self.next_new(socket).filter(|next| Some(*next) != before)
            && let Some(by) = Instant::now().checked_add(within)
        {
            self.set_deadline(engine, socket, next.sequence - 1, by);
        }
        sent
    }

    fn set_deadline(&mut self, engine: &Engine, socket: usize, sequence: u64, by: Instant) {
        let Some(backlog) = &mut self.sockets[socket].backlog else { return };
        if backlog.upstream.is_some() {
            return;
        }
        let before = backlog.deadlines.next_look();
        backlog.deadlines.set(sequence, by);
        if backlog.deadlines.is_crowded() {
            let unsettled = self.unsettled_sequences(socket);
            if let Some(backlog) = &mut self.sockets[socket].backlog {
                backlog.deadlines.keep(&unsettled);
            }
        }
        if before.is_none_or(|before| by < before) {
            self.look_at_deadlines(engine, socket);
        }
    }

    fn unsettled_sequences(&self, socket: usize) -> Ranges {
        let (_, runs) =
            self.unsettled_tasks(socket).unwrap_or((TaskId { epoch: 0, sequence: 0 }, Vec::new()));
        let mut unsettled = Ranges::new();
        for (first, count) in runs {
            unsettled.insert(first.sequence..first.sequence + count);
        }
        unsettled
    }

    fn look_at_deadlines(&mut self, engine: &Engine, socket: usize) {
        let backlog = self.sockets.get(socket).and_then(|state| state.backlog.as_ref());
        if let Some(at) = backlog.and_then(|backlog| backlog.deadlines.next_look()) {
            self.timers.set(Due::Deadlines(socket), at);
            self.due_soon(engine);
        }
    }

    /// Gives up what of the socket has had its time, if it is to be looked at.
    pub fn run_deadlines(&mut self, engine: &Engine, socket: usize) {
        let Some(state) = self.sockets.get(socket).filter(|state| !state.closed) else { return };
        match state.backlog.as_ref().and_then(|backlog| backlog.deadlines.next_look()) {
            Some(at) if at <= self.now => self.expire(engine, socket),
            Some(at) => self.timers.set(Due::Deadlines(socket), at),
            None => {}
        }
    }

    fn first_of_unsettled(&self, socket: usize) -> Option<u64> {
        let has_some = self.unsettled_count(socket) > 0;
        self.first_unsettled(socket).filter(|_| has_some).map(|first| first.sequence)
    }

    fn expire(&mut self, engine: &Engine, socket: usize) {
        let (now, next) = (self.now, self.next_new(socket).map_or(0, |next| next.sequence));
        let first = self.first_of_unsettled(socket);
        let Some(backlog) = &mut self.sockets[socket].backlog else { return };
        if let Some(overdue) = backlog.deadlines.look(now, next, first).cloned() {
            let is_overdue = |task: TaskId| overdue.has(task.sequence);
            let mut expired = Vec::new();
            for index in self.busy_sessions(socket).map(|(index, _)| index).collect::<Vec<_>>() {
                if let Some(session) = self.links[index].session_mut() {
                    expired.extend(session.take_expired(is_overdue));
                    self.list_by_load(index);
                }
            }
            if let Some(backlog) = &mut self.sockets[socket].backlog {
                backlog.redelivery.expire(expired, is_overdue);
            }
            // Who has what was given up is the last to be given more.
            self.take_grant_back(socket);
            self.pass_refusals(engine, socket);
            self.tell_refused(socket);
            self.send_waiting_again(engine, socket);
            self.end_sending_where_over(engine, socket);
            self.notify(socket);
        }
        let first = self.first_of_unsettled(socket);
        if first.is_none() {
            // What is sent next is looked at again from there on.
            self.take_grant_back(socket);
        }
        let Some(backlog) = &mut self.sockets[socket].backlog else { return };
        backlog.deadlines.look_again(now, first);
        if let Some(at) = backlog.deadlines.next_look() {
            self.timers.set(Due::Deadlines(socket), at);
        }
    }
}
