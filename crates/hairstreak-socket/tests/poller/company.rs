//! Pollers beside threads that use the same sockets, or others of the same engines.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use hairstreak_socket::{Context, Dealer, Interest, Options, Poller, Pull, Push};

use crate::endpoints::endpoint;
use crate::finding::wait;
use crate::joined::{joined, pull_of};
use crate::{LONG, TRANSPORTS};

const COUNT: usize = 500;

/// Opened in a thread of its own, so that its engine is no other's.
fn pull_elsewhere(transport: &'static str) -> (Pull, Push) {
    thread::spawn(move || pull_of(&Context::new(), transport)).join().unwrap()
}

fn send_numbers(push: Push) {
    for number in 0..COUNT {
        push.send_timeout(&number.to_le_bytes(), LONG).unwrap();
        if number % 7 == 0 {
            push.flush();
            thread::yield_now();
        }
    }
    push.flush();
    // What it has sent is read before it goes, or not: nothing is lost either way.
}

#[test]
fn everything_that_comes_over_several_engines_is_found() {
    let (pulls, pushes): (Vec<_>, Vec<_>) =
        TRANSPORTS.iter().chain(&TRANSPORTS).map(|transport| pull_elsewhere(transport)).unzip();
    let mut poller = Poller::new().unwrap();
    for (key, pull) in pulls.iter().enumerate() {
        poller.add(pull, key, Interest::READABLE).unwrap();
    }
    let senders: Vec<_> = pushes.into_iter().map(|push| thread::spawn(move || send_numbers(push))).collect();
    let mut next = vec![0; pulls.len()];
    while next.iter().sum::<usize>() < COUNT * pulls.len() {
        for ready in wait(&mut poller) {
            assert!(ready.readable && !ready.closed);
            // One at a time: the rest must be reported again.
            assert_eq!(pulls[ready.key].try_recv().unwrap().body(), next[ready.key].to_le_bytes());
            next[ready.key] += 1;
        }
    }
    senders.into_iter().for_each(|sender| sender.join().unwrap());
}

#[test]
fn a_poller_is_woken_whoever_drives_the_engine() {
    for transport in TRANSPORTS {
        let context = Context::new();
        let (led, to_led) = pull_of(&context, transport);
        let (polled, to_polled) = pull_of(&context, transport);
        // It leads the engine now and then, or follows the poller, or is not there.
        let leader = thread::spawn(move || {
            for number in 0..COUNT {
                assert_eq!(led.recv_timeout(LONG).unwrap().body(), number.to_le_bytes());
            }
        });
        let senders = [to_led, to_polled].map(|push| thread::spawn(move || send_numbers(push)));
        let mut poller = Poller::new().unwrap();
        poller.add(&polled, 0, Interest::READABLE).unwrap();
        for number in 0..COUNT {
            assert!(wait(&mut poller)[0].readable);
            assert_eq!(polled.try_recv().unwrap().body(), number.to_le_bytes(), "{transport}");
        }
        leader.join().unwrap();
        senders.into_iter().for_each(|sender| sender.join().unwrap());
    }
}

#[test]
fn pollers_and_receivers_of_one_socket_share_its_messages() {
    for transport in TRANSPORTS {
        let (pull, push) = pull_elsewhere(transport);
        let taken = Arc::new(AtomicUsize::new(0));
        let takers: Vec<_> = (0..4)
            .map(|number| {
                let (pull, taken) = (pull.clone(), Arc::clone(&taken));
                thread::spawn(move || {
                    let mut poller = Poller::new().unwrap();
                    poller.add(&pull, 0, Interest::READABLE).unwrap();
                    let mut ready = Vec::new();
                    while taken.load(Ordering::Relaxed) < COUNT {
                        if number % 2 == 0 {
                            poller.wait_timeout(&mut ready, Duration::from_millis(5)).unwrap();
                        }
                        let found = match number {
                            0 | 2 => pull.try_recv(),
                            _ => pull.recv_timeout(Duration::from_millis(5)),
                        };
                        taken.fetch_add(usize::from(found.is_ok()), Ordering::Relaxed);
                    }
                })
            })
            .collect();
        send_numbers(push);
        takers.into_iter().for_each(|taker| taker.join().unwrap());
        assert_eq!((taken.load(Ordering::Relaxed), pull.stats().received), (COUNT, COUNT as u64));
    }
}

#[test]
fn two_peers_that_wait_for_room_do_not_wait_for_each_other() {
    let low = Options { send_count_max: 4, ..Options::default() };
    for transport in TRANSPORTS {
        let (a, b): (Dealer, Dealer) = joined(&Context::new(), &Context::new(), transport, &low);
        let flood = |socket: Dealer| {
            thread::spawn(move || {
                let mut poller = Poller::new().unwrap();
                poller.add(&socket, 0, Interest::WRITABLE).unwrap();
                for number in 0..COUNT {
                    assert!(wait(&mut poller)[0].writable);
                    socket.try_send(&number.to_le_bytes()).unwrap();
                }
                socket.flush();
            })
        };
        let floods = [flood(a.clone()), flood(b.clone())];
        // Over inproc there is nothing but the marks: somebody has to take.
        for number in 0..COUNT {
            assert_eq!(a.recv_timeout(LONG).unwrap().body(), number.to_le_bytes());
            assert_eq!(b.recv_timeout(LONG).unwrap().body(), number.to_le_bytes(), "{transport}");
        }
        floods.into_iter().for_each(|flood| flood.join().unwrap());
    }
}

#[test]
fn a_waker_ends_a_wait_from_any_thread() {
    for sockets in 0..3 {
        let pulls: Vec<_> = (0..sockets).map(|_| pull_elsewhere("tcp")).collect();
        let mut poller = Poller::new().unwrap();
        for (key, (pull, _push)) in pulls.iter().enumerate() {
            poller.add(pull, key, Interest::READABLE).unwrap();
        }
        let waker = poller.waker();
        let mut ready = Vec::new();
        for round in 0..50 {
            let waker = waker.clone();
            let waking = thread::spawn(move || {
                (0..round % 10).for_each(|_| thread::yield_now());
                waker.wake();
            });
            poller.wait(&mut ready).unwrap();
            assert_eq!(ready, []);
            waking.join().unwrap();
        }
        // Before the wait too.
        waker.wake();
        poller.wait(&mut ready).unwrap();
        assert_eq!(ready, []);
    }
}

#[test]
fn a_poller_that_waits_keeps_connecting() {
    let place = endpoint("ipc");
    let pull = Pull::new(&Context::new()).unwrap();
    // Nobody is there yet.
    pull.connect(&place).unwrap();
    let mut poller = Poller::new().unwrap();
    poller.add(&pull, 0, Interest::READABLE).unwrap();
    let coming = thread::spawn(move || {
        let push = Push::new(&Context::new()).unwrap();
        push.bind(&place).unwrap();
        push.send_timeout("here", LONG).unwrap();
        push.flush();
        push
    });
    assert!(wait(&mut poller)[0].readable);
    assert_eq!(pull.try_recv().unwrap().body(), b"here");
    coming.join().unwrap();
}
