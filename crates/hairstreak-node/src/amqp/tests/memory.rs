//! The memory alarm: frames that wait, frames that go ahead, and attempts to get around the alarm.

use std::sync::Arc;

use hairstreak_broker::vhost::Limits;
use hairstreak_transport::event_loop::Address;
use hairstreak_wire::amqp::{
    FieldTable, Method, PROTOCOL_HEADER, basic, channel, confirm, connection, encode_body,
    encode_content_header, queue, tx,
};

use super::{FRAME_SIZE, World, login, method_names};
use crate::amqp::AmqpHarness;
use crate::config::{AmqpConfig, NodeConfig};
use crate::node::Reason;

mod begun;

const WATERMARK: usize = 4 << 20;
const LARGE: usize = 1 << 20;

/// A node that is short of memory soon, and a client that has three messages of the queue `work` to settle.
fn world() -> World {
    world_with(Limits::default())
}

fn world_with(limits: Limits) -> World {
    let amqp = AmqpConfig { memory_watermark: WATERMARK, limits, ..AmqpConfig::default() };
    let mut node = AmqpHarness::new(&NodeConfig { amqp, ..NodeConfig::default() }).unwrap();
    let client = node.connect().unwrap();
    let mut world = World { node, client };
    world.say(&login());
    let mut bytes = Vec::new();
    for number in [1, 2] {
        Method::ChannelOpen(channel::Open {}).encode(number, &mut bytes);
    }
    for queue in [&b"work"[..], b"out", b"full"] {
        Method::QueueDeclare(queue::Declare { queue, no_wait: true, ..Default::default() })
            .encode(1, &mut bytes);
    }
    for _ in 0..3 {
        publish(1, b"work", 10, &mut bytes);
    }
    let consume = basic::Consume { queue: b"work", no_wait: true, ..Default::default() };
    Method::BasicConsume(consume).encode(1, &mut bytes);
    world.say(&bytes);
    world
}

/// The login of a client that asks for connection.blocked.
fn login_that_hears_blocked() -> Vec<u8> {
    let (mut client_properties, mut capabilities) = (FieldTable::new(), FieldTable::new());
    capabilities.insert("connection.blocked", true);
    client_properties.insert("capabilities", capabilities);
    let (mechanism, response) = (b"PLAIN", b"\0guest\0guest");
    let start_ok = connection::StartOk { mechanism, response, client_properties, ..Default::default() };
    let tune_ok = connection::TuneOk { channel_max: 20, frame_max: FRAME_SIZE, heartbeat: 0 };
    let mut bytes = PROTOCOL_HEADER.to_vec();
    for method in [
        Method::ConnectionStartOk(start_ok),
        Method::ConnectionTuneOk(tune_ok),
        Method::ConnectionOpen(connection::Open { virtual_host: b"/" }),
    ] {
        method.encode(0, &mut bytes);
    }
    bytes
}

fn publish(number: u16, routing_key: &[u8], size: usize, bytes: &mut Vec<u8>) {
    Method::BasicPublish(basic::Publish { routing_key, ..Default::default() }).encode(number, bytes);
    encode_content_header(number, size as u64, &[0, 0], bytes);
    encode_body(number, &vec![7; size], FRAME_SIZE as usize, bytes);
}

fn ack(delivery_tag: u64) -> Method<'static> {
    Method::BasicAck(basic::Ack { delivery_tag, multiple: true })
}

impl World {
    /// The client sends bytes as long as the node reads. Returns how many were read, and the names of the methods that came back.
    fn send(&mut self, bytes: &[u8]) -> (usize, Vec<&'static str>) {
        let (mut at, mut written) = (0, Vec::new());
        while at < bytes.len() && self.node.is_reading(self.client) {
            at += self.node.read(self.client, &bytes[at..]);
            self.node.settle();
            self.node.write(self.client, usize::MAX, &mut written);
        }
        self.node.write(self.client, usize::MAX, &mut written);
        (at, method_names(&written))
    }

