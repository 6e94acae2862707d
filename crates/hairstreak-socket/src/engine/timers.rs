//! What happens by the clock: heartbeats, time-outs, reconnects; and the ticks of the timerfd that
//! stand in for callers who are busy elsewhere.
//!
//! - The **flush tick** comes `gather_us` (50) after the first bytes that gather and writes them. For a link whose callers
//!   keep writing by themselves it is put off, up to 400 us at a time, and where they always did before they slept it
//!   comes after 4 ms: each tick costs a wake-up.
//! - The **watch tick** comes 5 ms after the last caller left and, if no other came, gives the
//!   engine to the background thread.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::events::{DRAIN_TICK, ROOM_TICK};
use super::link::LinkKind;
use super::state::{ConnectorState, State};
use super::wait::Engine;
use crate::background::Background;
use crate::monitor::EventKind;
use crate::session::{Phase, SessionError};

/// The longest that the flush tick is put off for links whose callers write by themselves.
pub(super) const BUSY_GATHER_TIME: Duration = Duration::from_micros(400);
/// Callers that wrote what gathered by themselves so often, before they slept, are expected to do so again.
const SPARED_COUNT_MIN: u32 = 8;
/// When the flush tick comes for them: each that they did not need would have woken the background thread for nothing.
const TRUSTED_GATHER_TIME: Duration = Duration::from_millis(4);
const WATCH_TICK: Duration = Duration::from_millis(5);

/// What the timerfd is armed for.
#[derive(Debug, Default)]
pub(crate) struct Ticks {
    flush_at: Option<Instant>,
    /// How often in a row callers wrote what gathered by themselves, and went to sleep.
    spared_count: u32,
    /// How far the flush tick was put off last, links having written by themselves meanwhile.
    flush_delay: Duration,
    watch_at: Option<Instant>,
    io_at_watch_arm: (u64, u32),
    /// When the timerfd will fire.
    armed_for: Option<Instant>,
}

impl State {
    /// Grows with every turn, read and write: whether a caller was here since.
    fn io_seen(&self) -> (u64, u32) {
        (self.turns, self.work_since_turn.in_frames())
    }

    /// Bytes gather: they are to be written soon, whatever the caller does next.
    #[inline]
    pub fn arm_flush(&mut self, engine: &Engine) {
        if self.ticks.flush_at.is_none() {
            let is_trusted = self.ticks.spared_count >= SPARED_COUNT_MIN;
            let least = if is_trusted { TRUSTED_GATHER_TIME } else { Duration::ZERO };
            let delay = self.gather_time.max(least);
            self.ticks.flush_at = Some(Instant::now() + delay);
            self.ticks.flush_delay = self.gather_time;
            self.arm(engine);
        }
    }

    /// A caller is about to sleep, having written what gathered: the flush tick is not needed.
    pub fn spare_flush_tick(&mut self) {
        if self.dirty.is_empty() && self.ticks.flush_at.take().is_some() {
            self.ticks.spared_count = self.ticks.spared_count.saturating_add(1);
        }
    }

    /// A caller leaves: somebody must look after the engine if none comes back.
    pub fn arm_watch(&mut self, engine: &Engine) {
        if !self.watched {
            self.arm_look(engine);
        }
    }

    /// Somebody must look, soon, whether a caller left something unread.
    pub fn arm_look(&mut self, engine: &Engine) {
        if self.ticks.watch_at.is_none() {
            self.ticks.watch_at = Some(self.now + WATCH_TICK);
            self.ticks.io_at_watch_arm = self.io_seen();
            self.arm(engine);
        }
    }

    /// A timer is due, sooner perhaps than whoever drives the engine expects.
    pub fn due_soon(&mut self, engine: &Engine, at: Instant) {
        self.due_at(at);
        if self.leader {
            engine.poller().wake();
        } else {
            self.arm(engine);
        }
    }

    /// Has the timerfd fire for the earliest of all that may come.
    #[cold]
    fn arm(&mut self, engine: &Engine) {
        let due = self.due.filter(|_| self.watched);
        let Some(at) = [self.ticks.flush_at, self.ticks.watch_at, due].into_iter().flatten().min() else {
            return;
        };
        if self.ticks.armed_for.is_none_or(|armed| at < armed) {
            self.ticks.armed_for = Some(at);
            engine.timer.arm(at.saturating_duration_since(Instant::now()));
        }
    }

