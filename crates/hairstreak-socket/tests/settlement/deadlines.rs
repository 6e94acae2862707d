//! Messages that are not settled in their time come back, whoever has them.

use std::sync::mpsc;
use std::time::{Duration, Instant};

use hairstreak_socket::settlement::{Refusal, RefusalCause, Settlement};
use hairstreak_socket::{Context, Options, Pull, Push, SendError};
use hairstreak_testkit::{Task, until, until_eq};

use crate::{LONG, by_hand, check, take, window};

/// So short that it is over before anything else is.
const SOON: Duration = Duration::from_millis(20);

/// What came back: each for want of time, and how often it was sent.
fn expired(refusals: Vec<Refusal>) -> Vec<(Vec<u8>, u16)> {
    let each = |refusal: Refusal| {
        assert_eq!(refusal.cause, RefusalCause::Deadline);
        (refusal.message.frames().collect::<Vec<_>>().concat(), refusal.deliveries)
    };
    refusals.into_iter().map(each).collect()
}

#[test]
fn messages_that_are_not_settled_in_time_come_back_and_may_be_settled_later() {
    check(|cell| {
        let settlement = Settlement { deadline: Some(SOON), ..window(3) };
        let (push, place) = cell.push(settlement);
        let pull = cell.pull(&place, by_hand(1000));
        assert!(push.wait_for_peers(1, LONG));
        let large = vec![b'x'; 100_000];
        for body in [&b"a"[..], &large, b"c"] {
            push.send_timeout(body, LONG).unwrap();
        }
        let taken = take(&pull, 3, 0);
        assert!(push.wait_settled(LONG));
        assert_eq!(push.first_unsettled(), taken[2].task.map(|task| task.plus(1)));
        assert_eq!(expired(push.take_refusals()), [(b"a".to_vec(), 1), (large, 1), (b"c".to_vec(), 1)]);
        // Their places are free. That they are settled later, one way or another, breaks no rule.
        push.send_within("d", LONG).unwrap();
        let next = take(&pull, 1, 0);
        assert!(pull.reject(&taken[0], "too late") && pull.release(&taken[1]) && pull.accept(&taken[2]));
        assert!(pull.accept(&next[0]));
        assert!(push.wait_settled(LONG));
        push.send_timeout("e", LONG).unwrap();
        assert_eq!(take(&pull, 1, 0)[0].message.body(), b"e");
        assert!(push.wait_settled(LONG));
        assert!(push.take_refusals().iter().all(|refusal| refusal.cause == RefusalCause::Deadline));
    });
}

#[test]
fn what_had_its_time_is_not_sent_again_when_its_connection_ends() {
    check(|cell| {
        let (push, place) = cell.push(window(1000));
        let pull = cell.pull(&place, by_hand(1000));
        push.send_within("late", SOON).unwrap();
        push.send_timeout("patient", LONG).unwrap();
        drop(take(&pull, 2, 0));
        until_eq("unsettled tasks", 1, || push.unsettled().count);
        drop(pull);
        let other = cell.pull(&place, by_hand(1000));
        let again = take(&other, 1, 1);
        assert_eq!(again[0].message.body(), b"patient");
        push.send_timeout("new", LONG).unwrap();
        let new = take(&other, 1, 0);
        assert_eq!(new[0].message.body(), b"new");
        assert!(other.accept(&again[0]) && other.accept(&new[0]) && push.wait_settled(LONG));
        assert_eq!(expired(push.take_refusals()), [(b"late".to_vec(), 1)]);
    });
}

#[test]
fn a_message_that_waits_for_a_receiver_waits_no_longer_than_its_time() {
    check(|cell| {
        let (push, place) = cell.push(window(2));
        let pull = cell.pull(&place, by_hand(1000));
        push.send_within("a", Duration::from_secs(1)).unwrap();
        push.send_within("b", LONG).unwrap();
        assert_eq!(push.try_send("c"), Err(SendError::WouldBlock));
        drop(take(&pull, 2, 0));
        drop(pull);
        until("it waits no longer", || push.unsettled().waiting_count == 1 && push.unsettled().count == 1);
        assert_eq!(expired(push.take_refusals()), [(b"a".to_vec(), 1)]);
        let other = cell.pull(&place, by_hand(1000));
        let taken = take(&other, 1, 1);
        assert_eq!(taken[0].message.body(), b"b");
        assert!(other.accept(&taken[0]) && push.wait_settled(LONG));
    });
}

