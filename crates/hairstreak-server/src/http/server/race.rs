//! `race`: two futures at once, as far as the first result.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;

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