    /// The timerfd fired.
    pub fn on_tick(&mut self, engine: &Arc<Engine>) {
        engine.timer.acknowledge();
        self.now = Instant::now();
        self.ticks.armed_for = None;
        if self.ticks.flush_at.is_some_and(|at| at <= self.now) {
            self.on_flush_tick(engine);
        }
        if self.ticks.watch_at.is_some_and(|at| at <= self.now) {
            self.ticks.watch_at = None;
            let nobody_came = self.io_seen() == self.ticks.io_at_watch_arm;
            if self.leader || nobody_came {
                self.read_unattended(engine);
                self.settle_unattended(engine);
            }
            if !self.leader {
                self.relist_unread(engine);
            }
            if !self.leader && nobody_came {
                self.pool.trim();
                self.watch(engine);
                if self.is_awaited() {
                    self.expect_rings(engine);
                }
            } else if !self.leader {
                self.arm_look(engine);
            }
        }
        if self.watched && !self.leader {
            self.run_timers(engine);
        }
        self.arm(engine);
    }

    fn on_flush_tick(&mut self, engine: &Arc<Engine>) {
        self.ticks.flush_at = None;
        self.ticks.spared_count = 0;
        // What its callers write by themselves is put off; whatever else gathers is not, however busy the others are.
        let (busy, quiet) = std::mem::take(&mut self.dirty).into_iter().partition::<Vec<_>, _>(|&index| {
            self.links.get_mut(index).is_some_and(|link| std::mem::take(&mut link.wrote))
        });
        self.dirty = quiet;
        self.flush_dirty(engine, false);
        let has_left = !self.dirty.is_empty();
        if !busy.is_empty() {
            self.ticks.flush_delay = (self.ticks.flush_delay * 2).min(BUSY_GATHER_TIME.max(self.gather_time));
            self.ticks.flush_at = Some(self.now + self.ticks.flush_delay);
            self.dirty.extend(busy);
        }
        if has_left && !self.leader {
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
        self.arm(engine);
    }

    /// Runs what is due by `self.now`, and finds out what is due next.
    pub fn run_timers(&mut self, engine: &Engine) {
        if self.due.is_none_or(|due| due > self.now) {
            return;
        }
        self.due = None;
        self.run_connectors(engine);
        self.run_listeners(engine);
        match self.settle_due {
            Some(due) if due <= self.now => self.settle_unattended(engine),
            Some(due) => self.due_at(due),
            None => {}
        }
        for index in 0..self.sockets.capacity() {
            self.run_deadlines(engine, index);
        }
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
            let Some(until) = self.listeners.get(index).and_then(|bound| bound.paused_until) else {
                continue;
            };
            if until <= self.now {
                self.resume_listener(engine, index);
            } else {
                self.due_at(until);
            }
        }
    }

    fn run_link_timer(&mut self, engine: &Engine, index: usize) {
        let now = self.now;
        if let Some(again) = self.links[index].note_ages(now) {
            self.due_at(again);
        }
        let link = &mut self.links[index];
        let LinkKind::Stream(session) = &mut link.kind else { return };
        let outcome = match session.phase {
            Phase::Connecting | Phase::Handshaking if session.connection.deadline <= now => {
                Err(SessionError::HandshakeTimeout)
            }
            Phase::Connecting | Phase::Handshaking => Ok(session.connection.deadline),
            Phase::Draining => match (session.drain(), session.connection.deadline <= now) {
                (true, _) => Err(SessionError::Left),
                (false, true) => Err(SessionError::Linger),
                (false, false) if session.connection.is_readable() => Ok(now + DRAIN_TICK),
                (false, false) => Ok(session.connection.deadline),
            },
            Phase::Ready => {
                let options = &self.sockets[link.socket].options;
                let interval = Duration::from_millis(options.heartbeat_ms);
                let timeout = Duration::from_millis(options.heartbeat_timeout_ms);
                let arriving = Duration::from_millis(options.arriving_timeout_ms);
                let checked = session.check_arriving(now, arriving);
                checked.and_then(|next| Ok(session.run_heartbeat(now, interval, timeout)?.min(next)))
            }
        };
        let (waits, may_go_on) = (session.waits_for_room(), session.may_go_on());
        let gathers = !session.connection.output.is_empty();
        if let Some(since) = session.connection.take_silence() {
            self.tell_of_link(index, || EventKind::Silent { since });
        }
        match outcome {
            Ok(next) => {
                self.due_at(if waits { next.min(now + ROOM_TICK) } else { next });
                if gathers {
                    self.flush_link(engine, index);
                }
                if may_go_on && self.links.contains(index) {
                    self.on_readable(engine, index);
                }
            }
            Err(error) => self.end_link(engine, index, &error),
        }
    }
}
