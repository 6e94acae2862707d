//! Sessions that are given anything: no input makes one panic, or keeps memory behind.

use std::time::Duration;

use fastrand::Rng;
use hairstreak_testkit::Seeds;
use hairstreak_transport::event_loop::Address;
use hairstreak_wire::amqp::{
    DEPTH_MAX, FRAME_SIZE_ALLOWANCE, FieldTable, FrameKind, HEARTBEAT_FRAME, Method, PROTOCOL_HEADER,
    Properties, basic, channel, confirm, connection, decode_frame, encode_body, encode_content_header,
    exchange, queue, tx,
};

use super::harness::AmqpHarness;
use super::turn::STEPS_MAX;
use crate::config::{AmqpConfig, NodeConfig};
use crate::node::UNWRITTEN_MAX;

mod busy;
mod cuts;
mod ends;
mod memory;
mod promises;
mod slices;

const SEEDS: Seeds = Seeds { target: "-p hairstreak-node --lib", soak_factor: 500 };
const FRAME_SIZE: u32 = 4096;

/// One client of a node of its own.
struct World {
    node: AmqpHarness,
    client: Address,
}

impl World {
    fn new() -> World {
        World::with(NodeConfig::default())
    }

    fn with(config: NodeConfig) -> World {
        let amqp = AmqpConfig { message_size_max: 1 << 20, ..config.amqp };
        let mut node = AmqpHarness::new(&NodeConfig { amqp, ..config }).unwrap();
        let client = node.connect().unwrap();
        World { node, client }
    }

    /// A client that has logged in.
    fn running() -> World {
        let mut world = World::new();
        world.feed(&login(), usize::MAX);
        assert!(world.node.is_running(world.client));
        world
    }

    /// Hands the bytes in, in pieces of at most `piece` bytes. Returns all output of the node.
    fn feed(&mut self, bytes: &[u8], piece: usize) -> Vec<u8> {
        let mut written = Vec::new();
        for part in bytes.chunks(piece.max(1)) {
            let mut at = 0;
            while at < part.len() && self.node.is_reading(self.client) {
                at += self.node.read(self.client, &part[at..]);
                let is_running = self.node.is_running(self.client);
                let unread = self.node.unread_bytes(self.client);
                let frame_size_max = FRAME_SIZE as usize + FRAME_SIZE_ALLOWANCE;
                assert!(!is_running || unread <= frame_size_max, "a whole frame is left lying");
                self.node.settle();
                self.node.write(self.client, usize::MAX, &mut written);
            }
        }
        written
    }

    /// Ends the connection. Returns the number of deliveries left to settle.
    fn leave(mut self) -> u64 {
        self.node.break_off(self.client);
        self.node.settle();
        let figures = self.node.figures();
        assert_eq!(figures.told_bytes, figures.memory_bytes, "memory of a connection that is gone");
        figures.counts.unacknowledged
    }
}

/// All that a client sends up to connection.open.
fn login() -> Vec<u8> {
    login_with(0)
}

/// Returns the bytes of a login with a heartbeat interval in seconds.
fn login_with(heartbeat: u16) -> Vec<u8> {
    let start_ok =
        connection::StartOk { mechanism: b"PLAIN", response: b"\0guest\0guest", ..Default::default() };
    let tune_ok = connection::TuneOk { channel_max: 20, frame_max: FRAME_SIZE, heartbeat };
    let mut out = PROTOCOL_HEADER.to_vec();
    Method::ConnectionStartOk(start_ok).encode(0, &mut out);
    Method::ConnectionTuneOk(tune_ok).encode(0, &mut out);
    Method::ConnectionOpen(connection::Open { virtual_host: b"/" }).encode(0, &mut out);
    out
}

/// The names of the methods that the node has written.
fn method_names(mut written: &[u8]) -> Vec<&'static str> {
    let mut names = Vec::new();
    while let Some(frame) = decode_frame(written, FRAME_SIZE as usize).unwrap() {
        if frame.kind == FrameKind::Method {
            names.push(Method::decode(frame.payload).unwrap().name());
        }
        written = &written[frame.size()..];
    }
    names
}

