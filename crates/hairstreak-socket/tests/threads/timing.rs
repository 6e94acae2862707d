//! Time-outs: kept, whoever drives the engine, and never cut short.

use std::thread;
use std::time::{Duration, Instant};

use hairstreak_socket::{Context, Options, Pull, Push, RecvError, SendError};
use hairstreak_testkit::until_eq;

use crate::endpoints::endpoint;
use crate::joined::{joined, pull_of};
use crate::{LONG, TRANSPORTS};

const SHORT: Duration = Duration::from_millis(5);

#[test]
fn a_time_out_is_kept_while_another_thread_drives_the_engine() {
    for transport in TRANSPORTS {
        let context = Context::new();
        let (pull, push) = pull_of(&context, transport);
        let (idle, _to_idle) = pull_of(&context, transport);
        let leader = thread::spawn(move || pull.recv_timeout(LONG));
        for _ in 0..50 {
            let since = Instant::now();
            assert_eq!(idle.recv_timeout(SHORT), Err(RecvError::TimedOut));
            assert!(since.elapsed() >= SHORT, "{transport}");
        }
        push.send_timeout("go", LONG).unwrap();
        push.flush();
        assert_eq!(leader.join().unwrap().unwrap().body(), b"go");
    }
}

#[test]
fn threads_with_time_outs_of_their_own_leave_one_by_one() {
    for transport in TRANSPORTS {
        let context = Context::new();
        let (pull, push) = pull_of(&context, transport);
        let threads: Vec<_> = (1..=6u32)
            .map(|number| {
                let (pull, timeout) = (pull.clone(), number * SHORT);
                thread::spawn(move || {
                    let since = Instant::now();
                    assert_eq!(pull.recv_timeout(timeout), Err(RecvError::TimedOut));
                    assert!(since.elapsed() >= timeout);
                })
            })
            .collect();
        let last = thread::spawn(move || pull.recv_timeout(LONG));
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        push.send_timeout("go", LONG).unwrap();
        push.flush();
        assert_eq!(last.join().unwrap().unwrap().body(), b"go", "{transport}");
    }
}

#[test]
fn a_send_that_finds_no_room_times_out_and_sends_nothing() {
    let options = Options { send_count_max: 4, ..Options::default() };
    for transport in TRANSPORTS {
        let (context, other) = (Context::new(), Context::new());
        let (push, pull): (Push, Pull) = joined(&context, &other, transport, &options);
        let body = vec![7; 200_000];
        let mut sent = 0;
        while push.send_timeout(&body, SHORT).is_ok() {
            sent += 1;
        }
        for _ in 0..20 {
            let since = Instant::now();
            match push.send_timeout(&body, SHORT) {
                Ok(()) => sent += 1,
                Err(error) => {
                    assert_eq!(error, SendError::TimedOut);
                    assert!(since.elapsed() >= SHORT);
                }
            }
        }
        push.close();
        (0..sent).for_each(|_| drop(pull.recv_timeout(LONG).unwrap()));
        until_eq("peers", 0, || pull.peers().len());
        assert_eq!(pull.try_recv(), Err(RecvError::WouldBlock), "{transport}");
    }
}

#[test]
fn no_time_is_too_short_and_none_too_long() {
    for transport in TRANSPORTS {
        let (pull, push) = pull_of(&Context::new(), transport);
        assert_eq!(pull.recv_timeout(Duration::ZERO), Err(RecvError::TimedOut));
        assert_eq!(pull.recv_timeout(Duration::from_nanos(1)), Err(RecvError::TimedOut));
        assert!(push.wait_for_peers(1, Duration::MAX));
        push.send_timeout("for ever", Duration::MAX).unwrap();
        push.flush();
        assert_eq!(pull.recv_timeout(Duration::MAX).unwrap().body(), b"for ever");
    }
}

#[test]
fn waiting_for_peers_ends_with_its_time() {
    for transport in TRANSPORTS {
        let pull = Pull::new(&Context::new()).unwrap();
        let place = pull.bind(&endpoint(transport)).unwrap().to_string();
        assert!(!pull.wait_for_peers(1, SHORT));
        let push = Push::new(&Context::new()).unwrap();
        push.connect(&place).unwrap();
        assert!(pull.wait_for_peers(1, LONG));
        assert!(!pull.wait_for_peers(2, SHORT));
    }
}
