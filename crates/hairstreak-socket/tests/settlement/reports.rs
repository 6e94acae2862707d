//! Tasks that a third party reports as done: they are settled at their source, whichever way their results went.

use std::time::Duration;

use hairstreak_socket::RecvError;
use hairstreak_socket::settlement::{Settlement, TaskId};
use hairstreak_testkit::{until, until_eq};

use crate::{LONG, by_hand, by_task, check, take, window};

/// A receiver that takes nothing and only reports.
fn reporting() -> Settlement {
    by_hand(0)
}

#[test]
fn what_is_reported_as_done_is_settled_and_not_sent_again() {
    check(|cell| {
        let (push, place) = cell.push(window(1000));
        let (pull, reporter) = (cell.pull(&place, by_hand(1000)), cell.pull(&place, reporting()));
        (0..50u8).for_each(|number| push.send_timeout(&[number], LONG).unwrap());
        let taken = take(&pull, 50, 0);
        let tasks = taken.iter().map(|delivery| delivery.task.unwrap()).collect::<Vec<_>>();
        until("the reporter is there", || reporter.report(&[(tasks[10], 5)]));
        until_eq("unsettled tasks", 45, || push.unsettled().count);
        assert_eq!(push.first_unsettled(), Some(tasks[0]));
        assert_eq!(push.peers().len(), 1, "the reporter is none");
        // Again, and beyond what there is: only what is not settled counts.
        assert!(reporter.report(&[(tasks[0], 12), (tasks[40], 1000), (TaskId { epoch: 0, sequence: 0 }, 9)]));
        until_eq("unsettled tasks", 25, || push.unsettled().count);
        assert_eq!(push.first_unsettled(), Some(tasks[15]));
        // The receiver may settle what is done already.
        for at in [2, 11, 20, 45] {
            assert!(pull.accept(&taken[at]));
        }
        assert!(pull.release(&taken[3]), "done is done");
        until_eq("unsettled tasks", 24, || push.unsettled().count);
        drop(pull);
        let other = cell.pull(&place, by_hand(1000));
        let again = take(&other, 24, 1);
        let left = by_task(taken[15..40].iter().filter(|delivery| delivery.task != Some(tasks[20])));
        assert_eq!(by_task(&again), left);
        assert!(reporter.report(&[(tasks[0], 50)]));
        assert!(push.wait_settled(LONG));
    });
}

#[test]
fn what_the_sender_itself_says_to_be_done_is_settled_and_not_sent_again() {
    check(|cell| {
        let (push, place) = cell.push(window(1000));
        let first = cell.pull(&place, by_hand(1000));
        (0..6).for_each(|number| push.send_timeout(&[number], LONG).unwrap());
        let tasks = take(&first, 6, 0);
        push.note_done(tasks[0].task.unwrap(), 2);
        assert_eq!(push.unsettled().count, 4);
        first.close();
        until_eq("waiting tasks", 4, || push.unsettled().waiting_count);
        push.note_done(tasks[2].task.unwrap(), 2);
        assert_eq!(push.unsettled().count, 2);
        let second = cell.pull(&place, by_hand(1000));
        let again = take(&second, 2, 1);
        assert_eq!(again[0].task, tasks[4].task);
        let third = cell.pull(&place, by_hand(1000));
        assert!(push.wait_for_peers(2, LONG));
        push.announce_end();
        push.note_done(tasks[4].task.unwrap(), 2);
        assert!(push.wait_settled(LONG));
        assert_eq!(
            [&second, &third].map(|pull| pull.recv_delivery(LONG)),
            [const { Err(RecvError::Ended) }; 2]
        );
    });
}

#[test]
fn what_waits_to_be_sent_again_may_be_done_already() {
    check(|cell| {
        let (push, place) = cell.push(window(1000));
        let (pull, reporter) = (cell.pull(&place, by_hand(1000)), cell.pull(&place, reporting()));
        (0..10u8).for_each(|number| push.send_timeout(&[number], LONG).unwrap());
        let tasks = take(&pull, 10, 0).iter().map(|delivery| delivery.task.unwrap()).collect::<Vec<_>>();
        drop(pull);
        until_eq("waiting tasks", 10, || push.unsettled().waiting_count);
        until("the reporter is there", || reporter.report(&[(tasks[2], 3)]));
        until_eq("unsettled tasks", 7, || push.unsettled().count);
        let other = cell.pull(&place, by_hand(1000));
        let again = take(&other, 7, 1);
        assert!(again.iter().all(|delivery| !tasks[2..5].contains(&delivery.task.unwrap())));
    });
}

#[test]
fn what_was_refused_and_is_reported_as_done_is_no_refusal() {
    check(|cell| {
        let (push, place) = cell.push(window(1000));
        let (pull, reporter) = (cell.pull(&place, by_hand(1000)), cell.pull(&place, reporting()));
        let soon = Duration::from_millis(20);
        (0..10u8).for_each(|number| push.send_within(&[number], soon).unwrap());
        let tasks = take(&pull, 10, 0).iter().map(|delivery| delivery.task.unwrap()).collect::<Vec<_>>();
        until_eq("refused tasks", 10, || push.unsettled().refused_count);
        until("the reporter is there", || reporter.report(&[(tasks[2], 3), (tasks[9], 1)]));
        until_eq("refused tasks", 6, || push.unsettled().refused_count);
        let left = push.take_refusals().iter().map(|refusal| refusal.message.body()[0]).collect::<Vec<_>>();
        assert_eq!(left, [0, 1, 5, 6, 7, 8]);
        assert!(reporter.report(&[(tasks[0], 10)]));
        // Behind the report on the same link.
        push.send_timeout("one more", LONG).unwrap();
        let last = take(&pull, 1, 0)[0].task.unwrap();
        assert!(reporter.report(&[(last, 1)]));
        assert!(push.wait_settled(LONG));
        assert_eq!(push.unsettled().refused_count, 6, "the others were taken");
    });
}

#[test]
fn a_receiver_that_is_lazy_tells_all_the_same() {
    check(|cell| {
        let (push, place) = cell.push(window(1000));
        let pull = cell.pull(&place, by_hand(1000));
        pull.settle_lazily(true);
        (0..10u8).for_each(|number| push.send_timeout(&[number], LONG).unwrap());
        let taken = take(&pull, 10, 0);
        taken[..5].iter().for_each(|delivery| assert!(pull.accept(delivery)));
        until_eq("unsettled tasks", 5, || push.unsettled().count);
        taken[5..].iter().for_each(|delivery| assert!(pull.accept(delivery)));
        pull.settle_lazily(false);
        assert!(push.wait_settled(LONG));
    });
}