    fn say(&mut self, bytes: &[u8]) -> Vec<&'static str> {
        self.send(bytes).1
    }

    fn say_methods(&mut self, number: u16, methods: &[Method<'_>]) -> Vec<&'static str> {
        let mut bytes = Vec::new();
        methods.iter().for_each(|method| method.encode(number, &mut bytes));
        self.say(&bytes)
    }

    /// Returns the methods received since the last call.
    fn hear(&mut self) -> Vec<&'static str> {
        self.say(&[])
    }

    /// Another client joins. Returns the earlier client.
    fn switch(&mut self) -> Address {
        let other = self.node.connect().unwrap();
        let before = std::mem::replace(&mut self.client, other);
        self.say(&login());
        self.say_methods(1, &[Method::ChannelOpen(channel::Open {})]);
        before
    }

    /// Another client fills the memory.
    fn raise(&mut self) {
        let before = self.switch();
        let mut bytes = Vec::new();
        (0..2 * WATERMARK / LARGE).for_each(|_| publish(1, b"full", LARGE, &mut bytes));
        self.send(&bytes);
        assert!(!self.node.is_reading(self.client), "the alarm is not raised");
        self.node.break_off(self.client);
        self.node.settle();
        self.client = before;
    }

    /// Another client frees the memory.
    fn clear(&mut self) {
        let before = self.switch();
        self.say_methods(1, &[Method::QueuePurge(queue::Purge { queue: b"full", no_wait: true })]);
        self.node.settle();
        self.client = before;
    }

    fn ready(&self) -> u64 {
        self.node.figures().counts.ready
    }

    fn unacknowledged(&self) -> u64 {
        self.node.figures().counts.unacknowledged
    }
}

#[test]
fn acknowledgements_go_ahead_of_messages_that_wait() {
    let mut world = world();
    world.say_methods(1, &[Method::ConfirmSelect(confirm::Select { no_wait: true })]);
    world.raise();
    let full = world.ready();
    let mut bytes = Vec::new();
    publish(1, b"out", 5000, &mut bytes);
    ack(2).encode(1, &mut bytes);
    publish(1, b"out", 0, &mut bytes);
    ack(3).encode(1, &mut bytes);
    assert_eq!(world.say(&bytes), [""; 0]);
    assert_eq!((world.ready(), world.unacknowledged()), (full, 0));
    world.clear();
    assert_eq!(world.hear(), ["basic.ack"]);
    assert_eq!(world.ready(), 2);
    assert_eq!(world.leave(), 0);
}

#[test]
fn what_comes_behind_a_waiting_message_keeps_its_order() {
    let mut world = world();
    world.raise();
    let mut bytes = Vec::new();
    publish(1, b"out", 10, &mut bytes);
    let passive = queue::Declare { queue: b"out", passive: true, ..Default::default() };
    Method::QueueDeclare(passive.clone()).encode(1, &mut bytes);
    Method::ChannelClose(channel::Close::default()).encode(1, &mut bytes);
    Method::QueueDeclare(passive).encode(2, &mut bytes);
    assert_eq!(world.say(&bytes), ["queue.declare-ok"], "the answer of the other channel");
    assert_eq!(world.say_methods(0, &[Method::ConnectionClose(connection::Close::default())]), [""; 0]);
    world.clear();
    assert_eq!(world.hear(), ["queue.declare-ok", "channel.close-ok", "connection.close-ok"]);
    // The message, and the unsettled deliveries of the closed channel.
    assert_eq!(world.ready(), 4);
}

#[test]
fn an_acknowledgement_that_fails_fails_in_its_turn() {
    let mut world = world();
    world.raise();
    let mut bytes = Vec::new();
    publish(1, b"out", 10, &mut bytes);
    ack(99).encode(1, &mut bytes);
    assert_eq!(world.say(&bytes), [""; 0]);
    world.clear();
    assert_eq!(world.hear(), ["channel.close"]);
    assert_eq!(world.ready(), 4);
}

