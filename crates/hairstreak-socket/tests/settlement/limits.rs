//! What bounds a settled PUSH: its window, its receivers' credit, the deliveries and refusals it keeps.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Wake, Waker};
use std::time::Duration;

use hairstreak_socket::settlement::{Refusal, RefusalCause, RefusedTasks, Settlement};
use hairstreak_socket::{Context, Dealer, Distribution, Options, Overflow, Push, SendError};
use hairstreak_testkit::{until, until_eq};

use crate::{LONG, by_hand, check, take, window};

/// So short that it is over before anything else is.
const SOON: Duration = Duration::from_millis(20);

#[test]
fn the_window_is_full_until_something_is_settled() {
    check(|cell| {
        let (push, place) = cell.push(window(10));
        let pulls = [cell.pull(&place, by_hand(1000)), cell.pull(&place, by_hand(1000))];
        assert!(push.wait_for_peers(2, LONG));
        (0..10).for_each(|_| push.send_timeout("x", LONG).unwrap());
        assert_eq!(push.try_send("x"), Err(SendError::WouldBlock));
        let taken = pulls.each_ref().map(|pull| take(pull, 5, 0));
        assert!(pulls[0].accept(&taken[0][3]));
        // One of a thousand is told when the receiver looks in vain.
        assert!(pulls[0].recv_delivery(Duration::from_millis(1)).is_err());
        push.send_timeout("x", LONG).unwrap();
        assert_eq!(push.try_send("x"), Err(SendError::WouldBlock));
        assert_eq!(push.unsettled().count, 10);
    });
}

#[test]
fn a_receiver_gets_no_more_than_it_has_credit_for() {
    check(|cell| {
        let (push, place) = cell.push(window(1000));
        let pull = cell.pull(&place, by_hand(7));
        assert!(push.wait_for_peers(1, LONG));
        (0..7).for_each(|_| push.send_timeout("x", LONG).unwrap());
        assert_eq!(push.try_send("x"), Err(SendError::WouldBlock));
        let taken = take(&pull, 7, 0);
        taken[..3].iter().for_each(|delivery| assert!(pull.accept(delivery)));
        // Three settlements of seven are told when it looks in vain.
        assert!(pull.recv_delivery(Duration::from_millis(1)).is_err());
        (0..3).for_each(|_| push.send_timeout("x", LONG).unwrap());
        assert_eq!(push.try_send("x"), Err(SendError::WouldBlock));
        assert_eq!(push.unsettled().count, 7);
    });
}

#[test]
fn a_rejected_message_comes_back_to_its_sender_with_the_reason() {
    check(|cell| {
        let (push, place) = cell.push(window(1000));
        let pull = cell.pull(&place, by_hand(1000));
        push.send_timeout("good", LONG).unwrap();
        push.send_timeout("bad", LONG).unwrap();
        let taken = take(&pull, 2, 0);
        assert!(pull.reject(&taken[1], "no such thing") && pull.accept(&taken[0]));
        assert!(push.wait_settled(LONG));
        let refusals = push.take_refusals();
        assert_eq!(refusals.len(), 1);
        assert_eq!((refusals[0].message.body(), refusals[0].deliveries), (&b"bad"[..], 1));
        assert_eq!(Some(refusals[0].task), taken[1].task);
        assert_eq!(refusals[0].cause, RefusalCause::Rejected(b"no such thing".to_vec()));
        assert!(push.take_refusals().is_empty());
    });
}

#[test]
fn many_settlements_that_do_not_touch_are_told_in_large_commands() {
    check(|cell| {
        let (push, place) = cell.push(window(20_000));
        let pull = cell.pull(&place, by_hand(20_000));
        for body in 0..10_000_u32 {
            push.send_timeout(&body.to_be_bytes()[..], LONG).unwrap();
        }
        let taken = take(&pull, 10_000, 0);
        taken.iter().step_by(2).for_each(|delivery| assert!(pull.accept(delivery)));
        until_eq("unsettled tasks", 5_000, || push.unsettled().count);
        taken.iter().skip(1).step_by(2).for_each(|delivery| assert!(pull.reject(delivery, "")));
        assert!(push.wait_settled(LONG));
        assert_eq!(push.unsettled().refused_count, 5_000);
        let stats = push.stats();
        assert_eq!(stats.failed_connections, 0);
        // An entry for each, of at most 18 bytes, and not a command for each.
        assert!(stats.received_bytes < 10_000 * 20, "{stats:?}");
    });
}

