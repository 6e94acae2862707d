//! Two futures on one thread.

use std::future::Future;
use std::pin::pin;
use std::task::Poll;

use crate::executor::block_on;

/// Runs both futures to their ends, on the same thread.
pub fn block_on_both<A: Future, B: Future>(a: A, b: B) -> (A::Output, B::Output) {
    let (mut a, mut b) = (pin!(a), pin!(b));
    let (mut from_a, mut from_b) = (None, None);
    block_on(std::future::poll_fn(|context| {
        if from_a.is_none()
            && let Poll::Ready(output) = a.as_mut().poll(context)
        {
            from_a = Some(output);
        }
        if from_b.is_none()
            && let Poll::Ready(output) = b.as_mut().poll(context)
        {
            from_b = Some(output);
        }
        match (from_a.take(), from_b.take()) {
            (Some(a), Some(b)) => Poll::Ready((a, b)),
            (a, b) => {
                (from_a, from_b) = (a, b);
                Poll::Pending
            }
        }
    }))
}