#[test]
fn an_acknowledgement_does_not_go_ahead_of_a_method_that_changes_its_meaning() {
    let barriers = [
        Method::TxSelect(tx::Select {}),
        Method::BasicGet(basic::Get { queue: b"out", no_ack: false }),
        Method::BasicRecover(basic::Recover { requeue: true }),
        Method::BasicRecoverAsync(basic::RecoverAsync { requeue: true }),
        Method::ChannelClose(channel::Close::default()),
    ];
    for barrier in barriers {
        let mut world = world();
        world.raise();
        let mut bytes = Vec::new();
        publish(1, b"out", 10, &mut bytes);
        barrier.encode(1, &mut bytes);
        ack(3).encode(1, &mut bytes);
        assert_eq!(world.say(&bytes), [""; 0]);
        assert_eq!(world.unacknowledged(), 3, "{}", barrier.name());
        world.clear();
        world.hear();
        if let Method::TxSelect(_) = barrier {
            assert_eq!(world.unacknowledged(), 3, "the acknowledgement is part of the transaction");
            assert_eq!(world.say_methods(1, &[Method::TxCommit(tx::Commit {})]), ["tx.commit-ok"]);
            assert_eq!(world.unacknowledged(), 0);
        }
    }
}

#[test]
fn the_rest_of_a_parked_frame_is_passed_over_when_an_operator_closes_the_connection() {
    let mut world = world();
    world.raise();
    let mut bytes = Vec::new();
    publish(1, b"out", 10, &mut bytes);
    ack(3).encode(1, &mut bytes);
    publish(1, b"out", 3000, &mut bytes);
    let (begin, end) = bytes.split_at(bytes.len() - 2000);
    assert_eq!(world.say(begin), [""; 0]);
    world.node.close(world.client, "an operator says so");
    assert_eq!(world.hear(), ["connection.close"]);
    assert_eq!(world.say(end), [""; 0]);
    assert!(world.node.is_connected(world.client), "the rest of the frame is taken for other frames");
    world.say_methods(0, &[Method::ConnectionCloseOk(connection::CloseOk {})]);
    assert!(!world.node.is_connected(world.client));
}

#[test]
fn a_client_that_connects_again_gains_nothing() {
    let mut world = world();
    world.raise();
    let (full, told) = (world.ready(), world.node.figures().told_bytes);
    let mut bytes = Vec::new();
    (0..100).for_each(|_| publish(2, b"out", 100_000, &mut bytes));
    for _ in 0..5 {
        let (taken, _) = world.send(&bytes);
        // A quarter of the watermark, and the size of one read.
        assert!((WATERMARK / 8..WATERMARK / 2).contains(&taken), "{taken} bytes");
        assert!(!world.node.is_reading(world.client));
        world.node.break_off(world.client);
        world.node.settle();
        assert!(world.ready() <= full + 3);
        assert!(world.node.figures().told_bytes <= told);
        world.switch();
        let mut begin = Vec::new();
        Method::ChannelOpen(channel::Open {}).encode(2, &mut begin);
        Method::QueueDeclare(queue::Declare { no_wait: true, exclusive: true, ..Default::default() })
            .encode(2, &mut begin);
        Method::BasicConsume(basic::Consume { no_wait: true, ..Default::default() }).encode(2, &mut begin);
        world.say(&begin);
    }
    world.clear();
    assert_eq!(world.ready(), 3);
}

#[test]
fn a_greedy_client_locks_no_other_out() {
    let mut world = world();
    world.raise();
    let modest = world.switch();
    let consume = basic::Consume { queue: b"work", no_wait: true, ..Default::default() };
    world.say_methods(1, &[Method::BasicConsume(consume)]);
    let mut bytes = Vec::new();
    (0..100).for_each(|_| publish(1, b"out", 100_000, &mut bytes));
    world.send(&bytes);
    assert!(!world.node.is_reading(world.client), "the greedy client goes on");
    world.client = modest;
    let mut bytes = Vec::new();
    publish(1, b"out", 60_000, &mut bytes);
    ack(3).encode(1, &mut bytes);
    world.say(&bytes);
    assert_eq!(world.unacknowledged(), 0);
}

