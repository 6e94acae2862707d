//! Messages of any shape, settled in any order by receivers that come and go: each is whole whenever it comes.

use std::time::Duration;

use fastrand::Rng;
use hairstreak_base::Message;
use hairstreak_socket::settlement::{Delivery, Settlement};
use hairstreak_socket::{Pull, Push};
use hairstreak_testkit::until;

use crate::{Cell, LONG, by_hand, check};

const COUNT: usize = 1500;
const WINDOW: usize = 300;

/// One to five frames; the first begins with the number. Most are short, some long enough to be shared.
fn message(number: usize) -> Message {
    let mut random = Rng::with_seed(number as u64);
    let sizes: Vec<usize> = (0..random.usize(1..=5))
        .map(|_| match random.u8(..20) {
            0 => 0,
            1 => random.usize(8000..100_000),
            2..6 => random.usize(1000..9000),
            _ => random.usize(..300),
        })
        .collect();
    let frames = sizes.iter().enumerate().map(|(at, size)| {
        let name = if at == 0 { format!("{number} ") } else { String::new() };
        [name.into_bytes(), vec![random.u8(..); *size]].concat()
    });
    Message::from_frames(frames)
}

/// A receiver, and what it has not settled.
struct Receiver {
    pull: Pull,
    held: Vec<(usize, Delivery)>,
}

struct Trial {
    random: Rng,
    push: Push,
    receivers: Vec<Receiver>,
    /// Which messages have been accepted or rejected, at least once.
    is_done: Vec<bool>,
}

impl Trial {
    fn take(&mut self, at: usize, count: usize) {
        let Receiver { pull, held } = &mut self.receivers[at];
        for _ in 0..count {
            let Ok(delivery) = pull.recv_delivery(Duration::ZERO) else { break };
            let name = delivery.message.frame(0).unwrap().split(|byte| *byte == b' ').next().unwrap();
            let number: usize = std::str::from_utf8(name).unwrap().parse().unwrap();
            assert!(delivery.message.frames().eq(message(number).frames()), "message {number} is another");
            held.push((number, delivery));
        }
    }

    /// Settles some of what the receiver has, out of order.
    fn settle(&mut self, at: usize, count: usize) {
        let Receiver { pull, held } = &mut self.receivers[at];
        for _ in 0..count.min(held.len()) {
            let (number, delivery) = held.swap_remove(self.random.usize(..held.len()));
            match self.random.u8(..10) {
                0 => assert!(pull.release(&delivery)),
                1 => {
                    self.is_done[number] = true;
                    assert!(pull.reject(&delivery, "no"));
                }
                _ => {
                    self.is_done[number] = true;
                    assert!(pull.accept(&delivery));
                }
            }
        }
    }

    fn look_at_refusals(&self) {
        for refusal in self.push.take_refusals() {
            let name = refusal.message.frame(0).unwrap().split(|byte| *byte == b' ').next().unwrap();
            let number: usize = std::str::from_utf8(name).unwrap().parse().unwrap();
            assert!(refusal.message.frames().eq(message(number).frames()), "refused {number} is another");
        }
    }
}

fn run(cell: Cell, seed: u64) {
    let settlement = Settlement {
        unsettled_count_max: WINDOW,
        deliveries_max: 0,
        alone_deliveries: 0,
        ..Settlement::default()
    };
    let (push, place) = cell.push(settlement);
    let mut trial =
        Trial { random: Rng::with_seed(seed), push, receivers: Vec::new(), is_done: vec![false; COUNT] };
    let receiver = || Receiver { pull: cell.pull(&place, by_hand(WINDOW)), held: Vec::new() };
    trial.receivers.extend((0..3).map(|_| receiver()));
    let mut next = 0;
    until("all is done", || {
        for _ in 0..trial.random.usize(..40) {
            if next < COUNT && trial.push.try_send(&message(next)).is_ok() {
                next += 1;
            }
        }
        trial.push.flush();
        let (at, count) = (trial.random.usize(..3), trial.random.usize(..60));
        trial.take(at, count);
        let count = trial.random.usize(..40);
        trial.settle(at, count);
        trial.look_at_refusals();
        if trial.random.u8(..60) == 0 {
            trial.receivers[at] = receiver();
        }
        next == COUNT && trial.is_done.iter().all(|is_done| *is_done)
    });
    until("all is settled", || {
        for at in 0..3 {
            trial.take(at, WINDOW);
            trial.settle(at, WINDOW);
        }
        trial.look_at_refusals();
        trial.push.wait_settled(Duration::from_millis(1))
    });
    assert_eq!(trial.push.stats().drops.total(), 0);
    assert!(trial.push.wait_settled(LONG));
}

#[test]
fn messages_of_any_shape_are_whole_however_they_are_settled() {
    check(|cell| (0..2).for_each(|seed| run(cell, seed)));
}
