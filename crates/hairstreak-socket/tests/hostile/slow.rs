//! Peers that are slow on purpose: served at their pace, at nobody else's cost.

use hairstreak_socket::Options;

use crate::raw::{MORE, Raw, frame, greeting, ready};
use crate::siege::besiege;

const COUNT: usize = 300;

#[test]
fn hundreds_of_peers_that_write_byte_by_byte_are_served_like_any() {
    besiege(&Options::default(), |place, peer_type| {
        let mut raws: Vec<Raw> = (0..COUNT).map(|_| Raw::connect(place)).collect();
        let handshake = [greeting(), ready(&[("Socket-Type", peer_type.as_bytes())])].concat();
        let message = [frame(MORE, b"slow"), frame(0, b"and steady")].concat();
        for byte in [handshake, message].concat() {
            raws.iter_mut().for_each(|raw| raw.send(&[byte]));
        }
        // The peer's half is only there when it has taken part to the end.
        raws.iter_mut().for_each(Raw::read_handshake);
        raws
    });
}

#[test]
fn hundreds_of_messages_that_never_end_wait_at_nobodys_cost() {
    besiege(&Options::default(), |place, peer_type| {
        let mut raws: Vec<Raw> = (0..COUNT).map(|_| Raw::ready(place, peer_type)).collect();
        for number in 0..20u8 {
            raws.iter_mut().for_each(|raw| raw.send(&frame(MORE, &[number; 100])));
        }
        raws
    });
}
