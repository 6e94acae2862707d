//! Time-outs and times: kept, and never cut short.

use std::time::{Duration, Instant};

use hairstreak_socket::{Context, Interest, Poller, Ready};

use crate::LONG;
use crate::executor::block_on;
use crate::finding::{look, wait};
use crate::joined::pull_of;

const SHORT: Duration = Duration::from_millis(5);

#[test]
fn a_time_out_is_not_cut_short_and_finds_nothing() {
    let (pull, _push) = pull_of(&Context::new(), "tcp");
    let (other, _to_other) = pull_of(&Context::new(), "inproc");
    let mut poller = Poller::new().unwrap();
    let mut ready = vec![Ready::default()];
    for count in 0..3 {
        for _ in 0..10 {
            let since = Instant::now();
            poller.wait_timeout(&mut ready, SHORT).unwrap();
            assert!(since.elapsed() >= SHORT);
            assert_eq!(ready, []);
        }
        match count {
            0 => poller.add(&pull, 1, Interest::READABLE).unwrap(),
            _ => poller.add(&other, 1 + count, Interest::READABLE).unwrap(),
        }
    }
}

#[test]
fn times_are_reported_once_when_they_have_come() {
    let (pull, _push) = pull_of(&Context::new(), "tcp");
    let expired = |key| Ready { key, expired: true, ..Ready::default() };
    for is_async in [false, true] {
        let mut poller = Poller::new().unwrap();
        poller.add(&pull, 0, Interest::READABLE).unwrap();
        let start = Instant::now();
        poller.add_time(start + 2 * SHORT, 2).unwrap();
        poller.add_time(start + SHORT, 1).unwrap();
        poller.add_time(start + LONG, 3).unwrap();
        let mut found = Vec::new();
        while found.len() < 2 {
            let mut ready = Vec::new();
            match is_async {
                true => block_on(poller.wait_async(&mut ready)).unwrap(),
                false => ready = wait(&mut poller),
            }
            for ready in ready {
                assert!(start.elapsed() >= SHORT * u32::try_from(ready.key).unwrap());
                found.push(ready);
            }
        }
        assert_eq!(found, [expired(1), expired(2)]);
        assert_eq!(look(&mut poller), []);
        assert!(!poller.remove(1) && poller.remove(3));
    }
}
