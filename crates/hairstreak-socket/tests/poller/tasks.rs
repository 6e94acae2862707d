//! Waiting in tasks, on an executor of a few lines and on tokio, for sockets, descriptors and times.

use std::future::Future;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{self, Wake, Waker};
use std::thread;
use std::time::Instant;

use hairstreak_socket::{Context, Interest, Poller, Pull, Push};
use hairstreak_testkit::until;

use crate::executor::{Alarm, block_on, poll_with};
use crate::finding::wait;
use crate::joined::pull_of;
use crate::{LONG, TRANSPORTS};

const COUNT: usize = 200;

async fn take_all(pulls: &[Pull], mut near: UnixStream) {
    let mut poller = Poller::new().unwrap();
    for (key, pull) in pulls.iter().enumerate() {
        poller.add(pull, key, Interest::READABLE).unwrap();
    }
    poller.add_descriptor(&near, pulls.len(), Interest::READABLE).unwrap();
    poller.add_time(Instant::now() + LONG, 99).unwrap();
    let mut ready = Vec::new();
    let mut counts = vec![0; pulls.len() + 1];
    while counts.iter().any(|count| *count < COUNT) {
        poller.wait_async(&mut ready).await.unwrap();
        assert!(!ready.is_empty());
        for ready in &ready {
            assert!(ready.readable, "{ready:?}");
            match pulls.get(ready.key) {
                Some(pull) => drop(pull.try_recv().unwrap()),
                None => near.read_exact(&mut [0]).unwrap(),
            }
            counts[ready.key] += 1;
        }
    }
}

/// Returns the other end, whose closing would be found too.
fn send_all(pushes: Vec<Push>, mut far: UnixStream) -> UnixStream {
    for number in 0..COUNT {
        for push in &pushes {
            push.send_timeout("x", LONG).unwrap();
            push.flush();
        }
        far.write_all(b"x").unwrap();
        if number % 10 == 0 {
            thread::yield_now();
        }
    }
    far
}

#[test]
fn a_task_finds_what_comes_for_any_of_many() {
    for tokio in [false, true] {
        let (pulls, pushes): (Vec<_>, Vec<_>) =
            TRANSPORTS.iter().map(|transport| pull_of(&Context::new(), transport)).unzip();
        let (near, far) = UnixStream::pair().unwrap();
        let sender = thread::spawn(move || send_all(pushes, far));
        if tokio {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
            runtime.block_on(async { tokio::time::timeout(LONG, take_all(&pulls, near)).await.unwrap() });
        } else {
            block_on(take_all(&pulls, near));
        }
        sender.join().unwrap();
    }
}

#[test]
fn a_wait_that_is_dropped_leaves_nothing_behind() {
    for transport in TRANSPORTS {
        let (pull, push) = pull_of(&Context::new(), transport);
        let (near, far) = UnixStream::pair().unwrap();
        let mut poller = Poller::new().unwrap();
        poller.add(&pull, 0, Interest::READABLE).unwrap();
        poller.add_descriptor(&near, 1, Interest::READABLE).unwrap();
        let mut ready = Vec::new();
        for _ in 0..20 {
            let alarm = Alarm::new();
            let mut waiting = pin!(poller.wait_async(&mut ready));
            assert!(poll_with(&alarm, waiting.as_mut()).is_pending());
            assert!(poll_with(&alarm, waiting.as_mut()).is_pending());
        }
        push.send_timeout("x", LONG).unwrap();
        push.flush();
        // A thread goes on where a task has left.
        assert_eq!(wait(&mut poller)[0].key, 0, "{transport}");
        pull.try_recv().unwrap();
        (&far).write_all(b"x").unwrap();
        block_on(poller.wait_async(&mut ready)).unwrap();
        assert_eq!(ready[0].key, 1);
    }
}

#[test]
fn a_waker_and_the_end_of_a_socket_end_a_tasks_wait() {
    let (pull, _push) = pull_of(&Context::new(), "tcp");
    let mut poller = Poller::new().unwrap();
    poller.add(&pull, 0, Interest::READABLE).unwrap();
    let mut ready = Vec::new();
    let waker = poller.waker();
    let waking = thread::spawn(move || {
        thread::yield_now();
        waker.wake();
    });
    block_on(poller.wait_async(&mut ready)).unwrap();
    assert_eq!(ready, []);
    waking.join().unwrap();
    let closing = thread::spawn(move || {
        thread::yield_now();
        pull.close();
    });
    block_on(poller.wait_async(&mut ready)).unwrap();
    assert!(ready[0].closed);
    closing.join().unwrap();
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
fn a_waker_that_panics_over_a_descriptor_ends_no_thread_that_others_need() {
    let (near, far) = UnixStream::pair().unwrap();
    let mut poller = Poller::new().unwrap();
    poller.add_descriptor(&near, 0, Interest::READABLE).unwrap();
    let panics = Arc::new(Panics(AtomicBool::new(false)));
    let waker = Waker::from(Arc::clone(&panics));
    let mut ready = Vec::new();
    let mut waiting = Box::pin(poller.wait_async(&mut ready));
    assert!(waiting.as_mut().poll(&mut task::Context::from_waker(&waker)).is_pending());
    (&far).write_all(b"x").unwrap();
    until("the waker has panicked", || panics.0.load(Ordering::Acquire));
    // Nobody but the background thread is there to wake this one.
    let (pull, push) = pull_of(&Context::new(), "tcp");
    let receiver = thread::spawn(move || block_on(pull.recv_async()).unwrap());
    push.send_timeout("on", LONG).unwrap();
    push.flush();
    assert_eq!(receiver.join().unwrap().body(), b"on");
    block_on(waiting).unwrap();
    assert_eq!(ready[0].key, 0);
}

#[test]
fn what_is_ready_at_once_is_found_without_waiting() {
    let (pull, push) = pull_of(&Context::new(), "inproc");
    push.send_timeout("x", LONG).unwrap();
    push.flush();
    let mut poller = Poller::new().unwrap();
    poller.add(&pull, 0, Interest::READABLE).unwrap();
    let mut ready = Vec::new();
    let mut waiting = pin!(poller.wait_async(&mut ready));
    assert!(matches!(poll_with(&Alarm::new(), waiting.as_mut()), std::task::Poll::Ready(Ok(()))));
}
