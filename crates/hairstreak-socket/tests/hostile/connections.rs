//! Connections in numbers: floods, and more than there may be.

use hairstreak_socket::Options;

use crate::raw::Raw;
use crate::siege::{Siege, alone, besiege};
use crate::soak::amount;

#[test]
fn a_flood_of_connections_that_close_at_once_leaves_nothing() {
    besiege(&Options::default(), |place, _| {
        for _ in 0..amount(1000, 50_000) {
            Raw::connect(place);
        }
    });
}

#[test]
fn a_flood_of_peers_that_close_at_once_leaves_nothing() {
    besiege(&Options::default(), |place, peer_type| {
        for _ in 0..amount(200, 10_000) {
            Raw::ready(place, peer_type);
        }
    });
}

#[test]
fn as_many_connections_as_allowed_are_kept_and_one_more_is_refused() {
    let _alone = alone();
    const CONNECTIONS_MAX: usize = 8;
    let options = Options { connections_max: CONNECTIONS_MAX, ..Options::default() };
    for (role, transport) in [("PULL", "tcp"), ("PULL", "ipc"), ("ROUTER", "tcp")] {
        let mut siege = Siege::new(role, transport, &options);
        let ready = |siege: &Siege| Raw::ready(&siege.place, siege.peer_type());
        // The good peer is one of them.
        let mut raws: Vec<Raw> = (1..CONNECTIONS_MAX).map(|_| ready(&siege)).collect();
        siege.serve_until("full", |stats| stats.peer_count == CONNECTIONS_MAX);
        assert_eq!(siege.stats().refused_connections, 0);
        for refused in 1..=3 {
            assert_eq!(Raw::connect(&siege.place).wait_for_end(), b"", "not a byte");
            siege.serve_until("refused", |stats| stats.refused_connections == refused);
        }
        raws.pop();
        siege.serve_until("one less", |stats| stats.peer_count < CONNECTIONS_MAX);
        raws.push(ready(&siege));
        siege.serve_until("full again", |stats| stats.peer_count == CONNECTIONS_MAX);
    }
}

#[test]
fn connections_that_wait_to_be_accepted_are_accepted_when_there_is_a_caller_again() {
    let _alone = alone();
    let mut siege = Siege::new("PULL", "tcp", &Options::default());
    // More than one turn of the listener takes, while no caller is inside.
    let raws: Vec<Raw> = (0..300).map(|_| Raw::ready(&siege.place, "PUSH")).collect();
    siege.serve_until("all there", |stats| stats.peer_count == 301);
    drop(raws);
    siege.serve_until("left alone", |stats| stats.peer_count == 1);
}
