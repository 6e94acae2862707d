//! The plain model: queues as vectors, bindings as a list, and patterns that are compared word by word. `consumers` has the consumers.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::super::*;
use super::consumers::{PlainChannel, PlainConsumer};
use super::policies::PlainPolicies;
use super::rules::Rules;
use crate::stats::QueueStats;

pub(super) const EXCHANGES: [&str; 3] = ["amq.direct", "amq.fanout", "amq.topic"];
pub(super) const KEYS: [&str; 5] = ["a", "b", "a.b", "a.b.c", "b.a.b"];
pub(super) const PATTERNS: [&str; 9] = ["a", "b", "a.b", "#", "a.#", "#.b", "*.b", "a.*.c", "a.#.c"];

/// A message in a queue.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Held {
    /// The number of the message, which is the same in each queue that has the message.
    pub(super) message: u64,
    pub(super) body: String,
    pub(super) exchange: &'static str,
    pub(super) key: &'static str,
    pub(super) place: u64,
    pub(super) priority: u8,
    pub(super) expires_at: u64,
    pub(super) return_count: u64,
    pub(super) deaths: Deaths,
}

/// Queues and reasons of a message's deaths, with their counts, the last one first.
pub(super) type Deaths = Vec<(&'static str, &'static str, i64)>;

/// A message that comes.
#[derive(Clone, Debug)]
pub(super) struct Post {
    pub(super) body: String,
    pub(super) exchange: &'static str,
    pub(super) key: &'static str,
    pub(super) priority: u8,
    pub(super) ttl: Option<u64>,
    pub(super) deaths: Deaths,
}

#[derive(Debug, Default)]
pub(super) struct PlainQueue {
    pub(super) rules: Rules,
    /// The number of this life: another queue of the same name has another one.
    pub(super) life: u64,
    /// The connection of an exclusive queue.
    pub(super) owner: Option<ConnectionId>,
    pub(super) used_at: u64,
    /// The consumer that takes all messages, if only one does.
    pub(super) active: Option<String>,
    pub(super) ready: Vec<Held>,
    pub(super) stats: QueueStats,
    next_place: u64,
}

impl PlainQueue {
    fn sort(&mut self) {
        let max = self.rules.priority_max;
        self.ready.sort_by_key(|held| (u8::MAX - held.priority.min(max), held.place));
    }

    fn bytes(&self) -> usize {
        self.ready.iter().map(|held| held.body.len()).sum()
    }

    /// Returns true if a message with that body is refused.
    pub(super) fn refuses(&self, body: &str) -> bool {
        self.rules.rejects && self.rules.is_over(self.ready.len() + 1, self.bytes() + body.len())
    }
}

/// An unsettled delivery. The queue was deleted if it has another life than the delivery.
#[derive(Clone, Debug)]
pub(super) struct Delivered {
    pub(super) queue: &'static str,
    pub(super) life: u64,
    pub(super) consumer: Option<String>,
    pub(super) held: Held,
}

