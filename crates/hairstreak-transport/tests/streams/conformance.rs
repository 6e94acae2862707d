//! The behaviour that all kinds of streams share.

use std::io::{ErrorKind, IoSlice};
use std::mem::MaybeUninit;
use std::thread;

use hairstreak_testkit::rng;

use crate::end::{End, pattern};
use crate::kind::Kind;

#[test]
fn bytes_cross_both_ways_at_once_and_the_ends_follow_them() {
    for kind in Kind::ALL {
        println!("{kind:?}");
        let mut random = rng();
        for _ in 0..8 {
            let [there, back] = [(); 2].map(|()| random.usize(0..3_000_000));
            let place = kind.listen();
            let (mut client, mut server) = place.ends();
            let own = random.fork();
            let peer = thread::spawn(move || {
                server.establish_by_events().unwrap();
                server.exchange(back, there, own);
                server
            });
            client.establish_by_events().unwrap();
            client.exchange(there, back, random.fork());
            peer.join().unwrap();
        }
    }
}

#[test]
fn bytes_in_flight_at_the_end_of_writing_arrive_before_the_end() {
    for kind in Kind::ALL {
        let (mut client, mut server) = kind.ends();
        // The bytes that fit without a reader.
        let mut sent = 0;
        while let count @ 1.. = client.write(&pattern(sent, 50_000)).unwrap() {
            sent += count;
        }
        client.stream.shutdown_write();
        let reader = thread::spawn(move || server.read_to_end());
        client.flush_all();
        drop(client);
        let (received, end) = reader.join().unwrap();
        assert_eq!(received, sent, "{kind:?}");
        end.unwrap();
    }
}

#[test]
fn the_end_of_one_way_leaves_the_other_open() {
    for kind in Kind::ALL {
        let (mut client, mut server) = kind.ends();
        client.stream.shutdown_write();
        assert_eq!(server.read_to_end().0, 0, "{kind:?}");
        assert_eq!(server.write(&pattern(0, 1000)).unwrap(), 1000, "{kind:?}");
        server.stream.shutdown_write();
        let (received, end) = client.read_to_end();
        assert_eq!(received, 1000, "{kind:?}");
        end.unwrap();
    }
}

#[test]
fn a_side_that_never_sleeps_because_it_always_finds_something_to_read_goes_on() {
    let (mut busy, mut peer) = Kind::Rings.ends();
    let mut room = [MaybeUninit::uninit(); 1 << 14];
    for round in 0..2000 {
        // The stream is full: the peer wakes the writer when there is room again.
        while busy.stream.write(&[IoSlice::new(&[0; 1 << 14])]).is_ok() {}
        peer.stream.read(&mut room).unwrap();
        assert_eq!(peer.stream.write(&[IoSlice::new(&[round as u8])]).unwrap(), 1);
        assert_eq!(busy.stream.read(&mut room).unwrap(), [round as u8]);
    }
}

#[test]
fn a_stream_that_is_not_established_neither_reads_nor_writes() {
    for kind in [Kind::Rings, Kind::Tls] {
        let place = kind.listen();
        let (mut client, _server) = place.ends();
        assert!(!client.stream.is_established());
        assert_eq!(client.write(b"early").unwrap_err().kind(), ErrorKind::NotConnected);
        assert_eq!(client.read(10).unwrap_err().kind(), ErrorKind::NotConnected);
    }
}

#[test]
fn a_connect_that_nobody_answers_fails_when_it_is_established() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap();
    drop(taken);
    let refused = match hairstreak_transport::Stream::connect_tcp(address) {
        Ok(stream) => End::new(stream).establish_by_events().unwrap_err(),
        Err(error) => error,
    };
    assert_eq!(refused.kind(), ErrorKind::ConnectionRefused);
}
