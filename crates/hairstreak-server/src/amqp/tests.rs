//! Sessions that are given anything: no input makes one panic, or keeps memory behind.

use std::sync::Arc;
use std::time::Instant;

use fastrand::Rng;
use hairstreak_base::{BlockPool, OutgoingBuffer};
use hairstreak_testkit::Seeds;
use hairstreak_transport::event_loop::Address;
use hairstreak_wire::amqp::{
    FieldTable, Method, Properties, basic, channel, confirm, encode_body, encode_content_header, exchange,
    queue, tx,
};

use super::node::Node;
use super::options::AmqpOptions;
use super::session::{Outcome, Session};
use super::shared_host::{HostState, SharedHost};
use super::tuned::Tuned;
use super::turn::Turn;

const SEEDS: Seeds = Seeds { target: "-p hairstreak-server --lib", soak_factor: 500 };

/// One session in a virtual host of its own.
struct World {
    node: Arc<Node>,
    host: Arc<SharedHost>,
    session: Session,
    output: OutgoingBuffer,
    pool: Arc<BlockPool>,
    connection: hairstreak_broker::vhost::ConnectionId,
    tuned: Tuned,
}

impl World {
    fn new() -> World {
        let options = AmqpOptions { message_size_max: 1 << 20, ..AmqpOptions::default() };
        let node = Arc::new(Node::new(&options));
        // INVARIANT: the options name this host.
        let host = node.host("/").expect("the default virtual host");
        let tuned = Tuned { channel_max: 20, frame_size_max: 4096, heartbeat: None };
        let session = Session::new(Arc::clone(&node), tuned, "guest".into(), true);
        let pool = BlockPool::new();
        let connection = host.lock().outlets.add(Address::default(), tuned.frame_body_max(), true);
        World { node, host, session, output: OutgoingBuffer::new(&pool), pool, connection, tuned }
    }

    /// Hands the bytes in, in pieces of at most `piece` bytes.
    fn feed(&mut self, bytes: &[u8], piece: usize) {
        let mut unread = Vec::new();
        for part in bytes.chunks(piece.max(1)) {
            unread.extend_from_slice(part);
            let mut state = self.host.lock();
            let mut turn = Turn {
                state: &mut state,
                output: &mut self.output,
                pool: &self.pool,
                connection: self.connection,
                now: self.node.clock.millis(Instant::now()),
                frame_body_max: self.tuned.frame_body_max(),
            };
            let used = self.session.handle_frames(&unread, &mut turn);
            self.session.tell_all_confirms(&mut turn);
            turn.take_deliveries();
            unread.drain(..used);
            assert!(unread.len() <= 4096 + 8, "a whole frame is left lying");
            self.output.clear();
            if self.session.outcome != Outcome::Running {
                return;
            }
        }
    }

    /// The connection ends. Returns the bytes of messages that are left.
    fn leave(self) -> usize {
        let mut state = self.host.lock();
        let HostState { host, outlets } = &mut *state;
        host.close_connection(self.connection, self.node.clock.millis(Instant::now()), outlets);
        outlets.remove(self.connection);
        host.message_counts().unacknowledged as usize
    }
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
        let mut world = World::new();
        let bytes = frames(&mut random);
        world.feed(&bytes, random.usize(1..20_000));
        assert_eq!(world.leave(), 0, "deliveries of a connection that is gone");
    });
}

#[test]
fn bytes_that_are_changed_on_the_way_make_no_session_panic() {
    SEEDS.check("bytes_that_are_changed", 200, |seed, _| {
        let mut random = Rng::with_seed(seed);
        let mut world = World::new();
        let mut bytes = frames(&mut random);
        for _ in 0..random.usize(1..10) {
            let at = random.usize(0..bytes.len());
            bytes[at] = random.u8(..);
        }
        world.feed(&bytes, random.usize(1..20_000));
        assert_eq!(world.leave(), 0, "deliveries of a connection that is gone");
    });
}
