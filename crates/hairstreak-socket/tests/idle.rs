//! A process in which nothing happens takes no processor time, whatever was left open, unread, unsent or
//! waited for: the background thread sleeps.

#[path = "workbench/endpoints.rs"]
mod endpoints;

use std::fs;
use std::os::unix::net::UnixStream;
use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use std::task::{Context as TaskContext, Waker};
use std::thread;
use std::time::{Duration, Instant};

use hairstreak_socket::{Context, Dealer, Interest, Options, Poller, Proxy, Pull, Push, RecvError, Router};
use hairstreak_testkit::{Task, until};

use endpoints::endpoint;

const LONG: Duration = Duration::from_secs(60);
const TRANSPORTS: [&str; 3] = ["tcp", "ipc", "inproc"];
/// How long nothing happens.
const WATCH: Duration = Duration::from_millis(150);
/// Hundredths of a second that it may take; a thread that spins takes 15.
const TICKS_MAX: u64 = 5;
/// How often an engine is looked at whose callers come and go.
const WATCH_TICK_MS: u64 = 5;

/// One test at a time: they look at the whole process.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Hundredths of a second of processor time that this process has taken.
fn ticks() -> u64 {
    let stat = fs::read_to_string("/proc/self/stat").unwrap();
    let fields: Vec<&str> = stat.rsplit_once(')').unwrap().1.split_whitespace().collect();
    fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap()
}

fn check_idle(what: &str) {
    let before = ticks();
    // tidy: allow(sleeps) that nothing happens meanwhile is what is tested
    thread::sleep(WATCH);
    let taken = ticks() - before;
    assert!(taken <= TICKS_MAX, "{what}: {taken} hundredths of a second in {WATCH:?}");
}

fn pair(transport: &str) -> (Push, Pull) {
    let options = Options { send_count_max: 100, ..Options::default() };
    let pull = Pull::with_options(&Context::new(), options.clone()).unwrap();
    let push = Push::with_options(&Context::new(), options).unwrap();
    push.connect(&pull.bind(&endpoint(transport)).unwrap().to_string()).unwrap();
    assert!(push.wait_for_peers(1, LONG) && pull.wait_for_peers(1, LONG));
    (push, pull)
}

fn send_ten(push: &Push) {
    (0..10).for_each(|_| push.send_timeout("message", LONG).unwrap());
    push.flush();
}

#[test]
fn connected_sockets_are_idle() {
    let _alone = alone();
    for transport in TRANSPORTS {
        let (push, pull) = pair(transport);
        send_ten(&push);
        (0..10).for_each(|_| drop(pull.recv_timeout(LONG).unwrap()));
        check_idle(transport);
    }
}

/// Who answers sleeps until it is asked; who asks is awake all the time, as far as the engine can tell that gets the
/// answers: those that gathered would be left to the background thread.
#[test]
fn answers_over_inproc_do_not_wake_the_background_thread() {
    const ROUND_COUNT: u64 = 10;
    const ASKED_COUNT: u64 = 100;
    let _alone = alone();
    let (there, home) = (Dealer::new(&Context::new()).unwrap(), Dealer::new(&Context::new()).unwrap());
    let requests = there.bind(&endpoint("inproc")).unwrap().to_string();
    let replies = home.bind(&endpoint("inproc")).unwrap().to_string();
    let (tell, told) = mpsc::channel();
    let answered = Arc::new(AtomicU64::new(0));
    let count = Arc::clone(&answered);
    let echo = thread::spawn(move || {
        let context = Context::new();
        let (near, back) = (Dealer::new(&context).unwrap(), Dealer::new(&context).unwrap());
        near.connect(&requests).unwrap();
        back.connect(&replies).unwrap();
        tell.send(Task::current()).unwrap();
        for _ in 0..ROUND_COUNT * ASKED_COUNT {
            back.send(&near.recv_timeout(LONG).unwrap()).unwrap();
            count.fetch_add(1, Ordering::Release);
        }
    });
    let answering = told.recv().unwrap();
    assert!(there.wait_for_peers(1, LONG) && home.wait_for_peers(1, LONG));
    let background = Task::named("hairstreak-io");
    let sleeps = || background.status("voluntary_ctxt_switches:").parse::<u64>().unwrap();
    // A tick that meets a caller who was interrupted inside comes again and again: the best of some rounds counts.
    let rounds = (0..ROUND_COUNT).map(|round| {
        let (before, start) = (sleeps(), Instant::now());
        for asked in round * ASKED_COUNT + 1..=(round + 1) * ASKED_COUNT {
            answering.until_asleep();
            // Who has looked for messages in vain before it asks has its question published at once, too.
            assert_eq!(there.try_recv(), Err(RecvError::WouldBlock));
            there.send("ask").unwrap();
            until("answer", || answered.load(Ordering::Acquire) == asked);
            assert_eq!(home.recv_timeout(LONG).unwrap().body(), b"ask");
        }
        // Whether callers are still there is looked at now and then, in three engines.
        (sleeps() - before).saturating_sub(3 * (1 + start.elapsed().as_millis() as u64 / WATCH_TICK_MS))
    });
    let least = rounds.min().unwrap();
    echo.join().unwrap();
    assert!(least < ASKED_COUNT / 4, "{least} times in {ASKED_COUNT} round trips");
}

