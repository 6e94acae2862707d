//! Work that takes long, on a thread beside the HTTP thread: password hashes, policies, import and export, long bodies.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Weak};

use parking_lot::Mutex;
use tokio::sync::{Mutex as AsyncMutex, Semaphore, oneshot};

use super::error::ApiError;

/// The threads that work at once; further work waits.
const WORKER_COUNT_MAX: usize = 4;

/// The places of the threads, and the turns of those whose work waits for other work of theirs.
#[derive(Debug)]
pub(crate) struct Workers {
    places: Arc<Semaphore>,
    turns: Mutex<BTreeMap<Owner, Weak<AsyncMutex<()>>>>,
}

/// A user or a virtual host that has one thread at a time.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Owner {
    User(Box<str>),
    Host(Box<str>),
}

impl Default for Workers {
    fn default() -> Workers {
        Workers { places: Arc::new(Semaphore::new(WORKER_COUNT_MAX)), turns: Mutex::default() }
    }
}

impl Workers {
    /// Has a thread of its own do the work, and waits for the result. Work waits for the earlier work of each owner, and then for a place. The
    /// thread keeps its turns and its place to the end of the work, also if the client goes away.
    ///
    /// # Errors
    ///
    /// 503: there is no thread. 500: the work ended in a panic.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        mut owners: Vec<Owner>,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, ApiError> {
        // One order for all, so that no two wait for each other.
        owners.sort_unstable();
        let mut turns = Vec::with_capacity(owners.len());
        for owner in owners {
            turns.push(self.turn_of(owner).lock_owned().await);
        }
        // The semaphore is never closed, so that an error cannot come.
        let place = Arc::clone(&self.places).acquire_owned().await;
        let (tell, told) = oneshot::channel();
        let run = move || {
            let _held = (place, turns);
            // The client may be gone.
            let _ = tell.send(work());
        };
        let started = std::thread::Builder::new().name("http work".into()).spawn(run);
        started.map_err(|error: io::Error| ApiError::unavailable(error.to_string()))?;
        told.await.map_err(|_| ApiError::internal("the work ended without a result"))
    }

    fn turn_of(&self, owner: Owner) -> Arc<AsyncMutex<()>> {
        let mut turns = self.turns.lock();
        turns.retain(|_, turn| turn.strong_count() > 0);
        if let Some(turn) = turns.get(&owner).and_then(Weak::upgrade) {
            return turn;
        }
        let turn = Arc::default();
        turns.insert(owner, Arc::downgrade(&turn));
        turn
    }
}

#[cfg(test)]
mod tests {
    use hairstreak_testkit::until_eq;

    use super::*;

    fn run<T>(future: impl Future<Output = T>) -> T {
        tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
    }

    #[test]
    fn a_result_comes_from_another_thread_and_a_panic_is_an_error() {
        let workers = Workers::default();
        let here = std::thread::current().id();
        assert_ne!(run(workers.run(Vec::new(), || std::thread::current().id())), Ok(here));
        let panicked = run(workers.run(Vec::new(), || -> u8 { panic!("a panic of the test") }));
        assert_eq!(panicked, Err(ApiError::internal("the work ended without a result")));
        assert_eq!(run(workers.run(Vec::new(), || 5)), Ok(5));
    }

    #[test]
    fn a_thread_keeps_its_place_when_its_client_goes_away() {
        let workers = Workers::default();
        let (end, ends) = std::sync::mpsc::channel::<()>();
        run(async {
            let mut call = Box::pin(workers.run(Vec::new(), move || ends.recv()));
            // The client goes away once the work has begun.
            let begun = std::future::poll_fn(|context| std::task::Poll::Ready(call.as_mut().poll(context)));
            assert!(begun.await.is_pending());
        });
        assert_eq!(workers.places.available_permits(), WORKER_COUNT_MAX - 1);
        drop(end);
        until_eq("free places", WORKER_COUNT_MAX, || workers.places.available_permits());
    }

    #[test]
    fn an_owner_has_one_thread_at_a_time_and_leaves_the_others() {
        let workers = Workers::default();
        let owners = |names: [&str; 2]| vec![Owner::User(names[0].into()), Owner::Host(names[1].into())];
        let (end, ends) = std::sync::mpsc::channel::<()>();
        run(async {
            let mut first = Box::pin(workers.run(owners(["u", "v"]), move || ends.recv().is_err()));
            let mut later: Vec<_> = [["u", "w"], ["x", "v"], ["u", "v"]]
                .into_iter()
                .map(|names| Box::pin(workers.run(owners(names), || true)))
                .collect();
            std::future::poll_fn(|context| {
                assert!(first.as_mut().poll(context).is_pending());
                assert!(later.iter_mut().all(|work| work.as_mut().poll(context).is_pending()));
                std::task::Poll::Ready(())
            })
            .await;
            assert_eq!(workers.places.available_permits(), WORKER_COUNT_MAX - 1);
            assert_eq!(workers.run(owners(["y", "y"]), || 5).await, Ok(5));
            drop(end);
            assert_eq!(first.await, Ok(true));
            for work in later {
                assert_eq!(work.await, Ok(true));
            }
        });
        assert_eq!(run(workers.run(Vec::new(), || 5)), Ok(5));
        until_eq("turns that are held", 0, || {
            workers.turns.lock().values().filter(|turn| turn.strong_count() > 0).count()
        });
    }
}
