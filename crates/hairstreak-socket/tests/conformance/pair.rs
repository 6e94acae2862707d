//! PAIR.

use hairstreak_socket::{Options, Pair};
use hairstreak_testkit::until;

use crate::cell::check;
use crate::shapes::shapes;

#[test]
fn messages_of_every_shape_go_both_ways() {
    check(|cell| {
        let (a, b): (Pair, Pair) = cell.pair();
        for message in shapes() {
            cell.send(&a, &message);
            assert_eq!(cell.recv(&b), message, "{cell:?}");
            cell.send(&b, &message);
            assert_eq!(cell.recv(&a), message, "{cell:?}");
        }
    });
}

#[test]
fn a_second_peer_is_refused_and_counted_until_the_first_is_gone() {
    check(|cell| {
        let (a, first): (Pair, Pair) = cell.pair();
        let second: Pair = cell.open(Options { reconnect_max_ms: 10, ..Options::default() });
        cell.join_only(&second, &a);
        until("the second is refused", || {
            a.stats().refused_connections + second.stats().refused_connections > 0
        });
        cell.send(&a, "for the first");
        assert_eq!(cell.recv_text(&first), "for the first");
        assert_eq!(a.peers().len(), 1);
        first.close();
        until("the second is in", || {
            a.peers().len() == 1 && second.peers().len() == 1 && {
                cell.send(&a, "for the second");
                second.try_recv().is_ok()
            }
        });
    });
}