#[test]
fn sockets_without_peers_are_idle() {
    let _alone = alone();
    for transport in TRANSPORTS {
        let pull = Pull::new(&Context::new()).unwrap();
        let place = pull.bind(&endpoint(transport)).unwrap().to_string();
        check_idle(transport);
        pull.close();
        let push = Push::new(&Context::new()).unwrap();
        push.connect(&place).unwrap();
        check_idle(transport);
    }
}

#[test]
fn messages_that_nobody_receives_leave_a_process_idle() {
    let _alone = alone();
    for transport in TRANSPORTS {
        let (push, pull) = pair(transport);
        send_ten(&push);
        check_idle(transport);
        while push.try_send(&vec![0; 100_000]).is_ok() {}
        check_idle(transport);
        pull.recv_timeout(LONG).unwrap();
        check_idle(transport);
        push.close();
        check_idle(transport);
    }
}

#[test]
fn what_is_left_of_a_peer_that_is_gone_is_idle() {
    let _alone = alone();
    for transport in TRANSPORTS {
        let (push, pull) = pair(transport);
        let mut sent = 0;
        // It waits for room, then gives up and goes.
        while push.send_timeout(&[0; 100_000], WATCH / 10).is_ok() {
            sent += 1;
        }
        drop(push);
        (0..sent / 2).for_each(|_| drop(pull.recv_timeout(LONG).unwrap()));
        check_idle(transport);
        (sent / 2..sent).for_each(|_| drop(pull.recv_timeout(LONG).unwrap()));
        check_idle(transport);

        let (push, pull) = pair(transport);
        send_ten(&push);
        drop(pull);
        check_idle(transport);
    }
}

#[test]
fn futures_that_wait_are_idle() {
    let _alone = alone();
    for transport in TRANSPORTS {
        let (push, pull) = pair(transport);
        let mut context = TaskContext::from_waker(Waker::noop());
        let mut receiving = pin!(pull.recv_async());
        assert!(receiving.as_mut().poll(&mut context).is_pending());
        check_idle(transport);
        send_ten(&push);
        check_idle(transport);
    }
}

#[test]
fn threads_that_wait_are_idle() {
    let _alone = alone();
    for transport in TRANSPORTS {
        let (push, pull) = pair(transport);
        thread::scope(|scope| {
            let waiting = scope.spawn(|| (pull.recv_timeout(LONG), pull.recv_timeout(LONG)));
            let following = scope.spawn(|| pull.recv_timeout(LONG));
            check_idle(transport);
            send_ten(&push);
            assert!(waiting.join().unwrap().1.is_ok() && following.join().unwrap().is_ok());
        });
    }
}

#[test]
fn pollers_that_wait_are_idle() {
    let _alone = alone();
    for transport in TRANSPORTS {
        let ((push, pull), (others, other)) = (pair(transport), pair(transport));
        let opened = thread::spawn(move || pair(transport));
        let (_elsewhere, third) = opened.join().unwrap();
        let (near, _far) = UnixStream::pair().unwrap();
        let mut poller = Poller::new().unwrap();
        // One engine, several, descriptors too.
        for key in 0..4 {
            match key {
                0 => poller.add(&pull, key, Interest::READABLE).unwrap(),
                1 => poller.add(&third, key, Interest::READABLE).unwrap(),
                2 => poller.add(&other, key, Interest::READABLE).unwrap(),
                _ => poller.add_descriptor(&near, key, Interest::READABLE).unwrap(),
            }
            let waker = poller.waker();
            let mut ready = Vec::new();
            thread::scope(|scope| {
                scope.spawn(|| poller.wait(&mut ready).unwrap());
                check_idle(transport);
                waker.wake();
            });
            assert_eq!(ready, []);
            let mut context = TaskContext::from_waker(Waker::noop());
            let mut waiting = pin!(poller.wait_async(&mut ready));
            assert!(waiting.as_mut().poll(&mut context).is_pending());
            check_idle(transport);
        }
        drop((push, others));
    }
}

