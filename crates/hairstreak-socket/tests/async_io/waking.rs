//! What wakes a future that waits: a peer, room, the end of the socket.

use std::pin::pin;
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
            while push.stats().queued_count <= low_marks().send_count_low {
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