/// A message of 10 kB that comes back.
fn message_to_nobody() -> Vec<u8> {
    let mut bytes = Vec::new();
    let to_nobody = basic::Publish { routing_key: b"nobody", mandatory: true, ..Default::default() };
    Method::BasicPublish(to_nobody).encode(1, &mut bytes);
    encode_content_header(1, 10_000, &[0, 0], &mut bytes);
    encode_body(1, &[7; 10_000], FRAME_SIZE as usize, &mut bytes);
    bytes
}

const NAMES: [&[u8]; 7] =
    [b"", b"a", b"b", b"amq.topic", b"amq.fanout", b"amq.rabbitmq.reply-to", b"amq.gen-x"];

fn name(random: &mut Rng) -> &'static [u8] {
    NAMES[random.usize(..NAMES.len())]
}

/// A method that a client may send, at any time.
fn method(random: &mut Rng) -> Method<'static> {
    let arguments = FieldTable::new();
    let (one, other) = (name(random), name(random));
    let (yes, no_wait) = (random.bool(), random.bool());
    match random.u8(0..19) {
        0 => Method::ChannelOpen(channel::Open {}),
        1 => Method::QueueDeclare(queue::Declare {
            queue: one,
            exclusive: yes,
            no_wait,
            arguments,
            ..Default::default()
        }),
        2 => Method::QueueBind(queue::Bind {
            queue: one,
            exchange: other,
            routing_key: b"a",
            no_wait,
            arguments,
        }),
        3 => Method::QueueDelete(queue::Delete { queue: one, if_unused: yes, if_empty: false, no_wait }),
        4 => Method::QueuePurge(queue::Purge { queue: one, no_wait }),
        5 => Method::ExchangeDeclare(exchange::Declare {
            exchange: one,
            kind: b"topic",
            no_wait,
            arguments,
            ..Default::default()
        }),
        6 => Method::ExchangeDelete(exchange::Delete { exchange: one, if_unused: yes, no_wait }),
        7 => Method::BasicConsume(basic::Consume {
            queue: one,
            consumer_tag: other,
            no_ack: yes,
            no_wait,
            arguments,
            ..Default::default()
        }),
        8 => Method::BasicCancel(basic::Cancel { consumer_tag: other, no_wait }),
        9 => Method::BasicGet(basic::Get { queue: one, no_ack: yes }),
        10 => Method::BasicAck(basic::Ack { delivery_tag: random.u64(0..5), multiple: yes }),
        11 => {
            Method::BasicNack(basic::Nack { delivery_tag: random.u64(0..5), multiple: yes, requeue: no_wait })
        }
        12 => {
            Method::BasicQos(basic::Qos { prefetch_size: 0, prefetch_count: random.u16(0..3), global: yes })
        }
        13 => Method::BasicRecover(basic::Recover { requeue: true }),
        14 => Method::ConfirmSelect(confirm::Select { no_wait }),
        15 => Method::TxSelect(tx::Select {}),
        16 => Method::TxCommit(tx::Commit {}),
        17 => Method::TxRollback(tx::Rollback {}),
        _ => Method::ChannelCloseOk(channel::CloseOk {}),
    }
}

/// Frames of a client: methods, and messages in one to several frames.
fn frames(random: &mut Rng) -> Vec<u8> {
    let mut out = Vec::new();
    for number in 1..4 {
        Method::ChannelOpen(channel::Open {}).encode(number, &mut out);
    }
    for _ in 0..random.usize(1..120) {
        let number = random.u16(1..4);
        if random.bool() {
            method(random).encode(number, &mut out);
            continue;
        }
        let (exchange, routing_key) = (name(random), name(random));
        let publish = basic::Publish { exchange, routing_key, mandatory: random.bool(), immediate: false };
        Method::BasicPublish(publish).encode(number, &mut out);
        let body = vec![7; random.usize(0..9000)];
        let mut properties = Vec::new();
        Properties { priority: Some(1), reply_to: Some(name(random)), ..Properties::default() }
            .encode(&mut properties);
        encode_content_header(number, body.len() as u64, &properties, &mut out);
        encode_body(number, &body, 4096, &mut out);
    }
    out
}

