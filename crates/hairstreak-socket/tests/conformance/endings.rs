//! What becomes of messages that have come and were not received when their receiver ends the connection: each is
//! received after all, or counted once.

use hairstreak_socket::{Dealer, Options, Pattern, Pull, Push, Receives, Router, Sends, Socket};
use hairstreak_testkit::{until, until_eq};

use crate::LONG;
use crate::cell::{Cell, check, frames};
use crate::endpoints::endpoint;

/// Enough for several records of every kind, of which one read brings many.
const COUNT: usize = 40;

/// Of sizes that are held inside a message, and of others.
fn body(number: usize) -> String {
    format!("{number:<width$}", width = [8, 62, 64, 300][number % 4])
}

/// Sends them, and waits until all have come to the receiver's process. Both are ready and have said nothing since.
fn send_all<P: Sends, Q: Receives>(cell: &Cell, sender: &Socket<P>, receiver: &Socket<Q>) {
    let (sent, read) = (sender.stats().sent_bytes, receiver.stats().received_bytes);
    (0..COUNT).for_each(|number| sender.send(&body(number)).unwrap());
    sender.flush();
    if cell.transport != "inproc" {
        until("all were read", || receiver.stats().received_bytes - read >= sender.stats().sent_bytes - sent);
    }
}

/// Checks that the sender has lost its only peer and counts nothing as lost.
fn check_sender<P: Pattern>(cell: &Cell, sender: &Socket<P>) {
    until_eq("peers", 0, || sender.stats().peer_count);
    let stats = sender.stats();
    assert_eq!((stats.sent, stats.drops.total()), (COUNT as u64, 0), "{cell:?}");
}

/// Checks that the receiver has dropped all but what it received.
fn check_receiver(cell: &Cell, pull: &Pull, received: usize) {
    let stats = pull.stats();
    let counted = (stats.received, stats.drops.unreceived, stats.drops.total());
    let dropped = (COUNT - received) as u64;
    assert_eq!(counted, (received as u64, dropped, dropped), "{cell:?}");
}

#[test]
fn what_had_come_of_an_endpoint_that_is_disconnected_is_dropped_and_counted_by_the_receiver() {
    check(|cell| {
        for received in [0, 1, 5] {
            let (push, pull): (Push, Pull) = (cell.open(Options::default()), cell.open(Options::default()));
            let place = push.bind(&endpoint(cell.transport)).unwrap().to_string();
            pull.connect(&place).unwrap();
            assert!(push.wait_for_peers(1, LONG) && pull.wait_for_peers(1, LONG), "{cell:?}");
            send_all(&cell, &push, &pull);
            (0..received).for_each(|number| assert_eq!(cell.recv_text(&pull), body(number)));
            assert!(pull.disconnect(&place));
            check_receiver(&cell, &pull, received);
            check_sender(&cell, &push);
        }
    });
}

#[test]
fn what_had_come_to_a_socket_that_is_closed_is_dropped_and_counted_by_it() {
    check(|cell| {
        for received in [0, 1, 5] {
            let (push, pull): (Push, Pull) = (cell.open(Options::default()), cell.open(Options::default()));
            cell.join(&push, &pull);
            send_all(&cell, &push, &pull);
            (0..received).for_each(|number| assert_eq!(cell.recv_text(&pull), body(number)));
            pull.clone().close();
            check_receiver(&cell, &pull, received);
            check_sender(&cell, &push);
        }
    });
}

#[test]
fn what_had_come_of_a_peer_whose_name_is_handed_over_is_received_before_what_comes_of_the_next() {
    check(|cell| {
        for received in [0, 1, 5] {
            // The first would be connected again, and take the name again.
            let once = Options { reconnect_min_ms: 600_000, reconnect_max_ms: 600_000, ..Options::default() };
            let named = Options { routing_id: Some("x".into()), ..once.clone() };
            let router: Router = cell.open(Options { router_handover: true, ..once });
            let (first, second): (Dealer, Dealer) = (cell.open(named.clone()), cell.open(named));
            cell.join(&router, &first);
            send_all(&cell, &first, &router);
            let check_next =
                |number| assert_eq!(cell.recv(&router), frames(["x", &body(number)]), "{cell:?}");
            (0..received).for_each(check_next);
            cell.join_only(&router, &second);
            check_sender(&cell, &first);
            (received..COUNT).for_each(check_next);
            cell.send(&second, "of the second");
            assert_eq!(cell.recv(&router), frames(["x", "of the second"]), "{cell:?}");
            let stats = router.stats();
            assert_eq!((stats.received, stats.drops.total()), (COUNT as u64 + 1, 0), "{cell:?}");
        }
    });
}
