//! Looking for a while before sleeping, where the application wants that (`spin_us`): into shared memory and rings,
//! and by reads that do not wait into the kernel's streams.
//!
//! In shared memory the peer need not ring meanwhile, and neither side makes a system call. A read of a stream that
//! finds nothing costs less than sleeping and being woken, on both sides.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::state::{LinkKind, State};
use super::wait::{Engine, Guard};
use crate::session::{Phase, Session};

/// Links that are looked at; who has more has no time to lose on one.
const SPIN_LINKS_MAX: usize = 16;
/// Pauses between two looks: each takes the line that tells of bytes away from its writer.
const SPIN_PAUSES: u32 = 4;
/// Looks between two glances at the clock.
const LOOKS_PER_GLANCE: usize = 32;
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
        state.flush_dirty(self, true);
        // The background thread would wake up for what is found here.
        state.take_over(self);
        let spin = state.sockets.get(socket).map_or(0, |socket| socket.options.spin_us);
        let end = Instant::now() + Duration::from_micros(spin >> state.spin_halvings());
        let end = deadline.map_or(end, |deadline| deadline.min(end));
        state.for_each_shared(socket, |session| session.forgo_event());
        let mut looks = 0;
        let mut found = None;
        while found.is_none() && (looks % LOOKS_PER_GLANCE != 0 || Instant::now() < end) {
            looks += 1;
            drop(state);
            (0..SPIN_PAUSES).for_each(|_| std::hint::spin_loop());
            state = self.lock();
            if state.list_news(socket, looks) {
                found = attempt(&mut state);
            }
        }
        state.for_each_shared(socket, |session| session.await_event());
        if found.is_none() && state.list_news(socket, looks) {
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

    fn for_each_shared(&mut self, socket: usize, mut act: impl FnMut(&mut Session)) {
        let Some(state) = self.sockets.get(socket) else { return };
        for index in state.links.iter().take(SPIN_LINKS_MAX) {
            if let Some(LinkKind::Stream(session)) = self.links.get_mut(*index).map(|link| &mut link.kind)
                && session.stream().is_shared()
            {
                act(session);
            }
        }
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
                    let is_shared = session.stream().is_shared();
                    let is_next = !is_shared && slot == looks % count && session.phase == Phase::Ready;
                    if is_next || session.has_news() {
                        // Reads in vain are no work for which others would have to get a turn.
                        session.take_read_count();
                        session.readable = true;
                        has_news = true;
                        self.list_messages(index);
                    }
                }
            }
        }
        has_news
    }
}
