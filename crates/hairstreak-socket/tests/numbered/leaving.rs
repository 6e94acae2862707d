//! Handles dropped elsewhere and peers that come and go: what was sent arrives.

use std::sync::mpsc::channel;
use std::time::Duration;

use hairstreak_socket::{Context, Message, Pull, Push};

use crate::endpoints::endpoint;
use crate::soak::amount;
use crate::{LONG, TRANSPORTS, low_marks, pair, pair_with};

/// Time that a passing peer gives its handshake; whether that is enough does not matter.
const MOMENT: Duration = Duration::from_millis(10);

#[test]
fn what_was_sent_arrives_though_the_handle_is_dropped_in_another_thread() {
    for transport in TRANSPORTS {
        let pull = Pull::new(&Context::new()).unwrap();
        let bound = pull.bind(&endpoint(transport)).unwrap().to_string();
        let rounds = amount(50, 5_000) as u32;
        let (give, take) = channel::<Push>();
        let dropper = std::thread::spawn(move || take.into_iter().for_each(drop));
        for round in 0..rounds {
            let push = Push::new(&Context::new()).unwrap();
            push.connect(&bound).unwrap();
            for number in 0..10u32 {
                push.send_timeout(&[round, number].map(u32::to_be_bytes).concat(), LONG).unwrap();
            }
            give.send(push).unwrap();
        }
        drop(give);
        let mut next = vec![0; rounds as usize];
        for _ in 0..10 * rounds {
            let message: Message = pull.recv_timeout(LONG).expect(transport);
            let (round, number) = message.body().split_at(4);
            let next: &mut u32 = &mut next[u32::from_be_bytes(round.try_into().unwrap()) as usize];
            assert_eq!(number, next.to_be_bytes(), "{transport}");
            *next += 1;
        }
        dropper.join().unwrap();
    }
}

#[test]
fn a_socket_stays_open_until_its_last_clone_is_dropped() {
    for transport in TRANSPORTS {
        let (push, pull) = pair(transport, &Context::new(), &Context::new());
        let clones: Vec<Push> = (0..8).map(|_| push.clone()).collect();
        drop(push);
        let threads: Vec<_> = clones
            .into_iter()
            .map(|push| std::thread::spawn(move || push.send_timeout("from a clone", LONG).unwrap()))
            .collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        (0..8).for_each(|_| assert_eq!(pull.recv_timeout(LONG).expect(transport).body(), b"from a clone"));
    }
}

#[test]
fn peers_that_come_and_go_lose_only_what_they_took() {
    for transport in TRANSPORTS {
        let (push, pull) = pair_with(transport, &Context::new(), &Context::new(), &low_marks());
        let name = push.peers().first().map(|peer| peer.endpoint.clone());
        let name = name.unwrap_or_else(|| {
            assert!(push.wait_for_peers(1, LONG));
            push.peers()[0].endpoint.clone()
        });
        let count = amount(20_000, 200_000) as u64;
        std::thread::scope(|scope| {
            scope.spawn(|| {
                (0..count).for_each(|n| {
                    assert_eq!(pull.recv_timeout(LONG).expect(transport).body(), n.to_be_bytes())
                });
            });
            // Connections that are made and broken beside the one that works.
            scope.spawn(|| {
                for _ in 0..amount(100, 10_000) {
                    let passing = Push::new(&Context::new()).unwrap();
                    passing.connect(&name).unwrap();
                    passing.wait_for_peers(1, MOMENT);
                }
            });
            (0..count).for_each(|n| push.send_timeout(&n.to_be_bytes(), LONG).unwrap());
        });
        assert_eq!(pull.stats().received, count, "{transport}");
    }
}
