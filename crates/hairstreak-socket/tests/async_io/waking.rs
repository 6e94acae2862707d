//! What wakes a future that waits: a peer, room, the end of the socket.

use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::{self, Poll, Wake, Waker};
use std::thread;

use hairstreak_socket::{Context, Message, Pull, Push, RecvError, SendError};
use hairstreak_testkit::{until, until_at_least};

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
            until_at_least("queued messages", low_marks().send_count_max / 2 + 1, || {
                push.stats().queued_count
            });
            push.close();
            assert_eq!(sender.join().unwrap(), SendError::Closed, "{transport}");

            let receiver = thread::spawn(move || {
                loop {
                    if let Err(error) = block_on(receiving.recv_async()) {
                        return error;
                    }
                }
            });
            until("all peers are gone", || pull.peers().is_empty());
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
        until("the waker has panicked", || panics.0.load(Ordering::Acquire));
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

/// Counts how often it is woken.
#[derive(Default)]
struct Counts(AtomicUsize);

impl Wake for Counts {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::AcqRel);
    }
}

type Receives<'a> = Pin<Box<dyn Future<Output = Result<Message, RecvError>> + 'a>>;

/// A receive that waits, polled only when it was woken.
struct Waits<'a> {
    receives: Receives<'a>,
    wakes: Arc<Counts>,
    seen: usize,
}

impl<'a> Waits<'a> {
    fn of(pull: &'a Pull) -> Waits<'a> {
        let mut waits = Waits { receives: Box::pin(pull.recv_async()), wakes: Arc::default(), seen: 0 };
        assert!(waits.poll().is_pending());
        waits
    }

    fn poll(&mut self) -> Poll<Result<Message, RecvError>> {
        self.seen = self.wake_count();
        let waker = Waker::from(Arc::clone(&self.wakes));
        self.receives.as_mut().poll(&mut task::Context::from_waker(&waker))
    }

    fn wake_count(&self) -> usize {
        self.wakes.0.load(Ordering::Acquire)
    }

    fn was_woken(&self) -> bool {
        self.wake_count() > self.seen
    }
}

/// Which of them is woken first.
fn first_woken(waiting: &[Waits<'_>]) -> usize {
    until("one is woken", || waiting.iter().position(Waits::was_woken))
}

/// Polls who is woken until `count` have a message, and returns how often these were woken.
fn serve(waiting: &mut Vec<Waits<'_>>, count: usize) -> usize {
    let left = waiting.len() - count;
    let mut woken_count = 0;
    while waiting.len() > left {
        let woken = first_woken(waiting);
        if let Poll::Ready(result) = waiting[woken].poll() {
            result.unwrap();
            woken_count += waiting.swap_remove(woken).wake_count();
        }
    }
    woken_count
}

const WAITING_COUNT: usize = 200;
/// Messages that are sent one by one.
const ALONE_COUNT: usize = 20;

#[test]
fn a_message_wakes_one_of_many_that_wait_and_each_message_finds_its_own() {
    for transport in TRANSPORTS {
        let (push, pull) = pair(transport, &low_marks());
        let mut waiting: Vec<_> = (0..WAITING_COUNT).map(|_| Waits::of(&pull)).collect();
        let mut woken = 0;
        for _ in 0..ALONE_COUNT {
            push.send_timeout("x", LONG).unwrap();
            push.flush();
            woken += serve(&mut waiting, 1);
            // Whoever was woken in vain waits again.
            waiting.iter_mut().filter(|waits| waits.was_woken()).for_each(|waits| {
                assert!(waits.poll().is_pending());
            });
        }
        woken += waiting.iter().map(Waits::wake_count).sum::<usize>();
        assert!(
            woken < ALONE_COUNT * WAITING_COUNT / 4,
            "{transport}: {woken} times for {ALONE_COUNT} messages"
        );
        let left = waiting.len();
        let sending = thread::spawn(move || {
            push.send_all(std::iter::repeat_n("x", left)).unwrap();
            push.flush();
            push
        });
        serve(&mut waiting, left);
        sending.join().unwrap();
    }
}

#[test]
fn one_that_is_dropped_when_it_was_woken_wakes_the_next() {
    for transport in TRANSPORTS {
        let (push, pull) = pair(transport, &low_marks());
        let mut waiting: Vec<_> = (0..5).map(|_| Waits::of(&pull)).collect();
        push.send_timeout("x", LONG).unwrap();
        push.flush();
        while waiting.len() > 1 {
            let woken = first_woken(&waiting);
            waiting.swap_remove(woken);
        }
        serve(&mut waiting, 1);
    }
}

#[test]
fn what_one_that_was_not_woken_leaves_is_told_to_another() {
    for transport in TRANSPORTS {
        let (push, pull) = pair(transport, &low_marks());
        for _ in 0..50 {
            let mut waiting: Vec<_> = (0..2).map(|_| Waits::of(&pull)).collect();
            push.send_all(["x"; 3]).unwrap();
            push.flush();
            block_on(pull.recv_async()).unwrap();
            serve(&mut waiting, 2);
        }
    }
}
