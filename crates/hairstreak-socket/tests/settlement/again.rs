//! Messages that are sent again: their receiver has gone, released them, or has not settled them.

use std::time::Duration;

use hairstreak_base::Message;
use hairstreak_socket::settlement::Settlement;
use hairstreak_socket::{Context, Options, Pull, Push, RecvError};
use hairstreak_testkit::{until, until_eq};

use crate::endpoints::endpoint;
use crate::{LONG, by_hand, by_task, check, take, window};

/// Bodies of all kinds: short, long enough to be shared, of several frames, empty.
fn message(number: usize) -> Message {
    let text = format!("message {number} ");
    match number % 5 {
        0 => Message::from(text.as_str()),
        1 => Message::from(text.repeat(1 + 3000 / text.len())),
        2 => Message::from(text.repeat(1 + 20_000 / text.len())),
        3 => Message::from_frames([text.as_str(), "", &text.repeat(1000)]),
        _ => Message::from_frames([text.repeat(2).as_str(), "end"]),
    }
}

fn body(number: usize) -> Vec<u8> {
    message(number).frames().collect::<Vec<_>>().concat()
}

#[test]
fn what_a_receiver_leaves_unsettled_goes_to_the_next_with_all_its_bytes() {
    check(|cell| {
        let (push, place) = cell.push(window(1000));
        let first = cell.pull(&place, by_hand(1000));
        (0..200).for_each(|number| push.send_timeout(&message(number), LONG).unwrap());
        let taken = take(&first, 120, 0);
        // Every third is settled, out of order, and those behind 120 were never looked at.
        let (settled, left): (Vec<_>, Vec<_>) = taken.iter().enumerate().partition(|(at, _)| at % 3 == 2);
        settled.iter().rev().for_each(|(_, delivery)| assert!(first.accept(delivery)));
        until_eq("unsettled tasks", 160, || push.unsettled().count);
        first.close();
        let second = cell.pull(&place, by_hand(1000));
        // The kernel tells of what was written, but the peer may have seen all of it.
        let again: Vec<_> = (0..160).map(|_| second.recv_delivery(LONG).unwrap()).collect();
        assert!(again[..80].iter().all(|delivery| delivery.deliveries == 1));
        let order = again.iter().map(|delivery| delivery.task.unwrap()).collect::<Vec<_>>();
        assert!(order.is_sorted(), "lowest first");
        assert!(left.iter().all(|(_, old)| again.iter().any(|new| new.task == old.task)));
        let all = by_task(settled.iter().map(|(_, delivery)| *delivery).chain(&again));
        assert!(all.values().enumerate().all(|(number, bytes)| *bytes == body(number)));
        assert_eq!(all.len(), 200);
        again.iter().for_each(|delivery| assert!(second.accept(delivery)));
        assert!(push.wait_settled(LONG));
        assert_eq!(push.stats().drops.total(), 0);
    });
}

#[test]
fn what_is_settled_with_the_next_receive_is_all_but_the_last() {
    check(|cell| {
        let (push, place) = cell.push(window(1000));
        let first = cell.pull(&place, Settlement::default());
        (0..100).for_each(|number| push.send_timeout(&[number], LONG).unwrap());
        (0..60).for_each(|number| assert_eq!(first.recv_timeout(LONG).unwrap().body(), [number]));
        // 59 of them; nobody knows whether the application has done with the last.
        until_eq("unsettled tasks", 41, || push.unsettled().count);
        first.close();
        let second = cell.pull(&place, Settlement::default());
        (59..100).for_each(|number| assert_eq!(second.recv_timeout(LONG).unwrap().body(), [number]));
        let (mut batch, mut count) = (Vec::new(), 0);
        (0..50).for_each(|number| push.send_timeout(&[number], LONG).unwrap());
        while count < 50 {
            count += second.recv_many(&mut batch, 50).unwrap();
        }
        until("those before the batch are settled", || push.unsettled().count <= 50);
        assert!(second.recv_timeout(Duration::from_millis(1)).is_err());
        assert!(push.wait_settled(LONG));
    });
}

#[test]
fn a_released_message_comes_again_and_may_come_to_the_same_receiver() {
    check(|cell| {
        let (push, place) = cell.push(window(1000));
        let pull = cell.pull(&place, by_hand(1000));
        (0..3).for_each(|number| push.send_timeout(&message(number), LONG).unwrap());
        let taken = take(&pull, 3, 0);
        assert!(pull.accept(&taken[0]) && pull.release(&taken[1]) && pull.accept(&taken[2]));
        let again = take(&pull, 1, 1);
        assert_eq!((again[0].task, &again[0].message), (taken[1].task, &taken[1].message));
        assert!(!pull.accept(&taken[1]), "that delivery is settled");
        assert!(pull.accept(&again[0]) && push.wait_settled(LONG));
    });
}

#[test]
fn a_receiver_that_does_not_settle_gets_plain_messages_and_what_waits_to_be_sent_again() {
    check(|cell| {
        let (push, place) = cell.push(window(10));
        let first = cell.pull(&place, by_hand(1000));
        (0..5).for_each(|number| push.send_timeout(&[number], LONG).unwrap());
        take(&first, 5, 0);
        first.close();
        until_eq("waiting tasks", 5, || push.unsettled().waiting_count);
        let security = cell.roles.client().security;
        let plain = Pull::with_options(&Context::new(), Options { security, ..Options::default() }).unwrap();
        plain.connect(&place).unwrap();
        (5..100).for_each(|number| push.send_timeout(&[number], LONG).unwrap());
        push.flush();
        (0..100).for_each(|number| assert_eq!(plain.recv_timeout(LONG).unwrap().body(), [number]));
        assert!(push.wait_settled(LONG), "nobody would ever settle them");
    });
}

#[test]
fn what_is_more_than_the_marks_is_sent_again_to_one_that_settles_nothing() {
    for transport in ["tcp", "ipc", "shm"] {
        // Without heartbeats, which would have everything looked at again.
        let quiet = Options { heartbeat_ms: 0, ..Options::default() };
        let options = Options { send_count_max: 4, settlement: Some(window(1000)), ..quiet.clone() };
        let push = Push::with_options(&Context::new(), options).unwrap();
        let place = push.bind(&endpoint(transport)).unwrap().to_string();
        let pull = || {
            let options = Options { settlement: Some(by_hand(1000)), ..quiet.clone() };
            let pull = Pull::with_options(&Context::new(), options).unwrap();
            pull.connect(&place).unwrap();
            pull
        };
        let first = pull();
        let sender = push.clone();
        let sending = std::thread::spawn(move || {
            let body = vec![7; 64 * 1024];
            (0..400).for_each(|_| sender.send_timeout(&body[..], LONG).unwrap());
        });
        take(&first, 400, 0);
        sending.join().unwrap();
        push.announce_end();
        first.close();
        until_eq("waiting tasks", 400, || push.unsettled().waiting_count);
        let second = pull();
        until("there is no room", || push.peers().first().is_some_and(|peer| peer.queued_count >= 4));
        take(&second, 400, 1);
        assert_eq!(second.recv_delivery(LONG), Err(RecvError::Ended), "the end comes behind the last");
    }
}
