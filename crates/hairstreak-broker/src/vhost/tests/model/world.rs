//! A world: a virtual host and the plain model, and operations on both.

use hairstreak_testkit::Rng;

use super::super::*;
use super::plain::{Delivered, Plain, PlainChannel, PlainConsumer, PlainQueue, Rules};

const QUEUES: [&str; 7] = ["plain", "ttl", "short", "full", "sorted", "limited", "single"];
const DEAD: [&str; 4] = ["dead-ttl", "dead-short", "dead-limited", "dead-sorted"];

pub(super) struct World {
    bench: Bench,
    plain: Plain,
    rng: Rng,
    channels: std::collections::BTreeMap<usize, ChannelId>,
    next_channel: usize,
    next_number: usize,
    is_traced: bool,
}

fn rules_of(name: &str) -> Rules {
    match name {
        "ttl" => Rules { ttl: Some(20), dead: Some("dead-ttl"), ..Rules::default() },
        "short" => Rules { length_max: Some(3), dead: Some("dead-short"), ..Rules::default() },
        "full" => Rules { length_max: Some(3), rejects: true, ..Rules::default() },
        "sorted" => Rules { priority_max: 3, dead: Some("dead-sorted"), ..Rules::default() },
        "limited" => Rules { delivery_limit: Some(2), dead: Some("dead-limited"), ..Rules::default() },
        "single" => Rules { single_active: true, ..Rules::default() },
        _ => Rules::default(),
    }
}

fn declaration_of(name: &str) -> QueueDeclaration {
    let rules = rules_of(name);
    let mut arguments = FieldTable::new();
    if let Some(ttl) = rules.ttl {
        arguments.insert("x-message-ttl", ttl as i64);
    }
    if let Some(length_max) = rules.length_max {
        arguments.insert("x-max-length", length_max as i64);
    }
    if rules.rejects {
        arguments.insert("x-overflow", "reject-publish");
    }
    if rules.priority_max > 0 {
        arguments.insert("x-max-priority", i32::from(rules.priority_max));
    }
    if rules.single_active {
        arguments.insert("x-single-active-consumer", true);
    }
    if let Some(dead) = rules.dead {
        arguments.insert("x-dead-letter-exchange", "");
        arguments.insert("x-dead-letter-routing-key", dead);
    }
    match rules.delivery_limit {
        Some(limit) => {
            arguments.insert("x-delivery-limit", limit as i64);
            quorum(name, arguments)
        }
        None => queue(name, arguments),
    }
}

impl World {
    pub(super) fn new(seed: u64, is_traced: bool) -> World {
        let mut world = World {
            bench: Bench::with(Limits { slice_max: 1_000_000, ..Limits::default() }),
            plain: Plain::default(),
            rng: Rng::with_seed(seed),
            channels: std::collections::BTreeMap::new(),
            next_channel: 0,
            next_number: 0,
            is_traced,
        };
        world.plain.now = world.bench.now;
        QUEUES.iter().chain(&DEAD).for_each(|name| world.declare(name));
        world
    }

    pub(super) fn run(&mut self, count: usize) {
        for _ in 0..count {
            self.step();
        }
        for name in QUEUES.iter().chain(&DEAD) {
            self.bench.delete(name);
        }
        for channel in std::mem::take(&mut self.channels).into_values() {
            self.bench.close(channel);
        }
        assert_eq!(self.bench.host.message_counts(), MessageCounts::default());
        assert_eq!(self.bench.host.parts.store.count(), 0);
    }

    fn step(&mut self) {
        match self.rng.u8(0..100) {
            0..40 => self.publish(),
            40..50 => self.get(),
            50..60 => self.settle(None),
            60..70 => {
                let requeue = self.rng.bool();
                self.settle(Some(requeue));
            }
            70..78 => self.consume(),
            78..82 => self.cancel(),
            82..86 => self.pass(),
            86..89 => self.open(),
            89..91 => self.close(),
            91..93 => self.prefetch(),
            93..95 => self.recover(),
            95..96 => self.purge(),
            _ => self.delete_and_declare(),
        }
        self.check();
    }

