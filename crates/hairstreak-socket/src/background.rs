//! The background thread: one per process. It drives the engines that no caller is in.
//!
//! It watches the pollers of idle engines, the timerfd of every engine, and keeps engines alive whose
//! closed sockets still have something to send; process exit waits for those, up to their linger time.

use std::collections::HashMap;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::Waker;
use std::time::{Duration, Instant};

use hairstreak_base::process::{PerProcess, at_exit};
use hairstreak_transport::{Interest, Poller};

use crate::engine::{Engine, contain};

/// How often process exit looks whether all is sent.
const EXIT_TICK: Duration = Duration::from_millis(1);

/// How much longer than the linger time process exit waits for the background thread to see that it is over.
const EXIT_GRACE: Duration = Duration::from_secs(1);

/// The process's background thread, as seen by everybody else.
pub(crate) struct Background {
    poller: Poller,
    table: Mutex<Table>,
    /// Another thread was faster: this one ends.
    surplus: AtomicBool,
}

#[derive(Default)]
struct Table {
    engines: HashMap<u64, Weak<Engine>>,
    /// Engines with closed sockets that still send.
    lingering: Vec<Arc<Engine>>,
    /// Tasks that wait for descriptors of the application.
    awaited: HashMap<u64, (Arc<Poller>, Waker)>,
}

/// Numbers for tokens: twice the number is an engine's timer, one more its poller, or one that a task waits for.
static NEXT: AtomicU64 = AtomicU64::new(1);

/// A forked child has no such thread until it opens a socket of its own.
static BACKGROUND: PerProcess<Arc<Background>> = PerProcess::new();
/// Whether process exit waits, in this process and those that it forks.
static EXIT_WAITS: AtomicBool = AtomicBool::new(false);

impl Background {
    /// The thread, started when it does not run yet. A failure leaves nothing behind: the next call
    /// tries again.
    pub fn start() -> io::Result<&'static Background> {
        if BACKGROUND.get().is_none() {
            let new = Arc::new(Background {
                poller: Poller::new()?,
                table: Mutex::default(),
                surplus: AtomicBool::new(false),
            });
            // Known to others only once its thread is there.
            let thread = Arc::clone(&new);
            std::thread::Builder::new().name("hairstreak-io".into()).spawn(move || thread.run())?;
            match BACKGROUND.set(new) {
                Ok(_) if EXIT_WAITS.swap(true, Ordering::Relaxed) => {}
                Ok(_) => at_exit(wait_for_lingering),
                Err(surplus) => {
                    surplus.surplus.store(true, Ordering::Relaxed);
                    surplus.poller.wake();
                }
            }
        }
        Ok(Background::running())
    }

    pub fn running() -> &'static Background {
        // INVARIANT: every engine starts the background thread before anything else.
        BACKGROUND.get().expect("an engine exists, so the background thread does")
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes the engine known: its timer is watched from now on.
    pub fn register(&self, engine: &Arc<Engine>) -> io::Result<()> {
        let id = NEXT.fetch_add(1, Ordering::Relaxed);
        let mut table = self.table();
        table.engines.retain(|_, engine| engine.strong_count() > 0);
        table.engines.insert(id, Arc::downgrade(engine));
        engine.set_id(id);
        self.poller.add(&engine.timer, id * 2, Interest::Readable)
    }

    /// Watches the engine's poller.
    pub fn watch(&self, engine: &Engine) {
        // Known already: it is being watched.
        let _ = self.poller.add(engine, engine.id() * 2 + 1, Interest::Readable);
    }

    /// Watches the engine's poller no more: a caller drives it.
    pub fn unwatch(&self, engine: &Engine) {
        self.poller.remove(engine);
    }

    /// Has `waker` woken, once, when the poller has events. Returns a number to forget it by.
    pub fn await_poller(&self, poller: &Arc<Poller>, waker: Waker) -> io::Result<u64> {
        let id = NEXT.fetch_add(1, Ordering::Relaxed);
        let mut table = self.table();
        self.poller.add(poller, id * 2 + 1, Interest::Readable)?;
        table.awaited.insert(id, (Arc::clone(poller), waker));
        Ok(id)
    }

    /// Waits for that poller no more. Returns the waker if it was not woken. Whoever is told that it is not waited for may have it
    /// waited for anew at once.
    pub fn forget_poller(&self, id: u64) -> Option<Waker> {
        let mut table = self.table();
        let (poller, waker) = table.awaited.remove(&id)?;
        self.poller.remove(&poller);
        Some(waker)
    }

    /// Keeps the engine until its closed sockets have sent everything.
    pub fn linger(&self, engine: &Arc<Engine>) {
        self.table().lingering.push(Arc::clone(engine));
        self.poller.wake();
    }

    fn run(&self) {
        while !self.surplus.load(Ordering::Relaxed) {
            let mut tokens = Vec::new();
            // INVARIANT: the poller and the arguments are valid; epoll_wait fails for no other cause.
            self.poller.wait(None, |event| tokens.push(event.token)).expect("epoll_wait");
            for token in tokens {
                if let Some(waker) = self.forget_poller(token / 2) {
                    contain(|| waker.wake());
                    continue;
                }
                let engine = self.table().engines.get(&(token / 2)).and_then(Weak::upgrade);
                let Some(engine) = engine else { continue };
                if token % 2 == 0 { engine.background_tick() } else { engine.background_turn() }
            }
            self.let_go();
        }
    }

    /// Engines whose closed sockets have sent everything need not be kept any more. An engine's lock is
    /// never taken under the table's: closing takes them the other way round.
    fn let_go(&self) {
        let lingering = self.table().lingering.clone();
        let over: Vec<_> = lingering.iter().filter(|engine| !engine.lock().is_lingering()).collect();
        if !over.is_empty() {
            self.table().lingering.retain(|engine| !over.iter().any(|other| Arc::ptr_eq(engine, other)));
            // A socket may have closed in between: its engine is kept again.
            for engine in over.into_iter().filter(|engine| engine.lock().is_lingering()) {
                self.table().lingering.push(Arc::clone(engine));
            }
        }
    }
}

/// Process exit: what closed sockets still have to send is sent, within their linger time. It is the
/// background thread that sends and lets go; exit does not depend on its being there.
extern "C" fn wait_for_lingering() {
    let Some(background) = BACKGROUND.get() else { return };
    let lingering = background.table().lingering.clone();
    let deadlines = lingering.iter().filter_map(|engine| engine.lock().linger_deadline());
    let until = deadlines.max().unwrap_or_else(Instant::now) + EXIT_GRACE;
    drop(lingering);
    while !background.table().lingering.is_empty() && Instant::now() < until {
        std::thread::sleep(EXIT_TICK);
    }
}
