//! `Service`: the part of the server that answers requests; `race`: two futures, as far as the first result.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;

use crate::http::request::Request;
use crate::http::response::Response;

/// The result of the future that was ready first.
pub(super) enum First<A, B> {
    Left(A),
    Right(B),
}

/// Polls both until one is ready. The other is dropped.
pub(super) async fn race<A, B>(left: impl Future<Output = A>, right: impl Future<Output = B>) -> First<A, B> {
    let (mut left, mut right) = (pin!(left), pin!(right));
    poll_fn(|cx| match left.as_mut().poll(cx) {
        Poll::Ready(result) => Poll::Ready(First::Left(result)),
        Poll::Pending => right.as_mut().poll(cx).map(First::Right),
    })
    .await
}

/// Answers requests, each in a task of its own on the HTTP thread. A call must not block that thread: work that waits for a lock or
/// a disk runs on another thread, and the task awaits its result.
pub(crate) trait Service: Send + 'static {
    /// The answer to a request. Errors are answers, too.
    fn answer(&self, request: &mut Request) -> impl Future<Output = Response>;

    /// Work besides the requests, on the same thread, until the server stops.
    fn run(&self) -> impl Future<Output = ()> {
        std::future::pending()
    }
}
