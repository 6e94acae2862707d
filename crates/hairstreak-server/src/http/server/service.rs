//! `Service`: the part of the server that answers requests.

use std::future::Future;

use crate::http::request::Request;
use crate::http::response::Response;

/// Answers requests, each in a task of its own on the HTTP thread. A call must not block the thread: whoever waits for a lock or a disk hands the work to
/// another thread and waits for its answer as a future.
pub(crate) trait Service: Send + 'static {
    /// The answer to a request. Errors are answers, too.
    fn answer(&self, request: &mut Request) -> impl Future<Output = Response>;

    /// Work besides the requests, on the same thread, until the server stops.
    fn run(&self) -> impl Future<Output = ()> {
        std::future::pending()
    }
}
