//! A virtual host on virtual time: each rule by itself, then random operations against a plain model.

mod changes;
mod consuming;
mod counters;
mod deaths;
mod declaring;
mod disk;
mod durability;
mod expiry;
mod leases;
mod lengths;
mod lifetimes;
mod logging;
mod memory;
mod model;
mod paging;
mod peeking;
mod policies;
mod priorities;
mod replies;
mod settling;
mod slices;
mod views;

use hairstreak_wire::amqp::{EncodedTable, FieldTable, FieldValue, Properties, ReplyCode};

use disk::Disk;

use super::*;
use crate::change::Change;
use crate::exchange::Routing;
use crate::message::{Attributes, BodyView, Message, MessageView};
use crate::queue::{ConsumerDeclaration, Durability, QueueDeclaration, QueueKind, QueueStatus};
use crate::refusal::Refusal;

/// One delivery as the outbox got it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Delivery {
    consumer: String,
    tag: u64,
    is_redelivered: bool,
    body: String,
    exchange: String,
    routing_key: String,
    properties: Vec<u8>,
}

impl Delivery {
    fn headers(&self) -> FieldTable {
        Properties::decode(&self.properties).unwrap().headers.unwrap_or_default()
    }
}

/// Records the output of the virtual host.
#[derive(Default)]
struct Said {
    deliveries: Vec<Delivery>,
    cancelled: Vec<String>,
    /// Places of messages that the message log got.
    logged: Vec<LogTarget>,
    /// The durability of each message that the message log got.
    durabilities: Vec<Durability>,
    /// Messages that left their queues for others in the message log.
    moved: Vec<LogRun>,
    /// Remaining room of connections for deliveries; connections without an entry always have room.
    room: std::collections::HashMap<ConnectionId, usize>,
    disk: Disk,
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

impl Said {
    fn note(&mut self, consumer: &[u8], tag: u64, is_redelivered: bool, message: &MessageView<'_>) {
        self.deliveries.push(Delivery {
            consumer: text(consumer),
            tag,
            is_redelivered,
            body: text(message.body.as_bytes()),
            exchange: text(message.exchange),
            routing_key: text(message.routing_key),
            properties: message.properties.to_vec(),
        });
    }
}

impl HostOutbox for Said {
    fn deliver(&mut self, to: &Recipient, tag: u64, is_redelivered: bool, message: &MessageView<'_>) -> Room {
        self.note(&to.consumer_tag, tag, is_redelivered, message);
        match self.room.get_mut(&to.connection) {
            None => Room::More,
            Some(room) => {
                *room = room.checked_sub(1).expect("a delivery to a connection without room");
                if *room == 0 { Room::Full } else { Room::More }
            }
        }
    }

    fn cancel(&mut self, to: &Recipient) {
        self.cancelled.push(text(&to.consumer_tag));
    }

    fn append(
        &mut self,
        message: &Message<'_>,
        targets: &[LogTarget],
        moved: Option<LogRun>,
        durability: Durability,
    ) {
        self.durabilities.push(durability);
        self.moved.extend(moved);
        self.logged.extend_from_slice(targets);
        self.disk.write(message, targets, moved);
    }

    fn write_page(&mut self, message: &Message<'_>, target: LogTarget, return_count: u16) {
        self.disk.write(message, &[target], None);
        self.disk.count_returns(target.queue, target.sequence, return_count);
    }
}

/// A virtual host, its clock, and its output.
struct Bench {
    host: VirtualHost,
    now: u64,
    said: Said,
}

const ALICE: ConnectionId = ConnectionId(0);
const BOB: ConnectionId = ConnectionId(1);

/// Arguments of a queue or a consumer.
fn arguments<const N: usize>(fields: [(&str, FieldValue); N]) -> FieldTable {
    fields.into_iter().collect()
}

fn queue(name: &str, arguments: FieldTable) -> QueueDeclaration {
    let arguments = arguments.into();
    QueueDeclaration { name: name.as_bytes().into(), arguments, ..QueueDeclaration::default() }
}

fn quorum(name: &str, mut arguments: FieldTable) -> QueueDeclaration {
    arguments.insert("x-queue-type", "quorum");
    QueueDeclaration { is_durable: true, ..queue(name, arguments) }
}

impl Bench {
    fn new() -> Bench {
        Bench::with(Limits::default())
    }

