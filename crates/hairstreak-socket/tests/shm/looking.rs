//! Callers that look into shared memory before they sleep: their peers do not ring meanwhile, and nobody may miss it.

use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use hairstreak_socket::{Context, Dealer, Options, Pull, Push, RecvError};

use crate::endpoints::endpoint;
use crate::{LONG, until};

/// Longer than any test waits: who looks for so long is not found asleep.
const FOR_EVER_US: u64 = 3_600_000_000;

fn pull(spin_us: u64) -> Pull {
    Pull::with_options(&Context::new(), Options { spin_us, ..Options::default() }).unwrap()
}

fn push_to(place: &str) -> Push {
    let push = Push::new(&Context::new()).unwrap();
    push.connect(place).unwrap();
    assert!(push.wait_for_peers(1, LONG));
    push
}

#[test]
fn who_looks_leaves_the_bell_to_those_who_wait() {
    let pull = pull(1000);
    let push = push_to(&pull.bind(&endpoint("shm")).unwrap().to_string());
    let (taken, takes) = mpsc::channel();
    thread::scope(|scope| {
        // Each takes one message a round, whichever: one is left waiting while the other goes.
        for _ in 0..2 {
            let (pull, taken) = (&pull, taken.clone());
            scope.spawn(move || {
                while pull.recv_timeout(LONG).is_ok_and(|message| message.body() != b"end") {
                    taken.send(()).unwrap();
                }
            });
        }
        for round in 0..500 {
            push.send_timeout("one", LONG).unwrap();
            takes.recv_timeout(LONG).unwrap_or_else(|_| panic!("round {round}"));
        }
        (0..2).for_each(|_| push.send_timeout("end", LONG).unwrap());
        push.flush();
    });
}

#[test]
fn what_comes_when_a_look_was_a_success_is_read_though_nobody_looks_any_more() {
    let pull = pull(1000);
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
