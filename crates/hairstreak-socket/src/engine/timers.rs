//! What happens by the clock: heartbeats, time-outs, reconnects; and the ticks of the timerfd that
//! stand in for callers who are busy elsewhere.
//!
//! - The **flush tick** comes within 50 us of bytes that gather (twice that on a link that keeps
//!   writing by itself) and writes them.
//! - The **watch tick** comes 5 ms after the last caller left and, if no other came, gives the
//!   engine to the background thread.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::state::{ConnectorState, LinkKind, State};
use super::wait::Engine;
use crate::background::Background;
use crate::session::{GATHER_TIME, Phase, SessionError};

const WATCH_TICK: Duration = Duration::from_millis(5);
/// How often a session that drains looks whether the peer has everything.
const DRAIN_TICK: Duration = Duration::from_millis(5);

/// What the timerfd is armed for.
#[derive(Debug, Default)]
pub(crate) struct Ticks {
    flush_armed: bool,
    /// Whether the flush tick was put off once, the link having written by itself meanwhile.
    flush_postponed: bool,
    io_at_flush_arm: u32,
    watch_at: Option<Instant>,
    turns_at_watch_arm: u64,
}

impl State {
    /// Bytes gather: they are to be written soon, whatever the caller does next.
    pub fn arm_flush(&mut self, engine: &Engine) {
        if !self.ticks.flush_armed {
            self.ticks.flush_armed = true;
            self.ticks.flush_postponed = false;
            self.ticks.io_at_flush_arm = self.io_since_turn;
            engine.timer.arm(GATHER_TIME);
        }
    }

    /// A caller leaves: somebody must look after the engine if none comes back.
    pub fn arm_watch(&mut self, engine: &Engine) {
        if !self.watched && self.ticks.watch_at.is_none() {
            self.ticks.watch_at = Some(self.now + WATCH_TICK);
            self.ticks.turns_at_watch_arm = self.turns;
            if !self.ticks.flush_armed {
                engine.timer.arm(WATCH_TICK);
            }
        }
    }

    /// The timerfd fired.
    pub fn on_tick(&mut self, engine: &Arc<Engine>) {
        engine.timer.acknowledge();
        self.now = Instant::now();
        if self.ticks.flush_armed {
            self.on_flush_tick(engine);
        }
        if self.ticks.watch_at.is_some_and(|at| at <= self.now) {
            self.ticks.watch_at = None;
            let nobody_came = self.turns == self.ticks.turns_at_watch_arm;
            if !self.leader && nobody_came {
                self.watch(engine);
            } else if !self.leader {
                self.arm_watch(engine);
            }
        }
        if self.ticks.flush_armed {
            engine.timer.arm(GATHER_TIME);
        } else if let Some(at) = self.ticks.watch_at {
            engine.timer.arm(at.saturating_duration_since(self.now));
        }
    }

    fn on_flush_tick(&mut self, engine: &Arc<Engine>) {
        let wrote_itself = self.io_since_turn != self.ticks.io_at_flush_arm;
        if wrote_itself && !self.ticks.flush_postponed {
            self.ticks.flush_postponed = true;
            self.ticks.io_at_flush_arm = self.io_since_turn;
            return;
        }
        self.ticks.flush_armed = false;
        self.flush_dirty(engine, false);
        if !self.dirty.is_empty() && !self.leader {
            // The kernel is full: the poller will tell when it is not, and somebody must hear it.
            self.watch(engine);
        }
    }

    /// Hands the engine to the background thread.
    pub fn watch(&mut self, engine: &Arc<Engine>) {
        if !self.watched {
            self.watched = true;
            Background::running().watch(engine);
        }
    }

    /// Runs what is due by `self.now`, and finds out what is due next.
    pub fn run_timers(&mut self, engine: &Engine) {
        if self.due.is_none_or(|due| due > self.now) {
            return;
        }
        self.due = None;
        self.run_connectors(engine);
        self.run_listeners(engine);
        for index in 0..self.links.capacity() {
            if self.links.contains(index) {
                self.run_link_timer(engine, index);
            }
        }
    }

    fn run_connectors(&mut self, engine: &Engine) {
        for index in 0..self.connectors.capacity() {
            let Some(connector) = self.connectors.get(index) else { continue };
            match connector.state {
                ConnectorState::Waiting(at) if at <= self.now => self.start_connector(engine, index),
                ConnectorState::Waiting(at) => self.due_at(at),
                _ => {}
            }
        }
    }

    fn run_listeners(&mut self, engine: &Engine) {
        for index in 0..self.listeners.capacity() {
            let Some(until) = self.listeners.get(index).and_then(|bound| bound.paused_until) else { continue };
            if until <= self.now {
                self.resume_listener(engine, index);
            } else {
                self.due_at(until);
            }
        }
    }

    fn run_link_timer(&mut self, engine: &Engine, index: usize) {
        let now = self.now;
        let link = &mut self.links[index];
        let LinkKind::Stream(session) = &mut link.kind else { return };
        let outcome = match session.phase {
            Phase::Connecting | Phase::Handshaking if session.deadline <= now => {
                Err(SessionError::HandshakeTimeout)
            }
            Phase::Connecting | Phase::Handshaking => Ok(session.deadline),
            Phase::Draining => match (session.drain(), session.deadline <= now) {
                (true, _) => Err(SessionError::Closed),
                (false, true) => Err(SessionError::Linger),
                (false, false) => Ok(now + DRAIN_TICK),
            },
            Phase::Ready => {
                let options = &self.sockets[link.socket].options;
                let interval = Duration::from_millis(options.heartbeat_ms);
                let timeout = Duration::from_millis(options.heartbeat_timeout_ms);
                session.run_heartbeat(now, interval, timeout)
            }
        };
        match outcome {
            Ok(next) => {
                let gathers = !session.outgoing.is_empty();
                self.due_at(next);
                if gathers {
                    self.flush_link(engine, index);
                }
            }
            Err(error) => self.end_link(engine, index, &error),
        }
    }
}