    fn with(limits: Limits) -> Bench {
        Bench { host: VirtualHost::new("/", limits), now: 1_000_000, said: Said::default() }
    }

    /// A bench with the plain queue `q` and a channel of Alice.
    fn with_queue(arguments: FieldTable) -> (Bench, ChannelId) {
        let mut bench = Bench::new();
        bench.declare(&queue("q", arguments)).unwrap();
        let channel = bench.open(ALICE);
        (bench, channel)
    }

    fn open(&mut self, connection: ConnectionId) -> ChannelId {
        self.host.open_channel(connection, 1).unwrap()
    }

    fn close(&mut self, channel: ChannelId) {
        self.host.close_channel(channel, self.now, &mut self.said);
    }

    fn disconnect(&mut self, connection: ConnectionId) {
        self.host.close_connection(connection, self.now, &mut self.said);
    }

    fn declare(&mut self, declaration: &QueueDeclaration) -> Result<QueueStatus, Refusal> {
        self.host.declare_queue(ALICE, declaration, self.now)
    }

    fn publish_with(
        &mut self,
        exchange: &str,
        key: &str,
        body: &str,
        properties: &Properties<'_>,
    ) -> Published {
        self.publish_along(&mut Route::new(), exchange, key, body, properties)
    }

    /// Publishes along a route of the exchange and the key, which is found again if it does not hold.
    fn publish_along(
        &mut self,
        route: &mut Route,
        exchange: &str,
        key: &str,
        body: &str,
        properties: &Properties<'_>,
    ) -> Published {
        let mut encoded = Vec::new();
        properties.encode(&mut encoded);
        let extra: Vec<Vec<u8>> = properties
            .headers
            .iter()
            .flat_map(|headers| crate::queue::extra_keys(headers).map(<[u8]>::to_vec))
            .collect();
        let extra: Vec<&[u8]> = extra.iter().map(Vec::as_slice).collect();
        let routing = Routing { extra_keys: &extra, ..Routing::new(exchange.as_bytes(), key.as_bytes()) };
        if !self.host.holds(route) {
            self.host.resolve(&routing, route).unwrap();
        }
        let message = Message {
            exchange: exchange.as_bytes(),
            routing_key: key.as_bytes(),
            properties: &encoded,
            attributes: Attributes::of(properties).unwrap(),
            body: BodyView::Copied(body.as_bytes()),
        };
        self.host.publish(route, &message, self.now, &mut self.said)
    }

    /// Publishes to the default exchange.
    fn publish(&mut self, queue: &str, body: &str) -> Published {
        self.publish_with("", queue, body, &Properties::default())
    }

    fn publish_all(&mut self, queue: &str, bodies: &[&str]) {
        for body in bodies {
            assert_eq!(self.publish(queue, body), Published::Routed, "{body}");
        }
    }

    fn consume_with(
        &mut self,
        channel: ChannelId,
        tag: &str,
        no_ack: bool,
        is_exclusive: bool,
        arguments: &FieldTable,
    ) -> Result<(), Refusal> {
        let declaration = ConsumerDeclaration {
            queue: b"q",
            consumer_tag: tag.as_bytes(),
            no_ack,
            is_exclusive,
            arguments,
        };
        self.host.consume(channel, &declaration, self.now, &mut self.said, |_, _| {})
    }

    /// Consumes `q` with acknowledgements.
    fn consume(&mut self, channel: ChannelId, tag: &str) {
        self.consume_with(channel, tag, false, false, &FieldTable::new()).unwrap();
    }

