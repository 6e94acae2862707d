//! The end of a connection that its client or the node has closed: the side that ends the stream, and the time of that.

use std::time::Duration;

use hairstreak_wire::amqp::{FieldTable, Method, PROTOCOL_HEADER, channel, connection, decode_frame};

use super::{FRAME_SIZE, World, login_with, method_names};
use crate::node::Lingering;

const SECOND: Duration = Duration::from_secs(1);

fn close() -> Vec<u8> {
    let mut bytes = Vec::new();
    Method::ConnectionClose(connection::Close::default()).encode(0, &mut bytes);
    bytes
}

/// A client with this heartbeat interval in seconds that has closed its connection and was answered.
fn closed(heartbeat: u16) -> World {
    let mut world = World::new();
    world.feed(&login_with(heartbeat), usize::MAX);
    assert_eq!(method_names(&world.feed(&close(), usize::MAX)), ["connection.close-ok"]);
    world
}

#[test]
fn a_client_that_has_closed_ends_the_stream() {
    let mut world = closed(0);
    // The connection is in no count, and the stream is still open.
    assert_eq!(world.node.connection_count(), 0);
    assert!(world.node.is_connected(world.client) && world.node.is_reading(world.client));
    // More of the client is dropped, and answered with nothing.
    assert_eq!(world.feed(&close(), usize::MAX), b"");
    world.node.end_input(world.client);
    world.feed(&[], usize::MAX);
    let mut written = Vec::new();
    world.node.write(world.client, usize::MAX, &mut written);
    assert!(written.is_empty() && !world.node.is_connected(world.client));
}

#[test]
fn a_client_that_has_closed_and_stays_is_gone_after_half_a_minute_or_a_heartbeat() {
    for (heartbeat, seconds) in [(0, 30), (60, 30), (2, 2)] {
        let mut world = closed(heartbeat);
        let mut written = Vec::new();
        for second in 1..=seconds {
            assert!(world.node.is_reading(world.client), "{heartbeat}: gone after {second} s");
            world.node.pass(SECOND);
            world.node.write(world.client, usize::MAX, &mut written);
        }
        assert!(!world.node.is_connected(world.client), "{heartbeat}");
        // Nothing comes behind connection.close-ok, no heartbeat either.
        assert_eq!(written, b"", "{heartbeat}");
    }
}

#[test]
fn a_client_without_a_place_to_wait_is_gone_at_once() {
    let mut world = World::running();
    let places: Vec<_> = std::iter::from_fn(|| world.node.lingering().take()).collect();
    assert_eq!(method_names(&world.feed(&close(), usize::MAX)), ["connection.close-ok"]);
    assert!(!world.node.is_connected(world.client) && places.len() > 1000);
    drop(places);
    // A connection that is over leaves its place.
    let places = |lingering: &Lingering| std::iter::from_fn(|| lingering.take()).collect::<Vec<_>>().len();
    let all = places(world.node.lingering());
    let mut world = closed(0);
    assert_eq!(places(world.node.lingering()), all - 1);
    world.node.break_off(world.client);
    assert_eq!(places(world.node.lingering()), all);
}

/// A client that has logged in may wait. Its user has a limit of connections.
#[test]
fn a_stranger_that_closes_takes_no_place() {
    let wrong = {
        let mut client_properties = FieldTable::new();
        let mut capabilities = FieldTable::new();
        capabilities.insert("authentication_failure_close", true);
        client_properties.insert("capabilities", capabilities);
        let (mechanism, response) = (b"PLAIN", b"\0guest\0wrong");
        let start_ok = connection::StartOk { mechanism, response, client_properties, ..Default::default() };
        let mut bytes = PROTOCOL_HEADER.to_vec();
        Method::ConnectionStartOk(start_ok).encode(0, &mut bytes);
        bytes
    };
    let places =
        |world: &World| std::iter::from_fn(|| world.node.lingering().take()).collect::<Vec<_>>().len();
    for (bytes, answer) in [(PROTOCOL_HEADER.to_vec(), "connection.start"), (wrong, "connection.close")] {
        let mut world = World::new();
        let all = places(&world);
        assert_eq!(method_names(&world.feed(&bytes, usize::MAX)).last(), Some(&answer));
        assert_eq!(method_names(&world.feed(&close(), usize::MAX)), ["connection.close-ok"]);
        assert_eq!(places(&world), all);
        assert!(!world.node.is_connected(world.client));
    }
}

#[test]
fn a_client_that_says_nothing_of_use_before_its_login_sees_the_end() {
    for bytes in [&b"GET / HTTP/1.1\r\n\r\n"[..], b"AMQP\0\0\x09\x01\x01\0\0\0\0\0\x04abcd\xce"] {
        let mut world = World::new();
        world.feed(bytes, usize::MAX);
        assert!(!world.node.is_reading(world.client));
        world.feed(&[], usize::MAX);
        let mut written = Vec::new();
        world.node.write(world.client, usize::MAX, &mut written);
        assert!(!world.node.is_connected(world.client));
    }
}

#[test]
fn a_client_before_connection_open_is_told_what_is_wrong() {
    let login = super::login();
    let mut open = Vec::new();
    Method::ConnectionOpen(connection::Open { virtual_host: b"/" }).encode(0, &mut open);
    let login = login.strip_suffix(&open[..]).unwrap();
    let mut declare = Vec::new();
    Method::ChannelOpen(channel::Open {}).encode(1, &mut declare);
    let mut again = Vec::new();
    Method::ConnectionTuneOk(connection::TuneOk::default()).encode(0, &mut again);
    for (bytes, code) in [(declare, 505), (again, 504), (b"\x07\0\0\0\0\0\x01a\xce".to_vec(), 501)] {
        let mut world = World::new();
        world.feed(login, usize::MAX);
        let written = world.feed(&bytes, usize::MAX);
        let frame = decode_frame(&written, FRAME_SIZE as usize).unwrap().expect("an answer");
        let Ok(Method::ConnectionClose(close)) = Method::decode(frame.payload) else { panic!("{frame:?}") };
        assert_eq!(close.reply_code, code);
    }
}
