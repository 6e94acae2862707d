//! How a settled connection ends: closing waits for settlement, and gives up in time.

use std::time::Duration;

use hairstreak_socket::settlement::Settlement;
use hairstreak_socket::{Context, Options, Pull, Push, RecvError};
use hairstreak_testkit::{until, until_eq};

use crate::endpoints::endpoint;
use crate::{LONG, by_hand, check, take, window};

#[test]
fn a_closed_sender_stays_until_all_is_settled() {
    check(|cell| {
        let (push, place) = cell.push(window(1000));
        let pull = cell.pull(&place, by_hand(1000));
        (0..50).for_each(|number| push.send_timeout(&[number], LONG).unwrap());
        push.close();
        let taken = take(&pull, 50, 0);
        assert_eq!(pull.peers().len(), 1, "it waits for the settlements");
        taken.iter().for_each(|delivery| assert!(pull.accept(delivery)));
        until("it goes", || pull.recv_delivery(Duration::from_millis(1)).is_err() && pull.peers().is_empty());
    });
}

#[test]
fn a_closed_sender_gives_up_when_its_time_is_over() {
    let settlement = Some(Settlement::default());
    let options = Options { linger_ms: 50, settlement, ..Options::default() };
    for transport in ["tcp", "ipc", "inproc"] {
        let push = Push::with_options(&Context::new(), options.clone()).unwrap();
        let place = push.bind(&endpoint(transport)).unwrap().to_string();
        let pull = hairstreak_socket::Pull::with_options(
            &Context::new(),
            Options { settlement: Some(by_hand(10)), ..Options::default() },
        )
        .unwrap();
        pull.connect(&place).unwrap();
        push.send_timeout("x", LONG).unwrap();
        let taken = take(&pull, 1, 0);
        push.close();
        until("it is gone", || pull.peers().is_empty());
        assert!(!pull.accept(&taken[0]), "there is nobody to be told");
    }
}

#[test]
fn what_nobody_has_when_a_sender_is_closed_is_counted_as_lost() {
    check(|cell| {
        let (push, place) = cell.push(window(1000));
        let pull = cell.pull(&place, by_hand(1000));
        (0..50).for_each(|number| push.send_timeout(&[number], LONG).unwrap());
        let taken = take(&pull, 50, 0);
        taken.iter().take(20).for_each(|delivery| assert!(pull.accept(delivery)));
        until_eq("unsettled tasks", 30, || push.unsettled().count);
        pull.close();
        until("the others wait", || push.peers().is_empty());
        assert_eq!(push.unsettled().count, 30);
        push.clone().close();
        assert_eq!(push.stats().drops.peer_lost, 30);
    });
}

#[test]
fn an_end_that_is_announced_comes_behind_what_is_not_settled() {
    check(|cell| {
        let (push, place) = cell.push(window(1000));
        let first = cell.pull(&place, by_hand(1000));
        (0..4).for_each(|number| push.send_timeout(&[number], LONG).unwrap());
        push.announce_end();
        assert!(push.try_send("more").is_err());
        take(&first, 4, 0);
        assert_eq!(first.recv_delivery(LONG), Err(RecvError::Ended));
        first.close();
        until_eq("waiting tasks", 4, || push.unsettled().waiting_count);
        let second = cell.pull(&place, by_hand(1));
        for _ in 0..4 {
            let taken = take(&second, 1, 1);
            assert!(second.accept(&taken[0]));
        }
        assert_eq!(second.recv_delivery(LONG), Err(RecvError::Ended), "they come before the end");
        assert!(push.wait_settled(LONG));
    });
}

#[test]
fn an_end_waits_for_what_another_receiver_may_leave() {
    check(|cell| {
        let (push, place) = cell.push(window(1000));
        let [first, second] = [0, 1].map(|_| cell.pull(&place, by_hand(1)));
        assert!(push.wait_for_peers(2, LONG));
        (0..2).for_each(|number| push.send_timeout(&[number], LONG).unwrap());
        let [left, done] = [&first, &second].map(|pull| take(pull, 1, 0).remove(0));
        push.announce_end();
        assert!(second.accept(&done));
        until_eq("unsettled tasks", 1, || push.unsettled().count);
        assert_eq!(second.recv_delivery(Duration::from_millis(5)), Err(RecvError::TimedOut), "not yet");
        first.close();
        let again = take(&second, 1, 1).remove(0);
        assert_eq!(again.task, left.task);
        let third = cell.pull(&place, by_hand(1));
        assert_eq!(third.recv_delivery(Duration::from_millis(5)), Err(RecvError::TimedOut), "not yet");
        assert!(second.accept(&again));
        assert_eq!(
            [&second, &third].map(|pull| pull.recv_delivery(LONG)),
            [const { Err(RecvError::Ended) }; 2]
        );
    });
}

#[test]
fn an_end_is_told_when_what_another_has_is_given_up_or_its_connection_ends() {
    let options =
        |settlement| Options { settlement: Some(settlement), heartbeat_ms: 0, ..Options::default() };
    for is_given_up in [true, false] {
        let push = Push::with_options(&Context::new(), options(window(1000))).unwrap();
        let pulls = [0, 1].map(|_| {
            let pull = Pull::with_options(&Context::new(), options(by_hand(1))).unwrap();
            let place = pull.bind("tcp://127.0.0.1:*").unwrap().to_string();
            push.connect(&place).unwrap();
            (pull, place)
        });
        assert!(push.wait_for_peers(2, LONG));
        let time = if is_given_up { Duration::from_millis(50) } else { LONG };
        // To two that may have one each.
        push.send_within("late", time).unwrap();
        push.send_within("in time", LONG).unwrap();
        let [one, two] = pulls.map(|(pull, place)| {
            let delivery = take(&pull, 1, 0).remove(0);
            (pull, place, delivery)
        });
        let is_late = one.2.message.body() == b"late";
        let ((hung, place, _), (other, _, done)) = if is_late { (one, two) } else { (two, one) };
        if !is_given_up {
            assert!(push.disconnect(&place));
        }
        push.announce_end();
        assert!(other.accept(&done));
        if !is_given_up {
            assert_eq!(other.recv_delivery(Duration::from_millis(5)), Err(RecvError::TimedOut), "not yet");
            hung.close();
            let again = take(&other, 1, 1).remove(0);
            assert!(other.accept(&again));
        }
        assert_eq!(other.recv_delivery(LONG), Err(RecvError::Ended), "given up: {is_given_up}");
    }
}
