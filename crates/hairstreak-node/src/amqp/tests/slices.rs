//! Operations that take more than one turn: answers come in order, after the end of the operation, and later frames of the client
//! wait.

use std::time::{Duration, Instant};

use hairstreak_broker::vhost::Limits;
use hairstreak_wire::amqp::{
    FrameKind, Method, basic, channel, confirm, decode_frame, encode_content_header, exchange, queue, tx,
};

use super::{FRAME_SIZE, World, login};
use crate::amqp::harness::AmqpHarness;
use crate::config::{AmqpConfig, NodeConfig};

const QUEUE_COUNT: usize = 200;

/// A client with an open channel of a node with few steps for each call, and [`QUEUE_COUNT`] queues that are bound to amq.fanout.
fn world() -> World {
    let limits = Limits { steps_max: 64, ..Limits::default() };
    let amqp = AmqpConfig { limits, ..AmqpConfig::default() };
    let mut node = AmqpHarness::new(&NodeConfig { amqp, ..NodeConfig::default() }).unwrap();
    let client = node.connect().unwrap();
    let mut world = World { node, client };
    world.feed(&login(), usize::MAX);
    world.feed(&encoded(&[Method::ChannelOpen(channel::Open {})]), usize::MAX);
    for number in 0..QUEUE_COUNT {
        let name = format!("q{number}");
        let queue = name.as_bytes();
        let declare = queue::Declare { queue, no_wait: true, ..Default::default() };
        let bind = queue::Bind { queue, exchange: b"amq.fanout", no_wait: true, ..Default::default() };
        world.feed(&encoded(&[Method::QueueDeclare(declare), Method::QueueBind(bind)]), usize::MAX);
    }
    world
}

fn encoded(methods: &[Method<'_>]) -> Vec<u8> {
    let mut bytes = Vec::new();
    methods.iter().for_each(|method| method.encode(1, &mut bytes));
    bytes
}

/// An empty message, identified by its priority.
fn publish(exchange: &[u8], routing_key: &[u8], priority: u8, bytes: &mut Vec<u8>) {
    let publish = basic::Publish { exchange, routing_key, mandatory: true, ..Default::default() };
    Method::BasicPublish(publish).encode(1, bytes);
    encode_content_header(1, 0, &[0x08, 0, priority], bytes);
}

/// Each method of the node, with the tag of a confirm and the priority of a message.
fn shown(mut written: &[u8]) -> Vec<String> {
    let mut shown: Vec<String> = Vec::new();
    while let Some(frame) = decode_frame(written, FRAME_SIZE as usize).unwrap() {
        match frame.kind {
            FrameKind::Method => shown.push(match Method::decode(frame.payload).unwrap() {
                Method::BasicAck(ack) => format!("ack {}", ack.delivery_tag),
                Method::QueueDeleteOk(ok) => format!("delete-ok {}", ok.message_count),
                other => other.name().to_owned(),
            }),
            _ => {
                let priority = frame.payload.last().unwrap();
                shown.last_mut().unwrap().push_str(&format!(" {priority}"));
            }
        }
        written = &written[frame.size()..];
    }
    shown
}

fn get(queue: &[u8]) -> Method<'_> {
    Method::BasicGet(basic::Get { queue, no_ack: true })
}

#[test]
fn a_message_to_many_queues_is_confirmed_once_and_stays_before_those_behind() {
    let mut world = world();
    let mut bytes = encoded(&[Method::ConfirmSelect(confirm::Select::default())]);
    publish(b"amq.fanout", b"", 1, &mut bytes);
    publish(b"", b"q0", 2, &mut bytes);
    publish(b"", b"q199", 3, &mut bytes);
    bytes.extend(encoded(&[get(b"q0"), get(b"q0"), get(b"q199"), get(b"q199"), get(b"q7")]));
    let written = shown(&world.feed(&bytes, usize::MAX));
    let (acks, others): (Vec<_>, Vec<_>) = written.into_iter().partition(|name| name.starts_with("ack"));
    assert_eq!(acks.last().unwrap(), "ack 3");
    let expected = ["confirm.select-ok", "get-ok 1", "get-ok 2", "get-ok 1", "get-ok 3", "get-ok 1"];
    assert_eq!(others, expected.map(|name| name.replace("get-ok", "basic.get-ok")));
    assert_eq!(world.node.figures().counts.ready, QUEUE_COUNT as u64 - 3);
}

#[test]
fn a_message_to_nobody_after_a_long_way_comes_back_before_its_confirm() {
    let mut world = world();
    let mut bytes = encoded(&[Method::ConfirmSelect(confirm::Select::default())]);
    for number in 0..100 {
        let key = format!("#.*.{number}");
        let bind = queue::Bind {
            queue: b"q0",
            exchange: b"amq.topic",
            routing_key: key.as_bytes(),
            no_wait: true,
            ..Default::default()
        };
        Method::QueueBind(bind).encode(1, &mut bytes);
    }
    world.feed(&bytes, 1_000);
    bytes.clear();
    publish(b"amq.topic", b"a.b.c.d", 1, &mut bytes);
    publish(b"amq.topic", b"a.b.c.7", 2, &mut bytes);
    let written = shown(&world.feed(&bytes, usize::MAX));
    // One confirm answers for both.
    assert_eq!(written, ["basic.return 1", "ack 2"]);
    assert_eq!(world.node.figures().counts.ready, 1);
}

