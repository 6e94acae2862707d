//! Work that takes long, on a thread beside the HTTP thread: password hashes, import and export.

use std::io;

use tokio::sync::{Semaphore, oneshot};

use super::error::ApiError;

/// The threads that work at once; further work waits.
const WORKER_COUNT_MAX: usize = 4;

/// The places of the threads.
#[derive(Debug)]
pub(crate) struct Workers(Semaphore);

impl Default for Workers {
    fn default() -> Workers {
        Workers(Semaphore::new(WORKER_COUNT_MAX))
    }
}

impl Workers {
    /// Has a thread of its own do the work, and waits for the result.
    ///
    /// # Errors
    ///
    /// 503: there is no thread. 500: the work ended in a panic.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, ApiError> {
        // The semaphore is never closed, so that an error cannot come.
        let _place = self.0.acquire().await;
        let (tell, told) = oneshot::channel();
        let run = move || {
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
}
