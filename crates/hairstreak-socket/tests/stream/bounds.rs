//! Peers that send and do not stop, that do not read, that come and go, that say next to nothing: what each may hold
//! is bounded, and the others do not notice.

use std::io::Write;
use std::net::TcpStream;
use std::time::Duration;

use hairstreak_socket::{Options, SendError, Stream};
use hairstreak_testkit::{until, until_eq};

use crate::{LONG, client, listening, read_exactly, receive, receive_bytes, receive_notice, write};

/// A few exchanges with a good peer.
fn check_works(stream: &Stream, client: &mut TcpStream, name: &[u8]) {
    for number in 0..100u32 {
        write(client, &number.to_be_bytes());
        let mut got = Vec::new();
        while got.len() < 4 {
            let (from, bytes) = receive(stream);
            if from == name {
                got.extend(bytes);
            }
        }
        assert_eq!(got, number.to_be_bytes());
        stream.send_timeout(&[name, &got[..]], LONG).unwrap();
        stream.flush();
        assert_eq!(read_exactly(client, 4), number.to_be_bytes());
    }
}

#[test]
fn a_peer_that_does_not_read_is_full_at_its_mark_and_the_others_go_on() {
    const BYTES_MAX: usize = 1 << 20;
    let options = Options { send_bytes_max: BYTES_MAX, ..Options::default() };
    let (stream, place) = listening(options);
    let _lazy = client(&place);
    let lazy_name = receive_notice(&stream);
    let body = vec![7; 10_000];
    let mut accepted = 0;
    loop {
        match stream.send_timeout(&[&lazy_name[..], &body], Duration::from_millis(50)) {
            Ok(()) => accepted += 1,
            Err(error) => break assert_eq!(error, SendError::TimedOut),
        }
        assert!(accepted < 10_000, "no bound");
    }
    until("it is full", || stream.try_send(&[&lazy_name[..], &body]) == Err(SendError::WouldBlock));
    let stats = stream.stats();
    assert!(stats.queued_bytes <= BYTES_MAX + body.len() && stats.queued_bytes > 0, "{stats:?}");
    let mut good = client(&place);
    let good_name = receive_notice(&stream);
    check_works(&stream, &mut good, &good_name);
    assert_eq!(stream.stats().drops.total(), 0);
}

#[test]
fn what_a_peer_sends_to_an_application_that_does_not_receive_is_bounded() {
    const BYTES_MAX: usize = 200_000;
    let (stream, place) = listening(Options { receive_bytes_max: BYTES_MAX, ..Options::default() });
    let mut flood = client(&place);
    flood.set_write_timeout(Some(Duration::from_millis(300))).unwrap();
    let mut written = 0;
    while let Ok(count) = flood.write(&[7; 100_000]) {
        written += count;
        assert!(written < 100 << 20, "no bound");
    }
    // Not more than is read ahead and one read; the rest waits in the kernel.
    let held = stream.stats().received_bytes;
    assert!(held <= (BYTES_MAX + (1 << 17)) as u64, "{held} bytes read ahead");
    let name = receive_notice(&stream);
    assert_eq!(receive_bytes(&stream, &name, written).len(), written);
}

#[test]
fn connections_that_come_and_go_unnoticed_count_until_their_notices_are_taken() {
    const COUNT_MAX: usize = 8;
    let (stream, place) = listening(Options { connections_max: COUNT_MAX, ..Options::default() });
    for _ in 0..5 * COUNT_MAX {
        drop(client(&place));
    }
    until("the rest is refused", || stream.stats().refused_connections >= 4 * COUNT_MAX as u64);
    for _ in 0..COUNT_MAX {
        let name = receive_notice(&stream);
        let (other, bytes) = receive(&stream);
        // Those that are over by now have both notices, one after the other or in turn.
        assert!(bytes.is_empty() && (other == name || other.len() == 5));
    }
    // Nobody is there any more, and all notices of it are taken.
    until("nobody is left", || stream.stats().peer_count == 0 && stream.try_recv().is_err());
    let mut good = client(&place);
    let name = receive_notice(&stream);
    check_works(&stream, &mut good, &name);
}

#[test]
fn peers_that_say_next_to_nothing_hold_up_nobody() {
    let (stream, place) = listening(Options::default());
    let mut slow: Vec<_> = (0..200).map(|_| client(&place)).collect();
    for _ in 0..slow.len() {
        receive_notice(&stream);
    }
    let mut good = client(&place);
    let name = receive_notice(&stream);
    for client in &mut slow {
        write(client, b"G");
    }
    check_works(&stream, &mut good, &name);
    drop(slow);
    check_works(&stream, &mut good, &name);
}

#[test]
fn a_peer_that_never_ends_its_side_is_closed_after_the_linger_time() {
    let (stream, place) = listening(Options { linger_ms: 100, ..Options::default() });
    let mut stubborn = client(&place);
    let name = receive_notice(&stream);
    stream.send_timeout(&[&name[..], b"bye"], LONG).unwrap();
    stream.send(&[&name[..], b""]).unwrap();
    assert_eq!(read_exactly(&mut stubborn, 3), b"bye");
    until_eq("peers", 0, || stream.stats().peer_count);
}
