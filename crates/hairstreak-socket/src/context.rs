//! `Context`: where sockets come from. It decides which engine a socket belongs to.

use std::cell::RefCell;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use crate::engine::Engine;

/// A family of sockets. The sockets that one thread opens in one context share an engine: while
/// that thread blocks in any of them, all of them are driven. Cheap to make and to clone.
#[derive(Clone, Debug)]
pub struct Context {
    id: u64,
}

thread_local! {
    static ENGINES: RefCell<Vec<(u64, Weak<Engine>)>> = const { RefCell::new(Vec::new()) };
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
            engines.retain(|(_, engine)| engine.strong_count() > 0);
            let found = engines.iter().find(|(id, _)| *id == self.id);
            if let Some(engine) = found.and_then(|(_, engine)| engine.upgrade()) {
                return Ok(engine);
            }
            let engine = Engine::start()?;
            engines.push((self.id, Arc::downgrade(&engine)));
            Ok(engine)
        })
    }
}

impl Default for Context {
    fn default() -> Context {
        Context::new()
    }
}
