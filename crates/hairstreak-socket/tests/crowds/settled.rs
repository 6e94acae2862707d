//! Settlement in a crowd: receivers at rest cost a PUSH nothing, and senders at rest cost a PULL nothing.

use std::time::Duration;

use hairstreak_socket::settlement::{Settlement, Settling};
use hairstreak_socket::{Context, Options, Pull, Push, RecvError};
use rustix::time::{ClockId, clock_gettime};

use crate::LONG;
use crate::crowd::alone_with;
use crate::endpoints::endpoint;

/// So short that it is over before anything else is.
const SOON: Duration = Duration::from_millis(20);
const CROWD: usize = 2000;
/// Both ends of each connection, and what the process has besides.
const DESCRIPTORS: u64 = 2 * CROWD as u64 + 200;
const ROUND_COUNT: usize = 20;
/// In each round.
const MESSAGE_COUNT: usize = 50;
/// How many times more a message may cost with the crowd than with ten.
const FACTOR_MAX: u32 = 3;

/// A source of which one task at a time is not settled, so that each message is a grant, with deadlines to be looked at.
/// Nobody is asked for a sign of life meanwhile.
fn options() -> Options {
    let deadline = Some(LONG);
    let settlement = Settlement { unsettled_count_max: 1, deadline, ..Settlement::default() };
    Options { settlement: Some(settlement), heartbeat_ms: 3_600_000, ..Options::default() }
}

fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// Processor time of `act`, which is done so often: of the best round, since others may use the caches in the meantime.
fn best_time(mut act: impl FnMut()) -> Duration {
    let rounds = (0..ROUND_COUNT).map(|_| {
        let before = processor_time();
        (0..MESSAGE_COUNT).for_each(|_| act());
        processor_time() - before
    });
    rounds.min().unwrap() / MESSAGE_COUNT as u32
}

/// Processor time of the thread that sends a message and waits until it is settled, with so many other receivers.
fn sending_time(idle_count: usize) -> Duration {
    let push = Push::with_options(&Context::new(), options()).unwrap();
    let place = push.bind(&endpoint("tcp")).unwrap().to_string();
    let pull = || Pull::with_options(&Context::new(), options()).unwrap();
    std::thread::scope(|scope| {
        let place = &place;
        let busy = scope.spawn(move || {
            let busy = pull();
            busy.connect(place).unwrap();
            let count = 1 + ROUND_COUNT * MESSAGE_COUNT;
            (0..count).for_each(|_| drop(busy.recv_timeout(LONG).unwrap()));
            // Settles the last one.
            assert!(busy.recv_timeout(SOON).is_err(), "no message follows");
        });
        // The receiver at rest that settled last is given the next message.
        let send = || {
            push.send_timeout("task", LONG).unwrap();
            push.flush();
            assert!(push.wait_settled(LONG));
        };
        send();
        let idle = std::thread::spawn(pull).join().unwrap();
        (0..idle_count).for_each(|_| idle.connect(place).unwrap());
        assert!(push.wait_for_peers(1 + idle_count, LONG));
        let best = best_time(send);
        assert_eq!(idle.stats().received, 0);
        push.announce_end();
        busy.join().unwrap();
        best
    })
}

#[test]
fn receivers_at_rest_cost_a_settled_push_nothing() {
    let _alone = alone_with(DESCRIPTORS);
    let (few, many) = (sending_time(10), sending_time(CROWD));
    assert!(many < FACTOR_MAX * few, "{many:?} with {CROWD} receivers at rest, {few:?} with ten");
}

/// Sends a message at a time until all are settled, as the test receives them.
fn send_all(place: &str) {
    let busy = Push::with_options(&Context::new(), options()).unwrap();
    busy.connect(place).unwrap();
    for _ in 0..1 + ROUND_COUNT * MESSAGE_COUNT {
        busy.send_timeout("task", LONG).unwrap();
        busy.flush();
        assert!(busy.wait_settled(LONG));
    }
}

/// A socket with so many connections that send nothing.
fn idle_senders(place: &str, count: usize) -> Push {
    let idle = std::thread::spawn(|| Push::with_options(&Context::new(), options()).unwrap()).join().unwrap();
    (0..count).for_each(|_| idle.connect(place).unwrap());
    idle
}

/// Processor time of the thread that receives a message, settles it and sleeps until the next one, with so many other
/// senders.
fn receiving_time(idle_count: usize) -> Duration {
    let pull = Pull::with_options(&Context::new(), options()).unwrap();
    let place = pull.bind(&endpoint("tcp")).unwrap().to_string();
    std::thread::scope(|scope| {
        scope.spawn(|| send_all(&place));
        drop(pull.recv_timeout(LONG).unwrap());
        let idle = idle_senders(&place, idle_count);
        assert!(pull.wait_for_peers(1 + idle_count, LONG));
        let best = best_time(|| drop(pull.recv_timeout(LONG).unwrap()));
        // Settles the last one.
        assert!(pull.recv_timeout(SOON).is_err(), "no message follows");
        assert_eq!(idle.stats().sent, 0);
        best
    })
}

#[test]
fn senders_at_rest_cost_a_settled_pull_nothing() {
    let _alone = alone_with(DESCRIPTORS);
    let (few, many) = (receiving_time(10), receiving_time(CROWD));
    assert!(many < FACTOR_MAX * few, "{many:?} with {CROWD} senders at rest, {few:?} with ten");
}

/// Processor time of the thread that receives a message and settles it by hand, beside so many senders that have said that
/// none follows.
fn receiving_time_beside_ended(ended_count: usize) -> Duration {
    let settlement = Settlement { settling: Settling::ByHand, ..Settlement::default() };
    let by_hand = Options { settlement: Some(settlement), ..options() };
    let pull = Pull::with_options(&Context::new(), by_hand).unwrap();
    let place = pull.bind(&endpoint("tcp")).unwrap().to_string();
    let idle = idle_senders(&place, ended_count);
    assert!(pull.wait_for_peers(ended_count, LONG));
    idle.announce_end();
    idle.flush();
    assert_eq!(pull.recv_delivery(LONG).unwrap_err(), RecvError::Ended, "each of them has said so");
    let receive = || {
        let delivery = pull.recv_delivery(LONG).unwrap();
        assert!(pull.accept(&delivery));
    };
    std::thread::scope(|scope| {
        scope.spawn(|| send_all(&place));
        assert!(pull.wait_for_peers(1 + ended_count, LONG));
        receive();
        best_time(receive)
    })
}

#[test]
fn senders_that_have_ended_cost_a_settled_pull_nothing() {
    let _alone = alone_with(DESCRIPTORS);
    let (few, many) = (receiving_time_beside_ended(10), receiving_time_beside_ended(CROWD));
    assert!(many < FACTOR_MAX * few, "{many:?} beside {CROWD} senders that have ended, {few:?} beside ten");
}
