//! The plain model: queues as vectors, and no thought of speed.

use std::collections::BTreeMap;

/// A message in a queue.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Held {
    pub(super) body: String,
    pub(super) place: u64,
    pub(super) priority: u8,
    pub(super) expires_at: u64,
    pub(super) return_count: u64,
}

/// How a queue of the model behaves.
#[derive(Clone, Debug, Default)]
pub(super) struct Rules {
    pub(super) ttl: Option<u64>,
    pub(super) length_max: Option<usize>,
    pub(super) rejects: bool,
    pub(super) priority_max: u8,
    pub(super) delivery_limit: Option<u64>,
    pub(super) single_active: bool,
    /// The queue for dead letters.
    pub(super) dead: Option<&'static str>,
}

#[derive(Debug, Default)]
pub(super) struct PlainQueue {
    pub(super) rules: Rules,
    pub(super) ready: Vec<Held>,
    pub(super) next_place: u64,
}

impl PlainQueue {
    fn sort(&mut self) {
        self.ready.sort_by_key(|held| (u8::MAX - held.priority, held.place));
    }
}

#[derive(Clone, Debug)]
pub(super) struct PlainConsumer {
    pub(super) tag: String,
    pub(super) channel: usize,
    pub(super) queue: &'static str,
    pub(super) no_ack: bool,
    pub(super) prefetch: usize,
    pub(super) priority: i32,
}

/// A delivery to be settled. The queue is gone if it has another life than the delivery.
#[derive(Clone, Debug)]
pub(super) struct Delivered {
    pub(super) queue: &'static str,
    pub(super) life: u32,
    pub(super) consumer: Option<String>,
    pub(super) held: Held,
}

#[derive(Debug, Default)]
pub(super) struct PlainChannel {
    pub(super) unacked: BTreeMap<u64, Delivered>,
    pub(super) last_tag: u64,
    pub(super) prefetch: usize,
    pub(super) consumer_prefetch: usize,
}

/// All queues, consumers and channels.
#[derive(Debug, Default)]
pub(super) struct Plain {
    pub(super) queues: BTreeMap<&'static str, PlainQueue>,
    pub(super) lives: BTreeMap<&'static str, u32>,
    pub(super) consumers: Vec<PlainConsumer>,
    pub(super) channels: BTreeMap<usize, PlainChannel>,
    pub(super) now: u64,
}

impl Plain {
    /// Puts a message into a queue that may not exist.
    pub(super) fn publish(&mut self, name: &'static str, body: &str, priority: u8, ttl: Option<u64>) {
        let Some(queue) = self.queues.get_mut(name) else { return };
        let ttl = ttl.into_iter().chain(queue.rules.ttl).min();
        queue.next_place += 1;
        queue.ready.push(Held {
            body: body.to_owned(),
            place: queue.next_place,
            priority: priority.min(queue.rules.priority_max),
            expires_at: ttl.map_or(u64::MAX, |ttl| self.now + ttl),
            return_count: 0,
        });
        queue.sort();
    }

    /// The message is dead for this queue.
    pub(super) fn bury(&mut self, name: &'static str, held: &Held) {
        if let Some(dead) = self.queues[name].rules.dead {
            self.publish(dead, &held.body, held.priority, None);
        }
    }

    pub(super) fn expire(&mut self, name: &'static str) {
        while let Some(queue) = self.queues.get_mut(name)
            && queue.ready.first().is_some_and(|first| first.expires_at <= self.now)
        {
            let held = queue.ready.remove(0);
            self.bury(name, &held);
        }
    }

    pub(super) fn shorten(&mut self, name: &'static str) {
        while let Some(queue) = self.queues.get_mut(name)
            && !queue.rules.rejects
            && queue.rules.length_max.is_some_and(|max| queue.ready.len() > max)
        {
            let held = queue.ready.remove(0);
            self.bury(name, &held);
        }
    }

    /// Settles a delivery; `requeue` is `None` for an acknowledgement.
    pub(super) fn settle(&mut self, delivered: Delivered, requeue: Option<bool>) {
        let Delivered { queue: name, life, mut held, .. } = delivered;
        let is_there = self.queues.contains_key(name) && self.lives[name] == life;
        match requeue {
            Some(_) if !is_there => {}
            None => {}
            Some(false) => self.bury(name, &held),
            Some(true) => {
                held.return_count += 1;
                let queue = self.queues.get_mut(name).unwrap();
                if queue.rules.delivery_limit.is_some_and(|limit| held.return_count > limit) {
                    self.bury(name, &held);
                } else {
                    queue.ready.push(held);
                    queue.sort();
                }
            }
        }
    }

    /// Whether the consumer can take a message now.
    pub(super) fn has_credit(&self, consumer: &PlainConsumer) -> bool {
        let channel = &self.channels[&consumer.channel];
        let own = |d: &&Delivered| d.consumer.as_ref() == Some(&consumer.tag);
        let all = |d: &&Delivered| d.consumer.is_some();
        consumer.no_ack
            || channel.unacked.values().filter(own).count() < consumer.prefetch
                && channel.unacked.values().filter(all).count() < channel.prefetch
    }

    /// The consumers of a queue that can take a message now. The first consumer of a queue with one active consumer is
    /// the active one, as long as the consumers have the same priority.
    pub(super) fn able(&self, name: &str) -> Vec<&PlainConsumer> {
        let single = self.queues.get(name).is_some_and(|queue| queue.rules.single_active);
        let all = self.consumers.iter().filter(|consumer| consumer.queue == name);
        all.take(if single { 1 } else { usize::MAX }).filter(|consumer| self.has_credit(consumer)).collect()
    }
}
