//! Setting and handling the ticks of the timerfd, which stand in for callers that are busy elsewhere; see `ticks`.

use std::sync::Arc;
use std::time::Instant;

use super::state::State;
use super::wait::Engine;
use crate::background::Background;

impl State {
    /// Grows with every turn, read and write: whether a caller was here since.
    fn io_seen(&self) -> (u64, u32) {
        (self.turns, self.work_since_turn.in_frames())
    }

    /// Bytes gather: they are to be written soon, whatever the caller does next.
    #[inline]
    pub fn arm_flush(&mut self, engine: &Engine) {
        if self.ticks.flush_at.is_none() {
            self.ticks.set_flush(self.gather_time);
            self.arm(engine);
        }
    }

    /// A caller is about to sleep, having written what gathered: the flush tick is not needed.
    pub fn spare_flush_tick(&mut self) {
        if self.dirty.is_empty() {
            self.ticks.spare_flush();
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
            self.ticks.set_watch(self.now, self.io_seen());
            self.arm(engine);
        }
    }

    /// A timer was set, for sooner perhaps than whoever drives the engine expects.
    pub fn due_soon(&mut self, engine: &Engine) {
        if self.leader {
            engine.poller().wake();
        } else {
            self.arm(engine);
        }
    }

    /// Has the timerfd fire for the earliest of all that may come.
    #[cold]
    fn arm(&mut self, engine: &Engine) {
        let due = self.timers.next().filter(|_| self.watched);
        if let Some(at) = self.ticks.arm(due) {
            engine.timer.arm(at.saturating_duration_since(Instant::now()));
        }
    }

    /// The timerfd fired.
    pub fn on_tick(&mut self, engine: &Arc<Engine>) {
        engine.timer.acknowledge();
        self.now = Instant::now();
        self.ticks.has_fired();
        if self.ticks.take_flush(self.now) {
            self.on_flush_tick(engine);
        }
        if self.ticks.take_watch(self.now) {
            self.on_watch_tick(engine);
        }
        if self.watched && !self.leader {
            self.run_timers(engine);
        }
        self.arm(engine);
    }

    fn on_watch_tick(&mut self, engine: &Arc<Engine>) {
        let nobody_came = self.io_seen() == self.ticks.io_at_watch_arm;
        if !self.leader {
            self.read_again(engine);
        }
        if self.leader || nobody_came {
            self.read_unattended(engine);
            self.settle_unattended(engine);
        }
        if !self.leader && nobody_came {
            self.memory.rest(&mut self.links);
            self.memory.pool.trim();
            self.watch(engine);
            if self.is_awaited() {
                self.expect_rings(engine);
            }
        } else if !self.leader {
            self.arm_look(engine);
        }
    }

    fn on_flush_tick(&mut self, engine: &Arc<Engine>) {
        // What its callers write by themselves is put off; whatever else gathers is not, however busy the others are.
        let (busy, quiet) = std::mem::take(&mut self.dirty).into_iter().partition::<Vec<_>, _>(|&index| {
            self.links.get_mut(index).is_some_and(|link| std::mem::take(&mut link.wrote))
        });
        self.dirty = quiet;
        self.flush_dirty(engine, false);
        let has_left = !self.dirty.is_empty();
        if !busy.is_empty() {
            self.ticks.put_flush_off(self.now, self.gather_time);
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
}
