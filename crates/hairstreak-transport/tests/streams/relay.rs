//! The relay of `examples/relay`: bytes pass between connections of two loops over every kind of stream, a side that stops
//! reading stops the other, and nothing hangs after the death of either side.

#[path = "../../examples/relay/relay.rs"]
mod protocol;

use std::sync::Arc;
use std::time::Duration;

use hairstreak_testkit::{rng, until_eq};
use hairstreak_transport::event_loop::{EventLoops, LoopOptions};

use self::protocol::Relay;
use crate::end::End;
use crate::kind::{Connector, Kind, Place};

/// The largest number of bytes between a client and a server that does not read: the relay's window, its buffers, and the
/// buffers of the kernel for two connections, which grow up to some MiB a socket.
const ON_THE_WAY_MAX: usize = 48 << 20;
/// A client without an event for this time is stopped.
const STOPPED_AFTER: Duration = Duration::from_millis(200);

/// A relay, and its destination.
struct Bench {
    loops: EventLoops<Relay>,
    client_place: Connector,
    server_place: Place,
}

impl Bench {
    fn new(client_kind: Kind, server_kind: Kind, options: LoopOptions) -> Bench {
        let (client_place, server_place) = (client_kind.listen(), server_kind.listen());
        let server = server_place.connector();
        let connect: protocol::Connect = Arc::new(move || server.connect());
        let loops = EventLoops::start(options).unwrap();
        let connector = client_place.connector();
        loops.listen(client_place.listener, move |_| Some(Relay::accepted(Arc::clone(&connect))));
        Bench { loops, client_place: connector, server_place }
    }

    fn of(kind: Kind) -> Bench {
        Bench::new(kind, kind, two_loops())
    }

    /// A client and the server's end of its connection, both established.
    fn ends(&self) -> (End, End) {
        let mut client = End::new(self.client_place.connect().unwrap());
        client.establish_by_events().unwrap();
        let mut server = End::new(self.server_place.accept());
        server.establish_by_events().unwrap();
        (client, server)
    }

    /// Waits until the relay has no connection left.
    fn wait_until_over(&self) {
        let handle = self.loops.handle();
        until_eq("connections", 0, || handle.connection_count());
    }
}

fn two_loops() -> LoopOptions {
    LoopOptions { loop_count: 2, name: "relay".into(), ..LoopOptions::default() }
}

fn exchange(mut client: End, mut server: End, up: usize, down: usize) {
    let mut random = rng();
    let (one, other) = (random.fork(), random.fork());
    std::thread::scope(|scope| {
        scope.spawn(move || client.exchange(up, down, one));
        server.exchange(down, up, other);
    });
}

#[test]
fn bytes_pass_both_ways_and_each_direction_ends_by_itself() {
    for kind in Kind::ALL {
        let bench = Bench::of(kind);
        for (up, down) in [(3 << 20, 2 << 20), (0, 1 << 20), (1, 0)] {
            println!("{kind:?}: {up} up, {down} down");
            let (client, server) = bench.ends();
            exchange(client, server, up, down);
            bench.wait_until_over();
        }
    }
}

#[test]
fn the_two_sides_may_be_of_different_kinds() {
    for (client_kind, server_kind) in Kind::ALL.into_iter().zip(Kind::ALL.into_iter().rev()) {
        println!("{client_kind:?} to {server_kind:?}");
        let bench = Bench::new(client_kind, server_kind, two_loops());
        let (client, server) = bench.ends();
        exchange(client, server, 1 << 20, 1 << 20);
        bench.wait_until_over();
    }
}

