//! `Engine`: the lock, the poller, and how callers wait: leading, following, leaving.

use std::io;
use std::ops::{Deref, DerefMut};
use std::os::fd::AsFd;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use hairstreak_base::{Lock, LockGuard, OwnerGuard};
use hairstreak_transport::{GATHER_TIME, Poller, Readiness, Timer};

use super::state::{After, Follower, State};
use super::ticks::BUSY_GATHER_TIME;
use super::work::Work;
use super::yielding::Sleep;
use crate::background::Background;
use crate::ring_link::Doorbell;

/// Messages since the last sleep that make a ring busy; one that is sent and published alone counts as many.
pub(super) const RING_TRAFFIC_BUSY: usize = 16;
/// Events handled in one turn.
const EVENTS_MAX: usize = 64;

/// One epoll and everything of one component; see the module's description. On lines of its own: what lies
/// beside it may be another thread's.
#[repr(align(128))]
pub(crate) struct Engine {
    state: Lock<State>,
    pub doorbell: Arc<Doorbell>,
    /// Watched by the background thread.
    pub timer: Timer,
    /// What the background thread calls it.
    id: AtomicU64,
    /// Ticks in a row that found a caller inside.
    missed_ticks: AtomicU32,
}

impl std::fmt::Debug for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Engine")
    }
}

/// The engine's state, locked. Dropping it releases the lock and then does what must not be done
/// under it.
pub(crate) struct Guard<'a> {
    engine: &'a Arc<Engine>,
    /// `Some` until dropped.
    state: Option<LockGuard<'a, State>>,
}

impl Deref for Guard<'_> {
    type Target = State;
    #[inline]
    fn deref(&self) -> &State {
        // INVARIANT: `state` is taken only in drop.
        self.state.as_ref().expect("a guard holds the lock")
    }
}

impl DerefMut for Guard<'_> {
    #[inline]
    fn deref_mut(&mut self) -> &mut State {
        // INVARIANT: `state` is taken only in drop.
        self.state.as_mut().expect("a guard holds the lock")
    }
}

impl Drop for Guard<'_> {
    #[inline]
    fn drop(&mut self) {
        if !self.after.is_empty() {
            self.release_and_act();
        }
    }
}

impl Guard<'_> {
    /// Whether its thread is the one that usually calls.
    pub fn is_owners(&self) -> bool {
        self.state.as_ref().is_some_and(LockGuard::is_owners)
    }

    #[cold]
    #[inline(never)]
    fn release_and_act(&mut self) {
        let after = std::mem::take(&mut self.after);
        self.state = None;
        self.engine.act(after);
    }
}

impl Engine {
    /// A new engine, watched by the background thread until a caller blocks in it.
    pub fn start() -> io::Result<Arc<Engine>> {
        let background = Background::start()?;
        let poller = Poller::new()?;
        let doorbell = Arc::new(Doorbell { poller, sleeping: false.into() });
        let timer = Timer::new()?;
        let engine = Arc::new(Engine {
            state: Lock::new(State::new(Arc::clone(&doorbell), Instant::now())),
            doorbell,
            timer,
            id: AtomicU64::new(0),
            missed_ticks: AtomicU32::new(0),
        });
        background.register(&engine)?;
        engine.lock().watch(&engine);
        Ok(engine)
    }

    pub fn poller(&self) -> &Poller {
        &self.doorbell.poller
    }

    pub fn id(&self) -> u64 {
        self.id.load(Ordering::Relaxed)
    }

    pub fn set_id(&self, id: u64) {
        self.id.store(id, Ordering::Relaxed);
    }