/// All queues, consumers, channels and bindings.
#[derive(Debug, Default)]
pub(super) struct Plain {
    pub(super) queues: BTreeMap<&'static str, PlainQueue>,
    pub(super) consumers: Vec<PlainConsumer>,
    pub(super) channels: BTreeMap<usize, PlainChannel>,
    /// Number of deliveries that connections still take. Connections that are not listed take any number.
    pub(super) rooms: BTreeMap<ConnectionId, usize>,
    /// Exchange, key and queue.
    pub(super) bindings: Vec<(&'static str, &'static str, &'static str)>,
    pub(super) policies: PlainPolicies,
    /// The counters of all classic queues and of all quorum queues that there have been.
    pub(super) totals: [QueueStats; 2],
    /// Dead letters that are not written yet, with their queues.
    letters: VecDeque<(&'static str, Post)>,
    pub(super) now: u64,
    /// Counts deliveries and new consumers.
    pub(super) turn: u64,
    next_message: u64,
    next_life: u64,
}

impl Plain {
    pub(super) fn declare(&mut self, name: &'static str, owner: ConnectionId) {
        let (rules, used_at) = (self.policies.rules_of(name), self.now);
        let owner = rules.exclusive.then_some(owner);
        self.next_life += 1;
        let life = self.next_life;
        self.queues.insert(name, PlainQueue { rules, life, owner, used_at, ..PlainQueue::default() });
    }

    /// Other policies apply.
    pub(super) fn set_policies(&mut self, policies: PlainPolicies) {
        for (name, queue) in &mut self.queues {
            let rules = policies.rules_of(name);
            if rules.expires != queue.rules.expires {
                queue.used_at = self.now;
            }
            queue.rules = rules;
        }
        self.policies = policies;
    }

    /// Deletes a queue. Returns the consumers to notify.
    pub(super) fn delete(&mut self, name: &str) -> Vec<String> {
        self.queues.remove(name);
        self.bindings.retain(|(_, _, queue)| *queue != name);
        let gone = self.consumers.extract_if(.., |consumer| consumer.queue == name);
        gone.map(|consumer| consumer.tag).collect()
    }

    /// Checks that a connection may use a queue.
    pub(super) fn access(&self, name: &str, connection: ConnectionId) -> Result<(), ReplyCode> {
        match self.queues.get(name) {
            None => Err(ReplyCode::NotFound),
            Some(queue) if queue.owner.is_some_and(|owner| owner != connection) => {
                Err(ReplyCode::ResourceLocked)
            }
            Some(_) => Ok(()),
        }
    }

    /// Puts a message into queues, each of which may not exist.
    pub(super) fn publish(&mut self, names: &[&'static str], post: &Post) {
        self.next_message += 1;
        let message = self.next_message;
        for name in names {
            let Some(queue) = self.queues.get_mut(name) else { continue };
            if queue.refuses(&post.body) {
                self.add_letter(name, "maxlen", post.clone());
                continue;
            }
            let ttl = post.ttl.into_iter().chain(queue.rules.ttl).min();
            queue.next_place += 1;
            queue.ready.push(Held {
                message,
                body: post.body.clone(),
                exchange: post.exchange,
                key: post.key,
                place: queue.next_place,
                priority: post.priority,
                expires_at: ttl.map_or(u64::MAX, |ttl| self.now + ttl),
                return_count: 0,
                deaths: post.deaths.clone(),
            });
            queue.sort();
        }
    }

    /// The message is dead for this queue.
    fn bury(&mut self, name: &'static str, held: Held, reason: &'static str) {
        let Held { body, exchange, key, priority, deaths, .. } = held;
        self.add_letter(name, reason, Post { body, exchange, key, priority, ttl: None, deaths });
    }

    fn add_letter(&mut self, name: &'static str, reason: &'static str, mut post: Post) {
        let Some(dead) = self.queues[name].rules.dead else { return };
        let earlier = post.deaths.extract_if(.., |death| (death.0, death.1) == (name, reason)).next();
        post.deaths.insert(0, (name, reason, earlier.map_or(0, |death| death.2) + 1));
        // The message moves in a circle, and no client has rejected it on the way.
        let last = post.deaths.iter().position(|death| death.0 == dead);
        if last.is_some_and(|last| post.deaths[..=last].iter().all(|death| death.1 != "rejected")) {
            return;
        }
        self.letters.push_back((dead, Post { exchange: "", key: dead, ttl: None, ..post }));
    }

    /// Writes the dead letters for the queue of that name while the queue is empty. Consumers get the waiting messages first,
    /// then letter by letter.
    ///
    /// Letters for other queues stay, unless the next message of the queue comes from one of these, which has no room for its
    /// letter. Only the letters of one queue keep their order, as in RabbitMQ, where each queue is a process. Here a queue for
    /// dead letters receives the letters of one queue.
    pub(super) fn write_letters_for(&mut self, name: &str) {
        while self.queues.get(name).is_none_or(|queue| queue.ready.is_empty())
            && let Some(index) = self.next_letter_for(name)
            && let Some((dead, post)) = self.letters.remove(index)
        {
            self.publish(&[dead], &post);
            if dead != name {
                self.shorten(dead);
                self.expire(dead);
            }
        }
    }

    fn next_letter_for(&self, name: &str) -> Option<usize> {
        let own = self.letters.iter().position(|(dead, _)| *dead == name);
        let is_taken = |(dead, post): &(&'static str, Post)| {
            !self.able(dead).is_empty() && !self.queues[dead].refuses(&post.body)
        };
        own.or_else(|| self.letters.iter().position(|letter| !is_taken(letter)))
    }

    pub(super) fn write_letters(&mut self) {
        while let Some((dead, post)) = self.letters.pop_front() {
            self.publish(&[dead], &post);
            self.shorten(dead);
            self.expire(dead);
        }
    }

    /// The first messages go while they have expired.
    pub(super) fn expire(&mut self, name: &'static str) {
        while let Some(queue) = self.queues.get_mut(name)
            && queue.ready.first().is_some_and(|first| first.expires_at <= self.now)
        {
            let held = queue.ready.remove(0);
            self.bury(name, held, "expired");
        }
    }

    /// Queues without use for their time are deleted.
    pub(super) fn expire_queues(&mut self) {
        let is_used = |name: &str| self.consumers.iter().any(|consumer| consumer.queue == name);
        let is_old = |queue: &PlainQueue| {
            queue.rules.expires.is_some_and(|expires| queue.used_at + expires <= self.now)
        };
        let gone = self.queues.iter().filter(|(name, queue)| is_old(queue) && !is_used(name));
        let gone: Vec<&str> = gone.map(|(name, _)| *name).collect();
        gone.into_iter().for_each(|name| drop(self.delete(name)));
    }

    /// The first messages go while there are too many.
    pub(super) fn shorten(&mut self, name: &'static str) {
        while let Some(queue) = self.queues.get_mut(name)
            && !queue.rules.rejects
            && queue.rules.is_over(queue.ready.len(), queue.bytes())
        {
            let held = queue.ready.remove(0);
            self.bury(name, held, "maxlen");
        }
    }

    /// Counts an event of a queue, which may be deleted.
    pub(super) fn count(&mut self, name: &str, life: Option<u64>, count: impl Fn(&mut QueueStats)) {
        count(&mut self.totals[usize::from(Rules::of(name).is_quorum())]);
        let queue = self.queues.get_mut(name).filter(|queue| life.is_none_or(|life| queue.life == life));
        if let Some(queue) = queue {
            count(&mut queue.stats);
        }
    }

    /// Counts a message that is taken from a queue, by a consumer or by basic.get.
    pub(super) fn count_taken(&mut self, name: &str, number: usize, is_get: bool, no_ack: bool, held: &Held) {
        let count = |stats: &mut QueueStats| {
            *match (is_get, no_ack) {
                (false, false) => &mut stats.deliver,
                (false, true) => &mut stats.deliver_no_ack,
                (true, false) => &mut stats.get,
                (true, true) => &mut stats.get_no_ack,
            } += 1;
            stats.redeliver += u64::from(held.return_count > 0);
        };
        self.count(name, None, count);
        count(&mut self.channels.get_mut(&number).expect("an open channel").stats);
    }

    /// Settles a delivery; `requeue` is `None` for an acknowledgement.
    pub(super) fn settle(&mut self, delivered: Delivered, requeue: Option<bool>) {
        let Delivered { queue: name, life, mut held, .. } = delivered;
        if requeue.is_none() {
            self.count(name, Some(life), |stats| stats.ack += 1);
        }
        let Some(queue) = self.queues.get_mut(name).filter(|queue| queue.life == life) else { return };
        match requeue {
            None => {}
            Some(false) => self.bury(name, held, "rejected"),
            Some(true) => {
                held.return_count += 1;
                if queue.rules.delivery_limit.is_some_and(|limit| held.return_count > limit) {
                    self.bury(name, held, "delivery_limit");
                } else {
                    queue.ready.push(held);
                    queue.sort();
                }
            }
        }
    }

    /// Returns the number of messages, each counted once.
    pub(super) fn message_count(&self) -> usize {
        let ready = self.queues.values().flat_map(|queue| &queue.ready);
        let delivered = self.channels.values().flat_map(PlainChannel::deliveries);
        ready
            .chain(delivered.map(|delivered| &delivered.held))
            .map(|held| held.message)
            .collect::<BTreeSet<_>>()
            .len()
    }

    /// The queues that a message reaches.
    pub(super) fn route(&self, exchange: &str, key: &'static str) -> Vec<&'static str> {
        if exchange.is_empty() {
            return self.queues.contains_key(key).then_some(key).into_iter().collect();
        }
        let is_bound = |name: &str| {
            let mut bindings =
                self.bindings.iter().filter(|(source, _, queue)| *source == exchange && *queue == name);
            bindings.any(|(_, pattern, _)| leads(exchange, pattern, key))
        };
        self.queues.keys().copied().filter(|name| is_bound(name)).collect()
    }
}

#[test]
fn dead_letters_for_one_queue_do_not_wait_for_those_for_another() {
    let mut plain = Plain::default();
    ["sorted", "dead-sorted"].into_iter().for_each(|name| plain.declare(name, ALICE));
    for (key, body, priority) in [("dead-sorted", "1", 2), ("dead-sorted", "2", 3), ("sorted", "3", 0)] {
        let body = body.to_owned();
        let post = Post { body, exchange: "", key, priority, ttl: Some(0), deaths: Vec::new() };
        plain.publish(&[key], &post);
    }
    ["dead-sorted", "sorted"].into_iter().for_each(|name| plain.expire(name));
    let bodies = |plain: &Plain, name| -> Vec<String> {
        plain.queues[name].ready.iter().map(|held| held.body.clone()).collect()
    };
    plain.write_letters_for("dead-sorted");
    assert_eq!((bodies(&plain, "dead-sorted"), bodies(&plain, "sorted")), (vec!["3".to_owned()], Vec::new()));
    // A consumer may take the first letter before the second one comes, which has a higher priority.
    plain.write_letters_for("sorted");
    assert_eq!(bodies(&plain, "sorted"), ["1"]);
    plain.write_letters();
    assert_eq!(bodies(&plain, "sorted"), ["2", "1"]);
}

/// Returns true if the words of a key match the words of a pattern.
fn matches(pattern: &[&str], key: &[&str]) -> bool {
    match pattern {
        [] => key.is_empty(),
        ["#", rest @ ..] => (0..=key.len()).any(|count| matches(rest, &key[count..])),
        ["*", rest @ ..] => !key.is_empty() && matches(rest, &key[1..]),
        [word, rest @ ..] => key.first() == Some(word) && matches(rest, &key[1..]),
    }
}

fn words(text: &str) -> Vec<&str> {
    text.split('.').collect()
}

/// Returns true if a binding with that pattern leads messages with that key.
fn leads(exchange: &str, pattern: &str, key: &str) -> bool {
    match exchange {
        "amq.direct" => pattern == key,
        "amq.fanout" => true,
        _ => matches(&words(pattern), &words(key)),
    }
}
