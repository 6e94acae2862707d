//! Callers that look into shared memory before they sleep: their peers do not ring meanwhile, and nobody may miss it.

use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::task::{self, Wake, Waker};
use std::thread;
use std::time::Duration;

use hairstreak_socket::{Context, Dealer, Options, Pull, Push, RecvError};
use hairstreak_testkit::{Task, until};

use crate::LONG;
use crate::endpoints::endpoint;

/// Longer than any test waits: who looks for so long is not found asleep.
const FOR_EVER_US: u64 = 1000 * HOUR_MS;
const HOUR_MS: u64 = 3_600_000;

/// Nothing but messages wakes those who sleep: no timer is due.
fn quiet(spin_us: u64) -> Options {
    Options { spin_us, heartbeat_ms: HOUR_MS, handshake_timeout_ms: HOUR_MS, ..Options::default() }
}

fn pull(spin_us: u64) -> Pull {
    Pull::with_options(&Context::new(), quiet(spin_us)).unwrap()
}

fn push_to(place: &str) -> Push {
    let push = Push::with_options(&Context::new(), quiet(0)).unwrap();
    push.connect(place).unwrap();
    assert!(push.wait_for_peers(1, LONG));
    push
}

/// Takes so many messages, in a thread that says who it is before.
fn take<'scope>(
    count: usize,
    scope: &'scope thread::Scope<'scope, '_>,
    pull: &'scope Pull,
    taken: &mpsc::Sender<()>,
) -> Task {
    let (tell, told) = mpsc::channel();
    let taken = taken.clone();
    scope.spawn(move || {
        tell.send(Task::current()).unwrap();
        for _ in 0..count {
            pull.recv_timeout(LONG).unwrap();
            taken.send(()).unwrap();
        }
    });
    told.recv_timeout(LONG).unwrap()
}

#[test]
fn who_finds_something_by_looking_leaves_the_bell_to_those_who_sleep() {
    // The second begins to look while the first sleeps, and finds what the first is not told of.
    let pull = pull(20_000);
    let push = push_to(&pull.bind(&endpoint("shm")).unwrap().to_string());
    let (taken, takes) = mpsc::channel();
    for round in 0..20 {
        thread::scope(|scope| {
            // The thread has looked in vain.
            take(1, scope, &pull, &taken).until_asleep();
            take(1, scope, &pull, &taken);
            for message in ["for one", "for the other"] {
                push.send_timeout(message, LONG).unwrap();
                push.flush();
                takes.recv_timeout(LONG).unwrap_or_else(|_| panic!("{message}, round {round}"));
            }
        });
    }
}

#[test]
fn who_finds_several_by_looking_tells_those_who_sleep_of_what_it_leaves() {
    let pull = pull(20_000);
    let push = push_to(&pull.bind(&endpoint("shm")).unwrap().to_string());
    let (taken, takes) = mpsc::channel();
    for round in 0..20 {
        thread::scope(|scope| {
            // The thread has looked in vain.
            take(1, scope, &pull, &taken).until_asleep();
            take(2, scope, &pull, &taken);
            // The link being idle the first is written alone, the others together.
            (0..3).for_each(|_| push.send_timeout("one of three", LONG).unwrap());
            push.flush();
            (0..3).for_each(|_| takes.recv_timeout(LONG).unwrap_or_else(|_| panic!("round {round}")));
        });
    }
}