    #[inline]
    pub fn lock(self: &Arc<Self>) -> Guard<'_> {
        Guard { engine: self, state: Some(self.state.lock()) }
    }

    /// The state for a call that leaves nothing to be done behind the lock, if its thread is the one that usually calls.
    #[inline(always)]
    pub fn lock_as_owner(&self) -> Option<OwnerGuard<'_, State>> {
        self.state.lock_as_owner()
    }

    fn try_lock(self: &Arc<Self>) -> Option<Guard<'_>> {
        self.state.try_lock().map(|state| Guard { engine: self, state: Some(state) })
    }

    #[cold]
    fn act(self: &Arc<Self>, after: Vec<After>) {
        for action in after {
            match action {
                After::Wake(waker) => contain(|| waker.wake()),
                After::Forget(waker) => contain(|| drop(waker)),
                After::ConnectInproc(connector, serial) => crate::inproc::connect(self, connector, serial),
                After::Resolve(connector, serial) => self.resolve(connector, serial),
                After::HandOver(link, serial) => self.hand_over(link, serial),
                After::EndMonitor(monitor) => contain(|| drop(monitor)),
                After::Authenticate(question) => self.authenticate(*question),
            }
        }
    }

    /// After a call that did not wait: the control work of the engine, when it is due. `receiver`: the
    /// socket whose messages the caller takes.
    #[inline]
    pub fn after_call(self: &Arc<Self>, mut state: Guard<'_>, receiver: Option<usize>) {
        if state.work_since_turn.is_worth_a_look() && state.turn_is_due() {
            drop(self.turn(state, receiver));
        }
    }

    /// As [`Engine::after_call`], for one that receives from several sockets.
    pub fn after_look(
        self: &Arc<Self>,
        mut state: Guard<'_>,
        receivers: impl Iterator<Item = usize> + Clone,
    ) {
        if state.work_since_turn.is_worth_a_look() && state.turn_is_due() {
            drop(self.turn_for(state, receivers));
        }
    }

    /// One turn without waiting, unless somebody else leads: for callers that never block.
    #[cold]
    pub fn turn<'a>(self: &'a Arc<Self>, state: Guard<'a>, receiver: Option<usize>) -> Guard<'a> {
        self.turn_for(state, receiver.into_iter())
    }

    fn turn_for<'a>(
        self: &'a Arc<Self>,
        mut state: Guard<'a>,
        receivers: impl Iterator<Item = usize> + Clone,
    ) -> Guard<'a> {
        if state.leader {
            return state;
        }
        state.take_over(self);
        // What comes for a receiver is left where it is: reading it ahead would be a detour.
        for socket in receivers.clone() {
            state.count_receiver(socket);
        }
        let mut state = self.lead(state, None, Some(Duration::ZERO));
        for socket in receivers {
            state.discount_receiver(socket);
        }
        self.leave(&mut state);
        state
    }

    /// Repeats `attempt` until it gives something or the deadline has passed, driving the engine in
    /// between. `receives`: the caller will take messages of `socket` itself.
    pub fn wait<'a, R>(
        self: &'a Arc<Self>,
        mut state: Guard<'a>,
        socket: usize,
        receives: bool,
        deadline: Option<Instant>,
        mut attempt: impl FnMut(&mut State) -> Option<R>,
    ) -> Option<R> {
        let counted = receives && state.count_receiver(socket);
        let result = loop {
            if let Some(result) = attempt(&mut state) {
                break Some(result);
            }
            let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            if left == Some(Duration::ZERO) {
                break None;
            }
            if state.rings_are_busy() {
                let found;
                (state, found) = self.spin_on_rings(state, &mut attempt);
                if found.is_some() {
                    break found;
                }
            }
            if receives && state.wants_to_spin(socket) {
                let found;
                (state, found) = self.spin(state, socket, deadline, &mut attempt);
                if found.is_some() {
                    break found;
                }
            }
            state.waits_for_room = !receives;
            state = if state.leader {
                self.follow(state, socket, left)
            } else {
                self.lead(state, Some(socket), left)
            };
        };
        if counted {
            state.discount_receiver(socket);
        }
        if receives {
            state.stop_looking(self, socket);
        }
        self.leave(&mut state);
        if state.work_since_turn.is_worth_a_look_behind_a_wait() && state.turn_is_due() {
            drop(self.turn(state, Some(socket)));
        }
        result
    }

    /// Sleeps apart until the socket has news or the leader leaves.
    fn follow<'a>(
        self: &'a Arc<Self>,
        mut state: Guard<'a>,
        socket: usize,
        left: Option<Duration>,
    ) -> Guard<'a> {
        let thread = std::thread::current();
        let id = thread.id();
        state.followers.push(Follower { socket, thread });
        state.flush_dirty(self, true);
        drop(state);
        match left {
            Some(left) => std::thread::park_timeout(left),
            None => std::thread::park(),
        }
        let mut state = self.lock();
        state.followers.retain(|follower| follower.thread.id() != id);
        state
    }

    /// A caller goes: a follower takes over, else the ticks do.
    pub fn leave(self: &Arc<Self>, state: &mut State) {
        if state.leader {
            return;
        }
        if let Some(next) = state.followers.first() {
            next.thread.unpark();
        } else if state.is_awaited() {
            state.watch(self);
            state.expect_rings(self);
            // No edge will tell of what it leaves unread.
            state.arm_look(self);
        } else {
            state.arm_watch(self);
        }
    }

    /// Waits in the poller at most `timeout`, or until there is news for `socket`, and handles what it
    /// reports. With a timeout of zero it only looks.
    pub fn lead<'a>(
        self: &'a Arc<Self>,
        mut state: Guard<'a>,
        socket: Option<usize>,
        timeout: Option<Duration>,
    ) -> Guard<'a> {
        let sleep = state.begin_to_lead(self, socket, timeout);
        drop(state);
        self.end_leading(sleep)
    }

    /// The rest of a turn that [`State::begin_to_lead`] has begun: waits, and handles what the poller reports.
    pub fn end_leading(self: &Arc<Self>, mut sleep: Sleep) -> Guard<'_> {
        let mut events = [None::<Readiness>; EVENTS_MAX];
        let mut count = 0;
        let waited = sleep.run(self.poller(), |event| {
            events[count] = Some(event);
            count += 1;
        });
        // INVARIANT: the poller and the arguments are valid; epoll_wait fails for no other cause.
        waited.expect("epoll_wait");
        let mut state = self.lock();
        (state.leader, state.leads_for) = (false, None);
        state.note_sleep(sleep);
        state.now = Instant::now();
        state.handle_events(self, events.iter().take(count).flatten());
        state.read_again(self);
        state
    }

    /// The background thread's turn: as a caller's that only looks.
    pub fn background_turn(self: &Arc<Self>) {
        let state = self.lock();
        if state.leader || !state.watched {
            return;
        }
        let mut state = self.lead(state, None, Some(Duration::ZERO));
        state.flush_dirty(self, true);
        if state.is_awaited() {
            state.expect_rings(self);
        }
        state.watch(self);
        self.leave(&mut state);
    }

    /// The timerfd fired, in the background thread.
    pub fn background_tick(self: &Arc<Self>) {
        match self.try_lock() {
            Some(mut state) => {
                self.missed_ticks.store(0, Ordering::Relaxed);
                state.on_tick(self);
            }
            // A caller is inside at this moment: the tick is not needed, and must not hold it up. To come each time
            // in vain would cost a busy one a processor's time.
            None => {
                let missed = self.missed_ticks.fetch_add(1, Ordering::Relaxed);
                self.timer.arm((GATHER_TIME * 2u32.pow(missed.min(8))).min(BUSY_GATHER_TIME));
            }
        }
    }
}