#[test]
fn whatever_a_client_sends_in_whatever_order_and_pieces_nothing_stays_unacknowledged() {
    SEEDS.check("whatever_a_client_sends", 200, |seed, _| {
        let mut random = Rng::with_seed(seed);
        let mut world = World::running();
        let bytes = frames(&mut random);
        world.feed(&bytes, random.usize(1..20_000));
        assert_eq!(world.leave(), 0, "deliveries of a connection that is gone");
    });
}

#[test]
fn bytes_that_are_changed_on_the_way_make_no_session_panic() {
    SEEDS.check("bytes_that_are_changed", 200, |seed, _| {
        let mut random = Rng::with_seed(seed);
        let mut world = World::running();
        let mut bytes = frames(&mut random);
        for _ in 0..random.usize(1..10) {
            let at = random.usize(0..bytes.len());
            bytes[at] = random.u8(..);
        }
        world.feed(&bytes, random.usize(1..20_000));
        assert_eq!(world.leave(), 0, "deliveries of a connection that is gone");
    });
}

#[test]
fn heartbeats_before_the_login_take_no_stack() {
    let mut world = World::new();
    world.feed(&PROTOCOL_HEADER, usize::MAX);
    world.feed(&HEARTBEAT_FRAME.repeat(8000), usize::MAX);
    assert_eq!(world.node.unread_bytes(world.client), 0);
    world.feed(&login()[PROTOCOL_HEADER.len()..], usize::MAX);
    assert!(world.node.is_running(world.client));
}

#[test]
fn confirms_and_deliveries_come_before_the_end_of_the_connection() {
    let closes = [
        (Method::ConnectionClose(connection::Close::default()), "connection.close-ok"),
        (Method::TxSelectOk(tx::SelectOk {}), "connection.close"),
    ];
    for (close, end) in closes {
        let mut world = World::running();
        let (queue, routing_key) = (b"q", b"q");
        let mut bytes = Vec::new();
        Method::ChannelOpen(channel::Open {}).encode(1, &mut bytes);
        Method::ConfirmSelect(confirm::Select { no_wait: true }).encode(1, &mut bytes);
        let declare = queue::Declare { queue, no_wait: true, ..Default::default() };
        Method::QueueDeclare(declare).encode(1, &mut bytes);
        let consume = basic::Consume { queue, consumer_tag: b"c", no_wait: true, ..Default::default() };
        Method::BasicConsume(consume).encode(1, &mut bytes);
        Method::BasicPublish(basic::Publish { routing_key, ..Default::default() }).encode(1, &mut bytes);
        encode_content_header(1, 0, &[0, 0], &mut bytes);
        close.encode(0, &mut bytes);
        let mut names = method_names(&world.feed(&bytes, usize::MAX));
        assert_eq!(names.pop(), Some(end), "{names:?}");
        names.sort_unstable();
        assert_eq!(names, ["basic.ack", "basic.deliver", "channel.open-ok"]);
    }
}

#[test]
fn deliveries_come_before_the_answer_to_a_get_that_was_numbered_after_them() {
    let mut world = World::running();
    let mut bytes = Vec::new();
    Method::ChannelOpen(channel::Open {}).encode(1, &mut bytes);
    for queue in [b"q", b"r"] {
        let declare = queue::Declare { queue, no_wait: true, ..Default::default() };
        Method::QueueDeclare(declare).encode(1, &mut bytes);
    }
    let consume = basic::Consume { queue: b"q", no_wait: true, ..Default::default() };
    Method::BasicConsume(consume).encode(1, &mut bytes);
    for routing_key in [b"q", b"r"] {
        Method::BasicPublish(basic::Publish { routing_key, ..Default::default() }).encode(1, &mut bytes);
        encode_content_header(1, 0, &[0, 0], &mut bytes);
    }
    Method::BasicGet(basic::Get { queue: b"r", no_ack: false }).encode(1, &mut bytes);
    let names = method_names(&world.feed(&bytes, usize::MAX));
    assert_eq!(names, ["channel.open-ok", "basic.deliver", "basic.get-ok"]);
}

