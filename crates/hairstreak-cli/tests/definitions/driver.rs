//! `Driver`: a client that changes its definitions at random, many at once, and records the answers.

use std::io;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use fastrand::Rng;

use crate::client::Client;
use crate::model::{Names, Operation, State};

/// The number of operations that are sent in one piece.
const BURST_MAX: usize = 64;

/// The operations of a client in one round.
#[derive(Debug)]
pub struct Log {
    pub names: Names,
    pub before: State,
    /// All operations that were sent, or may have been sent.
    pub operations: Vec<Operation>,
    /// The number of operations that were answered, or followed by an answer.
    pub answered: usize,
}

/// Changes definitions until the node is gone. `answered` counts the answers of all clients.
pub fn drive(place: &str, names: Names, before: State, seed: u64, answered: &AtomicUsize) -> Log {
    let mut log = Log { names, before, operations: Vec::new(), answered: 0 };
    let error = match Client::connect(place) {
        Ok(client) => run(client, &mut log, Rng::with_seed(seed), answered).unwrap_err(),
        Err(error) => error,
    };
    assert!(
        matches!(
            error.kind(),
            io::ErrorKind::UnexpectedEof
                | io::ErrorKind::ConnectionReset
                | io::ErrorKind::BrokenPipe
                | io::ErrorKind::ConnectionRefused
        ),
        "client {}: {error}",
        names.client
    );
    log
}

fn run(mut client: Client, log: &mut Log, mut rng: Rng, answered: &AtomicUsize) -> io::Result<()> {
    let (mut state, mut shared) = (log.before.clone(), 0);
    // The places of the operations that wait for an answer.
    let mut waiting = std::collections::VecDeque::new();
    loop {
        let mut bytes = Vec::new();
        for _ in 0..rng.usize(1..=BURST_MAX) {
            let operation = state.random_operation(&mut rng, &mut shared);
            state.apply(operation);
            // queue.unbind has no such bit.
            let no_wait = rng.u8(..4) == 0 && !matches!(operation, Operation::Unbind(_));
            log.names.encode(operation, no_wait, &mut bytes);
            log.operations.push(operation);
            if !no_wait {
                waiting.push_back(log.operations.len());
            }
        }
        client.send(&bytes)?;
        let left = if rng.bool() { 0 } else { rng.usize(..BURST_MAX) };
        while waiting.len() > left {
            let answer = client.answer()?;
            if answer.name == "connection.close" && answer.text.starts_with("320 ") {
                return Err(io::ErrorKind::ConnectionReset.into());
            }
            assert!(answer.name.ends_with("-ok"), "{answer:?} to {:?}", log.operations[waiting[0] - 1]);
            log.answered = waiting.pop_front().unwrap();
            answered.fetch_add(1, Relaxed);
        }
    }
}
