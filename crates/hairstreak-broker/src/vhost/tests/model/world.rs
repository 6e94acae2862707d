//! A world: a virtual host and the plain model, and operations on both. The operations are in the files of the folder.

mod clients;
mod messages;
mod queues;

use std::collections::BTreeMap;

use hairstreak_testkit::Rng;

use super::super::*;
use super::plain::{Delivered, Held, Plain};
use super::rules::{QUEUES, Rules};

const CONNECTIONS: [ConnectionId; 3] = [ALICE, BOB, ConnectionId(2)];
/// Number of queues of [`QUEUES`] in a world, small so that each is busy.
const QUEUE_COUNT: usize = 6;

pub(super) struct World {
    bench: Bench,
    plain: Plain,
    rng: Rng,
    /// The queues of this world, and the queues for their dead letters.
    names: Vec<&'static str>,
    channels: BTreeMap<usize, ChannelId>,
    /// Routes by exchange and key.
    routes: BTreeMap<(&'static str, &'static str), Route>,
    next_channel: usize,
    next_number: usize,
    has_policies: bool,
    /// Messages go to disk. Then no queue has dead letters: the time at which they are written would depend on the disk.
    has_disk: bool,
    is_traced: bool,
}

impl World {
    pub(super) fn new(seed: u64, is_traced: bool) -> World {
        let mut rng = Rng::with_seed(seed);
        // Some worlds do next to nothing in one call, so that the rest follows later. If priorities put dead letters before
        // waiting messages, the time of writing matters: there the model has them at the end of each call. If a policy gives a
        // queue a length and a time to live, the time matters too: messages that have yet to expire may make the queue too long
        // first.
        let is_slow = rng.u8(0..4) == 0;
        let slice_max = if is_slow { rng.usize(1..4) } else { 1_000_000 };
        let has_disk = !is_slow && rng.bool();
        let all = QUEUES.into_iter().filter(|name| !is_slow || *name != "sorted");
        let all = all.filter(|name| !has_disk || Rules::of(name).dead.is_none());
        let mut names = rng.choose_multiple(all, QUEUE_COUNT);
        let dead: Vec<&str> = names.iter().filter_map(|name| Rules::of(name).dead).collect();
        names.extend(dead);
        let limits = Limits { slice_max, ..Limits::default() };
        let mut world = World {
            bench: if has_disk { Bench::with_disk(limits) } else { Bench::with(limits) },
            plain: Plain::default(),
            rng,
            names,
            channels: BTreeMap::new(),
            routes: BTreeMap::new(),
            next_channel: 0,
            next_number: 0,
            has_policies: !is_slow && !has_disk,
            has_disk,
            is_traced,
        };
        world.plain.now = world.bench.now;
        world.names.clone().into_iter().for_each(|name| world.declare(name));
        world
    }

    pub(super) fn run(&mut self, count: usize) {
        for _ in 0..count {
            self.step();
            if self.has_disk {
                self.serve_disk();
            }
            self.check();
        }
        CONNECTIONS.into_iter().for_each(|connection| self.disconnect(connection));
        for name in std::mem::take(&mut self.names) {
            self.bench.delete(name);
        }
        self.serve_disk();
        assert_eq!(self.bench.said.disk.count(), 0);
        assert_eq!(self.bench.host.message_counts(), MessageCounts::default());
        let stats = self.bench.host.stats();
        assert_eq!([stats.classic, stats.quorum], self.plain.totals);
        assert_eq!(self.bench.host.parts.store.count(), 0);
        assert_eq!(self.bench.host.topology().binding_count(), 0);
        let parts = &self.bench.host.parts;
        assert_eq!((parts.queues.declared_bytes(), parts.consumers.memory_bytes()), (0, 0));
    }

    /// Serves all requests for the disk, in any order.
    fn serve_disk(&mut self) {
        loop {
            self.bench.pass(0);
            self.take_rest();
            let World { bench, rng, .. } = self;
            if !bench.serve_one(|count| rng.usize(0..count)) {
                break;
            }
        }
    }