/// Runs a waker, which may be the application's code. A panic is reported by the panic hook and goes no further:
/// the thread it would end, the background thread perhaps, is others' too.
pub(crate) fn contain(run: impl FnOnce()) {
    let _ = catch_unwind(AssertUnwindSafe(run));
}

impl State {
    /// A caller is about to take messages of the socket. False when there is no such socket.
    fn count_receiver(&mut self, socket: usize) -> bool {
        let state = self.sockets.get_mut(socket);
        state.map(|state| state.receivers += 1).is_some()
    }

    /// The caller has gone. Its handle has kept the socket's place.
    fn discount_receiver(&mut self, socket: usize) {
        if let Some(state) = self.sockets.get_mut(socket) {
            // A poller keeps none: another socket may be there by now.
            state.receivers = state.receivers.saturating_sub(1);
        }
    }

    /// Whether the last turn was long enough ago for the work since.
    #[cold]
    fn turn_is_due(&mut self) -> bool {
        self.work_since_turn.is_turn_due(self.now.elapsed())
    }

    /// Whether messages crossed a ring since the last sleep, enough to expect more at once.
    fn rings_are_busy(&mut self) -> bool {
        !self.rings.is_empty() && std::mem::take(&mut self.ring_traffic) >= RING_TRAFFIC_BUSY
    }

    /// The caller leads from here on, for this socket if it is for one, and is about to sleep for at most
    /// `timeout`. Returns how long it may.
    pub fn begin_to_lead(
        &mut self,
        engine: &Engine,
        socket: Option<usize>,
        mut timeout: Option<Duration>,
    ) -> Sleep {
        debug_assert!(!self.leader);
        (self.leads_for, self.leader_has_news) = (socket, false);
        self.turns += 1;
        self.work_since_turn = Work::default();
        if timeout != Some(Duration::ZERO) {
            self.flush_dirty(engine, true);
            self.spare_flush_tick();
            self.memory.rest(&mut self.links);
            self.take_over(engine);
            if self.expect_rings(engine) || !self.unread.is_empty() {
                timeout = Some(Duration::ZERO);
            } else if let Some(due) = self.timers.next() {
                let until_due = due.saturating_duration_since(Instant::now());
                timeout = Some(timeout.map_or(until_due, |timeout| timeout.min(until_due)));
            }
        }
        self.leader = true;
        self.sleep_of(timeout)
    }

    /// A caller drives the engine from here on, not the background thread.
    pub(super) fn take_over(&mut self, engine: &Engine) {
        if std::mem::take(&mut self.watched) {
            Background::running().unwatch(engine);
        }
    }
}

impl Drop for Engine {
    /// The poller lives on in the peers' rings, and would wake the background thread for nobody.
    fn drop(&mut self) {
        Background::running().unwatch(self);
        self.state.lock().memory.pool.close();
    }
}

impl AsFd for Engine {
    fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
        self.doorbell.poller.as_fd()
    }
}