#[test]
fn a_message_is_kept_whose_client_has_acknowledged_behind_it_and_ends() {
    for (acknowledges, expected) in [(true, 1), (false, 3)] {
        let mut world = world();
        world.raise();
        let mut bytes = Vec::new();
        publish(1, b"out", 10, &mut bytes);
        if acknowledges {
            ack(3).encode(1, &mut bytes);
        }
        world.say(&bytes);
        world.node.break_off(world.client);
        world.node.settle();
        world.clear();
        // The message, or the three deliveries that were not settled.
        assert_eq!(world.ready(), expected);
    }
}

#[test]
fn a_transaction_that_has_messages_may_be_committed() {
    let mut world = world();
    world.say_methods(2, &[Method::TxSelect(tx::Select {})]);
    let mut bytes = Vec::new();
    publish(2, b"out", 10, &mut bytes);
    world.say(&bytes);
    world.raise();
    let full = world.ready();
    Method::TxCommit(tx::Commit {}).encode(2, &mut bytes);
    assert_eq!(world.say(&bytes), ["tx.commit-ok"]);
    assert_eq!(world.ready(), full + 2);
    // Another transaction waits.
    assert_eq!(world.say(&bytes), [""; 0]);
    assert_eq!(world.ready(), full + 2);
    world.clear();
    assert_eq!(world.hear(), ["tx.commit-ok"]);
    assert_eq!(world.ready(), 3);
}

#[test]
fn frames_in_pieces_are_parked_as_those_that_come_whole() {
    for piece in [1, 7, 11, 1000] {
        let mut world = world();
        world.raise();
        let mut bytes = Vec::new();
        publish(1, b"out", 5000, &mut bytes);
        ack(3).encode(1, &mut bytes);
        bytes.chunks(piece).for_each(|part| assert_eq!(world.say(part), [""; 0]));
        assert_eq!(world.unacknowledged(), 0);
        // The alarm ends in the middle of a frame.
        let mut more = Vec::new();
        publish(1, b"out", 5000, &mut more);
        let (begin, end) = more.split_at(more.len() / 2);
        world.say(begin);
        world.clear();
        assert_eq!(world.ready(), 0, "{piece}");
        world.say(end);
        assert_eq!(world.ready(), 2, "{piece}");
    }
}

/// A node with few steps for each call, and the same client. The queues `b0` to `b39` are bound to amq.fanout, and `work` to
/// amq.direct with 40 keys.
fn world_of_slices() -> World {
    let mut world = world_with(Limits { steps_max: 8, ..Limits::default() });
    let mut bytes = Vec::new();
    for number in 0..40 {
        let (name, key) = (format!("b{number}"), number.to_string());
        let queue = name.as_bytes();
        let declare = queue::Declare { queue, no_wait: true, ..Default::default() };
        Method::QueueDeclare(declare).encode(2, &mut bytes);
        for (queue, exchange) in [(queue, &b"amq.fanout"[..]), (b"work", b"amq.direct")] {
            let routing_key = key.as_bytes();
            let bind = queue::Bind { queue, exchange, routing_key, no_wait: true, ..Default::default() };
            Method::QueueBind(bind).encode(2, &mut bytes);
        }
    }
    world.say(&bytes);
    world
}

