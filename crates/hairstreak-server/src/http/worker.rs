//! Work that takes long, on a thread beside the HTTP thread: password hashes, import and export.

use std::io;
use std::sync::Arc;

use tokio::sync::{Semaphore, oneshot};

use super::error::ApiError;

/// The threads that work at once; further work waits.
const WORKER_COUNT_MAX: usize = 4;

/// The places of the threads.
#[derive(Debug)]
pub(crate) struct Workers(Arc<Semaphore>);

impl Default for Workers {
    fn default() -> Workers {
        Workers(Arc::new(Semaphore::new(WORKER_COUNT_MAX)))
    }
}

impl Workers {
    /// Has a thread of its own do the work, and waits for the result. The thread keeps its place to the end of the work, also if the client goes away.
    ///
    /// # Errors
    ///
    /// 503: there is no thread. 500: the work ended in a panic.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, ApiError> {
        // The semaphore is never closed, so that an error cannot come.
        let place = Arc::clone(&self.0).acquire_owned().await;
        let (tell, told) = oneshot::channel();
        let run = move || {
            let _place = place;
            // The client may be gone.
            let _ = tell.send(work());
        };
        let started = std::thread::Builder::new().name("http work".into()).spawn(run);
        started.map_err(|error: io::Error| ApiError::unavailable(error.to_string()))?;
        told.await.map_err(|_| ApiError::internal("the work ended without a result"))
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
        assert_ne!(run(workers.run(|| std::thread::current().id())), Ok(here));
        let panicked = run(workers.run(|| -> u8 { panic!("a panic of the test") }));
        assert_eq!(panicked, Err(ApiError::internal("the work ended without a result")));
        assert_eq!(run(workers.run(|| 5)), Ok(5));
    }

    #[test]
    fn a_thread_keeps_its_place_when_its_client_goes_away() {
        let workers = Workers::default();
        let (end, ends) = std::sync::mpsc::channel::<()>();
        run(async {
            let mut call = Box::pin(workers.run(move || ends.recv()));
            // The client goes away once the work has begun.
            let begun = std::future::poll_fn(|context| std::task::Poll::Ready(call.as_mut().poll(context)));
            assert!(begun.await.is_pending());
        });
        assert_eq!(workers.0.available_permits(), WORKER_COUNT_MAX - 1);
        drop(end);
        until_eq("free places", WORKER_COUNT_MAX, || workers.0.available_permits());
    }
}
