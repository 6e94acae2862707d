//! What happens by the clock: time-outs, heartbeats, reconnects, and looks at what has no event.

#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::link::{Link, LinkKind};
use super::state::State;
use super::timers::Due;
use super::wait::Engine;
use crate::monitor::EventKind;
use crate::session::{Phase, SessionError};

/// When a session that drains, with more to discard, has its next turn.
const DRAIN_TICK: Duration = Duration::from_millis(1);
/// Timers handled in one turn. Others that are due have the next turn, which follows at once.
const TIMERS_PER_TURN: usize = 64;

impl State {
    /// Visits what is due by `self.now`. Returns how many visits were made.
    pub fn run_timers(&mut self, engine: &Engine) -> usize {
        for count in 0..TIMERS_PER_TURN {
            match self.timers.pop(self.now) {
                None => return count,
                Some(Due::Link(index)) => self.run_link_timer(engine, index),
                Some(Due::Connector(index)) => self.start_connector(engine, index),
                Some(Due::Listener(index)) => self.resume_listener(engine, index),
                Some(Due::Deadlines(socket)) => self.run_deadlines(engine, socket),
                Some(Due::Room(socket)) => self.run_room(engine, socket),
                Some(Due::Refusals(socket)) => self.notify(socket),
                Some(Due::Settled) => self.settle_unattended(engine),
            }
        }
        TIMERS_PER_TURN
    }

    fn run_link_timer(&mut self, engine: &Engine, index: usize) {
        let now = self.now;
        let Some(link) = self.links.get_mut(index) else { return };
        let aged = link.note_ages(now);
        let next = match &mut link.kind {
            LinkKind::Ring(_) => Ok(None),
            LinkKind::Stream(session) => {
                let (phase, deadline) = (session.phase, session.connection.deadline);
                match phase {
                    Phase::Connecting | Phase::Handshaking if deadline <= now => {
                        Err(SessionError::HandshakeTimeout)
                    }
                    Phase::Connecting | Phase::Handshaking => Ok(Some(deadline)),
                    Phase::Draining if session.drain() => Err(SessionError::Left),
                    Phase::Draining if deadline <= now => Err(SessionError::Linger),
                    Phase::Draining if session.connection.is_readable() => Ok(Some(now + DRAIN_TICK)),
                    Phase::Draining => Ok(Some(deadline)),
                    // Messages of a connection that is gone: nobody is there to be asked.
                    Phase::Ready if session.is_ended() => Ok(None),
                    Phase::Ready => {
                        let options = &self.sockets[link.socket].options;
                        let interval = link.heartbeat.unwrap_or(Duration::from_millis(options.heartbeat_ms));
                        let timeout = Duration::from_millis(options.heartbeat_timeout_ms);
                        let next = session.run_heartbeat(now, interval, timeout);
                        next.map(|at| Some(self.timers.heartbeat_at(at, interval)))
                    }
                }
            }
        };
        if let Some(since) = link.session_mut().and_then(|session| session.connection.take_silence()) {
            self.tell_of_link(index, || EventKind::Silent { since });
        }
        match next {
            Ok(next) => {
                if let Some(at) = next.into_iter().chain(aged).min() {
                    self.timers.set(Due::Link(index), at);
                }
                if self.links[index].session().is_some_and(|session| !session.connection.output.is_empty()) {
                    self.flush_link(engine, index);
                }
            }
            Err(error) => self.end_link(engine, index, &error),
        }
    }

    /// A link drains: sets its timer for the next look.
    pub fn time_draining(&mut self, index: usize) {
        let Some(session) = self.links.get(index).and_then(Link::session) else { return };
        let readable = session.connection.is_readable();
        let at = if readable { self.now + DRAIN_TICK } else { session.connection.deadline };
        self.timers.set(Due::Link(index), at);
    }

    /// Notes since when messages of the link have waited for the application, and when to do so again.
    pub fn note_waiting(&mut self, index: usize, now: Instant) {
        if let Some(again) = self.links.get_mut(index).and_then(|link| link.note_age_in(now)) {
            self.timers.set_earlier(Due::Link(index), again);
        }
    }

    /// Connections of the socket wait for room for what they have still to bring, or did: those that found room go on, and
    /// those that hold it are to go on well enough.
    fn run_room(&mut self, engine: &Engine, socket: usize) {
        let Some(state) = self.sockets.get(socket) else { return };
        let budget = Arc::clone(&state.arriving);
        let timeout = Duration::from_millis(state.options.arriving_timeout_ms);
        for index in budget.holding() {
            if let Some(session) = self.links.get_mut(index).and_then(Link::session_mut)
                && let Err(error) = session.check_arriving(self.now, timeout)
            {
                self.end_link(engine, index, &error);
            }
        }
        for index in budget.waiting() {
            if self.links.get(index).and_then(Link::session).is_some_and(|session| session.may_go_on()) {
                self.on_readable(engine, index);
            }
        }
        if budget.is_awaited() {
            self.timers.look_for_room(socket, self.now);
        }
    }
}