#[test]
fn parked_messages_that_take_slices_keep_what_is_behind_them_waiting() {
    for piece in [7, 1000, usize::MAX] {
        let mut world = world_of_slices();
        world.say_methods(1, &[Method::ConfirmSelect(confirm::Select { no_wait: true })]);
        world.raise();
        let mut bytes = Vec::new();
        for number in 0..2 {
            let broadcast = basic::Publish { exchange: b"amq.fanout", ..Default::default() };
            Method::BasicPublish(broadcast).encode(1, &mut bytes);
            encode_content_header(1, 5000, &[0, 0], &mut bytes);
            encode_body(1, &[7; 5000], FRAME_SIZE as usize, &mut bytes);
            if number == 0 {
                ack(3).encode(1, &mut bytes);
            }
            let get = basic::Get { queue: b"b39", no_ack: true };
            Method::BasicGet(get).encode(1, &mut bytes);
        }
        let delete = queue::Delete { queue: b"b0", ..Default::default() };
        Method::QueueDelete(delete).encode(1, &mut bytes);
        let passive = queue::Declare { queue: b"b1", passive: true, ..Default::default() };
        Method::QueueDeclare(passive).encode(1, &mut bytes);
        bytes.chunks(piece.min(bytes.len())).for_each(|part| assert_eq!(world.say(part), [""; 0]));
        assert_eq!(world.unacknowledged(), 0);
        world.clear();
        let mut heard = world.hear();
        heard.retain(|name| *name != "basic.ack");
        assert_eq!(heard, ["basic.get-ok", "basic.get-ok", "queue.delete-ok", "queue.declare-ok"], "{piece}");
        assert_eq!(world.ready(), 2 * 39 - 2, "{piece}");
        assert_eq!(world.leave(), 0);
    }
}

/// The node ends the connection, or the connection breaks, while the host still works on operations before the parked message.
#[test]
fn a_parked_message_is_kept_whose_client_ends_while_the_host_is_busy_for_it() {
    for is_forced in [false, true] {
        let mut world = world_of_slices();
        world.raise();
        let full = world.ready();
        let mut bytes = Vec::new();
        publish(1, b"out", 10, &mut bytes);
        ack(3).encode(1, &mut bytes);
        world.say(&bytes);
        bytes.clear();
        let delete = queue::Delete { queue: b"work", ..Default::default() };
        Method::QueueDelete(delete).encode(2, &mut bytes);
        assert_eq!(world.node.read(world.client, &bytes), bytes.len());
        assert!(!world.node.is_reading(world.client), "the deletion takes one call");
        if is_forced {
            world.node.stop();
        } else {
            world.node.break_off(world.client);
        }
        world.node.settle();
        assert_eq!(world.ready(), full + 1, "forced: {is_forced}");
    }
}

/// The disk of the message log is a reason like memory. Clients are told the reasons, and publishers wait for the end of all.
#[test]
fn publishers_wait_for_each_reason_of_the_alarm() {
    let mut world = world();
    let account = Arc::clone(&world.node.node().account);
    account.set_alarm(Reason::FailingDisk, true);
    account.set_alarm(Reason::SlowDisk, true);
    let client = std::mem::replace(&mut world.client, world.node.connect().unwrap());
    world.say(&login_that_hears_blocked());
    let select = Method::ConfirmSelect(confirm::Select { no_wait: true });
    world.say_methods(1, &[Method::ChannelOpen(channel::Open {}), select]);
    let mut bytes = Vec::new();
    publish(1, b"out", 10, &mut bytes);
    let taken = world.node.read(world.client, &bytes);
    let mut told = Vec::new();
    world.node.write(world.client, usize::MAX, &mut told);
    assert_eq!(method_names(&told), ["connection.blocked"]);
    let reason = b"the disk does not answer, messages cannot be written";
    assert!(told.windows(reason.len()).any(|bytes| bytes == reason), "{}", told.escape_ascii());
    assert!(!world.node.is_reading(world.client));
    // Consumers go on.
    let publisher = std::mem::replace(&mut world.client, client);
    world.say_methods(1, &[ack(3)]);
    assert_eq!(world.unacknowledged(), 0);
    world.client = publisher;
    assert!(account.set_alarm(Reason::FailingDisk, false));
    world.node.settle();
    assert!(!world.node.is_reading(world.client));
    assert!(account.set_alarm(Reason::SlowDisk, false));
    world.node.settle();
    assert_eq!(world.say(&bytes[taken..]), ["connection.unblocked", "basic.ack"]);
}
