//! A virtual host whose lock is taken: its connections wait, connections of other hosts go on, and no message is lost.

use std::time::Duration;

use hairstreak_transport::event_loop::Address;
use hairstreak_wire::amqp::{Method, basic, channel, connection, encode_content_header, queue};

use super::{World, login, method_names};

fn encoded(methods: &[Method<'_>]) -> Vec<u8> {
    let mut bytes = Vec::new();
    methods.iter().for_each(|method| method.encode(1, &mut bytes));
    bytes
}

fn declare(queue: &[u8]) -> Method<'_> {
    Method::QueueDeclare(queue::Declare { queue, ..Default::default() })
}

/// A client with an open channel.
fn world() -> World {
    let mut world = World::running();
    world.feed(&encoded(&[Method::ChannelOpen(channel::Open {})]), usize::MAX);
    world
}

fn written(world: &mut World, client: Address) -> Vec<&'static str> {
    let mut bytes = Vec::new();
    world.node.write(client, usize::MAX, &mut bytes);
    method_names(&bytes)
}

#[test]
fn frames_for_a_busy_host_are_handled_in_order_as_soon_as_it_is_free() {
    let mut world = world();
    let host = world.node.host("/");
    let locked = host.lock();
    let bytes = encoded(&[
        declare(b"one"),
        declare(b"two"),
        Method::QueueDelete(queue::Delete { queue: b"one", ..Default::default() }),
    ]);
    assert_eq!(world.node.read(world.client, &bytes), bytes.len());
    assert_eq!(world.node.unread_bytes(world.client), bytes.len());
    // A wake-up changes nothing.
    assert!(world.node.retry() > 0);
    assert_eq!(world.node.unread_bytes(world.client), bytes.len());
    drop(locked);
    world.node.settle();
    let client = world.client;
    assert_eq!(written(&mut world, client), ["queue.declare-ok", "queue.declare-ok", "queue.delete-ok"]);
}

#[test]
fn deliveries_and_room_for_more_wait_for_a_busy_host() {
    let mut world = world();
    let consume = Method::BasicConsume(basic::Consume { queue: b"q", no_ack: true, ..Default::default() });
    world.feed(&encoded(&[declare(b"q"), consume]), usize::MAX);
    let publisher = world.node.connect().unwrap();
    let mut bytes = login();
    Method::ChannelOpen(channel::Open {}).encode(1, &mut bytes);
    Method::BasicPublish(basic::Publish { routing_key: b"q", ..Default::default() }).encode(1, &mut bytes);
    encode_content_header(1, 0, &[0, 0], &mut bytes);
    while !world.node.is_running(publisher) {
        let size = world.node.read(publisher, &bytes);
        bytes.drain(..size);
        world.node.settle_logins();
    }
    // The delivery is in the outlet, and the consumer has mail.
    let host = world.node.host("/");
    let locked = host.lock();
    let client = world.client;
    world.node.retry();
    assert_eq!(written(&mut world, client), Vec::<&str>::new());
    drop(locked);
    world.node.settle();
    assert_eq!(written(&mut world, client), ["basic.deliver"]);
}

#[test]
fn a_connection_that_breaks_while_its_host_is_busy_leaves_later() {
    let mut world = world();
    let publish = Method::BasicPublish(basic::Publish { routing_key: b"q", ..Default::default() });
    let mut bytes = encoded(&[declare(b"q"), publish]);
    encode_content_header(1, 0, &[0, 0], &mut bytes);
    bytes.extend(encoded(&[Method::BasicGet(basic::Get { queue: b"q", ..Default::default() })]));
    world.feed(&bytes, usize::MAX);
    assert_eq!(world.node.figures().counts.unacknowledged, 1);
    let host = world.node.host("/");
    let locked = host.lock();
    world.node.break_off(world.client);
    drop(locked);
    // Timers fire: the timekeeper lets the connection leave.
    world.node.pass(Duration::from_millis(1));
    let counts = world.node.figures().counts;
    assert_eq!((counts.ready, counts.unacknowledged), (1, 0));
}

#[test]
fn a_node_that_stops_tells_clients_of_a_busy_host_as_soon_as_it_is_free() {
    let mut world = world();
    let host = world.node.host("/");
    let locked = host.lock();
    world.node.stop();
    let client = world.client;
    assert!(world.node.is_connected(client));
    assert_eq!(written(&mut world, client), Vec::<&str>::new());
    drop(locked);
    world.node.settle();
    assert_eq!(written(&mut world, client), ["connection.close"]);
    assert!(!world.node.is_connected(client));
}

#[test]
fn a_client_joins_a_busy_host_as_soon_as_it_is_free() {
    let mut world = World::new();
    let host = world.node.host("/");
    let login = login();
    let open_size = {
        let mut bytes = Vec::new();
        Method::ConnectionOpen(connection::Open { virtual_host: b"/" }).encode(0, &mut bytes);
        bytes.len()
    };
    world.feed(&login[..login.len() - open_size], usize::MAX);
    let locked = host.lock();
    assert_eq!(world.node.read(world.client, &login[login.len() - open_size..]), open_size);
    world.node.retry();
    assert!(!world.node.is_running(world.client));
    drop(locked);
    world.node.settle();
    assert!(world.node.is_running(world.client));
    let client = world.client;
    assert_eq!(written(&mut world, client), ["connection.open-ok"]);
}

#[test]
fn a_busy_host_stops_neither_the_timers_nor_the_clients_of_another() {
    let mut world = world();
    world.node.add_host("busy");
    let busy = world.node.host("busy");
    let locked = busy.lock();
    let arguments = [("x-message-ttl", hairstreak_wire::amqp::FieldValue::I32(1))].into_iter().collect();
    let declare = Method::QueueDeclare(queue::Declare { queue: b"q", arguments, ..Default::default() });
    let publish = Method::BasicPublish(basic::Publish { routing_key: b"q", ..Default::default() });
    let mut bytes = encoded(&[declare, publish]);
    encode_content_header(1, 0, &[0, 0], &mut bytes);
    world.feed(&bytes, usize::MAX);
    let host = world.node.host("/");
    assert_eq!(host.lock().host.message_counts().ready, 1);
    world.node.pass(Duration::from_millis(2));
    assert_eq!(host.lock().host.message_counts().ready, 0);
    drop(locked);
}