#[test]
fn a_server_that_stops_reading_stops_the_client_and_loses_nothing() {
    for kind in Kind::ALL {
        let bench = Bench::of(kind);
        let (mut client, mut server) = bench.ends();
        let sent = client.write_until_stopped(8 * ON_THE_WAY_MAX, STOPPED_AFTER);
        println!("{kind:?}: {sent} bytes on the way");
        assert!(sent < ON_THE_WAY_MAX, "{kind:?}: {sent} bytes");
        std::thread::scope(|scope| {
            scope.spawn(|| client.end_output());
            let (received, end) = server.read_to_end();
            assert_eq!((received, end.is_ok()), (sent, true), "{kind:?}");
        });
        drop((client, server));
        bench.wait_until_over();
    }
}

#[test]
fn whichever_side_dies_the_other_sees_the_end_and_nothing_is_left() {
    for kind in Kind::ALL {
        for client_dies in [true, false] {
            for is_stopped in [false, true] {
                println!("{kind:?}, the client dies: {client_dies}, the server does not read: {is_stopped}");
                let bench = Bench::of(kind);
                let (mut client, server) = bench.ends();
                if is_stopped {
                    client.write_until_stopped(8 * ON_THE_WAY_MAX, STOPPED_AFTER);
                }
                let mut left = if client_dies {
                    drop(client);
                    server
                } else {
                    drop(server);
                    client
                };
                // The end of the stream, or the error of a broken connection.
                let _ = left.read_to_end();
                drop(left);
                bench.wait_until_over();
            }
        }
    }
}

#[test]
fn a_client_whose_server_cannot_be_reached_sees_the_end() {
    let bench = Bench::of(Kind::Ipc);
    let Bench { loops, client_place, server_place } = bench;
    drop(server_place);
    let mut client = End::new(client_place.connect().unwrap());
    client.establish_by_events().unwrap();
    let (received, _) = client.read_to_end();
    assert_eq!(received, 0);
    loops.stop().unwrap();
}

#[test]
fn one_that_floods_does_not_keep_another_from_its_turn() {
    let bench = Bench::of(Kind::Tcp);
    let (mut flooding, mut drain) = bench.ends();
    let (mut client, mut server) = bench.ends();
    let is_over = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| flooding.write_while(|| !is_over.load(std::sync::atomic::Ordering::Relaxed)));
        scope.spawn(|| drain.read_to_end());
        for round in 0..300 {
            client.write_all(&[round as u8]);
            assert_eq!(server.read_some(), [round as u8]);
            server.write_all(&[round as u8, 1]);
            assert_eq!(client.read_some(), [round as u8, 1]);
        }
        is_over.store(true, std::sync::atomic::Ordering::Relaxed);
    });
}

#[test]
fn a_stop_ends_every_connection() {
    for kind in Kind::ALL {
        let bench = Bench::of(kind);
        let (mut client, mut server) = bench.ends();
        client.write_all(b"hello");
        assert_eq!(server.read_some(), b"hello");
        std::thread::scope(|scope| {
            scope.spawn(|| {
                assert!(client.read_to_end().1.is_ok());
                client.end_output();
            });
            scope.spawn(|| {
                assert!(server.read_to_end().1.is_ok());
                server.end_output();
            });
            let Bench { loops, .. } = bench;
            loops.stop().unwrap();
        });
    }
}

#[test]
fn a_stream_that_is_not_established_in_time_or_beyond_the_bound_is_closed() {
    let options =
        LoopOptions { establish_timeout: Duration::from_millis(100), connections_max: 1, ..two_loops() };
    for kind in [Kind::Rings, Kind::Tls] {
        not_established_in_time(&Bench::new(kind, kind, options.clone()));
    }
}

fn not_established_in_time(bench: &Bench) {
    // A stranger that sends nothing during the agreement on shared memory or TLS.
    let mut stranger = End::new(bench.client_place.connect_plain().unwrap());
    let (received, _) = stranger.read_to_end();
    assert_eq!(received, 0);
    bench.wait_until_over();
    let (mut first, mut second) = (
        End::new(bench.client_place.connect_plain().unwrap()),
        End::new(bench.client_place.connect_plain().unwrap()),
    );
    for end in [&mut first, &mut second] {
        let _ = end.read_to_end();
    }
    bench.wait_until_over();
}