#[test]
fn a_receiver_that_has_what_had_its_time_is_the_last_to_be_given_more() {
    check(|cell| {
        let (push, place) = cell.push(window(1000));
        let stuck = cell.pull(&place, by_hand(1000));
        push.send_within("late", SOON).unwrap();
        let late = take(&stuck, 1, 0);
        assert!(push.wait_settled(LONG));
        let other = cell.pull(&place, by_hand(1000));
        assert!(push.wait_for_peers(2, LONG));
        (0..100u8).for_each(|number| push.send_timeout(&[number], LONG).unwrap());
        let taken = take(&other, 100, 0);
        assert!(stuck.accept(&late[0]));
        // The one that settled last would be given the next if both had as many.
        taken.iter().for_each(|delivery| assert!(other.accept(delivery)));
        assert!(push.wait_settled(LONG));
        until("it is given something again", || {
            push.send_timeout("x", LONG).unwrap();
            // Looking in vain it tells what it has settled.
            stuck.recv_delivery(Duration::from_millis(1)).is_ok()
        });
    });
}

/// Sockets that have nothing to do by the clock but what they are asked.
fn quiet(settlement: Settlement) -> Options {
    const HOUR_MS: u64 = 3_600_000;
    Options {
        settlement: Some(settlement),
        heartbeat_ms: HOUR_MS,
        handshake_timeout_ms: HOUR_MS,
        arriving_timeout_ms: HOUR_MS,
        ..Options::default()
    }
}

/// A sender, and a receiver that never settles; nothing happens any more but by deadlines.
fn quiet_ends(window: Settlement) -> (Push, Pull) {
    let push = Push::with_options(&Context::new(), quiet(window)).unwrap();
    let place = push.bind("tcp://127.0.0.1:*").unwrap().to_string();
    let pull = Pull::with_options(&Context::new(), quiet(by_hand(1000))).unwrap();
    pull.connect(&place).unwrap();
    assert!(push.wait_for_peers(1, LONG));
    push.send_within("patient", LONG * 10).unwrap();
    drop(take(&pull, 1, 0));
    (push, pull)
}

#[test]
fn a_time_is_kept_though_nobody_calls() {
    let (push, _pull) = quiet_ends(window(1000));
    // The background thread has taken over, and waits for the first message's time.
    std::thread::sleep(Duration::from_millis(50)); // tidy: allow(sleeps) nothing tells
    push.send_within("late", SOON).unwrap();
    until_eq("refused tasks", 1, || push.unsettled().refused_count);
}

#[test]
fn a_time_is_kept_while_a_caller_sleeps_that_began_before() {
    let (push, _pull) = quiet_ends(window(1000));
    let (tell, told) = mpsc::channel();
    let waiting = std::thread::spawn({
        let push = push.clone();
        move || {
            tell.send(Task::current()).unwrap();
            push.wait_settled(2 * SOON + LONG / 2)
        }
    });
    told.recv_timeout(LONG).unwrap().until_asleep();
    push.send_within("late", SOON).unwrap();
    until_eq("refused tasks", 1, || push.unsettled().refused_count);
    assert!(!waiting.is_finished(), "the other message is not settled");
    push.close();
    drop(waiting);
}

#[test]
fn who_waits_for_room_while_another_leads_hears_that_a_time_is_over() {
    let context = Context::new();
    let push = Push::with_options(&context, quiet(window(2))).unwrap();
    let other = Pull::with_options(&context, quiet(by_hand(1))).unwrap();
    let place = push.bind("tcp://127.0.0.1:*").unwrap().to_string();
    let pull = Pull::with_options(&Context::new(), quiet(by_hand(1000))).unwrap();
    pull.connect(&place).unwrap();
    assert!(push.wait_for_peers(1, LONG));
    let (tell, told) = mpsc::channel();
    let leading = std::thread::spawn(move || {
        tell.send(Task::current()).unwrap();
        other.recv_timeout(LONG / 2)
    });
    // The thread leads by then.
    told.recv_timeout(LONG).unwrap().until_asleep();
    push.send_within("patient", LONG * 10).unwrap();
    push.send_within("late", SOON).unwrap();
    let begin = Instant::now();
    assert_eq!(push.send_timeout("next", LONG), Ok(()));
    assert!(begin.elapsed() < LONG / 4, "it was woken by the leader's end alone");
    drop(leading);
}
