//! Sockets that are closed while a poller waits for them.

use std::thread;

use hairstreak_socket::{Context, Interest, Poller, Pull, Push, Ready};

use crate::endpoints::endpoint;
use crate::finding::{look, wait};
use crate::joined::pull_of;
use crate::{LONG, TRANSPORTS};

fn closed(key: usize) -> Ready {
    Ready { key, closed: true, ..Ready::default() }
}

#[test]
fn a_socket_that_is_closed_meanwhile_is_reported_until_it_is_removed() {
    for transport in TRANSPORTS {
        for round in 0..20 {
            let (pull, push) = pull_of(&Context::new(), transport);
            let mut poller = Poller::new().unwrap();
            poller.add(&pull, 3, Interest { readable: round % 2 == 0, writable: false }).unwrap();
            let waiting = thread::spawn(move || {
                let found = wait(&mut poller);
                (poller, found)
            });
            (0..round).for_each(|_| thread::yield_now());
            // By its name, or by its last handle's end.
            if round % 4 < 2 {
                let last = pull.clone();
                pull.close();
                drop(last);
            } else {
                drop(pull);
            }
            let (mut poller, found) = waiting.join().unwrap();
            assert_eq!(found, [closed(3)], "{transport}");
            assert_eq!(look(&mut poller), [closed(3)]);
            assert!(poller.remove(3));
            assert_eq!(look(&mut poller), []);
            drop(push);
        }
    }
}

#[test]
fn another_socket_in_the_place_of_a_closed_one_is_not_taken_for_it() {
    let context = Context::new();
    let mut poller = Poller::new().unwrap();
    let first = Pull::new(&context).unwrap();
    poller.add(&first, 1, Interest::READABLE).unwrap();
    drop(first);
    // It gets the place of the first one.
    let second = Pull::new(&context).unwrap();
    let push = Push::new(&Context::new()).unwrap();
    push.connect(&second.bind(&endpoint("tcp")).unwrap().to_string()).unwrap();
    push.send_timeout("to the second", LONG).unwrap();
    push.flush();
    assert_eq!(wait(&mut poller), [closed(1)]);
    assert_eq!(second.recv_timeout(LONG).unwrap().body(), b"to the second");
    assert_eq!(look(&mut poller), [closed(1)]);
}
