//! A process in which nothing happens takes no processor time, whatever was left open, unread, unsent or
//! waited for: the background thread sleeps.

#[path = "workbench/endpoints.rs"]
mod endpoints;

use std::fs;
use std::pin::pin;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Context as TaskContext, Waker};
use std::thread;
use std::time::Duration;

use hairstreak_socket::{Context, Options, Pull, Push};

use endpoints::endpoint;

const LONG: Duration = Duration::from_secs(60);
const TRANSPORTS: [&str; 3] = ["tcp", "ipc", "inproc"];
/// How long nothing happens.
const WATCH: Duration = Duration::from_millis(150);
/// Hundredths of a second that it may take; a thread that spins takes 15.
const TICKS_MAX: u64 = 5;

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
    let options = Options { send_count_max: 100, send_count_low: 50, ..Options::default() };
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