#[test]
fn a_task_that_waits_is_woken_for_what_comes_behind_another_s_look() {
    struct Flag(AtomicBool);
    impl Wake for Flag {
        fn wake(self: Arc<Self>) {
            self.0.store(true, Ordering::Release);
        }
    }
    let pull = pull(20_000);
    let push = push_to(&pull.bind(&endpoint("shm")).unwrap().to_string());
    let (taken, takes) = mpsc::channel();
    for round in 0..20 {
        let flag = Arc::new(Flag(AtomicBool::new(true)));
        let waker = Waker::from(Arc::clone(&flag));
        let mut task = pin!(pull.recv_async());
        // Whether it has its message, if it was woken.
        let mut advance = || {
            flag.0.swap(false, Ordering::AcqRel)
                && task.as_mut().poll(&mut task::Context::from_waker(&waker)).is_ready()
        };
        thread::scope(|scope| {
            assert!(!advance());
            take(1, scope, &pull, &taken);
            let mut task_took = false;
            for message in ["for one", "for the other"] {
                push.send_timeout(message, LONG).unwrap();
                push.flush();
                until(&format!("{message}, round {round}"), || {
                    let takes = takes.try_recv().is_ok();
                    let tasks = !task_took && advance();
                    task_took |= tasks;
                    takes || tasks
                });
            }
        });
    }
}

#[test]
fn what_comes_when_a_look_was_a_success_is_read_though_nobody_looks_any_more() {
    reads_though_nobody_looks(&pull(1000));
}

#[test]
fn what_comes_when_a_look_was_a_success_is_read_while_a_task_waits_for_another_socket() {
    let context = Context::new();
    let awaited = Pull::with_options(&context, quiet(0)).unwrap();
    let mut task = pin!(awaited.recv_async());
    assert!(task.as_mut().poll(&mut task::Context::from_waker(Waker::noop())).is_pending());
    reads_though_nobody_looks(&Pull::with_options(&context, quiet(1000)).unwrap());
}

fn reads_though_nobody_looks(pull: &Pull) {
    let place = pull.bind(&endpoint("shm")).unwrap().to_string();
    for _ in 0..20 {
        let push = push_to(&place);
        thread::scope(|scope| {
            scope.spawn(|| push.send_timeout("looked for", LONG).unwrap());
            pull.recv_timeout(LONG).unwrap();
        });
        // Nobody receives from here on: the background thread reads.
        let before = pull.stats().received_bytes;
        (0..300).for_each(|_| push.send_timeout(&[7; 1000], LONG).unwrap());
        push.flush();
        until("everything was read", || pull.stats().received_bytes >= before + 300_000);
        (0..300).for_each(|_| assert_eq!(pull.recv_timeout(LONG).unwrap().size(), 1000));
    }
}

#[test]
fn who_looks_for_long_notices_peers_that_come_and_its_socket_being_closed() {
    let pull = pull(FOR_EVER_US);
    let place = pull.bind(&endpoint("shm")).unwrap().to_string();
    let _silent = push_to(&place);
    let (told, tells) = mpsc::channel();
    let looking = pull.clone();
    thread::spawn(move || {
        let first = looking.recv().map(|message| message.body().to_vec());
        told.send(first).unwrap();
        told.send(looking.recv().map(|message| message.body().to_vec())).unwrap();
    });
    push_to(&place).send_timeout("from another", LONG).unwrap();
    assert_eq!(tells.recv_timeout(LONG).unwrap().unwrap(), b"from another");
    pull.close();
    assert_eq!(tells.recv_timeout(LONG).unwrap(), Err(RecvError::Closed));
}

#[test]
fn what_is_sent_after_a_look_in_vain_does_not_gather() {
    for transport in ["tcp", "shm"] {
        let options = || Options { spin_us: 1000, ..Options::default() };
        let near = Dealer::with_options(&Context::new(), options()).unwrap();
        let far = Dealer::with_options(&Context::new(), options()).unwrap();
        far.connect(&near.bind(&endpoint(transport)).unwrap().to_string()).unwrap();
        assert!(near.wait_for_peers(1, LONG) && far.wait_for_peers(1, LONG));
        for round in 0..100 {
            near.send_timeout("before", LONG).unwrap();
            assert_eq!(near.recv_timeout(Duration::from_micros(2)), Err(RecvError::TimedOut));
            near.send_timeout("behind", LONG).unwrap();
            assert_eq!(near.stats().queued_count, 0, "{transport}, round {round}");
            (0..2).for_each(|_| drop(far.recv_timeout(LONG).unwrap()));
        }
    }
}
