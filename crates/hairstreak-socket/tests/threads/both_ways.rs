//! DEALERs of two threads, messages both ways at once.

use std::thread;

use hairstreak_socket::{Context, Dealer, Options, Router};

use crate::joined::joined;
use crate::soak::amount;
use crate::{LONG, TRANSPORTS};

/// Numbers out, numbers in, by one thread that never has more than `ahead` unanswered.
fn exchange(dealer: &Dealer, count: u64, ahead: u64) {
    let (mut sent, mut received) = (0, 0u64);
    while received < count {
        while sent < count && sent < received + ahead {
            dealer.send_timeout(&sent.to_le_bytes(), LONG).unwrap();
            sent += 1;
        }
        let message = dealer.recv_timeout(LONG).unwrap_or_else(|e| panic!("message {received}: {e}"));
        assert_eq!(message.body(), received.to_le_bytes());
        received += 1;
    }
}

#[test]
fn two_threads_send_and_receive_at_once() {
    let count = amount(20_000, 2_000_000) as u64;
    for transport in TRANSPORTS {
        for ahead in [1, 10, 1000] {
            let count = if ahead == 1 { count / 10 } else { count };
            let (a, b) = joined(&Context::new(), &Context::new(), transport, &Options::default());
            let other = thread::spawn(move || exchange(&b, count, ahead));
            exchange(&a, count, ahead);
            other.join().unwrap();
        }
    }
}

#[test]
fn a_thread_for_each_direction_of_each_end() {
    let count = amount(20_000, 2_000_000) as u64;
    let options = Options { send_count_max: 16, ..Options::default() };
    for transport in TRANSPORTS {
        let (a, b): (Dealer, Dealer) = joined(&Context::new(), &Context::new(), transport, &options);
        thread::scope(|scope| {
            for dealer in [&a, &b] {
                scope.spawn(move || {
                    (0..count).for_each(|number| dealer.send_timeout(&number.to_le_bytes(), LONG).unwrap());
                });
                scope.spawn(move || {
                    for expected in 0..count {
                        assert_eq!(dealer.recv_timeout(LONG).unwrap().body(), expected.to_le_bytes());
                    }
                });
            }
        });
    }
}

#[test]
fn a_router_answers_dealers_of_many_threads() {
    const DEALERS: usize = 6;
    let count = amount(1000, 100_000);
    for transport in TRANSPORTS {
        let router = Router::new(&Context::new()).unwrap();
        let place = router.bind(&crate::endpoints::endpoint(transport)).unwrap().to_string();
        let askers: Vec<_> = (0..DEALERS)
            .map(|dealer_number| {
                let place = place.clone();
                thread::spawn(move || {
                    let routing_id = Some(format!("dealer {dealer_number}").into_bytes());
                    let options = Options { routing_id, ..Options::default() };
                    let dealer = Dealer::with_options(&Context::new(), options).unwrap();
                    dealer.connect(&place).unwrap();
                    for question in 0..count {
                        let body = format!("{dealer_number}: {question}");
                        dealer.send_timeout(&body, LONG).unwrap();
                        assert_eq!(dealer.recv_timeout(LONG).unwrap().body(), body.as_bytes());
                    }
                })
            })
            .collect();
        for _ in 0..DEALERS * count {
            let question = router.recv_timeout(LONG).unwrap();
            router.send_timeout(&question, LONG).unwrap();
        }
        router.flush();
        askers.into_iter().for_each(|thread| thread.join().unwrap());
    }
}
