//! What wakes a future that waits: a peer, room, the end of the socket.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{self, Wake, Waker};
use std::thread;

use hairstreak_socket::{Context, Pull, Push, RecvError, SendError};

use crate::endpoints::endpoint;
use crate::executor::{Alarm, block_on, poll_with};
use crate::pairs::{body, low_marks, pair};
use crate::{LONG, TRANSPORTS};

#[test]
fn a_send_waits_for_the_first_peer() {
    for transport in TRANSPORTS {
        let push = Push::new(&Context::new()).unwrap();
        let place = push.bind(&endpoint(transport)).unwrap().to_string();
        let joining = thread::spawn(move || {
            let pull = Pull::new(&Context::new()).unwrap();
            pull.connect(&place).unwrap();
            block_on(pull.recv_async()).unwrap()
        });
        block_on(push.send_async("at last")).unwrap();
        push.flush();
        assert_eq!(joining.join().unwrap().body(), b"at last");
    }
}

#[test]
fn closing_ends_the_futures_that_wait() {
    for transport in TRANSPORTS {
        for _ in 0..20 {
            let (push, pull) = pair(transport, &low_marks());
            let (sending, receiving) = (push.clone(), pull.clone());
            // Nobody receives: the marks are reached.
            let sender = thread::spawn(move || {
                loop {
                    if let Err(error) = block_on(sending.send_async(&body(0))) {
                        return error;
                    }
                }
            });
            while push.stats().queued_count <= low_marks().send_count_max / 2 {
                thread::yield_now();
            }
            push.close();
            assert_eq!(sender.join().unwrap(), SendError::Closed, "{transport}");

            let receiver = thread::spawn(move || {
                loop {
                    if let Err(error) = block_on(receiving.recv_async()) {
                        return error;
                    }
                }
            });
            while !pull.peers().is_empty() {
                thread::yield_now();
            }
            pull.close();
            assert_eq!(receiver.join().unwrap(), RecvError::Closed, "{transport}");
        }
    }
}

#[test]
fn a_future_that_is_handed_on_wakes_its_last_holder() {
    for transport in TRANSPORTS {
        let (push, pull) = pair(transport, &low_marks());
        let mut future = pin!(pull.recv_async());
        for _ in 0..100 {
            assert!(poll_with(&Alarm::new(), future.as_mut()).is_pending());
        }
        let sender = thread::spawn(move || {
            push.send_timeout("found", LONG).unwrap();
            push.flush();
            push
        });
        assert_eq!(block_on(future).unwrap().body(), b"found");
        sender.join().unwrap();
    }
}

/// A waker that panics, having said that it will.
struct Panics(AtomicBool);

impl Wake for Panics {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Release);
        panic!("the waker of a test");
    }
}

#[test]
fn a_waker_that_panics_ends_no_thread_that_others_need() {
    for transport in TRANSPORTS {
        let (push, pull) = pair(transport, &low_marks());
        let panics = Arc::new(Panics(AtomicBool::new(false)));
        let waker = Waker::from(Arc::clone(&panics));
        let mut future = Box::pin(pull.recv_async());
        assert!(future.as_mut().poll(&mut task::Context::from_waker(&waker)).is_pending());
        push.send_timeout("one", LONG).unwrap();
        push.flush();
        while !panics.0.load(Ordering::Acquire) {
            thread::yield_now();
        }
        // Nobody but the background thread is there to wake this one.
        let (others, waiting) = pair("tcp", &low_marks());
        let receiver = thread::spawn(move || block_on(waiting.recv_async()).unwrap());
        others.send_timeout("two", LONG).unwrap();
        others.flush();
        assert_eq!(receiver.join().unwrap().body(), b"two");
        assert_eq!(block_on(future).unwrap().body(), b"one", "{transport}");
    }
}

/// A waker that holds what a task might: a socket.
struct Holds(#[allow(dead_code)] Push);

impl Wake for Holds {
    fn wake(self: Arc<Self>) {}
}

#[test]
fn a_waker_may_hold_a_socket_of_the_engine_that_drops_it() {
    let context = Context::new();
    let pull = Pull::new(&context).unwrap();
    pull.bind("tcp://127.0.0.1:*").unwrap();
    let holder = || Waker::from(Arc::new(Holds(Push::new(&context).unwrap())));
    let mut future = Box::pin(pull.recv_async());
    // Replaced by the next, then dropped with the future: each time the last clone is the engine's.
    assert!(future.as_mut().poll(&mut task::Context::from_waker(&holder())).is_pending());
    assert!(future.as_mut().poll(&mut task::Context::from_waker(&holder())).is_pending());
    drop(future);
    assert!(pull.try_recv().is_err());
}