    /// Consumes `q` without acknowledgements.
    fn consume_no_ack(&mut self, channel: ChannelId, tag: &str) {
        self.consume_with(channel, tag, true, false, &FieldTable::new()).unwrap();
    }

    fn cancel(&mut self, channel: ChannelId, tag: &str) {
        self.host.cancel(channel, tag.as_bytes(), self.now, &mut self.said);
    }

    fn ack(&mut self, channel: ChannelId, tag: u64, multiple: bool) -> Result<(), Refusal> {
        self.host.ack(channel, tag, multiple, self.now, &mut self.said)
    }

    fn reject(&mut self, channel: ChannelId, tag: u64, multiple: bool, requeue: bool) -> Result<(), Refusal> {
        self.host.reject(channel, tag, multiple, requeue, self.now, &mut self.said)
    }

    fn prefetch(&mut self, channel: ChannelId, count: u16, is_global: bool) {
        self.host.set_prefetch(channel, count, is_global, self.now, &mut self.said);
    }

    fn delete(&mut self, name: &str) -> u32 {
        self.host.delete_queue(ALICE, name.as_bytes(), false, false, self.now, &mut self.said).unwrap()
    }

    fn get(&mut self, channel: ChannelId, queue: &str, no_ack: bool) -> Option<(Delivery, u32)> {
        self.try_get(channel, queue, no_ack).unwrap()
    }

    /// Takes a message. Returns the message and the number of messages that still wait.
    fn try_get(
        &mut self,
        channel: ChannelId,
        queue: &str,
        no_ack: bool,
    ) -> Result<Option<(Delivery, u32)>, Refusal> {
        loop {
            let (mut count, mut place) = (0, 0);
            let take = |said: &mut Said, got: Got, view: &MessageView<'_>| {
                (count, place) = (got.message_count, said.deliveries.len());
                said.note(b"", got.delivery_tag, got.is_redelivered, view);
            };
            match self.host.get(channel, queue.as_bytes(), no_ack, self.now, &mut self.said, take)? {
                GetOutcome::Taken => return Ok(Some((self.said.deliveries.remove(place), count))),
                GetOutcome::Empty => return Ok(None),
                GetOutcome::OnDisk => self.serve_disk(),
            }
        }
    }

    /// The bodies that are in a queue, taken out.
    fn drain(&mut self, queue: &str) -> Vec<String> {
        let channel = self.open(ALICE);
        let mut bodies = Vec::new();
        while let Some((delivery, _)) = self.get(channel, queue, true) {
            bodies.push(delivery.body);
        }
        self.close(channel);
        bodies
    }

    fn count(&mut self, queue: &str) -> u32 {
        self.host.check_queue(ALICE, queue.as_bytes(), self.now).unwrap().message_count
    }

    fn exists(&mut self, queue: &str) -> bool {
        self.host.check_queue(ALICE, queue.as_bytes(), self.now).is_ok()
    }

    /// Lets time pass, and the timers run when they are due.
    fn pass(&mut self, ms: u64) {
        let end = self.now + ms;
        while let Some(due) = self.host.next_timeout().filter(|due| *due <= end) {
            self.now = due.max(self.now);
            self.host.handle_timeout(self.now, &mut self.said);
        }
        self.now = end;
    }

    /// `consumer:body` of each delivery since the last call.
    fn delivered(&mut self) -> Vec<String> {
        let deliveries = self.said.deliveries.drain(..);
        deliveries.map(|delivery| format!("{}:{}", delivery.consumer, delivery.body)).collect()
    }

    fn take_deliveries(&mut self) -> Vec<Delivery> {
        std::mem::take(&mut self.said.deliveries)
    }
}

/// Shows a refusal.
fn refused<T: std::fmt::Debug>(result: Result<T, Refusal>) -> String {
    result.unwrap_err().to_string()
}