#[test]
fn a_client_that_does_not_read_its_answers_is_not_read_and_gone_after_a_minute() {
    const MESSAGE_COUNT: usize = 5_000;
    for reads_at_last in [true, false] {
        let mut world = World::new();
        world.feed(&login_with(1), usize::MAX);
        let mut publish = Vec::new();
        Method::ChannelOpen(channel::Open {}).encode(1, &mut publish);
        world.feed(&publish, usize::MAX);
        let bytes = message_to_nobody().repeat(MESSAGE_COUNT);
        let mut at = 0;
        while at < bytes.len() && world.node.is_reading(world.client) {
            at += world.node.read(world.client, &bytes[at..]);
        }
        assert!((15 << 20..18 << 20).contains(&at), "{at} bytes are read while none is taken");
        if reads_at_last {
            let mut written = Vec::new();
            world.node.write(world.client, usize::MAX, &mut written);
            written.extend(world.feed(&bytes[at..], usize::MAX));
            let names = method_names(&written);
            assert_eq!(names.iter().filter(|name| **name == "basic.return").count(), MESSAGE_COUNT);
        } else {
            let half_interval = Duration::from_millis(500);
            (0..2 * 59).for_each(|_| world.node.pass(half_interval));
            assert!(world.node.is_connected(world.client));
            (0..2 * 3).for_each(|_| world.node.pass(half_interval));
            assert!(!world.node.is_connected(world.client));
        }
    }
}

#[test]
fn a_read_whose_messages_go_to_many_queues_is_handled_to_its_end_in_several_turns() {
    const QUEUE_COUNT: usize = 300;
    let message_count = 3 * STEPS_MAX as usize / QUEUE_COUNT;
    let mut world = World::running();
    let mut bytes = Vec::new();
    Method::ChannelOpen(channel::Open {}).encode(1, &mut bytes);
    for number in 0..QUEUE_COUNT {
        let queue = format!("q{number}");
        let queue = queue.as_bytes();
        let declare = queue::Declare { queue, no_wait: true, ..Default::default() };
        Method::QueueDeclare(declare).encode(1, &mut bytes);
        let bind = queue::Bind { queue, exchange: b"amq.fanout", no_wait: true, ..Default::default() };
        Method::QueueBind(bind).encode(1, &mut bytes);
    }
    world.feed(&bytes, usize::MAX);
    bytes.clear();
    for _ in 0..message_count {
        let publish = basic::Publish { exchange: b"amq.fanout", ..Default::default() };
        Method::BasicPublish(publish).encode(1, &mut bytes);
        encode_content_header(1, 0, &[0, 0], &mut bytes);
    }
    world.feed(&bytes, usize::MAX);
    assert_eq!(world.node.figures().counts.ready, (QUEUE_COUNT * message_count) as u64);
}

#[test]
fn a_client_that_does_not_end_its_handshake_is_gone_after_ten_seconds() {
    let login = login();
    // Nothing, half of the protocol header, all of it, and all but the last byte of connection.open.
    for size in [0, 4, 8, login.len() - 1] {
        let mut world = World::new();
        world.feed(&login[..size], usize::MAX);
        world.node.pass(Duration::from_millis(9_900));
        assert!(world.node.is_connected(world.client), "after {size} bytes");
        world.node.pass(Duration::from_millis(200));
        world.feed(&[], usize::MAX);
        assert!(!world.node.is_connected(world.client), "after {size} bytes");
    }
    let mut world = World::running();
    world.node.pass(Duration::from_secs(60));
    assert!(world.node.is_running(world.client));
}

#[test]
fn a_table_that_is_too_deep_is_a_syntax_error() {
    let declare = |depth| {
        let mut world = World::running();
        let mut bytes = Vec::new();
        Method::ChannelOpen(channel::Open {}).encode(1, &mut bytes);
        world.feed(&bytes, usize::MAX);
        bytes.clear();
        let arguments = (1..depth).fold(FieldTable::new(), |inner, _| FieldTable::from_iter([("x", inner)]));
        let declare = queue::Declare { queue: b"q", arguments, ..Default::default() };
        Method::QueueDeclare(declare).encode(1, &mut bytes);
        world.feed(&bytes, usize::MAX)
    };
    assert_eq!(method_names(&declare(DEPTH_MAX)), ["queue.declare-ok"]);
    let refused = declare(DEPTH_MAX + 1);
    let frame = decode_frame(&refused, FRAME_SIZE as usize).unwrap().unwrap();
    let Ok(Method::ConnectionClose(close)) = Method::decode(frame.payload) else { panic!("{refused:?}") };
    assert_eq!((close.reply_code, close.class_id, close.method_id), (502, 50, 10));
}

