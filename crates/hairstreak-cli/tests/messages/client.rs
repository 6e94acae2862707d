//! `Client`: publishes numbered messages with confirms, and consumes them.

use std::time::{Duration, Instant};

use hairstreak_amqp::{Address, CHANNEL, ClientError, Connection, Event, open};
use hairstreak_testkit::Rng;
use hairstreak_wire::amqp::{
    FieldTable, Method, Properties, basic, confirm, encode_body, encode_content_header, queue, tx,
};

/// A time limit that only a hanging node reaches.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// A wait that ends where nothing comes.
pub const QUIET: Duration = Duration::from_millis(500);
/// Bytes of a frame.
const FRAME_SIZE: usize = 131_072;

/// A connection with one channel.
pub struct Client {
    connection: Connection,
    /// Last publish that is confirmed.
    confirmed: u64,
}

/// A message that came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Received {
    pub number: u64,
    pub delivery_tag: u64,
    pub is_redelivered: bool,
}

impl Client {
    pub fn connect(amqp: &str) -> Result<Client, ClientError> {
        let address = amqp.parse::<Address>().unwrap();
        Ok(Client { connection: open(&address, None, "test", PATIENCE)?, confirmed: 0 })
    }

    /// Sends a method and waits for its answer.
    pub fn ask(&mut self, method: &Method<'_>, answer: &'static str) -> Result<(), ClientError> {
        method.encode(CHANNEL, self.connection.output());
        self.connection.reply(answer, PATIENCE).map(drop)
    }

    /// Declares a durable queue.
    pub fn declare(&mut self, name: &str, arguments: &FieldTable) -> Result<(), ClientError> {
        let declare = queue::Declare {
            queue: name.as_bytes(),
            durable: true,
            arguments: arguments.clone(),
            ..queue::Declare::default()
        };
        self.ask(&Method::QueueDeclare(declare), "queue.declare-ok")
    }

    pub fn select_confirms(&mut self) -> Result<(), ClientError> {
        self.ask(&Method::ConfirmSelect(confirm::Select { no_wait: false }), "confirm.select-ok")
    }

    pub fn commit(&mut self) -> Result<(), ClientError> {
        self.ask(&Method::TxCommit(tx::Commit {}), "tx.commit-ok")
    }

    /// Puts a persistent message with that number into the output.
    pub fn publish(&mut self, routing_key: &str, number: u64, rng: &mut Rng) {
        let mut body = format!("{number} ").into_bytes();
        let size_max = [10, 500, 20_000][rng.usize(..3)];
        body.resize(body.len() + rng.usize(..size_max), b'x');
        let properties = Properties { delivery_mode: Some(2), ..Properties::default() };
        self.publish_with("", routing_key, &properties, &body);
    }

    /// Puts a message into the output.
    pub fn publish_with(
        &mut self,
        exchange: &str,
        routing_key: &str,
        properties: &Properties<'_>,
        body: &[u8],
    ) {
        let (exchange, routing_key) = (exchange.as_bytes(), routing_key.as_bytes());
        let publish = basic::Publish { exchange, routing_key, ..basic::Publish::default() };
        let mut encoded = Vec::new();
        properties.encode(&mut encoded);
        let output = self.connection.output();
        Method::BasicPublish(publish).encode(CHANNEL, output);
        encode_content_header(CHANNEL, body.len() as u64, &encoded, output);
        encode_body(CHANNEL, body, FRAME_SIZE, output);
    }

    /// Waits until that many publishes are confirmed.
    pub fn await_confirms(&mut self, count: u64) {
        while self.confirmed < count {
            match self.event(PATIENCE).unwrap() {
                Some(Event::Ack { delivery_tag, .. }) => self.confirmed = delivery_tag,
                Some(_) => {}
                None => panic!("no further confirm behind {}", self.confirmed),
            }
        }
    }

    /// Limits the deliveries that a consumer may have.
    pub fn set_prefetch(&mut self, prefetch_count: u16) {
        let qos = basic::Qos { prefetch_count, ..basic::Qos::default() };
        self.ask(&Method::BasicQos(qos), "basic.qos-ok").unwrap();
    }

    /// Starts a consumer that acknowledges.
    pub fn consume(&mut self, queue: &str) -> Result<(), ClientError> {
        let consume = basic::Consume { queue: queue.as_bytes(), ..basic::Consume::default() };
        self.ask(&Method::BasicConsume(consume), "basic.consume-ok")
    }

    /// Takes all messages of a queue until the queue has none.
    pub fn drain(&mut self, queue: &str) -> Vec<Received> {
        self.drain_at_least(queue, 0)
    }

    /// Takes all messages of a queue until the queue has none, and at least `count` have come.
    pub fn drain_at_least(&mut self, queue: &str, count: usize) -> Vec<Received> {
        self.consume(queue).unwrap();
        let (mut drained, mut last) = (Vec::new(), Instant::now());
        loop {
            if let Some(message) = self.received(QUIET).unwrap() {
                self.ack(message.delivery_tag, false);
                drained.push(message);
                last = Instant::now();
            } else if drained.len() >= count && self.ready_count(queue) == 0 || last.elapsed() >= PATIENCE {
                break;
            }
        }
        // The answer comes behind the acknowledgements.
        self.set_prefetch(0);
        drained
    }

    /// The number of messages that wait in a queue.
    fn ready_count(&mut self, queue: &str) -> u32 {
        let declare = queue::Declare { queue: queue.as_bytes(), passive: true, ..queue::Declare::default() };
        match self.connection.call(&Method::QueueDeclare(declare)).unwrap().method().unwrap() {
            Method::QueueDeclareOk(declared) => declared.message_count,
            other => panic!("{}", other.name()),
        }
    }

    /// Acknowledges a delivery, and all before it if `multiple` is set.
    pub fn ack(&mut self, delivery_tag: u64, multiple: bool) {
        self.send(&Method::BasicAck(basic::Ack { delivery_tag, multiple }));
    }

    /// Puts a method into the output.
    pub fn send(&mut self, method: &Method<'_>) {
        method.encode(CHANNEL, self.connection.output());
    }

    /// Returns a delivery to its queue.
    pub fn requeue(&mut self, delivery_tag: u64) {
        Method::BasicReject(basic::Reject { delivery_tag, requeue: true })
            .encode(CHANNEL, self.connection.output());
    }

    /// The next event, within `timeout`.
    pub fn event(&mut self, timeout: Duration) -> Result<Option<Event>, ClientError> {
        let deadline = Instant::now() + timeout;
        loop {
            let event = self.connection.next_event()?;
            if event.is_some() || deadline <= Instant::now() {
                return Ok(event);
            }
            // A part of a frame may come.
            self.connection.wait([], Some(deadline))?;
        }
    }

    /// The next message, within `timeout`.
    pub fn received(&mut self, timeout: Duration) -> Result<Option<Received>, ClientError> {
        match self.event(timeout)? {
            Some(Event::Delivery { delivery_tag, is_redelivered, content }) => {
                let text = String::from_utf8(content.body).unwrap();
                let number = text.split_once(' ').unwrap().0.parse().unwrap();
                Ok(Some(Received { number, delivery_tag, is_redelivered }))
            }
            _ => Ok(None),
        }
    }
}
