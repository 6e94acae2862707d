//! Listening, connecting, trying again, and the end.

use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};
use std::os::fd::OwnedFd;

use hairstreak_socket::monitor::{ConnectionId, DisconnectCause, EventKind, MonitorRecvError};
use hairstreak_socket::{Context, Dealer, Options, Pull, Push, Router};

use rustix::net::{self, AddressFamily, SocketType};

use crate::LONG;
use crate::endpoints::endpoint;
use crate::witness::Witness;

fn no_shared_memory() -> Options {
    Options { shared_memory: false, ..Options::default() }
}

/// An endpoint that nobody listens at. A tcp port stays ours with what is returned: another test could get it, or
/// a connect to it could have it as its own port and meet itself.
fn free_endpoint(transport: &str) -> (String, Option<OwnedFd>) {
    if transport != "tcp" {
        return (endpoint(transport), None);
    }
    let fd = net::socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
    net::sockopt::set_socket_reuseaddr(&fd, true).unwrap();
    net::bind(&fd, &SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = SocketAddr::try_from(net::getsockname(&fd).unwrap()).unwrap();
    (format!("tcp://{address}"), Some(fd))
}

#[test]
fn both_sides_are_told_of_a_connection_from_its_beginning_to_its_end() {
    for transport in ["tcp", "ipc"] {
        let router = Router::with_options(&Context::new(), no_shared_memory()).unwrap();
        let mut host = Witness::of(&router);
        let place = router.bind(&endpoint(transport)).unwrap();
        let event = host.expect(EventKind::Listening);
        assert_eq!((event.endpoint.as_ref(), event.connection), (Some(&place), None));

        let options = Options { routing_id: Some(b"ann".to_vec()), ..no_shared_memory() };
        let dealer = Dealer::with_options(&Context::new(), options).unwrap();
        let mut guest = Witness::of(&dealer);
        dealer.connect(&place.to_string()).unwrap();
        let connected = guest.wait_for(|kind| *kind == EventKind::Connected);
        let ready = guest.expect(EventKind::HandshakeSucceeded);
        assert_eq!((connected.endpoint.as_ref(), connected.connection), (Some(&place), ready.connection));
        assert_eq!(ready.connection, Some(ConnectionId(1)));
        assert_eq!(dealer.peers()[0].connection, ConnectionId(1));

        let accepted = host.expect(EventKind::Accepted);
        let ready = host.expect(EventKind::HandshakeSucceeded);
        assert_eq!((accepted.connection, ready.connection), (Some(ConnectionId(1)), Some(ConnectionId(1))));
        assert_eq!((accepted.routing_id, ready.routing_id), (Vec::new(), b"ann".to_vec()));
        assert_eq!(ready.remote, router.peers()[0].remote);
        assert_eq!(ready.remote.is_some(), transport == "tcp");
        assert!(ready.at >= accepted.at || accepted.at.duration_since(ready.at).unwrap() < LONG);

        dealer.close();
        guest.expect(EventKind::Closed);
        let gone = host.next();
        assert!(matches!(gone.kind, EventKind::Disconnected { cause: DisconnectCause::Peer, .. }));
        assert_eq!((gone.connection, gone.routing_id), (Some(ConnectionId(1)), b"ann".to_vec()));
        let left = guest.next();
        assert!(
            matches!(left.kind, EventKind::Disconnected { cause: DisconnectCause::Local, .. }),
            "{left:?}"
        );
        assert_eq!(left.endpoint.as_ref(), Some(&place));

        assert!(router.unbind(&place));
        host.expect(EventKind::Unbound);
        router.close();
        host.expect(EventKind::Closed);
    }
}

#[test]
fn who_connects_before_anybody_has_bound_is_told_of_every_attempt() {
    for transport in ["tcp", "ipc"] {
        let (place, _port) = free_endpoint(transport);
        let options = Options { reconnect_min_ms: 1, ..Options::default() };
        let push = Push::with_options(&Context::new(), options).unwrap();
        let mut monitor = Witness::of(&push);
        push.connect(&place).unwrap();
        let mut waits = Vec::new();
        for number in 1..=5 {
            let failed = monitor.wait_for(|kind| matches!(kind, EventKind::ConnectFailed { .. }));
            assert_eq!(failed.endpoint.unwrap().to_string(), place);
            let retrying = monitor.next();
            let EventKind::Retrying { wait, attempt } = retrying.kind else { panic!("{retrying:?}") };
            assert_eq!(attempt, number);
            waits.push(wait);
        }
        assert!(waits[4] > waits[0], "{waits:?}");
        let pull = Pull::new(&Context::new()).unwrap();
        pull.bind(&place).unwrap();
        let connected = monitor.wait_for(|kind| *kind == EventKind::Connected);
        let ready = monitor.expect(EventKind::HandshakeSucceeded);
        assert_eq!(connected.connection, ready.connection);
        if transport == "tcp" {
            assert!(monitor.told.iter().any(|event| event.kind == EventKind::Connecting));
        } else {
            monitor.expect(EventKind::SharedMemory);
        }
    }
}

#[test]
fn who_finds_the_peer_again_is_told_of_another_connection() {
    for transport in ["tcp", "ipc", "shm"] {
        let pull = Pull::new(&Context::new()).unwrap();
        let place = pull.bind(&endpoint(transport)).unwrap().to_string();
        let push = Push::new(&Context::new()).unwrap();
        let mut monitor = Witness::of(&push);
        push.connect(&place).unwrap();
        let first = monitor.wait_for(|kind| *kind == EventKind::HandshakeSucceeded);
        pull.close();
        let gone = monitor.wait_for(|kind| matches!(kind, EventKind::Disconnected { .. }));
        assert_eq!(gone.connection, first.connection);
        monitor.wait_for(|kind| matches!(kind, EventKind::Retrying { .. }));
        let pull = Pull::new(&Context::new()).unwrap();
        // The name is free once the last listener is gone, which was closed above.
        pull.bind(&place).unwrap();
        let second = monitor.wait_for(|kind| *kind == EventKind::HandshakeSucceeded);
        assert!(second.connection > first.connection);
    }
}

#[test]
fn what_cannot_be_bound_or_looked_up_is_told_with_the_reason() {
    let (pull, other) = (Pull::new(&Context::new()).unwrap(), Pull::new(&Context::new()).unwrap());
    for transport in ["tcp", "ipc", "inproc"] {
        let place = pull.bind(&endpoint(transport)).unwrap().to_string();
        let mut monitor = Witness::of(&other);
        let error = other.bind(&place).unwrap_err().to_string();
        let event = monitor.expect(EventKind::BindFailed { reason: error });
        assert_eq!(event.endpoint.unwrap().to_string(), place);
    }
    let push = Push::new(&Context::new()).unwrap();
    let mut monitor = Witness::of(&push);
    push.connect("tcp://no-such-host.invalid:1").unwrap();
    monitor.expect(EventKind::Connecting);
    let EventKind::ConnectFailed { reason } = monitor.next().kind else { panic!("{:?}", monitor.told) };
    assert!(reason.contains("no-such-host.invalid"), "{reason}");
    monitor.wait_for(|kind| matches!(kind, EventKind::Retrying { .. }));
}

#[test]
fn inproc_peers_are_told_of_too() {
    let place = endpoint("inproc");
    let push = Push::new(&Context::new()).unwrap();
    let mut monitor = Witness::of(&push);
    push.connect(&place).unwrap();
    monitor.expect(EventKind::Connecting);
    let pull = Pull::new(&Context::new()).unwrap();
    let mut other = Witness::of(&pull);
    pull.bind(&place).unwrap();
    monitor.expect(EventKind::HandshakeSucceeded);
    other.wait_for(|kind| *kind == EventKind::HandshakeSucceeded);
    push.close();
    monitor.expect(EventKind::Closed);
    let left = monitor.next();
    assert!(matches!(left.kind, EventKind::Disconnected { cause: DisconnectCause::Local, .. }));
    let gone = other.wait_for(|kind| matches!(kind, EventKind::Disconnected { .. }));
    assert_eq!((gone.connection, gone.endpoint), (Some(ConnectionId(1)), Some(place.parse().unwrap())));
}

#[test]
fn the_end_of_a_peer_whose_messages_are_still_unread_is_told_once() {
    for transport in ["tcp", "ipc", "inproc"] {
        let (pull, push) = (Pull::new(&Context::new()).unwrap(), Push::new(&Context::new()).unwrap());
        let mut monitor = Witness::of(&pull);
        push.connect(&pull.bind(&endpoint(transport)).unwrap().to_string()).unwrap();
        for _ in 0..100 {
            push.send_timeout(b"unread", LONG).unwrap();
        }
        push.close();
        if transport != "inproc" {
            monitor.wait_for(|kind| matches!(kind, EventKind::Disconnected { .. }));
        }
        for _ in 0..100 {
            pull.recv_timeout(LONG).unwrap();
        }
        assert!(pull.try_recv().is_err());
        if transport == "inproc" {
            monitor.wait_for(|kind| matches!(kind, EventKind::Disconnected { .. }));
        }
        pull.close();
        monitor.expect(EventKind::Unbound);
        monitor.expect(EventKind::Closed);
    }
}

#[test]
fn the_stream_ends_when_all_has_been_told() {
    for transport in ["tcp", "ipc", "inproc"] {
        let (pull, push) = (Pull::new(&Context::new()).unwrap(), Push::new(&Context::new()).unwrap());
        let place = pull.bind(&endpoint(transport)).unwrap().to_string();
        push.connect(&place).unwrap();
        assert!(push.wait_for_peers(1, LONG));
        let monitor = push.monitor().unwrap();
        // The one that is blocked is told as well.
        let last = std::thread::spawn(move || {
            let mut last = None;
            loop {
                match monitor.recv() {
                    Ok(event) => last = Some(event.kind),
                    Err(error) => break (error, last.unwrap(), monitor.try_recv().unwrap_err()),
                }
            }
        });
        // Another handle does not keep it from ending, nor does it need one.
        let clone = push.clone();
        push.close();
        pull.close();
        let (error, last, again) = last.join().unwrap();
        assert_eq!((error, again), (MonitorRecvError::Ended, MonitorRecvError::Ended));
        assert!(matches!(last, EventKind::Disconnected { .. }), "{last:?}");
        assert_eq!(clone.monitor().unwrap_err().to_string(), "the socket is closed");
    }
}