    fn step(&mut self) {
        match self.rng.u8(0..100) {
            0..33 => self.publish(),
            33..36 => self.hold(),
            36..41 => self.get(),
            41..42 => self.end_transaction(),
            42..51 => self.settle(None),
            51..60 => {
                let requeue = self.rng.bool();
                self.settle(Some(requeue));
            }
            60..69 => self.consume(),
            69..72 => self.cancel(),
            72..76 => self.pass(),
            76..79 => self.open(),
            79..81 => self.close(),
            81..82 => self.disconnect_any(),
            82..84 => self.prefetch(),
            84..86 => self.flow(),
            86..89 => self.room(),
            89..90 => self.recover(),
            90..91 => self.purge(),
            91..93 => self.delete(),
            93..96 => self.declare_any(),
            96..98 => self.bind(),
            98..99 if self.has_policies => self.set_policies(),
            98..99 if self.has_disk => self.turn_dial(),
            _ => self.unbind(),
        }
    }

    fn note(&self, text: impl FnOnce() -> String) {
        if self.is_traced {
            println!("{:>8} {}", self.plain.now, text());
        }
    }

    fn any<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.rng.usize(0..all.len())]
    }

    fn any_queue(&mut self) -> &'static str {
        self.names[self.rng.usize(0..self.names.len())]
    }

    fn any_channel(&mut self) -> Option<(usize, ChannelId)> {
        let index = self.rng.usize(0..self.channels.len().max(1));
        self.channels.iter().nth(index).map(|(number, id)| (*number, *id))
    }

    /// Gives the deliveries since the last call to the model's consumers.
    fn take_deliveries(&mut self) {
        let deliveries = self.bench.take_deliveries();
        self.give(deliveries, false);
    }

    /// Gives the deliveries to the model's consumers. The virtual host has no work left.
    fn take_rest(&mut self) {
        self.expire();
        self.take_deliveries();
        self.expire();
        self.plain.write_letters();
    }

    /// Gives the deliveries to the model's consumers.
    fn give(&mut self, deliveries: Vec<Delivery>, may_be_expired: bool) {
        for delivery in deliveries {
            let consumer = self.plain.consumers.iter().find(|consumer| consumer.tag == delivery.consumer);
            let consumer = consumer.cloned().unwrap_or_else(|| panic!("no consumer for {delivery:?}"));
            self.note(|| {
                format!("    delivered {} from {} to {}", delivery.body, consumer.queue, consumer.tag)
            });
            if !may_be_expired {
                self.expire();
            }
            self.plain.write_letters_for(consumer.queue);
            let able = self.plain.able(consumer.queue);
            assert!(self.plain.may_be_next(&consumer), "not the turn of {consumer:#?}, but of {able:#?}");
            self.take_first(consumer.queue, consumer.channel, Some(consumer.tag), consumer.no_ack, &delivery);
        }
    }

    fn expire(&mut self) {
        self.names.iter().for_each(|name| self.plain.expire(name));
    }

    /// The first message of the model's queue was delivered.
    fn take_first(
        &mut self,
        name: &'static str,
        number: usize,
        consumer: Option<String>,
        no_ack: bool,
        delivery: &Delivery,
    ) {
        let queue = self.plain.queues.get_mut(name).unwrap();
        assert!(!queue.ready.is_empty(), "{delivery:?} from {name}, which is empty");
        let held = queue.ready.remove(0);
        self.plain.count_taken(name, number, consumer.is_none(), no_ack, &held);
        let queue = &self.plain.queues[name];
        // basic.get shows each count of a quorum queue. A consumer sees only the counts of messages that came back.
        let is_quorum = queue.rules.is_quorum();
        compare(&held, delivery, is_quorum && (consumer.is_none() || held.return_count > 0));
        let life = queue.life;
        let channel = self.plain.channels.get_mut(&number).unwrap();
        channel.last_tag += 1;
        assert_eq!(channel.last_tag, delivery.tag);
        if let Some(tag) = &consumer {
            if let Some(room) = self.plain.rooms.get_mut(&channel.connection) {
                *room -= 1;
            }
            self.plain.turn += 1;
            let consumer = self.plain.consumers.iter_mut().find(|other| other.tag == *tag).unwrap();
            consumer.turn = self.plain.turn;
        }
        if !no_ack {
            channel.unacked.insert(delivery.tag, Delivered { queue: name, life, consumer, held });
        }
        self.plain.note_unable();
    }

    /// Checks the invariants that hold between two operations.
    fn check(&mut self) {
        self.bench.pass(0);
        self.take_rest();
        assert!(self.bench.said.cancelled.is_empty(), "{:?}", self.bench.said.cancelled);
        let mut ready = 0;
        if self.has_disk {
            assert_eq!(self.bench.logged_count(), self.bench.host.logged_message_count());
        }
        for name in &self.names {
            let parts = &self.bench.host.parts;
            let queue = parts.queues.find(name.as_bytes()).map(|id| parts.queues.get(id));
            let plain = self.plain.queues.get(name);
            assert_eq!(
                queue.map(|queue| queue.ready.count()),
                plain.map(|queue| queue.ready.len()),
                "{name}"
            );
            let count = plain.map_or(0, |queue| queue.ready.len());
            assert!(count == 0 || self.plain.able(name).is_empty(), "{name} has messages and consumers");
            ready += count as u64;
        }
        let unacked: usize = self.plain.channels.values().map(|channel| channel.deliveries().count()).sum();
        let counts = MessageCounts { ready, unacknowledged: unacked as u64 };
        assert_eq!(self.bench.host.message_counts(), counts);
        let in_memory_count = self.bench.host.parts.store.count();
        if self.has_disk {
            assert!(in_memory_count <= ready as usize + unacked);
        } else {
            assert_eq!(in_memory_count, self.plain.message_count());
        }
        assert_eq!(self.bench.host.topology().binding_count(), self.plain.bindings.len());
        self.check_stats();
        self.plain.note_unable();
    }

    /// Checks the counters of queues, of channels, and of the host.
    fn check_stats(&self) {
        let host = &self.bench.host;
        for (name, queue) in &self.plain.queues {
            let shown = host.queue(name.as_bytes()).unwrap();
            assert_eq!(shown.stats, queue.stats, "{name}");
            let ready_bytes = queue.ready.iter().map(|held| held.body.len() as u64).sum();
            let delivered = self.plain.channels.values().flat_map(|channel| channel.deliveries());
            let delivered =
                delivered.filter(|delivered| delivered.queue == *name && delivered.life == queue.life);
            let unacknowledged_bytes = delivered.map(|delivered| delivered.held.body.len() as u64).sum();
            assert_eq!(
                (shown.ready_bytes, shown.unacknowledged_bytes),
                (ready_bytes, unacknowledged_bytes),
                "{name}"
            );
            let (offset, mut waiting) = (queue.ready.len() / 3, Vec::new());
            host.peek(name.as_bytes(), offset, usize::MAX, |message, info| {
                waiting.push((text(message.body.as_bytes()), u64::from(info.return_count)));
            });
            let expected = queue.ready[offset..].iter().map(|held| (held.body.clone(), held.return_count));
            // Messages on disk are not shown.
            let count = if shown.storage.paged > 0 { waiting.len() } else { usize::MAX };
            let expected: Vec<_> = expected.take(count).collect();
            assert_eq!(waiting, expected, "{name}");
            let is_shown = host.peek(name.as_bytes(), 0, 1, |_, _| {}) == Some(1);
            assert!(is_shown != queue.ready.is_empty() || shown.storage.paged > 0, "{name}");
        }
        for (number, id) in &self.channels {
            let stats = host.channels().info(*id).unwrap().stats.messages;
            assert_eq!(stats, self.plain.channels[number].stats, "channel {number}");
        }
        let stats = host.stats();
        assert_eq!([stats.classic, stats.quorum], self.plain.totals);
    }
}

/// Compares a message of the model with a delivery.
fn compare(held: &Held, delivery: &Delivery, shows_count: bool) {
    let text = |value: &FieldValue| text(value.as_bytes().unwrap());
    assert_eq!((&held.body, held.return_count > 0), (&delivery.body, delivery.is_redelivered), "{held:?}");
    assert_eq!((held.exchange, held.key), (delivery.exchange.as_str(), delivery.routing_key.as_str()));
    let headers = delivery.headers();
    let returns = headers.get("x-delivery-count").and_then(FieldValue::as_i64);
    assert_eq!(returns, shows_count.then_some(held.return_count as i64));
    let deaths: Vec<(String, String, i64)> = headers
        .get("x-death")
        .and_then(FieldValue::as_array)
        .into_iter()
        .flatten()
        .map(|death| {
            let field = |name| death.as_table().unwrap().get(name).unwrap();
            (text(field("queue")), text(field("reason")), field("count").as_i64().unwrap())
        })
        .collect();
    let expected =
        held.deaths.iter().map(|(queue, reason, count)| ((*queue).to_owned(), (*reason).to_owned(), *count));
    assert_eq!(deaths, expected.collect::<Vec<_>>());
}
