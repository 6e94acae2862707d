//! kill -9 and SIGTERM of the node while clients change its definitions: answered changes are there, complete, and no others.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use hairstreak_testkit::{Rng, rng, until};

use crate::client::Client;
use crate::daemon::End;
use crate::driver::{Log, drive};
use crate::model::{Names, Operation, State};
use crate::node::{Node, Place};
use crate::observing::{observe, observe_shared, prepare};
use crate::soak::amount;

const CLIENTS: usize = 6;

#[test]
fn what_was_answered_survives_kill_9_and_nothing_is_half() {
    let mut rng = rng();
    let place = Place::new("kills");
    let mut states = vec![State::default(); CLIENTS];
    let (mut node, mut killed_in_the_middle) = (place.start(), 0);
    for round in 0..amount(10, 150) {
        prepare(&mut Client::connect(&node.amqp).unwrap());
        let logs = run_until_killed(node, round, &states, &mut rng);
        killed_in_the_middle += usize::from(logs.iter().any(|log| log.answered > 0));
        if rng.u8(..4) == 0 {
            // The next process dies while it starts.
            let starting = place.begin();
            wait(Duration::from_micros(rng.u64(..60_000)));
            drop(starting);
        }
        node = place.start();
        let mut client = Client::connect(&node.amqp).unwrap();
        prepare(&mut client);
        states = logs.iter().map(|log| check(&mut client, log, round)).collect();
        check_shared(&mut client, &logs, round);
    }
    assert!(killed_in_the_middle > 5, "{killed_in_the_middle} nodes lived to answer");
    assert_eq!(node.stop().status, Some(0));
}

/// Clients change definitions until the node is killed, at a random moment.
fn run_until_killed(node: Node, round: usize, states: &[State], rng: &mut Rng) -> Vec<Log> {
    let is_killed = rng.u8(..5) > 0;
    let (answered, wanted) = (AtomicUsize::new(0), rng.usize(..3_000));
    let extra = Duration::from_micros(rng.u64(..5_000));
    let seeds: Vec<u64> = states.iter().map(|_| rng.u64(..)).collect();
    let place = node.amqp.clone();
    let logs: Vec<Log> = thread::scope(|scope| {
        let drivers: Vec<_> = states
            .iter()
            .zip(seeds)
            .enumerate()
            .map(|(client, (state, seed))| {
                let (place, answered) = (&place, &answered);
                let names = Names { client, round };
                scope.spawn(move || drive(place, names, state.clone(), seed, answered))
            })
            .collect();
        until(&format!("{wanted} answers, or the end of a driver"), || match answered.load(Relaxed) {
            count if count >= wanted || drivers.iter().any(|driver| driver.is_finished()) => Ok(()),
            count => Err(count),
        });
        wait(extra);
        if is_killed {
            node.kill();
        } else {
            let End { status, errors, .. } = node.stop();
            // Messages of the last look are in queues.
            assert!(status == Some(0) && !errors.contains("lost"), "{status:?}: {errors}");
        }
        drivers.into_iter().map(|driver| driver.join().unwrap()).collect()
    });
    let sent: usize = logs.iter().map(|log| log.operations.len()).sum();
    println!("round {round}: {sent} sent, {} answered", logs.iter().map(|log| log.answered).sum::<usize>());
    logs
}

/// Checks that the state of a client is the state after one of its possible last operations. Returns the state.
fn check(client: &mut Client, log: &Log, round: usize) -> State {
    let seen = observe(client, log.names);
    let mut state = log.before.clone();
    let mut expected = None;
    for count in 0..=log.operations.len() {
        if count >= log.answered {
            expected.get_or_insert_with(|| state.clone());
            if state == seen {
                return state;
            }
        }
        if let Some(operation) = log.operations.get(count) {
            state.apply(*operation);
        }
    }
    panic!(
        "round {round}, client {}: {} of {} answered\nseen {seen:?}\nafter the last answer {expected:?}\nlast operations {:?}",
        log.names.client,
        log.answered,
        log.operations.len(),
        &log.operations[log.answered.saturating_sub(5)..]
    );
}

/// Checks that a shared queue is there if a client was answered, and only if a client has declared the queue.
fn check_shared(client: &mut Client, logs: &[Log], round: usize) {
    let numbers = |operations: &[Operation]| -> Vec<usize> {
        let number = |operation: &Operation| match operation {
            Operation::DeclareShared { number } => Some(*number),
            _ => None,
        };
        operations.iter().filter_map(number).collect()
    };
    let sent = logs.iter().flat_map(|log| numbers(&log.operations)).max().unwrap_or(0);
    let names = Names { client: 0, round };
    let seen = observe_shared(client, names, sent + 1);
    assert!(!seen.contains(&(sent + 1)));
    for log in logs {
        for number in numbers(&log.operations[..log.answered]) {
            assert!(
                seen.contains(&number),
                "round {round}: shared queue {number} was answered to client {} and is gone",
                log.names.client
            );
        }
    }
}

/// Waits for a random time, so that the node dies at any moment of its work.
fn wait(time: Duration) {
    let start = Instant::now();
    while start.elapsed() < time {
        thread::park_timeout(time - start.elapsed());
    }
}