#[test]
fn a_flood_of_channels_is_answered_and_leaves_no_memory() {
    const CHANNELS: u16 = 20;
    let mut world = World::running();
    let mut bytes = Vec::new();
    Method::ChannelOpen(channel::Open {}).encode(1, &mut bytes);
    Method::QueueDeclare(queue::Declare { queue: b"q", ..Default::default() }).encode(1, &mut bytes);
    Method::BasicPublish(basic::Publish { routing_key: b"q", ..Default::default() }).encode(1, &mut bytes);
    encode_content_header(1, 0, &[0, 0], &mut bytes);
    Method::ChannelClose(channel::Close::default()).encode(1, &mut bytes);
    world.feed(&bytes, usize::MAX);
    // Each channel gets the message, and returns it when it closes.
    bytes.clear();
    for number in 1..=CHANNELS {
        Method::ChannelOpen(channel::Open {}).encode(number, &mut bytes);
        Method::BasicConsume(basic::Consume { queue: b"q", ..Default::default() }).encode(number, &mut bytes);
        Method::ChannelClose(channel::Close::default()).encode(number, &mut bytes);
    }
    let mut flood = || {
        let names = method_names(&world.feed(&bytes, usize::MAX));
        for answer in ["channel.open-ok", "basic.consume-ok", "basic.deliver", "channel.close-ok"] {
            assert_eq!(
                names.iter().filter(|name| **name == answer).count(),
                usize::from(CHANNELS),
                "{answer}"
            );
        }
        let figures = world.node.figures();
        assert_eq!((figures.counts.ready, figures.counts.unacknowledged), (1, 0));
        figures.memory_bytes
    };
    let before = flood();
    for _ in 0..500 {
        assert_eq!(flood(), before);
    }
}

#[test]
fn a_consumer_that_never_reads_gets_a_mebibyte_and_the_rest_waits() {
    const MESSAGE_COUNT: usize = 1_000;
    const BODY_SIZE: usize = 10_000;
    let mut world = World::running();
    let mut bytes = Vec::new();
    Method::ChannelOpen(channel::Open {}).encode(1, &mut bytes);
    Method::QueueDeclare(queue::Declare { queue: b"q", ..Default::default() }).encode(1, &mut bytes);
    let consume = basic::Consume { queue: b"q", no_ack: true, ..Default::default() };
    Method::BasicConsume(consume).encode(1, &mut bytes);
    world.feed(&bytes, usize::MAX);
    let deaf = std::mem::replace(&mut world.client, world.node.connect().unwrap());
    bytes = login();
    Method::ChannelOpen(channel::Open {}).encode(1, &mut bytes);
    for _ in 0..MESSAGE_COUNT {
        Method::BasicPublish(basic::Publish { routing_key: b"q", ..Default::default() })
            .encode(1, &mut bytes);
        encode_content_header(1, BODY_SIZE as u64, &[0, 0], &mut bytes);
        encode_body(1, &[7; BODY_SIZE], FRAME_SIZE as usize, &mut bytes);
    }
    world.feed(&bytes, 1 << 16);
    let delivered = MESSAGE_COUNT - world.node.figures().counts.ready as usize;
    // The last of them may pass the bound.
    assert!(
        (UNWRITTEN_MAX / BODY_SIZE - 10..=UNWRITTEN_MAX / BODY_SIZE + 1).contains(&delivered),
        "{delivered}"
    );
    let mut taken = Vec::new();
    while world.node.figures().counts.ready > 0 {
        let before = taken.len();
        world.node.write(deaf, usize::MAX, &mut taken);
        assert!(taken.len() > before, "a consumer that reads again gets the rest");
        world.node.settle();
    }
}

#[test]
fn nothing_waits_for_a_client_that_has_taken_everything() {
    let mut world = World::running();
    let mut bytes = Vec::new();
    Method::ChannelOpen(channel::Open {}).encode(1, &mut bytes);
    world.node.read(world.client, &bytes);
    world.node.settle();
    assert_ne!(world.node.told_unwritten_bytes(world.client), Some(0));
    world.node.write(world.client, usize::MAX, &mut Vec::new());
    assert_eq!(world.node.told_unwritten_bytes(world.client), Some(0));
}