    fn note(&self, text: impl FnOnce() -> String) {
        if self.is_traced {
            println!("{:>8} {}", self.plain.now, text());
        }
    }

    fn any_queue(&mut self) -> &'static str {
        let all = QUEUES.len() + DEAD.len();
        let index = self.rng.usize(0..all);
        QUEUES.iter().chain(&DEAD).nth(index).unwrap()
    }

    fn any_channel(&mut self) -> Option<(usize, ChannelId)> {
        let index = self.rng.usize(0..self.channels.len().max(1));
        self.channels.iter().nth(index).map(|(number, id)| (*number, *id))
    }

    fn declare(&mut self, name: &'static str) {
        self.bench.declare(&declaration_of(name)).unwrap();
        *self.plain.lives.entry(name).or_default() += 1;
        self.plain.queues.insert(name, PlainQueue { rules: rules_of(name), ..PlainQueue::default() });
    }

    fn publish(&mut self) {
        let name = self.any_queue();
        self.next_number += 1;
        let body = self.next_number.to_string();
        let priority = self.rng.u8(0..5);
        let ttl = self.rng.bool().then(|| self.rng.u64(0..40)).filter(|_| self.rng.u8(0..4) == 0);
        self.note(|| format!("publish {body} to {name}, priority {priority}, ttl {ttl:?}"));
        let expiration = ttl.map(|ttl| ttl.to_string());
        let properties = Properties {
            priority: Some(priority),
            expiration: expiration.as_deref().map(str::as_bytes),
            ..Properties::default()
        };
        let published = self.bench.publish_with("", name, &body, &properties);
        let queue = &self.plain.queues[name];
        let is_refused =
            queue.rules.rejects && queue.rules.length_max.is_some_and(|max| queue.ready.len() >= max);
        assert_eq!(published, if is_refused { Published::Refused } else { Published::Routed });
        if !is_refused {
            self.plain.publish(name, &body, priority, ttl);
        }
        // A consumer takes a message before the queue may be too long, and before the message expires.
        let mut deliveries = self.bench.take_deliveries();
        let direct = usize::from(deliveries.first().is_some_and(|first| first.routing_key == name));
        let letters = deliveries.split_off(direct);
        self.give(deliveries, true);
        self.plain.shorten(name);
        self.plain.expire(name);
        self.give(letters, false);
    }

    fn take_deliveries(&mut self) {
        let deliveries = self.bench.take_deliveries();
        self.give(deliveries, false);
    }

    /// Gives what was delivered to the model's consumers.
    fn give(&mut self, deliveries: Vec<Delivery>, may_be_expired: bool) {
        for delivery in deliveries {
            let consumer = self.plain.consumers.iter().find(|consumer| consumer.tag == delivery.consumer);
            let consumer = consumer.cloned().unwrap_or_else(|| panic!("no consumer for {delivery:?}"));
            self.note(|| {
                format!("    delivered {} from {} to {}", delivery.body, consumer.queue, consumer.tag)
            });
            if !may_be_expired {
                QUEUES.iter().chain(&DEAD).for_each(|name| self.plain.expire(name));
            }
            let able = self.plain.able(consumer.queue);
            let highest = able.iter().map(|consumer| consumer.priority).max();
            assert_eq!(Some(consumer.priority), highest, "{delivery:?} for {consumer:?}, able: {able:?}");
            assert!(able.iter().any(|other| other.tag == consumer.tag), "{consumer:?} has no credit");
            self.take_first(consumer.queue, consumer.channel, Some(consumer.tag), consumer.no_ack, &delivery);
        }
    }

    /// The first message of the model's queue was delivered.
    fn take_first(
        &mut self,
        name: &'static str,
        channel: usize,
        consumer: Option<String>,
        no_ack: bool,
        delivery: &Delivery,
    ) {
        let queue = self.plain.queues.get_mut(name).unwrap();
        assert!(!queue.ready.is_empty(), "{delivery:?} from {name}, which is empty");
        let held = queue.ready.remove(0);
        assert_eq!((&held.body, held.return_count > 0), (&delivery.body, delivery.is_redelivered), "{name}");
        let channel = self.plain.channels.get_mut(&channel).unwrap();
        channel.last_tag += 1;
        assert_eq!(channel.last_tag, delivery.tag);
        if !no_ack {
            let life = self.plain.lives[name];
            channel.unacked.insert(delivery.tag, Delivered { queue: name, life, consumer, held });
        }
    }

    fn get(&mut self) {
        let (name, no_ack) = (self.any_queue(), self.rng.bool());
        let Some((number, channel)) = self.any_channel() else { return };
        self.note(|| format!("get from {name}"));
        self.plain.expire(name);
        match self.bench.get(channel, name, no_ack) {
            Some((delivery, _)) => self.take_first(name, number, None, no_ack, &delivery),
            None => assert!(self.plain.queues[name].ready.is_empty()),
        }
        self.take_deliveries();
    }

    fn settle(&mut self, requeue: Option<bool>) {
        let Some((number, channel)) = self.any_channel() else { return };
        let multiple = self.rng.bool();
        let unacked = &mut self.plain.channels.get_mut(&number).unwrap().unacked;
        let tags: Vec<u64> = unacked.keys().copied().collect();
        let Some(tag) = (!tags.is_empty()).then(|| tags[self.rng.usize(0..tags.len())]) else { return };
        let settled: Vec<Delivered> = if multiple {
            let rest = unacked.split_off(&(tag + 1));
            std::mem::replace(unacked, rest).into_values().collect()
        } else {
            vec![unacked.remove(&tag).unwrap()]
        };
        self.note(|| format!("settle {tag} of channel {number}, multiple {multiple}, requeue {requeue:?}"));
        match requeue {
            None => self.bench.ack(channel, tag, multiple).unwrap(),
            Some(requeue) => self.bench.reject(channel, tag, multiple, requeue).unwrap(),
        }
        settled.into_iter().for_each(|delivered| self.plain.settle(delivered, requeue));
        self.after_return();
    }

    fn after_return(&mut self) {
        QUEUES.iter().for_each(|name| self.plain.shorten(name));
        self.take_deliveries();
    }

    fn consume(&mut self) {
        let name = self.any_queue();
        let Some((channel, id)) = self.any_channel() else { return };
        self.next_number += 1;
        let priority = if rules_of(name).single_active { 0 } else { self.rng.i32(0..2) };
        let consumer = PlainConsumer {
            tag: format!("c{}", self.next_number),
            channel,
            queue: name,
            no_ack: self.rng.u8(0..4) == 0,
            prefetch: self.plain.channels[&channel].consumer_prefetch,
            priority,
        };
        self.note(|| format!("{consumer:?}"));
        self.plain.consumers.push(consumer.clone());
        let declaration = ConsumerDeclaration {
            queue: name.as_bytes(),
            consumer_tag: consumer.tag.as_bytes(),
            no_ack: consumer.no_ack,
            is_exclusive: false,
            arguments: &arguments([("x-priority", priority.into())]),
        };
        let now = self.bench.now;
        self.bench.host.consume(id, &declaration, now, &mut self.bench.said, |_, _| {}).unwrap();
        self.take_deliveries();
    }

    fn cancel(&mut self) {
        if self.plain.consumers.is_empty() {
            return;
        }
        let index = self.rng.usize(0..self.plain.consumers.len());
        let consumer = self.plain.consumers.remove(index);
        self.note(|| format!("cancel {}", consumer.tag));
        let id = self.channels[&consumer.channel];
        self.bench.cancel(id, &consumer.tag);
        self.take_deliveries();
    }

    fn pass(&mut self) {
        let ms = self.rng.u64(0..15);
        for _ in 0..ms {
            self.bench.pass(1);
            self.plain.now = self.bench.now;
            QUEUES.iter().chain(&DEAD).for_each(|name| self.plain.expire(name));
            self.take_deliveries();
        }
    }

    fn open(&mut self) {
        if self.channels.len() < 5 {
            let connection = if self.rng.bool() { ALICE } else { BOB };
            let id = self.bench.open(connection);
            self.next_channel += 1;
            self.channels.insert(self.next_channel, id);
            let unlimited = usize::MAX;
            let channel =
                PlainChannel { prefetch: unlimited, consumer_prefetch: unlimited, ..PlainChannel::default() };
            self.plain.channels.insert(self.next_channel, channel);
        }
    }

    fn close(&mut self) {
        let Some((number, id)) = self.any_channel() else { return };
        self.note(|| format!("close channel {number}"));
        self.bench.close(id);
        self.channels.remove(&number);
        self.plain.consumers.retain(|consumer| consumer.channel != number);
        let channel = self.plain.channels.remove(&number).unwrap();
        channel.unacked.into_values().for_each(|delivered| self.plain.settle(delivered, Some(true)));
        self.after_return();
    }

    fn recover(&mut self) {
        let Some((number, id)) = self.any_channel() else { return };
        self.note(|| format!("recover channel {number}"));
        self.bench.host.recover(id, true, self.bench.now, &mut self.bench.said).unwrap();
        let unacked = std::mem::take(&mut self.plain.channels.get_mut(&number).unwrap().unacked);
        unacked.into_values().for_each(|delivered| self.plain.settle(delivered, Some(true)));
        self.after_return();
    }

    fn prefetch(&mut self) {
        let Some((number, id)) = self.any_channel() else { return };
        let (count, is_global) = (self.rng.u16(0..4), self.rng.bool());
        self.note(|| format!("prefetch {count} of channel {number}, global {is_global}"));
        let channel = self.plain.channels.get_mut(&number).unwrap();
        let limit = if count == 0 { usize::MAX } else { count.into() };
        if is_global {
            channel.prefetch = limit;
        } else {
            (channel.consumer_prefetch, channel.prefetch) = (limit, usize::MAX);
        }
        self.bench.prefetch(id, count, is_global);
        self.take_deliveries();
    }

    fn purge(&mut self) {
        let name = self.any_queue();
        self.note(|| format!("purge {name}"));
        self.plain.expire(name);
        let ready = std::mem::take(&mut self.plain.queues.get_mut(name).unwrap().ready);
        assert_eq!(self.bench.host.purge_queue(ALICE, name.as_bytes()), Ok(ready.len() as u32));
    }

    fn delete_and_declare(&mut self) {
        let name = self.any_queue();
        self.note(|| format!("delete and declare {name}"));
        self.bench.delete(name);
        let gone: Vec<String> = self
            .plain
            .consumers
            .extract_if(.., |consumer| consumer.queue == name)
            .map(|consumer| consumer.tag)
            .collect();
        assert_eq!(std::mem::take(&mut self.bench.said.cancelled), gone);
        self.declare(name);
    }

    /// Checks the invariants that hold between two operations.
    fn check(&mut self) {
        self.bench.pass(0);
        for name in QUEUES.iter().chain(&DEAD) {
            self.plain.expire(name);
        }
        self.take_deliveries();
        let unacked: usize = self.plain.channels.values().map(|channel| channel.unacked.len()).sum();
        let mut ready = 0;
        for name in QUEUES.iter().chain(&DEAD) {
            let expected = self.plain.queues[name].ready.len();
            assert_eq!(self.bench.count(name) as usize, expected, "{name}");
            assert!(expected == 0 || self.plain.able(name).is_empty(), "{name} has messages and consumers");
            ready += expected;
        }
        let counts = self.bench.host.message_counts();
        assert_eq!(counts, MessageCounts { ready: ready as u64, unacknowledged: unacked as u64 });
    }
}
