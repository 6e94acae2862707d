//! The cost of the broker core for each message, without frames and sockets.
//!
//! ```text
//! cargo run --release -p hairstreak-broker --example queues
//! ```

use std::hint::black_box;
use std::io::{self, Write as _};
use std::time::Instant;

use hairstreak_broker::Refusal;
use hairstreak_broker::exchange::Routing;
use hairstreak_broker::message::{Attributes, BodyView, Message, MessageView};
use hairstreak_broker::queue::{ConsumerDeclaration, QueueDeclaration};
use hairstreak_broker::vhost::{
    ChannelId, ConnectionId, HostOutbox, Limits, Published, Recipient, Room, Route, VirtualHost,
};
use hairstreak_wire::amqp::FieldTable;

const MESSAGE_COUNT: u64 = 1_000_000;
const ROUND_COUNT: usize = 7;
const CONNECTION: ConnectionId = ConnectionId(0);

/// Looks at each delivery as an encoder would, and writes none.
#[derive(Default)]
struct Sink {
    size: usize,
    last_tag: u64,
}

impl HostOutbox for Sink {
    fn deliver(&mut self, to: &Recipient, tag: u64, is_redelivered: bool, message: &MessageView<'_>) -> Room {
        self.size += message.body.as_bytes().len() + to.consumer_tag.len() + usize::from(is_redelivered);
        self.last_tag = tag;
        black_box(message.properties);
        Room::More
    }

    fn cancel(&mut self, _: &Recipient) {}
}

/// Nothing here is refused.
fn accepted<T>(result: Result<T, Refusal>) -> T {
    // INVARIANT: the names and the numbers of this program are those that it declared.
    result.expect("an operation that the virtual host accepts")
}

/// A virtual host with queues behind one exchange, and a route to them.
struct Bench {
    host: VirtualHost,
    channel: ChannelId,
    route: Route,
    sink: Sink,
    body: Vec<u8>,
}

impl Bench {
    fn new(queue_count: usize, body_size: usize) -> Bench {
        let mut host = VirtualHost::new("/", Limits::default());
        let channel = accepted(host.open_channel(CONNECTION, 1));
        for number in 0..queue_count {
            let name: Box<[u8]> = format!("q{number}").into_bytes().into();
            let declaration = QueueDeclaration { name: name.clone(), ..QueueDeclaration::default() };
            accepted(host.declare_queue(CONNECTION, &declaration, 0));
            accepted(host.bind_queue(CONNECTION, &name, b"amq.topic", b"key.#", &FieldTable::new()));
        }
        let mut route = Route::new();
        accepted(host.resolve(&Routing::new(b"amq.topic", b"key.1"), &mut route));
        Bench { host, channel, route, sink: Sink::default(), body: vec![b'x'; body_size] }
    }

    fn consume(&mut self, queue: usize, no_ack: bool) {
        let (queue, tag) = (format!("q{queue}"), format!("c{queue}"));
        let declaration = ConsumerDeclaration {
            queue: queue.as_bytes(),
            consumer_tag: tag.as_bytes(),
            no_ack,
            is_exclusive: false,
            arguments: &FieldTable::new(),
        };
        accepted(self.host.consume(self.channel, &declaration, 0, &mut self.sink, |_, _| {}));
    }

    #[inline]
    fn publish(&mut self) {
        let message = Message {
            exchange: b"amq.topic",
            routing_key: b"key.1",
            properties: &[0x10, 0, 1],
            attributes: Attributes::default(),
            body: BodyView::Copied(&self.body),
        };
        let published = self.host.publish(&self.route, &message, 0, &mut self.sink);
        assert_eq!(published, Published::Routed);
    }

    fn publish_all(&mut self) {
        (0..MESSAGE_COUNT).for_each(|_| self.publish());
    }
}

/// Runs a round several times, and prints nanoseconds for each of `count` messages.
fn report(name: &str, count: u64, mut round: impl FnMut() -> f64) {
    let mut times: Vec<f64> = (0..ROUND_COUNT).map(|_| round() / count as f64).collect();
    times.sort_by(f64::total_cmp);
    let (least, middle, most) = (times[0], times[ROUND_COUNT / 2], times[ROUND_COUNT - 1]);
    let line = format!("{name:<44} {middle:>7.1} ns (n = {ROUND_COUNT}, {least:.1} to {most:.1})");
    // Nobody may be reading any more, which is no failure of the measurement.
    let _: io::Result<()> = writeln!(io::stdout(), "{line}");
}

fn time(act: impl FnOnce()) -> f64 {
    let start = Instant::now();
    act();
    start.elapsed().as_nanos() as f64
}

fn backlog(body_size: usize) {
    let mut drained = Vec::new();
    report(&format!("publish {body_size} B, no consumer"), MESSAGE_COUNT, || {
        let mut bench = Bench::new(1, body_size);
        let published = time(|| bench.publish_all());
        drained.push(time(|| bench.consume(0, true)));
        published
    });
    let mut drained = drained.into_iter();
    report(&format!("drain {body_size} B, auto-ack"), MESSAGE_COUNT, || drained.next().unwrap_or(f64::NAN));
}

fn main() {
    report("publish 16 B to an auto-ack consumer", MESSAGE_COUNT, || {
        let mut bench = Bench::new(1, 16);
        bench.consume(0, true);
        time(|| bench.publish_all())
    });
    backlog(16);
    backlog(1_024);
    report("publish 16 B, deliver, ack each 50", MESSAGE_COUNT, || {
        let mut bench = Bench::new(1, 16);
        bench.consume(0, false);
        time(|| {
            for _ in 0..MESSAGE_COUNT / 50 {
                (0..50).for_each(|_| bench.publish());
                let tag = bench.sink.last_tag;
                accepted(bench.host.ack(bench.channel, tag, true, 0, &mut bench.sink));
            }
        })
    });
    report("publish 16 B, deliver, ack each", MESSAGE_COUNT, || {
        let mut bench = Bench::new(1, 16);
        bench.consume(0, false);
        time(|| {
            for _ in 0..MESSAGE_COUNT {
                bench.publish();
                let tag = bench.sink.last_tag;
                accepted(bench.host.ack(bench.channel, tag, false, 0, &mut bench.sink));
            }
        })
    });
    report("fan-out 64 B to 10 auto-ack consumers", MESSAGE_COUNT, || {
        let mut bench = Bench::new(10, 64);
        (0..10).for_each(|queue| bench.consume(queue, true));
        time(|| bench.publish_all())
    });
    report("fan-out 64 B to 10 queues, no consumer", MESSAGE_COUNT / 10, || {
        let mut bench = Bench::new(10, 64);
        time(|| (0..MESSAGE_COUNT / 10).for_each(|_| bench.publish()))
    });
}
