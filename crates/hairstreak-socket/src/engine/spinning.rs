//! Looking for a while before sleeping, where the application wants that (`spin_us`): into shared memory and rings,
//! and by reads that do not wait into the kernel's streams.
//!
//! In shared memory the peer need not ring meanwhile, and neither side makes a system call. A read of a stream that
//! finds nothing costs less than sleeping and being woken, on both sides.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::link::LinkKind;
use super::state::State;
use super::wait::{Engine, Guard};
use crate::session::{Phase, Session};

/// Links that are looked at; who has more has no time to lose on one.
const SPIN_LINKS_MAX: usize = 16;
/// Pauses between two looks: each takes the line that tells of bytes away from its writer.
const SPIN_PAUSES: u32 = 4;
/// Looks between two glances at the clock.
const LOOKS_PER_GLANCE: usize = 32;
/// How often who looks for long takes a turn at the poller: peers come and go, and timers fall due.
const TURN_INTERVAL: Duration = Duration::from_millis(1);
/// How often the time is halved while looking is in vain: the peer may wait for this very processor.
const SPIN_HALVINGS_MAX: u32 = 6;
/// After so many failures in a row the whole time is tried once.
const SPIN_PROBE: u32 = 16;

impl Engine {
    /// Looks until `attempt` gives something, the time to spin is over, or the deadline has passed.
    pub(super) fn spin<'a, R>(
        self: &'a Arc<Self>,
        mut state: Guard<'a>,
        socket: usize,
        deadline: Option<Instant>,
        attempt: &mut impl FnMut(&mut State) -> Option<R>,
    ) -> (Guard<'a>, Option<R>) {
        if !state.leader {
            // The background thread would wake up for what is found here.
            state.take_over(self);
        }
        state.start_looking(self, socket);
        let spin = state.sockets.get(socket).map_or(0, |socket| socket.options.spin_us);
        let spin = Duration::from_micros(spin >> state.spin_halvings());
        // What comes at once is not worth a look at the clock.
        let mut end = None;
        let mut looks = 0;
        let mut found = None;
        while found.is_none() {
            looks += 1;
            drop(state);
            (0..SPIN_PAUSES).for_each(|_| std::hint::spin_loop());
            let glances = looks % LOOKS_PER_GLANCE == 0;
            if glances {
                // The peer may wait for this very processor. And two that take turns at one are seen by the
                // scheduler, which gives each its own; of two that sleep in turn it thinks that one does.
                std::thread::yield_now();
            }
            state = self.lock();
            if state.list_news(socket, looks) {
                found = attempt(&mut state);
            }
            if glances {
                let now = Instant::now();
                let end =
                    *end.get_or_insert(deadline.map_or(now + spin, |deadline| deadline.min(now + spin)));
                if now >= end {
                    break;
                }
                if found.is_none() && now.saturating_duration_since(state.now) >= TURN_INTERVAL {
                    state = self.turn(state, Some(socket));
                    found = attempt(&mut state);
                }
            }
        }
        if found.is_none() {
            // What is found dry now asks for an event.
            state.stop_looking(self, socket);
            found = attempt(&mut state);
        }
        state.spin_failures = if found.is_some() { 0 } else { state.spin_failures.wrapping_add(1) };
        (state, found)
    }
}

impl State {
    fn spin_halvings(&self) -> u32 {
        match self.spin_failures % SPIN_PROBE {
            last if last + 1 == SPIN_PROBE => 0,
            _ => self.spin_failures.min(SPIN_HALVINGS_MAX),
        }
    }

    /// Whether callers that wait for messages of the socket look before they sleep.
    #[inline]
    pub(super) fn wants_to_spin(&self, socket: usize) -> bool {
        self.sockets.get(socket).is_some_and(|state| {
            state.options.spin_us > 0 && !state.links.is_empty() && state.links.len() <= SPIN_LINKS_MAX
        })
    }

    /// A caller is about to look for messages of the socket by itself, if it does that: what has gathered is written
    /// before, and its peers need not ring.
    pub fn start_looking(&mut self, engine: &Engine, socket: usize) {
        if !self.wants_to_spin(socket) {
            return;
        }
        self.flush_dirty(engine, true);
        self.sockets[socket].looked_at = true;
        self.for_each_stream(socket, |session| {
            session.forgo_event();
            false
        });
    }

    /// It looks no more. What its links bring makes no event, and its last read may have brought more than it took: they
    /// are left to be read, by whoever waits for the socket, by its next call, or by the watch tick.
    pub fn stop_looking(&mut self, engine: &Engine, socket: usize) {
        if !self.sockets.get_mut(socket).is_some_and(|state| std::mem::take(&mut state.looked_at)) {
            return;
        }
        if self.for_each_stream(socket, |session| session.connection.leave_event()) {
            self.notify(socket);
            // Not every caller leaves the engine to the watch tick.
            self.arm_look(engine);
        }
    }

    /// Lists those of the socket's streams that are to be read after `act`. Returns whether there is any.
    fn for_each_stream(&mut self, socket: usize, mut act: impl FnMut(&mut Session) -> bool) -> bool {
        let mut any = false;
        for slot in 0..self.sockets[socket].links.len() {
            let index = self.sockets[socket].links[slot];
            if let LinkKind::Stream(session) = &mut self.links[index].kind
                && act(session)
            {
                any = true;
                self.list_messages(index);
            }
        }
        any
    }

    /// Lists the socket's links that have something in shared memory, and one of its other streams, in turn, whether
    /// it has or not: only a read can tell. Returns whether any is worth an attempt.
    fn list_news(&mut self, socket: usize, looks: usize) -> bool {
        let mut has_news = false;
        let count = self.sockets.get(socket).map_or(0, |state| state.links.len().min(SPIN_LINKS_MAX));
        for slot in 0..count {
            let index = self.sockets[socket].links[slot];
            match &mut self.links[index].kind {
                // An attempt looks at all of them.
                LinkKind::Ring(_) => has_news = true,
                LinkKind::Stream(session) => {
                    let is_shared = session.connection.stream().is_shared();
                    let is_next = !is_shared && slot == looks % count && session.phase == Phase::Ready;
                    if is_next || session.connection.stream().has_news() {
                        // Reads in vain are no work for which others would have to get a turn.
                        session.connection.take_read_count();
                        session.connection.mark_readable();
                        has_news = true;
                        self.list_messages(index);
                    }
                }
            }
        }
        has_news
    }
}
