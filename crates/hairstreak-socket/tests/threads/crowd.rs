//! Eight threads, one PUSH, one PULL, every form of sending and receiving: each number arrives once.

use std::thread;

use hairstreak_socket::{Context, Message, Options, Pull, Push, SendError};
use hairstreak_testkit::until;

use crate::joined::joined;
use crate::soak::amount;
use crate::{LONG, TRANSPORTS};

const SENDERS: u64 = 4;
const RECEIVERS: u64 = 4;
const BATCH: u64 = 50;

fn body(number: u64) -> Vec<u8> {
    let size = match number % 16 {
        0 => 3000,
        1 => 300,
        _ => 8,
    };
    let mut body = number.to_le_bytes().to_vec();
    body.resize(size, number as u8);
    body
}

fn number(message: &Message) -> Option<u64> {
    let number =
        u64::from_le_bytes(message.body().try_into().ok().or(message.body().get(..8)?.try_into().ok())?);
    (number != END).then(|| {
        assert_eq!(message.body(), body(number));
        number
    })
}

/// What tells a receiver to stop.
const END: u64 = u64::MAX;

/// Sends the numbers, in batches of one form after the other.
fn send(push: &Push, numbers: impl Iterator<Item = u64>) {
    let bodies: Vec<Vec<u8>> = numbers.map(body).collect();
    for (index, batch) in bodies.chunks(BATCH as usize).enumerate() {
        match index % 4 {
            0 => batch.iter().for_each(|body| push.send(body).unwrap()),
            1 => batch.iter().for_each(|body| push.send_timeout(body, LONG).unwrap()),
            2 => assert_eq!(push.send_all(batch), Ok(batch.len())),
            _ => batch.iter().for_each(|body| {
                until("room", || push.try_send(body).inspect_err(|e| assert_eq!(*e, SendError::WouldBlock)));
            }),
        }
    }
}

/// Receives in one form after the other until it is told to stop.
fn receive(pull: &Pull) -> Vec<u64> {
    let mut numbers = Vec::new();
    let mut batch = Vec::new();
    for form in 0.. {
        match form % 4 {
            0 => batch.push(pull.recv().unwrap()),
            1 => batch.push(pull.recv_timeout(LONG).unwrap()),
            2 => batch.extend(pull.try_recv()),
            // One: an END taken beyond the first would be another receiver's.
            _ => assert_eq!(pull.recv_many(&mut batch, 1), Ok(1)),
        }
        for message in batch.drain(..) {
            match number(&message) {
                Some(number) => numbers.push(number),
                None => return numbers,
            }
        }
    }
    unreachable!("the forms go on for ever")
}

fn check(transport: &str, options: &Options) {
    let count_each = amount(5_000, 500_000) as u64;
    let (pull, push): (Pull, Push) = joined(&Context::new(), &Context::new(), transport, options);
    let receivers: Vec<_> = (0..RECEIVERS)
        .map(|_| {
            let pull = pull.clone();
            thread::spawn(move || receive(&pull))
        })
        .collect();
    let senders: Vec<_> = (0..SENDERS)
        .map(|sender| {
            let push = push.clone();
            thread::spawn(move || send(&push, sender * count_each..(sender + 1) * count_each))
        })
        .collect();
    senders.into_iter().for_each(|thread| thread.join().unwrap());
    (0..RECEIVERS).for_each(|_| push.send_timeout(&END.to_le_bytes(), LONG).unwrap());
    push.flush();
    let mut numbers: Vec<u64> = receivers.into_iter().flat_map(|thread| thread.join().unwrap()).collect();
    numbers.sort_unstable();
    assert!(numbers.into_iter().eq(0..SENDERS * count_each), "{transport}");
    let total = SENDERS * count_each + RECEIVERS;
    assert_eq!((push.stats().sent, pull.stats().received), (total, total), "{transport}");
}

#[test]
fn eight_threads_exchange_every_number_once() {
    TRANSPORTS.iter().for_each(|transport| check(transport, &Options::default()));
}

#[test]
fn eight_threads_that_often_find_no_room_exchange_every_number_once() {
    let options = Options { send_count_max: 5, receive_count_max: 5, ..Options::default() };
    TRANSPORTS.iter().for_each(|transport| check(transport, &options));
}
