//! `Context`: where sockets come from. It decides which engine a socket belongs to.

use std::cell::RefCell;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use hairstreak_base::process;

use crate::engine::Engine;

/// A family of sockets. The sockets that one thread opens in one context share an engine: while
/// that thread blocks in any of them, all of them are driven. Cheap to make and to clone.
///
/// A forked child opens sockets of its own, in a context of either; those of its parent refuse every call.
#[derive(Clone, Debug)]
pub struct Context {
    id: u64,
}

/// A thread's engine of a context.
struct Place {
    context: u64,
    process: u32,
    engine: Weak<Engine>,
}

thread_local! {
    static ENGINES: RefCell<Vec<Place>> = const { RefCell::new(Vec::new()) };
}

impl Context {
    /// A context without sockets.
    pub fn new() -> Context {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        Context { id: NEXT.fetch_add(1, Ordering::Relaxed) }
    }

    /// This thread's engine of this context, made when there is none.
    pub(crate) fn engine(&self) -> io::Result<Arc<Engine>> {
        ENGINES.with_borrow_mut(|engines| {
            // A parent's engines are none for a forked child.
            engines.retain(|place| place.engine.strong_count() > 0 && process::is_current(place.process));
            let found = engines.iter().find(|place| place.context == self.id);
            if let Some(engine) = found.and_then(|place| place.engine.upgrade()) {
                return Ok(engine);
            }
            let engine = Engine::start()?;
            let (process, weak) = (process::current(), Arc::downgrade(&engine));
            engines.push(Place { context: self.id, process, engine: weak });
            Ok(engine)
        })
    }
}

impl Default for Context {
    fn default() -> Context {
        Context::new()
    }
}
