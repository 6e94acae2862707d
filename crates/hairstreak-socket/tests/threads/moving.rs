//! Sockets that are opened in one thread, used in another, dropped in a third.

use std::fs;
use std::sync::Mutex;
use std::thread;

use hairstreak_socket::{Context, Options, Pull, Push};
use hairstreak_testkit::until;

use crate::endpoints::endpoint;
use crate::joined::joined;
use crate::soak::amount;
use crate::{LONG, TRANSPORTS};

fn descriptor_count() -> usize {
    fs::read_dir("/proc/self/fd").unwrap().count()
}

#[test]
fn sockets_move_from_thread_to_thread_and_are_dropped_anywhere() {
    for transport in TRANSPORTS {
        for _ in 0..amount(50, 5000) {
            let (pull, push): (Pull, Push) = thread::spawn(move || {
                let context = Context::new();
                joined(&context, &context, transport, &Options::default())
            })
            .join()
            .unwrap();
            let push = thread::spawn(move || {
                (0..100u32).for_each(|number| push.send_timeout(&number.to_le_bytes(), LONG).unwrap());
                push
            })
            .join()
            .unwrap();
            // The sender goes first, in a thread of its own, with messages that gather.
            let dropping = thread::spawn(move || drop(push));
            for expected in 0..100u32 {
                assert_eq!(pull.recv_timeout(LONG).unwrap().body(), expected.to_le_bytes(), "{transport}");
            }
            dropping.join().unwrap();
            thread::spawn(move || drop(pull)).join().unwrap();
        }
    }
}

#[test]
fn one_context_serves_many_threads() {
    let context = Context::new();
    for transport in TRANSPORTS {
        let places: Mutex<Vec<String>> = Mutex::default();
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let pull = Pull::new(&context).unwrap();
                    places.lock().unwrap().push(pull.bind(&endpoint(transport)).unwrap().to_string());
                    (0..400).for_each(|_| drop(pull.recv_timeout(LONG).unwrap()));
                });
                scope.spawn(|| {
                    let push = Push::new(&context).unwrap();
                    until("four places", || places.lock().unwrap().len() == 4);
                    places.lock().unwrap().iter().for_each(|place| push.connect(place).unwrap());
                    assert!(push.wait_for_peers(4, LONG));
                    (0..400).for_each(|_| push.send_timeout("in turn", LONG).unwrap());
                });
            }
        });
    }
}

#[test]
fn what_was_opened_by_threads_that_ended_is_given_back() {
    // Other tests of this process open and close theirs meanwhile: the count has to come down to what
    // it was at some moment, not at once.
    let many = 2000;
    let rounds = amount(300, 10_000);
    for transport in TRANSPORTS {
        for _ in 0..rounds {
            let thread = thread::spawn(move || {
                let context = Context::new();
                let pull = Pull::new(&context).unwrap();
                let push = Push::new(&context).unwrap();
                push.connect(&pull.bind(&endpoint(transport)).unwrap().to_string()).unwrap();
            });
            thread.join().unwrap();
        }
        until(&format!("{transport}: at most {many} descriptors"), || match descriptor_count() {
            count if count <= many => Ok(()),
            count => Err(count),
        });
    }
}
