//! One STREAM with clients of the standard library, and with another STREAM.

use std::net::{Shutdown, TcpListener};

use hairstreak_socket::monitor::{DisconnectCause, EventKind};
use hairstreak_socket::security::{Login, Security};
use hairstreak_socket::{BindError, ConnectError, Context, Options, Overflow, SendError, Stream};
use hairstreak_testkit::until_eq;

use crate::{LONG, client, listening, read_exactly, receive, receive_bytes, receive_notice, write};
use std::io::Read;

/// Bytes that tell where they belong.
fn pattern(count: usize) -> Vec<u8> {
    (0..count).map(|at| (at * 7 + at / 251) as u8).collect()
}

#[test]
fn bytes_go_both_ways_as_they_are_between_two_notices() {
    let (stream, place) = listening(Options::default());
    for _ in 0..3 {
        let mut client = client(&place);
        let name = receive_notice(&stream);
        assert_eq!(stream.peers()[0].routing_id, name);
        write(&mut client, b"GET / HTTP/1.0\r\n\r\n");
        assert_eq!(receive_bytes(&stream, &name, 18), b"GET / HTTP/1.0\r\n\r\n");
        stream.send(&[&name[..], b"HTTP/1.0 200 OK\r\n", b"", b"\r\nhello"]).unwrap();
        stream.flush();
        assert_eq!(read_exactly(&mut client, 24), b"HTTP/1.0 200 OK\r\n\r\nhello");
        drop(client);
        assert_eq!(receive_notice(&stream), name);
        until_eq("peers", 0, || stream.stats().peer_count);
        assert_eq!(stream.send(&[&name[..], b"late"]), Err(SendError::Unroutable));
    }
}

#[test]
fn every_size_arrives_whole_and_in_order() {
    let (stream, place) = listening(Options::default());
    let mut client = client(&place);
    let name = receive_notice(&stream);
    for size in [1, 2, 61, 62, 63, 255, 256, 8191, 65_535, 65_536, 65_537, 3_000_000] {
        let bytes = pattern(size);
        let mut reader = client.try_clone().unwrap();
        let echo = std::thread::spawn(move || read_exactly(&mut reader, size));
        stream.send_timeout(&[&name[..], &bytes], LONG).unwrap();
        stream.flush();
        assert!(echo.join().unwrap() == bytes, "{size} bytes out");
        let mut writer = client.try_clone().unwrap();
        let sent = bytes.clone();
        let sender = std::thread::spawn(move || write(&mut writer, &sent));
        assert!(receive_bytes(&stream, &name, size) == bytes, "{size} bytes in");
        sender.join().unwrap();
    }
    // Many small ones gather.
    for at in 0..10_000u32 {
        stream.send_timeout(&[&name[..], &at.to_be_bytes()], LONG).unwrap();
    }
    stream.flush();
    let all: Vec<u8> = (0..10_000u32).flat_map(u32::to_be_bytes).collect();
    assert!(read_exactly(&mut client, all.len()) == all);
    let stats = stream.stats();
    assert_eq!((stats.sent, stats.queued_count, stats.drops.total()), (10_012, 0, 0));
    let bytes = stats.received_bytes;
    assert_eq!(bytes, [1, 2, 61, 62, 63, 255, 256, 8191, 65_535, 65_536, 65_537, 3_000_000].iter().sum());
}

#[test]
fn a_message_without_bytes_closes_when_all_before_has_gone() {
    let (stream, place) = listening(Options::default());
    let mut monitor = stream.monitor().unwrap();
    for closing in [&[&b""[..]][..], &[b"", b""]] {
        let mut client = client(&place);
        let name = receive_notice(&stream);
        let bytes = pattern(2_000_000);
        stream.send_timeout(&[&name[..], &bytes], LONG).unwrap();
        let close = [&[&name[..]], closing].concat();
        stream.send(&close[..]).unwrap();
        assert_eq!(stream.send(&[&name[..], b"more"]), Err(SendError::Unroutable));
        assert_eq!(stream.send(&close[..]), Err(SendError::Unroutable), "it is closed already");
        let mut got = Vec::new();
        client.read_to_end(&mut got).unwrap();
        assert!(got == bytes);
        // What it says now, nobody hears; and this side does not tell itself.
        write(&mut client, b"bye");
        drop(client);
        until_eq("peers", 0, || stream.stats().peer_count);
        assert!(stream.try_recv().is_err());
        let last = loop {
            let event = monitor.recv_timeout(LONG).unwrap();
            if let EventKind::Disconnected { cause, .. } = event.kind {
                break cause;
            }
        };
        assert_eq!(last, DisconnectCause::Local);
    }
    monitor = stream.monitor().unwrap();
    assert!(monitor.try_recv().is_err());
}