#[test]
fn a_message_is_sent_so_often_and_refusals_are_kept_so_many() {
    let limits = Settlement { deliveries_max: 3, refused_count_max: 2, ..Settlement::default() };
    check(|cell| {
        let (push, place) = cell.push(limits.clone());
        let pull = cell.pull(&place, by_hand(1000));
        push.send_timeout("poison", LONG).unwrap();
        for deliveries in 0..3 {
            pull.release(&take(&pull, 1, deliveries)[0]);
        }
        assert!(push.wait_settled(LONG));
        let refusals = push.take_refusals();
        assert_eq!((refusals[0].deliveries, &refusals[0].cause), (3, &RefusalCause::DeliveriesMax));
        for text in ["a", "b", "c"] {
            push.send_timeout(text, LONG).unwrap();
            pull.reject(&take(&pull, 1, 0)[0], "");
        }
        assert!(push.wait_settled(LONG));
        let left = push.take_refusals();
        assert_eq!(left.iter().map(|refusal| refusal.message.body()).collect::<Vec<_>>(), [b"b", b"c"]);
        assert_eq!(push.unsettled().lost_refusals, 1);
    });
}

#[test]
fn a_send_waits_for_who_takes_refusals_and_none_is_lost() {
    let limits = Settlement { refused_count_max: 2, refusals_patience: Some(LONG), ..window(3) };
    check(|cell| {
        let (push, place) = cell.push(limits.clone());
        let pull = cell.pull(&place, by_hand(1000));
        assert!(push.take_refusals().is_empty());
        let bodies = |refusals: Vec<Refusal>| -> Vec<u8> {
            refusals.iter().map(|refusal| refusal.message.body()[0]).collect()
        };
        for body in 0..3u8 {
            push.send_timeout(&[body], LONG).unwrap();
        }
        let taken = take(&pull, 3, 0);
        assert!(taken.iter().all(|delivery| pull.reject(delivery, "")));
        assert!(push.wait_settled(LONG));
        assert_eq!(push.send_timeout(&[3u8], SOON), Err(SendError::TimedOut));
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| push.send_timeout(&[3u8], LONG));
            assert_eq!(bodies(push.take_refusals()), [0, 1, 2]);
            waiting.join().unwrap().unwrap();
        });
        assert!(pull.reject(&take(&pull, 1, 0)[0], ""));
        assert!(push.wait_settled(LONG));
        assert_eq!(bodies(push.take_refusals()), [3]);
        assert_eq!(push.unsettled().lost_refusals, 0);
    });
}

#[test]
fn a_send_goes_on_when_nobody_has_taken_refusals_for_long() {
    let limits = Settlement { refused_count_max: 2, refusals_patience: Some(SOON), ..window(3) };
    check(|cell| {
        let (push, place) = cell.push(limits.clone());
        let pull = cell.pull(&place, by_hand(1000));
        for round in 1..3 {
            assert_eq!(push.take_refusals().len(), if round == 1 { 0 } else { 2 });
            for body in 0..4u8 {
                // Without a time of its own.
                push.send(&[body]).unwrap();
                assert!(pull.reject(&take(&pull, 1, 0)[0], ""));
                assert!(push.wait_settled(LONG));
            }
            assert_eq!(push.unsettled().lost_refusals, 2 * round);
        }
    });
}

/// Counts how often it was woken.
#[derive(Default)]
struct WakeUps(AtomicU64);

