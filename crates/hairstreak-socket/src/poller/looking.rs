//! What is ready now.

use std::io;
use std::time::{Duration, Instant};

use super::ready::Ready;
use super::table::{Group, Member, Poller};
use crate::engine::{Engine, State, Wait, Wish};

impl Poller {
    /// Appends what is ready now, as far as the engines know without looking at the kernel; descriptors and times
    /// as they are.
    pub(super) fn look(&mut self, ready: &mut Vec<Ready>) -> io::Result<()> {
        for group in &self.groups {
            group.look(ready);
        }
        self.look_at_descriptors(ready)?;
        self.look_at_times(ready);
        Ok(())
    }

    fn look_at_descriptors(&self, ready: &mut Vec<Ready>) -> io::Result<()> {
        if self.descriptors.is_empty() {
            return Ok(());
        }
        let looked = self.alarm.own.wait(Some(Duration::ZERO), |event| {
            let mut descriptors = self.descriptors.iter();
            let Some(found) = descriptors.find(|descriptor| descriptor.token == event.token) else { return };
            ready.push(Ready {
                key: found.key,
                readable: event.readable && found.interest.readable,
                writable: event.writable && found.interest.writable,
                closed: event.ended,
                expired: false,
            });
        });
        looked.map(drop)
    }

    fn look_at_times(&mut self, ready: &mut Vec<Ready>) {
        if self.times.is_empty() {
            return;
        }
        let now = Instant::now();
        self.times.retain(|&(key, at)| {
            let expired = at <= now;
            if expired {
                ready.push(Ready { key, expired, ..Ready::default() });
            }
            !expired
        });
    }
}

impl Group {
    fn look(&self, ready: &mut Vec<Ready>) {
        let mut state = self.engine.lock();
        let before = ready.len();
        for member in &self.members {
            let found = member.look(&mut state, &self.engine);
            if found.is_anything() {
                ready.push(found);
            }
        }
        if ready.len() > before {
            // Who always finds something never waits, and still has to see what else comes.
            state.work_since_turn.add_io(1);
            let receivers = self.members.iter().filter(|member| member.interest.readable);
            self.engine.after_look(state, receivers.map(|member| member.index));
        }
    }
}

impl Member {
    /// Its place among those who wait for the socket.
    pub(super) fn wait(&self) -> Wait {
        let wish = if self.interest.readable { Wish::Messages } else { Wish::Room };
        Wait { socket: self.index, number: self.waiter, wish }
    }

    pub(super) fn look(&self, state: &mut State, engine: &Engine) -> Ready {
        let mut ready = Ready { key: self.key, ..Ready::default() };
        let socket = state.sockets.get(self.index).filter(|socket| socket.serial == self.serial);
        if socket.is_none_or(|socket| socket.closed) {
            ready.closed = true;
            return ready;
        }
        ready.readable = self.interest.readable && state.is_readable(engine, self.index);
        ready.writable = self.interest.writable
            && match &self.addressee {
                Some(name) => state.is_writable_to_named(self.index, name.as_bytes()),
                None => state.is_writable(self.index),
            };
        ready
    }
}