#[test]
fn what_a_peer_sent_last_comes_before_the_notice_of_its_end() {
    let (stream, place) = listening(Options::default());
    for size in [1, 100_000, 2_000_000] {
        let bytes = pattern(size);
        let mut client = client(&place);
        let sent = bytes.clone();
        let sender = std::thread::spawn(move || write(&mut client, &sent));
        let name = receive_notice(&stream);
        assert!(receive_bytes(&stream, &name, size) == bytes);
        sender.join().unwrap();
        assert_eq!(receive(&stream), (name, Vec::new()));
    }
    // A peer that ends its side only is over for us as well.
    let client = client(&place);
    let name = receive_notice(&stream);
    client.shutdown(Shutdown::Write).unwrap();
    assert_eq!(receive(&stream), (name, Vec::new()));
}

#[test]
fn a_plain_server_is_connected_to_again_and_given_up_when_it_is_closed() {
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let place = format!("tcp://{}", server.local_addr().unwrap());
    let stream = Stream::new(&Context::new()).unwrap();
    stream.connect(&place).unwrap();
    let mut names = Vec::new();
    for _ in 0..3 {
        let (mut accepted, _) = server.accept().unwrap();
        let name = receive_notice(&stream);
        assert!(!names.contains(&name), "another connection has another name");
        stream.send(&[&name[..], b"hello"]).unwrap();
        stream.flush();
        assert_eq!(read_exactly(&mut accepted, 5), b"hello");
        drop(accepted);
        assert_eq!(receive_notice(&stream), name);
        names.push(name);
    }
    let (mut accepted, _) = server.accept().unwrap();
    let name = receive_notice(&stream);
    stream.send(&[&name[..], b""]).unwrap();
    accepted.set_read_timeout(Some(LONG)).unwrap();
    assert_eq!(accepted.read(&mut [0; 8]).unwrap(), 0);
    drop(accepted);
    until_eq("peers", 0, || stream.stats().peer_count);
    assert!(!stream.disconnect(&place), "it is given up already");
}

#[test]
fn two_streams_talk_over_tcp_and_ipc() {
    for transport in ["tcp", "ipc"] {
        let (one, other) = (Stream::new(&Context::new()).unwrap(), Stream::new(&Context::new()).unwrap());
        other.connect(&one.bind(&crate::endpoints::endpoint(transport)).unwrap().to_string()).unwrap();
        let (to_other, to_one) = (receive_notice(&one), receive_notice(&other));
        one.send(&[&to_other[..], b"ping"]).unwrap();
        one.flush();
        assert_eq!(receive_bytes(&other, &to_one, 4), b"ping");
        other.send(&[&to_one[..], b"pong"]).unwrap();
        other.flush();
        assert_eq!(receive_bytes(&one, &to_other, 4), b"pong");
        one.close();
        assert_eq!(receive_notice(&other), to_one);
    }
}

#[test]
fn what_makes_no_sense_is_refused() {
    let stream = Stream::new(&Context::new()).unwrap();
    for place in ["inproc://a", "shm://a"] {
        assert!(matches!(stream.bind(place), Err(BindError::NeedsZmtp(_))));
        assert!(matches!(stream.connect(place), Err(ConnectError::NeedsZmtp(_))));
    }
    assert_eq!(stream.send(b"no name"), Err(SendError::Unroutable));
    assert_eq!(stream.send(&[b"nobody", &b"x"[..]]), Err(SendError::Unroutable));
    let secured = Security::Plain(Login::new(b"ann", b"secret").unwrap());
    for options in [
        Options { security: secured, ..Options::default() },
        Options { overflow: Some(Overflow::DropNewest), ..Options::default() },
        Options { overflow: Some(Overflow::DropOldest), ..Options::default() },
    ] {
        assert!(Stream::with_options(&Context::new(), options).is_err());
    }
}

#[test]
fn a_peer_that_speaks_zmtp_is_a_plain_one_too() {
    let (stream, place) = listening(Options::default());
    let push = hairstreak_socket::Push::new(&Context::new()).unwrap();
    push.connect(&place).unwrap();
    let name = receive_notice(&stream);
    let greeting = receive_bytes(&stream, &name, 11);
    assert_eq!((greeting[0], greeting[9], greeting[10]), (0xff, 0x7f, 3));
}
