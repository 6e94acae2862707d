//! Peers that share memory in good order and then do as they like: they end their own connection at worst.

use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;

use hairstreak_socket::{Context, Options, Pull, Push};
use hairstreak_testkit::{Rng, rng, until, until_eq};
use hairstreak_transport::shm::Segment;
use hairstreak_wire::zmtp::{SharedStep, SocketType};

use crate::LONG;
use crate::endpoints::endpoint;
use crate::peer::{Peer, RING_SIZE, SEGMENT_SIZE};
use crate::soak::amount;

/// Overwrites a part of the segment: mostly words, mostly by what is nearly right.
fn scribble(file: &std::fs::File, rng: &mut Rng) {
    let at = if rng.bool() { 128 * rng.usize(0..32) } else { rng.usize(0..SEGMENT_SIZE - 700) };
    let near = (rng.u64(0..3 * RING_SIZE as u64)).to_ne_bytes();
    let noise: Vec<u8> = (0..rng.usize(1..700)).map(|_| rng.u8(..)).collect();
    file.write_all_at(if rng.u8(..) < 200 { &near } else { &noise }, at as u64).unwrap();
}

/// Writes and scribbles until the other end has had enough, or for a while.
fn rage(place: &str, socket_type: SocketType, rng: &mut Rng) {
    let mut peer = Peer::connect(place, socket_type, true);
    let file = peer.give();
    for turn in 0..200 {
        peer.write(b"\x00\x05fine.");
        if turn > 20 {
            scribble(&file, rng);
        }
        if peer.read().is_ok_and(|bytes| bytes.is_empty()) {
            break;
        }
    }
}

#[test]
fn peers_that_scribble_over_the_whole_segment_hurt_no_other_of_a_receiver() {
    let place = endpoint("shm");
    let options = Options { shared_ring_bytes: RING_SIZE, ..Options::default() };
    let pull = Pull::with_options(&Context::new(), options.clone()).unwrap();
    pull.bind(&place).unwrap();
    let push = Push::with_options(&Context::new(), options).unwrap();
    push.connect(&place).unwrap();
    let attacker = std::thread::spawn({
        let (place, mut rng) = (place.clone(), rng());
        move || (0..amount(150, 5000)).for_each(|_| rage(&place, SocketType::Push, &mut rng))
    });
    let mut number = 0u64;
    while !attacker.is_finished() || number < 1000 {
        let body = [b"good", &number.to_le_bytes()[..]].concat().repeat(1 + number as usize % 200);
        push.send_timeout(&body, LONG).unwrap();
        push.flush();
        until("the good message", || pull.recv_timeout(LONG).unwrap().body() == body);
        number += 1;
    }
    attacker.join().unwrap();
    assert_eq!(push.stats().failed_connections, 0);
}

#[test]
fn peers_that_scribble_over_the_whole_segment_hurt_no_other_of_a_sender() {
    let place = endpoint("shm");
    let push = Push::new(&Context::new()).unwrap();
    push.bind(&place).unwrap();
    let pull = Pull::new(&Context::new()).unwrap();
    pull.connect(&place).unwrap();
    assert!(push.wait_for_peers(1, LONG));
    let mut rng = rng();
    let attacker = std::thread::spawn({
        let (place, mut rng) = (place.clone(), rng.fork());
        move || (0..amount(150, 5000)).for_each(|_| rage(&place, SocketType::Pull, &mut rng))
    });
    let mut received = 0;
    while !attacker.is_finished() || received < 1000 {
        push.send_timeout(vec![7; 1 + rng.usize(0..5000)].as_slice(), LONG).unwrap();
        received += usize::from(pull.try_recv().is_ok());
    }
    attacker.join().unwrap();
    assert_eq!(pull.stats().failed_connections, 0);
    assert!(received >= 1000);
}

#[test]
fn a_peer_that_does_not_keep_to_the_agreement_is_closed() {
    let place = endpoint("shm");
    let pull = Pull::new(&Context::new()).unwrap();
    pull.bind(&place).unwrap();
    let mut failures = 0;
    let mut check = |what: &str, act: &dyn Fn(&mut Peer), gives| {
        let mut peer = Peer::connect(&place, SocketType::Push, gives);
        act(&mut peer);
        failures += 1;
        until(what, || {
            let _ = peer.read();
            pull.stats().failed_connections == failures
        });
    };
    let send = |bytes: Vec<u8>| {
        move |peer: &mut Peer| {
            assert_eq!(peer.write(&bytes), bytes.len());
        }
    };
    let answer = |step: SharedStep| send(step.to_frame());
    check("a message where a segment should come", &send(b"\x00\x01x".to_vec()), true);
    check("a segment taken that was not given", &answer(SharedStep::Taken), true);
    check("a segment given by who should take one", &answer(SharedStep::Given), false);
    check("another command", &send(b"\x04\x05\x04PONG".to_vec()), true);
    check("a long command", &send(b"\x06\0\0\0\0\0\0\xff\0".to_vec()), true);
    // These leave the connection on the socket, which this endpoint does not want.
    check("no segment", &answer(SharedStep::None), true);
    check("an offer without descriptor", &answer(SharedStep::Given), true);
    let give_small = |peer: &mut Peer| {
        let (_, file) = Segment::create(RING_SIZE * 2).unwrap();
        peer.stream.write_with(&SharedStep::Given.to_frame(), file.as_fd()).unwrap();
    };
    check("a segment of another size", &give_small, true);
    let give_file = |peer: &mut Peer| {
        let file = std::fs::File::open("/proc/self/exe").unwrap();
        peer.stream.write_with(&SharedStep::Given.to_frame(), file.as_fd()).unwrap();
    };
    check("no segment at all", &give_file, true);
}

#[test]
fn one_byte_at_a_time_is_fine_and_a_peer_that_says_nothing_is_given_up() {
    let place = endpoint("shm");
    let options = Options { handshake_timeout_ms: 300, ..Options::default() };
    let pull = Pull::with_options(&Context::new(), options).unwrap();
    pull.bind(&place).unwrap();
    let mut peer = Peer::connect(&place, SocketType::Push, false);
    peer.take();
    for byte in b"\x00\x05slow." {
        until("room", || peer.write(&[*byte]) == 1);
    }
    assert_eq!(pull.recv_timeout(LONG).unwrap().body(), b"slow.");
    let _silent =
        (Peer::connect(&place, SocketType::Push, true), Peer::connect(&place, SocketType::Push, false));
    until_eq("failed connections", 2, || pull.stats().failed_connections);
    assert_eq!(pull.peers().len(), 1);
}