#[test]
fn answers_to_deletions_come_when_all_is_gone() {
    let mut world = world();
    let mut bytes = Vec::new();
    publish(b"", b"q0", 1, &mut bytes);
    for number in 0..30 {
        let key = format!("{number}");
        let bind = queue::Bind {
            queue: b"q0",
            exchange: b"amq.direct",
            routing_key: key.as_bytes(),
            no_wait: true,
            ..Default::default()
        };
        Method::QueueBind(bind).encode(1, &mut bytes);
    }
    let declare = Method::ExchangeDeclare(exchange::Declare {
        exchange: b"x",
        kind: b"direct",
        no_wait: true,
        ..Default::default()
    });
    bytes.extend(encoded(&[declare]));
    for number in 0..30 {
        let key = format!("{number}");
        let bind = queue::Bind {
            queue: b"q1",
            exchange: b"x",
            routing_key: key.as_bytes(),
            no_wait: true,
            ..Default::default()
        };
        Method::QueueBind(bind).encode(1, &mut bytes);
    }
    world.feed(&bytes, 1_000);
    let delete = Method::QueueDelete(queue::Delete { queue: b"q0", ..Default::default() });
    let delete_exchange = Method::ExchangeDelete(exchange::Delete { exchange: b"x", ..Default::default() });
    let declare = Method::QueueDeclare(queue::Declare { queue: b"q0", ..Default::default() });
    let written = shown(&world.feed(&encoded(&[delete, delete_exchange, declare]), usize::MAX));
    assert_eq!(written, ["delete-ok 1", "exchange.delete-ok", "queue.declare-ok"]);
}

#[test]
fn a_large_transaction_is_committed_in_order_and_answered_at_its_end() {
    let mut world = world();
    let mut bytes = encoded(&[Method::TxSelect(tx::Select {})]);
    publish(b"amq.fanout", b"", 1, &mut bytes);
    publish(b"amq.fanout", b"", 2, &mut bytes);
    publish(b"", b"q199", 3, &mut bytes);
    bytes.extend(encoded(&[Method::TxCommit(tx::Commit {}), get(b"q199"), get(b"q199"), get(b"q199")]));
    let written = shown(&world.feed(&bytes, usize::MAX));
    let expected = ["tx.select-ok", "tx.commit-ok", "basic.get-ok 1", "basic.get-ok 2", "basic.get-ok 3"];
    assert_eq!(written, expected);
    assert_eq!(world.node.figures().counts.ready, 2 * QUEUE_COUNT as u64 - 2);
}

#[test]
fn a_channel_is_closed_when_its_deliveries_are_back_and_a_connection_leaves_nothing() {
    let mut world = world();
    for number in 0..QUEUE_COUNT {
        let mut bytes = Vec::new();
        publish(b"", b"q0", number as u8, &mut bytes);
        let take = basic::Get { queue: b"q0", ..Default::default() };
        bytes.extend(encoded(&[Method::BasicGet(take)]));
        world.feed(&bytes, usize::MAX);
    }
    assert_eq!(world.node.figures().counts.unacknowledged, QUEUE_COUNT as u64);
    let mut bytes = encoded(&[Method::ChannelClose(channel::Close::default())]);
    bytes.extend(encoded(&[Method::ChannelOpen(channel::Open {}), get(b"q0")]));
    let written = shown(&world.feed(&bytes, usize::MAX));
    assert_eq!(written, ["channel.close-ok", "channel.open-ok", "basic.get-ok 0"]);
    assert_eq!(world.leave(), 0);
}

/// The timekeeper fires the slices of an operation, and holds the lock of the host during a slice.
#[test]
fn slices_leave_the_host_to_connections_that_wait_for_its_lock() {
    for is_wanted in [false, true] {
        let mut world = world();
        let mut bytes = Vec::new();
        (0..1_000).for_each(|_| publish(b"", b"q0", 1, &mut bytes));
        world.feed(&bytes, usize::MAX);
        // Nothing settles the node: the rest of the purge is left.
        let purge = encoded(&[Method::QueuePurge(queue::Purge { queue: b"q0", ..Default::default() })]);
        assert_eq!(world.node.read(world.client, &purge), purge.len());
        let (node, host, start) = (world.node.node(), world.node.host("/"), Instant::now());
        // The timekeeper reads the time while it holds the lock, too.
        let time = || {
            if is_wanted {
                drop(host.lock_within(&mut Duration::from_millis(1)));
            }
            start
        };
        let next = node.fire(false, time, |_| {}).unwrap();
        let now = node.clock.millis(start);
        assert_eq!(next > now, is_wanted, "the next slice is at {next}, and it is {now}");
        assert!(next <= now + 1, "the next slice is at {next}, and it is {now}");
    }
}