impl Wake for WakeUps {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn who_wants_to_know_of_refused_tasks_is_woken_once_until_they_are_taken() {
    check(|cell| {
        let (push, place) = cell.push(Settlement { deliveries_max: 1, ..window(1000) });
        let pull = cell.pull(&place, by_hand(1000));
        let wake_ups = Arc::new(WakeUps::default());
        let woken = || wake_ups.0.load(Ordering::Relaxed);
        let send = || {
            (0..3u8).for_each(|number| push.send_timeout(&[number], LONG).unwrap());
            take(&pull, 3, 0)
        };
        let taken = send();
        assert!(pull.reject(&taken[0], "before anybody asked"));
        until_eq("refused tasks", 1, || push.unsettled().refused_count);
        push.wake_on_refusal(Waker::from(Arc::clone(&wake_ups)));
        assert_eq!(woken(), 1);
        assert!(pull.reject(&taken[1], "not told yet") && pull.accept(&taken[2]));
        assert!(push.wait_settled(LONG));
        assert_eq!(woken(), 1);
        let first = taken[0].task.unwrap();
        assert_eq!(push.take_refused(), RefusedTasks::Runs(vec![(first, 2)]));
        let taken = send();
        assert!(taken.iter().all(|delivery| pull.accept(delivery)));
        assert!(push.wait_settled(LONG));
        assert_eq!((woken(), push.take_refused()), (1, RefusedTasks::Runs(Vec::new())));
        let taken = send();
        assert!(pull.accept(&taken[0]) && pull.reject(&taken[1], "a wake-up") && pull.accept(&taken[2]));
        until_eq("wakeups", 2, &woken);
        assert_eq!(push.take_refused(), RefusedTasks::Runs(vec![(taken[1].task.unwrap(), 1)]));
        let taken = send();
        pull.close();
        until_eq("wakeups", 3, &woken);
        assert_eq!(push.take_refused(), RefusedTasks::Runs(vec![(taken[0].task.unwrap(), 3)]));
        assert_eq!(push.take_refusals().len(), 6);
    });
}

#[test]
fn a_message_that_two_connections_have_ended_with_travels_alone() {
    check(|cell| {
        let (push, place) = cell.push(window(1000));
        for deliveries in 0..2 {
            let pull = cell.pull(&place, by_hand(1000));
            if deliveries == 0 {
                (0..4).for_each(|number| push.send_timeout(&[number], LONG).unwrap());
            }
            take(&pull, 4, deliveries);
            pull.close();
            until_eq("waiting tasks", 4, || push.unsettled().waiting_count);
        }
        let pull = cell.pull(&place, by_hand(1000));
        for number in 0..4 {
            let taken = take(&pull, 1, 2);
            assert_eq!(taken[0].message.body(), [number]);
            let behind = pull.recv_delivery(Duration::from_millis(2));
            assert!(behind.is_err(), "{behind:?} came along");
            assert!(pull.accept(&taken[0]));
        }
        assert!(push.wait_settled(LONG));
    });
}

#[test]
fn where_none_travels_alone_they_come_together_however_many_connections_have_ended() {
    check(|cell| {
        let (push, place) = cell.push(Settlement { alone_deliveries: 0, ..window(1000) });
        for deliveries in 0..4 {
            let pull = cell.pull(&place, by_hand(1000));
            if deliveries == 0 {
                (0..4).for_each(|number| push.send_timeout(&[number], LONG).unwrap());
            }
            take(&pull, 4, deliveries);
            pull.close();
            until_eq("waiting tasks", 4, || push.unsettled().waiting_count);
        }
    });
}

#[test]
fn in_order_a_message_does_not_wait_for_those_that_wait_for_it() {
    check(|cell| {
        let (push, place) = cell.push(Settlement { in_order: true, ..window(1000) });
        for deliveries in 0..2 {
            let pull = cell.pull(&place, by_hand(1000));
            if deliveries == 0 {
                (0..2).for_each(|number| push.send_timeout(&[number], LONG).unwrap());
            }
            take(&pull, 2, deliveries);
            pull.close();
            until_eq("waiting tasks", 2, || push.unsettled().waiting_count);
        }
        let first = cell.pull(&place, by_hand(1000));
        assert_eq!(take(&first, 1, 2)[0].message.body(), [0]);
        let second = cell.pull(&place, by_hand(1000));
        let later = take(&second, 1, 2);
        assert_eq!(later[0].message.body(), [1]);
        first.close();
        // The second receiver does not settle what it has before it has had what comes first.
        let earlier = take(&second, 1, 3);
        assert_eq!(earlier[0].message.body(), [0]);
        assert!(second.accept(&earlier[0]) && second.accept(&later[0]));
        assert!(push.wait_settled(LONG));
    });
}

#[test]
fn only_push_and_pull_settle_and_none_that_drops() {
    let settlement = Some(Settlement::default());
    let with = |options: Options| Options { settlement: settlement.clone(), ..options };
    let error = Dealer::with_options(&Context::new(), with(Options::default())).unwrap_err().to_string();
    assert_eq!(error, "a DEALER socket cannot settle (settlement): PUSH and PULL can");
    for options in [
        Options { overflow: Some(Overflow::DropOldest), ..Options::default() },
        Options { overflow: Some(Overflow::DropNewest), ..Options::default() },
        Options { distribution: Distribution::All, ..Options::default() },
    ] {
        let error = Push::with_options(&Context::new(), with(options)).unwrap_err().to_string();
        assert!(error.starts_with("a PUSH that wants settlement cannot drop"), "{error}");
    }
}

#[test]
fn a_receiver_that_is_soon_done_is_given_half_of_the_window_before_another_is_woken() {
    for (time, shares) in [(Duration::from_micros(1), [5, 0]), (Duration::from_millis(1), [3, 2])] {
        check(|cell| {
            let (push, place) = cell.push(window(10));
            let pulls = [cell.pull(&place, by_hand(1000)), cell.pull(&place, by_hand(1000))];
            assert!(push.wait_for_peers(2, LONG));
            pulls.iter().for_each(|pull| pull.tell_pace(time));
            // What they settle is heard of behind that.
            (0..10).for_each(|_| push.send_timeout("x", LONG).unwrap());
            for pull in &pulls {
                take(pull, 5, 0).iter().for_each(|delivery| assert!(pull.accept(delivery)));
                assert!(pull.recv_delivery(Duration::from_millis(1)).is_err());
            }
            assert!(push.wait_settled(LONG));
            (0..5).for_each(|_| push.send_timeout("x", LONG).unwrap());
            push.flush();
            let mut got = [0, 0];
            until("all are received", || {
                for (pull, got) in pulls.iter().zip(&mut got) {
                    *got += std::iter::from_fn(|| pull.recv_delivery(Duration::ZERO).ok()).count();
                }
                got.iter().sum::<usize>() == 5
            });
            got.sort_unstable_by(|one, other| other.cmp(one));
            assert_eq!(got, shares, "{time:?}");
        });
    }
}

#[test]
fn one_that_is_awake_and_soon_done_is_given_more_before_another_is_woken() {
    check(|cell| {
        let (push, place) = cell.push(window(10));
        let pulls = [(); 3].map(|()| cell.pull(&place, by_hand(1000)));
        assert!(push.wait_for_peers(3, LONG));
        pulls.iter().for_each(|pull| pull.tell_pace(Duration::from_micros(1)));
        let receive = |wanted: usize| {
            let mut got = [(); 3].map(|()| Vec::new());
            until("all are received", || {
                for (pull, got) in pulls.iter().zip(&mut got) {
                    got.extend(std::iter::from_fn(|| pull.recv_delivery(Duration::ZERO).ok()));
                }
                got.iter().map(Vec::len).sum::<usize>() == wanted
            });
            got
        };
        (0..10).for_each(|_| push.send_timeout("x", LONG).unwrap());
        push.flush();
        for (pull, got) in pulls.iter().zip(receive(10)) {
            got.iter().for_each(|delivery| assert!(pull.accept(delivery)));
            assert!(pull.recv_delivery(Duration::from_millis(1)).is_err());
        }
        assert!(push.wait_settled(LONG));
        // Now the paces have been heard: two have half of the window each.
        (0..10).for_each(|_| push.send_timeout("x", LONG).unwrap());
        let got = receive(10);
        let awake = got.iter().position(|got| got.len() == 5).unwrap();
        got[awake][..3].iter().for_each(|delivery| assert!(pulls[awake].accept(delivery)));
        assert!(pulls[awake].recv_delivery(Duration::from_millis(1)).is_err());
        (0..3).for_each(|_| push.send_timeout("x", LONG).unwrap());
        assert_eq!(receive(3)[awake].len(), 3);
    });
}

#[test]
fn every_message_that_is_rejected_comes_back_whatever_its_size() {
    const COUNT: usize = 1000;
    let limits = Settlement { refused_count_max: COUNT, ..window(COUNT) };
    check(|cell| {
        for size in [10, 62, 63, 4000, 4096, 20_000, 60_000] {
            let count = COUNT.min(10_000_000 / size);
            let (push, place) = cell.push(limits.clone());
            let pull = cell.pull(&place, by_hand(COUNT));
            let sending = std::thread::spawn({
                let push = push.clone();
                move || {
                    (0..count).for_each(|number| push.send(&format!("{number:>size$}")).unwrap());
                    push.flush();
                }
            });
            let mut messages = Vec::new();
            while messages.len() < count {
                let batch = pull.recv_batch(&mut messages, 256, LONG).unwrap();
                for (run, count) in batch.runs {
                    pull.reject_tasks(run.id, count, "no");
                }
            }
            assert!(pull.recv_delivery(Duration::from_millis(1)).is_err());
            sending.join().unwrap();
            assert!(push.wait_settled(LONG));
            let refusals = push.take_refusals();
            assert_eq!(refusals.len(), count, "of {size} bytes");
            for (number, refusal) in refusals.iter().enumerate() {
                assert_eq!(refusal.message.body(), format!("{number:>size$}").as_bytes());
            }
        }
    });
}