#[test]
fn who_waits_for_room_is_idle_while_messages_are_unread() {
    let _alone = alone();
    let options = Options { send_count_max: 100, ..Options::default() };
    for transport in TRANSPORTS {
        let a = Dealer::with_options(&Context::new(), options.clone()).unwrap();
        let b = thread::scope(|scope| {
            scope.spawn(|| Dealer::with_options(&Context::new(), options.clone()).unwrap()).join().unwrap()
        });
        b.connect(&a.bind(&endpoint(transport)).unwrap().to_string()).unwrap();
        assert!(a.wait_for_peers(1, LONG) && b.wait_for_peers(1, LONG));
        (0..10).for_each(|_| b.send_timeout("unread", LONG).unwrap());
        b.flush();
        while a.send_timeout(&[0; 100_000], WATCH / 10).is_ok() {}
        let mut poller = Poller::new().unwrap();
        poller.add(&a, 0, Interest::WRITABLE).unwrap();
        let mut ready = Vec::new();
        let waker = poller.waker();
        thread::scope(|scope| {
            scope.spawn(|| poller.wait(&mut ready).unwrap());
            check_idle(transport);
            waker.wake();
        });
        let mut context = TaskContext::from_waker(Waker::noop());
        {
            let mut waiting = pin!(poller.wait_async(&mut ready));
            assert!(waiting.as_mut().poll(&mut context).is_pending());
            check_idle(transport);
        }
        let mut sending = pin!(a.send_async(&[0; 100_000]));
        assert!(sending.as_mut().poll(&mut context).is_pending());
        check_idle(transport);
    }
}

#[test]
fn a_proxy_that_cannot_go_on_or_must_not_is_idle() {
    let _alone = alone();
    let options = Options { send_count_max: 100, ..Options::default() };
    for transport in TRANSPORTS {
        let context = Context::new();
        let front = Dealer::with_options(&context, options.clone()).unwrap();
        let back = Dealer::with_options(&context, options.clone()).unwrap();
        let (entrance, exit) = (front.bind(&endpoint(transport)), back.bind(&endpoint(transport)));
        let mut proxy = Proxy::new(&front, &back).unwrap();
        let control = proxy.control();
        let running = thread::spawn(move || proxy.run());
        let sender = Dealer::with_options(&Context::new(), options.clone()).unwrap();
        sender.connect(&entrance.unwrap().to_string()).unwrap();
        // Nobody is there to take anything.
        while sender.send_timeout(&[0; 100_000], WATCH / 10).is_ok() {}
        check_idle(transport);
        // Somebody is, and takes nothing; both sides wait for room.
        let receiver = Dealer::with_options(&Context::new(), options.clone()).unwrap();
        receiver.connect(&exit.unwrap().to_string()).unwrap();
        assert!(receiver.wait_for_peers(1, LONG));
        while sender.send_timeout(&[0; 100_000], WATCH / 10).is_ok() {}
        while receiver.send_timeout(&[0; 100_000], WATCH / 10).is_ok() {}
        check_idle(transport);
        control.pause();
        check_idle(transport);
        control.terminate();
        running.join().unwrap().unwrap();
    }
}

/// A client that takes no answers has the way to it wait, although another client has room.
#[test]
fn a_proxy_that_waits_for_one_peer_of_a_router_is_idle() {
    let _alone = alone();
    let options = Options { send_count_max: 100, ..Options::default() };
    for transport in TRANSPORTS {
        let context = Context::new();
        let front =
            Router::with_options(&context, Options { router_mandatory: true, ..options.clone() }).unwrap();
        let back = Dealer::with_options(&context, options.clone()).unwrap();
        let (entrance, exit) = (front.bind(&endpoint(transport)).unwrap(), back.bind(&endpoint(transport)));
        let mut proxy = Proxy::new(&front, &back).unwrap();
        let control = proxy.control();
        let running = thread::spawn(move || proxy.run());
        let [lazy, other] = [b"lazy", b"none"].map(|name| {
            let named = Options { routing_id: Some(name.to_vec()), ..options.clone() };
            let client = Dealer::with_options(&Context::new(), named).unwrap();
            client.connect(&entrance.to_string()).unwrap();
            client
        });
        let worker = Dealer::with_options(&Context::new(), options.clone()).unwrap();
        worker.connect(&exit.unwrap().to_string()).unwrap();
        assert!(front.wait_for_peers(2, LONG) && back.wait_for_peers(1, LONG));
        let answer: [&[u8]; 2] = [b"lazy", &[0; 100_000]];
        let mut sent = 0;
        let since = Instant::now();
        loop {
            match worker.send_timeout(&answer, WATCH / 10) {
                Ok(()) => sent += 1,
                // The proxy may be late, too.
                Err(_) if control.statistics().in_hand == 1 => break,
                Err(_) => assert!(since.elapsed() < LONG, "{transport}: nothing waits"),
            }
        }
        check_idle(transport);
        // What it takes has all go on.
        (0..sent).for_each(|_| drop(lazy.recv_timeout(LONG).unwrap()));
        worker.send_timeout(&[&b"none"[..], b"for the other"], LONG).unwrap();
        worker.flush();
        assert_eq!(other.recv_timeout(LONG).unwrap().body(), b"for the other");
        control.terminate();
        running.join().unwrap().unwrap();
    }
}
